/* config_check.c - `berth config check FILE`: what is wrong in a configuration file. */
#include <stdio.h>
#include <string.h>

#include <berth/config.h>
#include <berth/settings.h>
#include <berth/text.h>

#include "cli/run.h"
#include "keymap.h"
#include "theme.h"

static void print_problem(void *ctx, const struct err *e)
{
	(void)ctx;
	cli_fail(e);
}

static int check_settings(struct config *c, struct err *e)
{
	struct settings s;
	struct keymap keys;
	size_t problems;

	if (settings_from(c, &s, e) < 0)
		return -1;
	keymap_defaults(&keys);
	problems = keymap_apply(&keys, &s.source, s.keys, print_problem, NULL);
	settings_release(&s);
	return problems ? 2 : 0;
}

static int check_theme(struct config *c, struct err *e)
{
	struct theme t;

	return theme_parse(c, &t, e);
}

/* Kinds of files are told apart by a key that only one of them has. */
static const struct {
	const char *key, *kind;
	int (*check)(struct config *c, struct err *e);
} kinds[] = {
	{"agents", "a team file", NULL},
	{"agent", "a team file", NULL},
	{"custom_tools", "a team file", NULL},
	{"benchmarks", "a benchmark suite", NULL},
	{"colours", "a theme", check_theme},
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
	if (kinds[k].check)
		rc = kinds[k].check(&c, e);
	else
		rc = err_set(e, ERR_USAGE,
			"%s is %s, which this version of berth does not read: it is valid YAML, nothing "
			"else was checked.",
			text_clean(shown, sizeof shown, file), kinds[k].kind);
	config_release(&c);
	if (rc == 0)
		printf("%s: %s, nothing wrong\n", text_clean(shown, sizeof shown, file),
			kinds[k].kind);
	return rc == 0 ? cli_finish() : rc;
}
