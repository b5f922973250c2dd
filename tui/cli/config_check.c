/* config_check.c - `berth config check FILE`: what is wrong in a configuration file. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/config.h>
#include <berth/settings.h>
#include <berth/team.h>
#include <berth/text.h>

#include "cli/run.h"
#include "keymap.h"
#include "theme.h"
#include "views/containers.h"

static void print_problem(void *ctx, const struct err *e)
{
	(void)ctx;
	cli_fail(e);
}

static int check_settings(struct config *c, struct err *e)
{
	struct settings s;
	struct keymap keys;
	struct theme t;
	struct table table;
	struct err wrong = ERR_INIT;
	size_t problems;
	int rc = 0;

	if (settings_from(c, &s, e) < 0)
		return -1;
	keymap_defaults(&keys);
	problems = keymap_apply(&keys, &s.source, s.keys, print_problem, NULL);
	table_init(&table, container_columns, container_ncolumns, NULL);
	if (table_set(&table, s.columns.item, s.columns.n, s.sort, &wrong) < 0) {
		problems++;
		cli_fail(&wrong);
	}
	table_release(&table);
	if (strcmp(s.theme, "auto") != 0)
		rc = theme_load(s.theme, &t, e);
	settings_release(&s);
	return rc < 0 ? -1 : problems ? 2 : 0;
}

static int check_theme(struct config *c, struct err *e)
{
	struct theme t;

	return theme_parse(c, &t, e);
}

/* Read again by the team's own reader, which also looks at who may write the file. */
static int check_team(struct config *c, struct err *e)
{
	char cwd[PATH_MAX], key[256];
	struct team t;

	if (!getcwd(cwd, sizeof cwd))
		strcpy(cwd, "/");
	if (team_read(c->file, cwd, &t, e) < 0)
		return -1;
	for (size_t i = 0; i < t.nignored; i++)
		printf("%s:%d:%d: ignored: %s\n", c->file, t.ignored[i].at.line,
			t.ignored[i].at.column, text_clean(key, sizeof key, t.ignored[i].key));
	team_release(&t);
	return 0;
}

/* Kinds of files are told apart by a key that only one of them has; the last fits all. */
static const struct {
	const char *key, *kind;
	int (*check)(struct config *c, struct err *e);
} kinds[] = {
	{"agents", "a team file", check_team},
	{"agent", "a team file", check_team},
	{"custom_tools", "a team file", check_team},
	{"colours", "a theme", check_theme},
	{"styles", "a theme", check_theme},
	{"benchmarks", "a benchmark suite", NULL},
	{"", "settings", check_settings},
};

int cli_config_check(const struct cli *cli, const struct settings *unused, struct err *e)
{
	const char *file = cli->argv[0];
	char shown[256];
	struct config c;
	size_t k = 0;
	int rc;

	(void)unused;
	if (config_read(file, &c, e) < 0)
		return -1;
	while (*kinds[k].key && !node_get(c.root, kinds[k].key))
		k++;
	text_clean(shown, sizeof shown, file);
	if (kinds[k].check)
		rc = kinds[k].check(&c, e);
	else
		rc = err_set(e, ERR_USAGE,
			"%s is %s, which this version of berth does not read: it is valid YAML, "
			"nothing else was checked.",
			shown, kinds[k].kind);
	config_release(&c);
	if (rc == 0)
		printf("%s: %s, nothing wrong\n", shown, kinds[k].kind);
	return rc == 0 ? cli_finish() : rc;
}
