/* console.c - `berth` without a command: the console, or a script that drives it. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <berth/arena.h>
#include <berth/policy.h>
#include <berth/pool.h>
#include <berth/team.h>

#include "app/app.h"
#include "views/list.h"
#include "cli/run.h"

/* A file that cannot be read is said now, not on the message line of a console full of agents. */
static int check_readable_team(const char *file, struct err *e)
{
	char *cwd = getcwd(NULL, 0);
	struct team t;
	int rc = file ? team_read(file, cwd ? cwd : "/", &t, e) : 0;

	if (file && rc == 0)
		team_release(&t);
	free(cwd);
	return rc;
}

int cli_console(const struct cli *c, const struct settings *s, struct err *e)
{
	struct arena mem;
	struct policy policy;
	struct backend_options b = {
		.host = cli_value(c, "host"),
		.context = cli_value(c, "context"),
		.hz = s->hz,
		.read_only = s->read_only,
		.policy = &policy,
		.audit_keep_ms = s->audit_keep_days * 86400000,
		.audit_keep_bytes = s->audit_keep_bytes,
		.audit_watch = true,
		.journal_commands = (size_t)s->journal_commands,
		.journal_bytes = s->journal_bytes,
		.team = cli_value(c, "team"),
		.program = "console",
	};
	struct app_options o = {
		.views = all_tabs,
		.help = &help_view,
		.output = &output_view,
		.settings = s,
		.policy = &policy,
		.theme = cli_value(c, "theme"),
		.script = cli_value(c, "script"),
		.ascii = cli_flag(c, "ascii"),
		.read_only = s->read_only,
	};
	struct pool *pool = NULL;
	unsigned left;
	int rc;

	if (check_readable_team(b.team, e) < 0)
		return -1;
	arena_init(&mem, 1024);
	policy_from_settings(&policy, s, &mem);
	if (cli_flag(c, "read-only"))
		policy.read_only_by = "--read-only";
	o.backend = backend_start(&b, e);
	/* Without them the console works too; why there are none is said where they are shown. */
	if (o.backend && b.team && !s->read_only && !cli_flag(c, "read-only"))
		pool = pool_start(
			&(struct agents_options){
				.host = b.host, .context = b.context, .policy = &policy},
			b.team, NULL);
	rc = o.backend ? app_run(&o, e) : -1;
	left = pool_stop(pool);
	if (left)
		fprintf(stderr,
			"berth: %u warm containers of tools could not be removed, for the engine did not "
			"answer; `berth clean` finds them.\n",
			left);
	if (o.backend)
		backend_stop(o.backend);
	arena_release(&mem);
	return rc;
}
