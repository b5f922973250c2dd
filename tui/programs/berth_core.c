/*
 * berth_core.c - berth-core: the console and the commands that need the engine.
 *
 * Started by berth (main.c) with the same argv.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/settings.h>
#include <berth/standard.h>
#include <berth/text.h>

#include "cli/cli.h"
#include "cli/gate.h"
#include "cli/exec.h"
#include "cli/progress.h"
#include "cli/run.h"

/* berth turns into this program where the lane cannot be used. */
static int exec_engine(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	(void)e;
	return cli_exec(c, NULL, agents_run_engine);
}

static const struct {
	const char *path;
	cli_run_fn *run;
	bool bare; /* runs without settings: a wrong file must not be in its way */
} commands[] = {
	{"", cli_console, false},
	{"ps", cli_ps, false},
	{"up", cli_up, false},
	{"down", cli_down, false},
	{"exec", exec_engine, true},
	{"tool list", cli_tool_list, true},
	{"tool run", cli_tool_run, true},
	{"clean", cli_clean, false},
	{"doctor", cli_doctor, true},
	{"audit list", cli_audit_list, true},
	{"audit verify", cli_audit_verify, true},
	{"audit export", cli_audit_export, true},
	{"audit head", cli_audit_head, true},
	{"engine start", cli_engine_start, true},
	{"engine stop", cli_engine_stop, true},
	{"engine status", cli_engine_status, true},
	{"config check", cli_config_check, true},
};

/* Those that have a use for -c FILE. */
static const char *const with_team[] = {"", "exec", "tool list", "tool run"};

static bool takes_team(const char *path)
{
	for (size_t i = 0; i < COUNT(with_team); i++)
		if (!strcmp(path, with_team[i]))
			return true;
	return false;
}

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

static int dispatch_command(const struct cli *c, struct err *e)
{
	struct settings s;
	size_t i = 0;
	char path[64];
	int rc;

	cli_path(c, path, sizeof path);
	while (i < COUNT(commands) && strcmp(commands[i].path, path) != 0)
		i++;
	if (i == COUNT(commands))
		return err_set(e, ERR_USAGE,
			"`berth %s` is not part of this program: install berth again.", path);
	if (cli_value(c, "team") && !takes_team(path))
		return err_set(e, ERR_USAGE, "%s%s has no use for a team file (-c FILE).",
			*path ? "berth " : "the console", path);
	if (commands[i].bare)
		return commands[i].run(c, NULL, e);
	if (settings_load(cli_value(c, "settings"), &s, e) < 0)
		return -1;
	apply_options(&s, c);
	rc = commands[i].run(c, &s, e);
	settings_release(&s);
	return rc;
}

/* The terminal's characters; numbers and messages stay as in C.  Before there are threads.  A locale that is
 * named but not installed still says UTF-8. */
static void set_locale(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *v = NULL;

	if (setlocale(LC_CTYPE, ""))
		return;
	for (size_t i = 0; i < COUNT(names) && !(v && *v); i++)
		v = getenv(names[i]);
	if (v && (strcasestr(v, "utf-8") || strcasestr(v, "utf8")))
		setlocale(LC_CTYPE, "C.UTF-8");
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct cli c;
	int rc;

	standard_open();
	set_locale();
	text_init();
	if (cli_parse(argc, argv, &c, &e) < 0)
		return cli_fail(&e);
	if (c.command) /* the console shows it in its own way */
		runtime_on_wait(cli_progress_wait);
	rc = dispatch_command(&c, &e);
	rc = rc < 0 ? cli_fail(&e) : rc;
	return cli_recorded(rc, rc ? rc : 1);
}
