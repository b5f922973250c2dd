/*
 * exec.c - `berth exec`: one command in a running agent's container.
 *
 * Lives in a program of its own, for it must start fast: it asks no engine, and loads neither libcurl
 * nor curses.  The command's output passes through untouched, as the person asked for it.
 */
#include <berth/agents.h>

#include "cli/command.h"
#include "cli/exec.h"
#include "cli/gate.h"

static int print_json(const struct run_result *r, const struct command_io *io)
{
	struct jsonw j;

	jsonw_init(&j, false);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "schema", "berth.exec/1");
	command_json(&j, io, r);
	jsonw_end(&j);
	return jsonw_print(&j);
}

static int run(const struct cli *c, const struct policy *policy, struct command_io *io,
	struct run_result *r, struct err *e)
{
	command_words(c, &io->q);
	io->q.agent = c->argv[0];
	io->q.program = "exec";
	if (!io->q.argc)
		return err_set(
			e, ERR_USAGE, "exec needs a command: berth exec %s -- ls", c->argv[0]);
	return agents_run_recorded(&io->q, policy, "exec", r, e);
}

int cli_exec(const struct cli *c)
{
	struct run_result r = {.ended = ENDED_FAILED, .exit_code = 125};
	struct err e = ERR_INIT;
	struct command_io io;
	struct policy policy;
	struct arena mem;

	arena_init(&mem, 1024);
	if (command_open(&io, c, &e) || cli_policy(c, &policy, &mem, &e) ||
		run(c, &policy, &io, &r, &e)) {
		r.err = e;
		/* Wrong usage is berth's own failure to those who wait for the command's exit code. */
		r.exit_code = 125;
	}
	command_close(&io);
	if (cli_flag(c, "json"))
		print_json(&r, &io);
	else
		command_tell(&r);
	command_release(&io);
	arena_release(&mem);
	return r.exit_code;
}
