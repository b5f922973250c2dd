/*
 * exec.c - `berth exec`: runs a command in a running agent's container.
 *
 * Part of berth itself (main.c), for it must start fast: it asks no engine and loads nothing.  Where
 * there is no lane, nothing has been read or run yet, and it becomes berth-core, which does the same
 * over the engine.  The command's output passes through untouched, as the person asked for it.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/mem.h>
#include <berth/runtime.h>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/gate.h"

/* One command in a process: what becoming another program needs, and what is done instead. */
static struct {
	struct command_io *io;
	char **argv;
	command_engine_fn *fall_back;
} self;

static int to_core(const struct run_request *r, struct run_result *ret, struct err *e)
{
	(void)r;
	if (!command_hand_on(self.io)) {
		ret->ended = ENDED_CANCELLED;
		ret->exit_code = 128 + SIGTERM;
		return 0;
	}
	if (!cli_become("berth-core", self.argv, &ret->err))
		return 0;
	return err_copy(e, &ret->err);
}

static int print_exec_json(const struct run_result *r, const struct command_io *io)
{
	struct jsonw j;

	jsonw_document(&j, "berth.exec/1");
	command_json(&j, io, r);
	return jsonw_print(&j);
}

/* The agent's definition in the file that -c names, by its id or its container's name. */
static const struct agent_def *find_definition(
	const struct team *t, const char *agent, struct err *e)
{
	for (size_t i = 0; i < t->nagents; i++)
		if (!strcmp(t->agents[i].id, agent) || !strcmp(t->agents[i].container, agent))
			return &t->agents[i];
	return err_null(err_set(e, ERR_USAGE, "%s defines no agent named `%s`.", t->file, agent));
}

static int run_in_container(const struct cli *c, const struct policy *policy, struct team *team,
	struct command_io *io, struct run_result *r, struct err *e)
{
	AUTO_FREE char *cwd = NULL;

	command_words(c, &io->q);
	io->q.agent = c->argv[0];
	io->q.program = "exec";
	if (cli_value(c, "team")) {
		cwd = getcwd(NULL, 0);
		if (team_read(cli_value(c, "team"), cwd ? cwd : "/", team, e))
			return -1;
		io->q.def = find_definition(team, c->argv[0], e);
		if (!io->q.def)
			return -1;
	}
	io->q.fall_back = self.fall_back;
	io->q.host = cli_value(c, "host");
	io->q.context = cli_value(c, "context");
	return agents_run_recorded(&io->q, policy, "exec", r, e);
}

int command_exec(const struct cli *c, command_engine_fn *engine)
{
	struct run_result r = {.ended = ENDED_FAILED, .exit_code = 125};
	struct err e = ERR_INIT;
	struct command_io io;
	struct policy policy;
	struct team team = {0};
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);

	self.io = &io;
	self.argv = c->line;
	self.fall_back = engine;
	if (command_open(&io, c, &e) || cli_policy(c, &policy, &mem, &e) ||
		run_in_container(c, &policy, &team, &io, &r, &e)) {
		r.err = e;
		/* Wrong usage is berth's own failure to those who wait for the command's exit code. */
		r.exit_code = 125;
	}
	command_close(&io);
	command_cancelled(&r);
	if (!cli_flag(c, "json"))
		command_tell(&r);
	else if (print_exec_json(&r, &io))
		r.exit_code = 125;
	command_release(&io);
	if (team.file)
		team_release(&team);
	return cli_recorded(r.exit_code, 125);
}

int cli_exec(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	(void)e;
	runtime_hold();
	return command_exec(c, to_core);
}
