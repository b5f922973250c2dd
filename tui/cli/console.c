/* console.c - `berth` without a command: starts the console, or a script that drives it. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/arena.h>
#include <berth/policy.h>
#include <berth/pool.h>
#include <berth/team.h>

#include "app/app.h"
#include "views/list.h"
#include "cli/kept.h"
#include "cli/run.h"

/* Threads come and go, and a log comes in large pieces: what is free goes back to the system rather than to
 * what each of them keeps for the next time. */
static void keep_memory_small(void)
{
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 128 << 10);
}

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

/* The same console again, on another engine. */
static int become_console_of(const struct cli *c, const char *context, struct err *e)
{
	char *argv[2 * CLI_GIVEN_MAX + 4], names[CLI_GIVEN_MAX][40];
	size_t n = 0;

	argv[n++] = (char *)(uintptr_t) "berth";
	for (size_t i = 0; i < c->ngiven; i++) {
		const struct cli_given *g = &c->given[i];

		if (!strcmp(g->option->name, "host") || !strcmp(g->option->name, "context"))
			continue;
		snprintf(names[i], sizeof names[i], "--%s", g->option->name);
		argv[n++] = names[i];
		if (g->value)
			argv[n++] = (char *)(uintptr_t)g->value;
	}
	argv[n++] = (char *)(uintptr_t) "--context";
	argv[n++] = (char *)(uintptr_t)context;
	argv[n] = NULL;
	return cli_become("berth-core", argv, e);
}

int cli_console(const struct cli *c, const struct settings *s, struct err *e)
{
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	struct policy policy;
	struct backend_options b = {
		.host = cli_value(c, "host"),
		.context = cli_value(c, "context"),
		.hz = s->hz,
		.read_only = s->read_only || cli_value(c, "demo"),
		.policy = &policy,
		.audit_keep_ms = s->audit_keep_days * 86400000,
		.audit_keep_bytes = s->audit_keep_bytes,
		.audit_watch = true,
		.attended = true,
		.defaults = agents_defaults(s),
		.clean_ms = s->workspaces_clean_hours * 3600000,
		.verify_ms = s->workspaces_verify_days * 86400000,
		.nalerts = s->nalerts,
		.alerts = s->alerts,
		.settings_file = cli_value(c, "settings"),
		.team = cli_value(c, "team"),
		.program = "console",
	};
	struct app_options o = {
		.views = all_tabs,
		.help = &help_view,
		.output = &output_view,
		.network = &network_view,
		.pages = all_pages,
		.settings = s,
		.policy = &policy,
		.theme = cli_value(c, "theme"),
		.script = cli_value(c, "script"),
		.ascii = cli_flag(c, "ascii"),
		.demo = cli_value(c, "demo"),
		.read_only = s->read_only || cli_value(c, "demo"),
	};
	AUTO_STR struct str kept = STR_INIT;
	struct config mem_before;
	struct app_kept before;
	char context[CONTEXT_NAME_MAX] = "";
	struct pool *pool = NULL;
	unsigned left;
	int rc;

	if (o.demo && o.script)
		return err_set(e, ERR_USAGE, "--demo and --script exclude each other.");
	if (check_readable_team(b.team, e) < 0)
		return -1;
	keep_memory_small();
	/* Whoever names one wants that one alone. */
	if (!b.host && !b.context)
		b.nhosts = cli_hosts(c, s, &mem, &b.hosts);
	policy_from_settings(&policy, s, &mem);
	if (cli_flag(c, "read-only"))
		policy.read_only_by = "--read-only";
	/* Whoever wrote the file is not who plays it. */
	if (o.demo) {
		policy.read_only = true;
		policy.read_only_by = "--demo";
	}
	o.backend = backend_start(&b, e);
	/* Without them the console works too; why there are none is said where they are shown. */
	if (o.backend && b.team && !s->read_only && !cli_flag(c, "read-only"))
		pool = pool_start(
			&(struct agents_options){
				.host = b.host, .context = b.context, .policy = &policy},
			b.team, NULL);
	/* A script runs the same for everybody, whatever was chosen in the console before. */
	if (!o.script && !o.demo) {
		o.kept = kept_read(s, &mem_before, &before) ? &before : NULL;
		o.ret_kept = &kept;
		o.check_context = cli_check_context;
		o.ret_context = context;
	}
	rc = o.backend ? app_run(&o, e) : -1;
	if (o.kept)
		config_release(&mem_before);
	if (o.backend && o.ret_kept)
		kept_write(s, &kept);
	left = pool_stop(pool);
	if (left)
		fprintf(stderr,
			"berth: %u warm containers of tools could not be removed because the engine "
			"did not answer; `berth clean` finds them.\n",
			left);
	if (o.backend)
		backend_stop(o.backend);
	if (rc == 0 && *context)
		return become_console_of(c, context, e);
	return rc;
}
