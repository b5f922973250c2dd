/* tool.c - `berth tool`: lists the tools of a team file, and runs one in its own container. */
#include <berth/tool.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "cli/command.h"
#include "cli/gate.h"
#include "cli/run.h"

static int read_tool_team(const struct cli *c, struct team *t, struct err *e)
{
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	const char *file = cli_value(c, "team");

	if (!file)
		return err_set(e, ERR_USAGE,
			"which team file?  Give it before the command: berth -c team.yaml tool %s",
			c->command->name);
	return team_read(file, cwd ? cwd : "/", t, e);
}

static const char *files_of(const struct tool_def *d)
{
	return d->files == TOOL_WORKSPACE ? "workspace" : "read-only";
}

static void json_tool(struct jsonw *j, const struct team *t, const struct tool_def *d)
{
	jsonw_object(j, NULL);
	jsonw_text(j, "name", d->name);
	jsonw_text(j, "image", d->image);
	jsonw_array(j, "command");
	for (size_t i = 0; i < d->command.n; i++)
		jsonw_text(j, NULL, d->command.word[i]);
	jsonw_end(j);
	jsonw_text(j, "network", net_mode_name(d->network));
	jsonw_text(j, "network_name", d->net_name);
	jsonw_text(j, "filesystem", files_of(d));
	jsonw_text(j, "workspace", d->workspace);
	jsonw_uint(j, "memory_limit_bytes", d->limits.memory_bytes);
	jsonw_number(j, "cpus", d->limits.cpus, 2);
	jsonw_int(j, "pids_limit", d->limits.pids);
	jsonw_int(j, "timeout_s", d->limits.timeout_s);
	jsonw_uint(j, "output_limit_bytes", d->limits.output_bytes);
	jsonw_array(j, "secrets");
	for (size_t i = 0; i < d->secrets.n; i++)
		jsonw_text(j, NULL, d->secrets.word[i]);
	jsonw_end(j);
	jsonw_int(j, "pool_size", d->pool_size);
	jsonw_array(j, "agents");
	for (size_t i = 0; i < t->nagents; i++)
		if (team_may_call(&t->agents[i], d))
			jsonw_text(j, NULL, t->agents[i].id);
	jsonw_end(j);
	jsonw_end(j);
}

static int max_width(int width, const char *text)
{
	int n = (int)strlen(text);

	return n > width ? n : width;
}

/* Columns as wide as what is in them: names and images differ a lot. */
static void print_tools(const struct team *t)
{
	int name = 4, image = 5;
	char clean[256]; /* an image is any text; a name was checked */

	for (size_t i = 0; i < t->ntools; i++) {
		name = max_width(name, t->tools[i].name);
		image = max_width(image, text_clean(clean, sizeof clean, t->tools[i].image));
	}
	printf("%-*s  %-*s  %-8s  %-9s  %6s  %4s  %4s  %7s\n", name, "TOOL", image, "IMAGE",
		"NETWORK", "FILES", "MEMORY", "CPUS", "PIDS", "TIMEOUT");
	for (size_t i = 0; i < t->ntools; i++) {
		const struct tool_def *d = &t->tools[i];
		char memory[FORMAT_MAX], timeout[24] = "none";

		if (d->limits.timeout_s)
			snprintf(timeout, sizeof timeout, "%llds", (long long)d->limits.timeout_s);
		printf("%-*s  %-*s  %-8s  %-9s  %6s  %4.3g  %4lld  %7s\n", name, d->name, image,
			text_clean(clean, sizeof clean, d->image), net_mode_name(d->network),
			files_of(d), format_bytes(memory, d->limits.memory_bytes), d->limits.cpus,
			(long long)d->limits.pids, timeout);
	}
}

int cli_tool_list(const struct cli *c, const struct settings *s, struct err *e)
{
	struct jsonw j;
	struct team t;
	int rc;

	(void)s;
	if (read_tool_team(c, &t, e))
		return -1;
	if (cli_flag(c, "json")) {
		jsonw_document(&j, "berth.tool_list/1");
		jsonw_array(&j, "tools");
		for (size_t i = 0; i < t.ntools; i++)
			json_tool(&j, &t, &t.tools[i]);
		rc = jsonw_print(&j);
	} else {
		if (t.ntools)
			print_tools(&t);
		else
			printf("%s defines no tools.\n", t.file);
		rc = cli_finish();
	}
	team_release(&t);
	return rc;
}

static int print_tool_json(const struct command_io *io, const char *name,
	const struct tool_ran *ran, const struct run_result *r)
{
	struct jsonw j;

	jsonw_document(&j, "berth.tool_run/1");
	jsonw_text(&j, "tool", name);
	jsonw_text(&j, "container", *ran->name ? ran->name : NULL);
	jsonw_bool(&j, "warm", ran->warm);
	jsonw_number(&j, "create_ms", ran->create_ms, 3);
	jsonw_number(&j, "start_ms", ran->start_ms, 3);
	jsonw_number(&j, "lane_ms", ran->lane_ms, 3);
	jsonw_number(&j, "remove_ms", ran->remove_ms, 3);
	command_json(&j, io, r);
	return jsonw_print(&j);
}

/* The nearest known name, for a typing error. */
static int no_such_tool(const struct team *t, const char *name, struct err *e)
{
	AUTO_STR struct str known = STR_INIT;

	for (size_t i = 0; i < t->ntools; i++)
		str_addf(&known, "%s%s", i ? ", " : "", t->tools[i].name);
	return err_set(e, ERR_USAGE, "%s defines no tool named `%s`; it has: %s.", t->file, name,
		known.len ? known.s : "none");
}

static bool is_tool_cancelled(void *ctx)
{
	const struct command_io *io = ctx;
	struct pollfd p = {io->q.cancel_fd, POLLIN, 0};

	return poll(&p, 1, 0) > 0;
}

static int run_tool_command(const struct cli *c, const struct policy *policy, struct team *t,
	struct command_io *io, struct tool_ran *ran, struct run_result *r, struct err *e)
{
	const struct agents_options o = {.host = cli_value(c, "host"),
		.context = cli_value(c, "context"),
		.program = "tool",
		.policy = policy,
		.stop = is_tool_cancelled,
		.stop_ctx = io};
	AUTO_FREE char *workspace = NULL;
	const struct tool_def *d = team_tool(t, c->argv[0]);
	struct agents_host *h;
	int result;

	if (!d)
		return no_such_tool(t, c->argv[0], e);
	if (cli_value(c, "workspace")) {
		workspace = realpath(cli_value(c, "workspace"), NULL);
		if (!workspace)
			return err_set(e, ERR_USAGE, "--workspace: no such directory: %s.",
				cli_value(c, "workspace"));
		/* Of MassGen's, the one of another run. */
		if (d->workspace && t->kind == TEAM_MASSGEN && d->agents.n == 1) {
			if (cli_run_workspaces(c, t, d->agents.word[0], e))
				return -1;
		} else if (d->files != TOOL_WORKSPACE || d->workspace)
			return err_set(e, ERR_USAGE, "the tool %s takes no --workspace: %s.",
				d->name,
				d->workspace
					? "its definition names one"
					: "its definition gives it none (filesystem: read-only)");
	}
	h = agents_open(&o, e);
	if (!h)
		return -1;
	command_words(c, &io->q);
	result = tool_run(h, t, d, workspace, &io->q, ran, r, e);
	agents_close(h);
	return result;
}

/* Its exit code is the command's or by the contract, never 2 to 4: what goes wrong is said here. */
int cli_tool_run(const struct cli *c, const struct settings *s, struct err *e)
{
	struct run_result r = {.ended = ENDED_FAILED, .exit_code = 125};
	struct tool_ran ran = {0};
	struct err why = ERR_INIT;
	struct command_io io;
	struct policy policy;
	struct team team;
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);

	(void)e;
	(void)s;
	if (command_open(&io, c, &why) || cli_policy(c, &policy, &mem, &why) ||
		read_tool_team(c, &team, &why)) {
		r.err = why;
	} else {
		if (run_tool_command(c, &policy, &team, &io, &ran, &r, &why))
			r.err = why;
		team_release(&team);
	}
	command_close(&io);
	command_cancelled(&r);
	if (!cli_flag(c, "json"))
		command_tell(&r);
	else if (print_tool_json(&io, c->argv[0], &ran, &r))
		r.exit_code = 125;
	command_release(&io);
	return cli_recorded(r.exit_code, 125);
}
