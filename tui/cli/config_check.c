/*
 * config_check.c - `berth config check FILE`: reports errors in a configuration file, and the containers that a team
 * file describes.
 */
#include "cli/config_check.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/check.h>
#include <berth/mem.h>
#include <berth/plan.h>
#include <berth/settings.h>
#include <berth/team.h>
#include <berth/text.h>

#include "cli/run.h"
#include "terminal/terminal.h"
#include "views/list.h"

/* With the place of the setting. */
static void add_at(struct findings *f, const struct settings *s, const char *key, struct err *e)
{
	const struct node *n = node_get(s->source.root, key);
	struct err placed = ERR_INIT;

	if (n)
		node_err(&s->source, n, &placed, "%s", e->msg);
	findings_add(f, n ? &placed : e);
	*e = (struct err)ERR_INIT;
}

static void check_settings(struct config *c, struct findings *f)
{
	struct settings s;
	struct keymap keys;
	struct theme t;
	struct table table;
	struct err e = ERR_INIT;

	settings_check(c, &s, findings_add, f);
	keymap_defaults(&keys);
	keymap_apply(&keys, &s.source, s.keys, findings_add, f);
	table_init(&table, container_columns, container_ncolumns, NULL);
	if (table_set(&table, s.columns.item, s.columns.n, NULL, &e) < 0)
		add_at(f, &s, "columns", &e);
	if (table_set(&table, NULL, 0, s.sort, &e) < 0)
		add_at(f, &s, "sort", &e);
	table_release(&table);
	if (strcmp(s.theme, "auto") != 0 && theme_load(s.theme, &t, &e) < 0)
		add_at(f, &s, "theme", &e);
	settings_release(&s);
}

static void check_theme(struct config *c, struct findings *f)
{
	struct err e = ERR_INIT;
	struct theme t;

	if (theme_parse(c, &t, &e) < 0)
		findings_add(f, &e);
}

/* Read again by the team's own reader, which also looks at who may write the file. */
static void check_team_file(struct config *c, struct findings *f)
{
	struct team_found all = {findings_add, f, 0};
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
			findings_add(f, &e);
		}
}

/* PROVIDER: {MODEL: {rpm: ..., tpm: ..., rpd: ...}} and nothing else. */
static bool is_rate_limits(const struct node *root)
{
	size_t models = 0;

	for (size_t i = 0; i < root->n; i++)
		for (size_t k = 0; k < root->child[i]->n; k++) {
			const struct node *model = root->child[i]->child[k];

			for (size_t j = 0; j < model->n; j++) {
				const char *key = model->child[j]->key;

				if (!key ||
					(strcmp(key, "rpm") && strcmp(key, "tpm") &&
						strcmp(key, "rpd")))
					return false;
				models += !j;
			}
		}
	return models > 0;
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
	{"", "settings", check_settings},
};

/* Has this map a key of berth.yaml, or a misspelt one?  An empty file sets nothing. */
static bool is_settings_file(const struct node *root)
{
	const char *names[64];
	char mem[64][32];
	size_t n = 0;

	for (const struct setting *t = setting_table; t->name; t++) {
		size_t len = strcspn(t->name, ".");

		if (n && !strncmp(names[n - 1], t->name, len) && !names[n - 1][len])
			continue;
		snprintf(mem[n], sizeof mem[n], "%.*s", (int)len, t->name);
		names[n] = mem[n];
		n++;
		CHECK(n < COUNT(names));
	}
	names[n] = NULL;
	for (size_t i = 0; i < root->n; i++)
		if (nearest_word(root->child[i]->key, names))
			return true;
	return !root->n;
}

static void check_part(struct config *c, struct findings *f)
{
	const struct node *n = c->root->child[0];
	struct err e = ERR_INIT;
	char shown[64];

	text_clean(shown, sizeof shown, n->key);
	f->kind = massgen_has_key(n->key) ? "a part of a MassGen file" : "unknown";
	err_set(&e, ERR_CONFIG,
		massgen_has_key(n->key)
			? "%s:%d:%d: \"%s\" is a key of MassGen's, but only a part of its file: without "
			  "agent: or agents: there is nothing to run."
			: "%s:%d:%d: \"%s\" is a key of neither a team file, berth.yaml, a theme nor a "
			  "benchmark suite: what this file is for is unknown.",
		c->file, n->key_line, n->key_column, shown);
	findings_add(f, &e);
}

/* The program that measures knows which tests there are. */
static int check_suite(const struct cli *cli, const char *file, struct err *e)
{
	char *argv[7], **to = argv;

	*to++ = (char *)(uintptr_t) "berth";
	*to++ = (char *)(uintptr_t) "bench";
	*to++ = (char *)(uintptr_t) "check";
	if (cli_flag(cli, "json"))
		*to++ = (char *)(uintptr_t) "--json";
	*to++ = (char *)(uintptr_t) "--";
	*to++ = (char *)(uintptr_t)file;
	*to = NULL;
	return cli_become("berth-bench", argv, e);
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
		findings_add(&f, &why);
	} else if (node_get(c.root, "benchmarks")) {
		f.kind = "a benchmark suite";
		check_suite(cli, file, &why);
		findings_add(&f, &why);
	} else {
		while (*kinds[k].key && !node_get(c.root, kinds[k].key))
			k++;
		f.kind = kinds[k].kind;
		if (!*kinds[k].key && is_rate_limits(c.root)) {
			f.kind = "rate limits";
			err_set(&why, ERR_USAGE,
				"%s holds the rate limits of models, which MassGen keeps itself: it is not a "
				"team file, and berth does not use it.",
				file);
			findings_add(&f, &why);
		} else if (*kinds[k].key || is_settings_file(c.root)) {
			kinds[k].check(&c, &f);
		} else {
			check_part(&c, &f);
		}
	}
	rc = findings_conclude(cli, &f, file);
	config_release(&c);
	if (f.has_team)
		team_release(&f.team);
	arena_release(&f.mem);
	free(f.problem);
	free(f.plan);
	return rc;
}
