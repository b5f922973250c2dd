/* start.c - main of berth's programs: finds the command, checks its requirements and runs it. */
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/settings.h>
#include <berth/standard.h>
#include <berth/text.h>
#include <berth/trace.h>

#include "cli/cli.h"
#include "cli/gate.h"
#include "cli/progress.h"

/* Global options win over the settings file. */
static void apply_options(struct settings *s, const struct cli *c)
{
	if (cli_value(c, "theme"))
		s->theme = cli_value(c, "theme");
	if (cli_flag(c, "ascii"))
		s->ascii = ASCII_YES;
	if (cli_flag(c, "read-only"))
		s->read_only = true;
}

static int run_command(const struct cli *c, struct err *e)
{
	const struct cli_command *k = c->command ? c->command : c->root;
	struct settings s;
	char path[64];
	int rc;

	cli_path(c, path, sizeof path);
	if (!k->run)
		return err_set(e, ERR_USAGE,
			"`berth %s` is not part of this program: reinstall berth.", path);
	if (cli_value(c, "team") && !(k->needs & TAKES_TEAM))
		return err_set(e, ERR_USAGE, "berth %s does not take a team file (-c FILE).", path);
	if (!(k->needs & ANY_STATE) && state_check(e) < 0)
		return -1;
	if (k->needs & NEEDS_ENGINE)
		runtime_on_wait(cli_progress_wait);
	if (!(k->needs & NEEDS_SETTINGS))
		return k->run(c, NULL, e);
	if (settings_load(cli_value(c, "settings"), &s, e) < 0)
		return -1;
	apply_options(&s, c);
	rc = k->run(c, &s, e);
	settings_release(&s);
	return rc;
}

/* Whether the terminal's characters are UTF-8; a locale that is named but not installed still says so. */
static bool wants_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *v = NULL;

	if (setlocale(LC_CTYPE, ""))
		return !strcasecmp(nl_langinfo(CODESET), "UTF-8");
	for (size_t i = 0; i < COUNT(names) && !(v && *v); i++)
		v = getenv(names[i]);
	return v && (strcasestr(v, "utf-8") || strcasestr(v, "utf8"));
}

/* Nothing else is the language's: to a Turkish one .GIT is not .git.  Before there are threads. */
static void set_locale(void)
{
	setlocale(LC_CTYPE, wants_utf8() ? "C.UTF-8" : "C");
}

int cli_main(const struct cli_command *root, int argc, char **argv)
{
	struct err e = ERR_INIT;
	AUTO_FREE char *endpoint = NULL;
	struct cli c;
	int rc;

	standard_open();
	set_locale();
	text_init();
	if (cli_parse(root, argc, argv, &c, &e) < 0)
		return cli_fail_command(&c, &e);
	if (c.help || (!c.command && !root->run)) /* started by hand */
		return cli_help(&c);
	rc = trace_open(getenv("BERTH_LOG"), &e) < 0 || cli_name_host(&c, &endpoint, &e) < 0
		? -1
		: run_command(&c, &e);
	rc = rc < 0 ? cli_fail_command(&c, &e) : rc;
	return cli_recorded(rc, rc ? rc : 1);
}
