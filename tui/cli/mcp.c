/* mcp.c - `berth mcp`: starts the MCP server for agents, on standard input and output. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/build.h>
#include <berth/file.h>
#include <berth/mcp.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/settings.h>
#include <berth/team.h>

#include "cli/commands.h"
#include "cli/gate.h"
#include "cli/run.h"

static int stop[2] = {-1, -1}; /* for the signal handler */

/* Who waits for a client that reads nothing sees no pipe: the kernel ends him. */
static void on_mcp_signal(int sig)
{
	(void)sig;
	alarm(15);
	file_write(stop[1], "", 1);
}

static int parse_groups(const char *text, unsigned *ret, struct err *e)
{
	static const struct {
		const char *name;
		unsigned group;
	} known[] = {{"files", MCP_FILES}, {"commands", MCP_COMMANDS}, {"tools", MCP_TOOLS},
		{"workspace", MCP_WORKSPACE}};

	*ret = text ? 0 : MCP_ALL;
	while (text && *text) {
		size_t n = strcspn(text, ","), i = 0;

		while (i < COUNT(known) &&
			(strlen(known[i].name) != n || memcmp(known[i].name, text, n) != 0))
			i++;
		if (i == COUNT(known))
			return err_set(e, ERR_USAGE,
				"--tools takes a comma-separated list of files, commands, tools and workspace, not \"%.*s\".",
				(int)(n < 40 ? n : 40), text);
		*ret |= known[i].group;
		text += n + (text[n] == ',');
	}
	return *ret ? 0 : err_set(e, ERR_USAGE, "--tools is empty.");
}

/* The agent of --agent, or the only one. */
static const struct agent_def *choose_agent(
	const struct cli *c, const struct team *t, struct err *e)
{
	const char *id = cli_value(c, "agent");
	const struct agent_def *a;

	if (!id && t->nagents == 1)
		return &t->agents[0];
	if (t->kind == TEAM_MASSGEN && (id ? !team_agent(t, id) : !t->nagents))
		return err_null(err_set(e, ERR_USAGE,
			"%s has no agent%s%.64s with backend.cwd, so there are no files or commands to "
			"serve.",
			t->file, id ? " " : "", id ? id : ""));
	if (!id)
		return err_null(err_set(e, ERR_USAGE,
			"%s defines %zu agents; choose one for this server: --agent ID.", t->file,
			t->nagents));
	a = team_agent(t, id);
	return a ? a
		 : err_null(err_set(e, ERR_USAGE, "%s defines no agent called `%s`.", t->file, id));
}

/* `o` but for what the policy is, which the command line says. */
static int serve_mcp(
	const struct cli *c, const struct settings *s, struct mcp_options o, struct err *e)
{
	struct sigaction act = {.sa_handler = on_mcp_signal, .sa_flags = SA_RESTART};
	struct policy policy;
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	char berth[PATH_MAX];
	int rc = -1;

	if (runtime_program("berth", berth, e))
		return -1;
	o.out = 1;
	o.version = berth_build.version;
	o.memory = s->mcp_memory;
	o.io_depth = (unsigned)s->files_io_depth;
	o.io_uring = s->files_io_uring == ASCII_YES ? 1 : s->files_io_uring == ASCII_NO ? -1 : 0;
	if (pipe2(stop, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(e, ERR_FAILED, "cannot make a pipe");
	o.stop = stop[0];
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	o.verbs.word = cli_call_words(c, berth, &mem, &o.verbs.n);
	if (!cli_policy(c, &policy, &mem, e)) {
		o.policy = &policy;
		rc = mcp_serve(&o, e);
	}
	return rc;
}

static int serve_agent(const struct cli *c, struct team *t, const struct settings *s, struct err *e)
{
	struct mcp_options o = {.team = t};

	o.agent = choose_agent(c, t, e);
	if (!o.agent || cli_run_workspaces(c, t, o.agent->id, e) ||
		parse_groups(cli_value(c, "tools"), &o.groups, e))
		return -1;
	o.who = o.agent->id;
	/* MassGen's file says whether its agents run commands at all. */
	if (t->kind == TEAM_MASSGEN && !o.agent->commands)
		o.groups &= ~(MCP_COMMANDS | MCP_TOOLS);
	if (o.groups != MCP_ALL)
		o.groups |= MCP_REST;
	return serve_mcp(c, s, o, e);
}

static int serve_operator(const struct cli *c, const struct settings *s, struct err *e)
{
	struct mcp_options o = {.who = "assistant",
		.groups = MCP_OPERATOR | (cli_flag(c, "allow-changes") ? MCP_CHANGES : 0)};

	if (cli_value(c, "agent") || cli_value(c, "tools"))
		return err_set(e, ERR_USAGE,
			"--operator belongs to no agent: it takes neither --agent nor --tools.");
	return serve_mcp(c, s, o, e);
}

int cli_mcp(const struct cli *c, const struct settings *s, struct err *e)
{
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	struct team team;
	int rc;

	if (cli_flag(c, "operator")) {
		rc = serve_operator(c, s, e);
		return rc < 0 ? -1 : cli_recorded(rc, 1);
	}
	if (cli_flag(c, "allow-changes"))
		return err_set(e, ERR_USAGE, "--allow-changes goes with --operator.");
	if (!cli_value(c, "team"))
		return err_set(e, ERR_USAGE, "mcp needs a team file: berth -c FILE mcp --agent ID");
	if (team_read(cli_value(c, "team"), cwd ? cwd : "/", &team, e))
		return -1;
	rc = serve_agent(c, &team, s, e);
	team_release(&team);
	return rc < 0 ? -1 : cli_recorded(rc, 1);
}
