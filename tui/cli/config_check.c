/* config_check.c - `berth config check FILE`: what is wrong in a configuration file, and what a team
 * file's definitions become. */
#include "cli/config_check.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/settings.h>
#include <berth/team.h>
#include <berth/text.h>

#include "cli/run.h"
#include "terminal/terminal.h"
#include "views/list.h"

static void add_finding(void *ctx, const struct err *e)
{
	struct findings *f = ctx;

	f->problem = mem_grow(f->problem, &f->cap, f->n + 1, sizeof *f->problem);
	f->problem[f->n++] = *e;
}

static void check_settings(struct config *c, struct findings *f)
{
	struct settings s;
	struct keymap keys;
	struct theme t;
	struct table table;
	struct err e = ERR_INIT;

	if (settings_from(c, &s, &e) < 0) {
		add_finding(f, &e);
		return;
	}
	keymap_defaults(&keys);
	keymap_apply(&keys, &s.source, s.keys, add_finding, f);
	table_init(&table, container_columns, container_ncolumns, NULL);
	if (table_set(&table, s.columns.item, s.columns.n, s.sort, &e) < 0)
		add_finding(f, &e);
	table_release(&table);
	if (strcmp(s.theme, "auto") != 0 && theme_load(s.theme, &t, &e) < 0)
		add_finding(f, &e);
	settings_release(&s);
}

static void check_theme(struct config *c, struct findings *f)
{
	struct err e = ERR_INIT;
	struct theme t;

	if (theme_parse(c, &t, &e) < 0)
		add_finding(f, &e);
}

/* Read again by the team's own reader, which also looks at who may write the file. */
static void check_team_file(struct config *c, struct findings *f)
{
	struct team_found all = {add_finding, f, 0};
	char cwd[PATH_MAX];

	if (!getcwd(cwd, sizeof cwd))
		strcpy(cwd, "/");
	f->has_team = team_check(c->file, cwd, &f->team, &all) == 0;
	if (!f->has_team)
		return;
	f->nplans = f->team.nagents + f->team.ntools;
	f->plan = xcalloc(f->nplans + 1, sizeof *f->plan);
	for (size_t i = 0; i < f->team.nagents; i++)
		plan_agent(&f->team, &f->team.agents[i], &f->mem, &f->plan[i]);
	for (size_t i = 0; i < f->team.ntools; i++)
		plan_tool(&f->team, &f->team.tools[i], &f->mem, &f->plan[f->team.nagents + i]);
	/* What no machine will ever do is wrong in the file. */
	for (size_t i = 0; i < f->nplans; i++)
		for (size_t k = 0; k < f->plan[i].nnotes; k++) {
			struct err e = ERR_INIT;

			if (!f->plan[i].notes[k].never)
				continue;
			err_set(&e, ERR_CONFIG, "%s:%d:%d: %s", c->file, f->plan[i].at.line,
				f->plan[i].at.column, f->plan[i].notes[k].text);
			add_finding(f, &e);
		}
}

/* Kinds of files are told apart by a key that only one of them has; the last fits all. */
static const struct {
	const char *key, *kind;
	void (*check)(struct config *c, struct findings *f);
} kinds[] = {
	{"agents", "a team file", check_team_file},
	{"agent", "a team file", check_team_file},
	{"custom_tools", "a team file", check_team_file},
	{"colours", "a theme", check_theme},
	{"styles", "a theme", check_theme},
	{"benchmarks", "a benchmark suite", NULL},
	{"", "settings", check_settings},
};

static int conclude_check(const struct cli *cli, struct findings *f, const char *file)
{
	char shown[256];
	int worst = f->n ? 2 : 0, printed;

	if (cli_flag(cli, "json")) {
		printed = findings_json(f, file);
		return worst ? worst : printed;
	}
	for (size_t i = 0; i < f->n; i++)
		cli_fail(&f->problem[i]);
	if (f->has_team)
		findings_print(f, cli_flag(cli, "verbose"));
	if (!worst)
		printf("%s: %s, nothing wrong\n", text_clean(shown, sizeof shown, file), f->kind);
	return worst ? worst : cli_finish();
}

int cli_config_check(const struct cli *cli, const struct settings *unused, struct err *e)
{
	const char *file = cli->argv[0];
	struct findings f = {0};
	struct config c = {0};
	struct err why = ERR_INIT;
	size_t k = 0;
	int rc;

	(void)unused;
	(void)e;
	arena_init(&f.mem, 4096);
	if (config_read(file, &c, &why) < 0) {
		f.kind = "unknown";
		add_finding(&f, &why);
	} else {
		while (*kinds[k].key && !node_get(c.root, kinds[k].key))
			k++;
		f.kind = kinds[k].kind;
		if (kinds[k].check) {
			kinds[k].check(&c, &f);
		} else {
			err_set(&why, ERR_USAGE,
				"%s is %s: it is valid YAML, and `berth bench run` checks the rest.",
				file, f.kind);
			add_finding(&f, &why);
		}
	}
	rc = conclude_check(cli, &f, file);
	config_release(&c);
	if (f.has_team)
		team_release(&f.team);
	arena_release(&f.mem);
	free(f.problem);
	free(f.plan);
	return rc;
}
