/* doctor_person.c - questions about the terminal, the directories and the settings of a person. */
#include <langinfo.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <berth/audit.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/keeper.h>
#include <berth/settings.h>

#include "cli/doctor.h"
#include "cli/run.h"
#include "terminal/terminal.h"

/* Is there a description of this terminal?  The places are those of terminfo(5) and Debian. */
static bool has_terminfo(const char *term)
{
	const char *home = getenv("HOME"), *own = getenv("TERMINFO");
	const char *const dirs[] = {own ? own : "/nowhere", home ? home : "/nowhere",
		"/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/lib/terminfo"};

	if (!*term || strchr(term, '/'))
		return false;
	for (size_t i = 0; i < COUNT(dirs); i++) {
		const char *below = i == 1 ? "/.terminfo" : "";
		AUTO_FREE char *letter = xasprintf("%s%s/%c/%s", dirs[i], below, *term, term);
		AUTO_FREE char *hex = xasprintf(
			"%s%s/%02x/%s", dirs[i], below, (unsigned)(unsigned char)*term, term);

		if (access(letter, R_OK) == 0 || access(hex, R_OK) == 0)
			return true;
	}
	return false;
}

static void check_terminal(const struct patient *p, struct answer *a)
{
	const char *term = getenv("TERM");

	(void)p;
	if (!term || !*term)
		answer(a, NOTED, "Set TERM: the console needs to know the terminal.",
			"TERM is not set");
	else if (!has_terminfo(term))
		answer(a, NOTED, "Install ncurses-term, or set TERM=xterm-256color.",
			"there is no description of the terminal %s here", term);
	else
		answer(a, FINE, NULL, "%s", term);
}

static void check_colours(const struct patient *p, struct answer *a)
{
	const char *term = getenv("TERM"), *depth = getenv("COLORTERM"), *no = getenv("NO_COLOR");

	(void)p;
	if (no && *no)
		answer(a, FINE, NULL, "none, as NO_COLOR asks");
	else if (depth && (!strcmp(depth, "truecolor") || !strcmp(depth, "24bit")))
		answer(a, FINE, NULL, "16 million (COLORTERM)");
	else if (term && (strstr(term, "256color") || strstr(term, "direct")))
		answer(a, FINE, NULL, "256");
	else
		answer(a, NOTED,
			"Set TERM=xterm-256color, or COLORTERM=truecolor if the terminal supports it.",
			"as the terminal's description says");
}

static void check_characters(const struct patient *p, struct answer *a)
{
	const char *codeset = nl_langinfo(CODESET);

	(void)p;
	if (!strcmp(codeset, "UTF-8"))
		answer(a, FINE, NULL, "UTF-8");
	else
		answer(a, NOTED,
			"Set LANG=C.UTF-8 (or your own language's): berth draws with ASCII until then.",
			"%s", codeset);
}

static void check_directory(
	int (*find)(char *, size_t, struct err *), enum verdict bad, struct answer *a)
{
	char path[PATH_MAX];
	struct err e = ERR_INIT;

	if (find(path, sizeof path, &e) < 0)
		answer(a, bad,
			"Do what the message says, or point the XDG variable at "
			"another directory.",
			"%s", e.msg);
	else
		answer(a, FINE, NULL, "%s", path);
}

static void runtime_place(const struct patient *p, struct answer *a)
{
	(void)p;
	check_directory(runtime_dir, MISSING, a);
}

static void state_place(const struct patient *p, struct answer *a)
{
	struct err e = ERR_INIT;

	(void)p;
	if (state_check(&e) == 0)
		check_directory(state_dir, MISSING, a);
	else
		answer(a, MISSING, "Run the command that the message names.", "%s", e.msg);
}

/* Written and read back, as far as that goes without a record of something that was not done. */
static void audit_log(const struct patient *p, struct answer *a)
{
	struct err e = ERR_INIT;
	struct settings s;
	bool warn = false;

	if (settings_load(cli_value(p->cli, "settings"), &s, NULL) == 0) {
		warn = s.audit_unavailable == AUDIT_WARN;
		settings_release(&s);
	}
	if (audit_works(NULL, &e) == 0)
		answer(a, FINE, NULL, "can be written, and reads back");
	else
		answer(a, MISSING,
			warn ? "Repair it: until then actions are counted, but not recorded."
			     : "Repair it: until then nothing is run or changed except "
			       "to free space (audit.unavailable: warn in berth.yaml "
			       "changes that).",
			"%s", e.msg);
}

static void limits_kept(const struct patient *p, struct answer *a)
{
	pid_t keeper = keeper_find();
	size_t held = keeper ? 0 : keeper_missed(), ends = keeper ? 0 : keeper_missed_ends();

	(void)p;
	if (keeper)
		answer(a, FINE, NULL, "kept by process %d", (int)keeper);
	else if (held)
		answer(a, NOTED, "Start it again: `berth up FILE` of these agents.",
			"keeper lost: nothing counts %zu workspace%s that agents have", held,
			held == 1 ? "" : "s");
	else if (ends)
		answer(a, NOTED, "Start it again: `berth up FILE` of these agents.",
			"keeper lost: nothing restarts the egress of %zu agent%s if it dies", ends,
			ends == 1 ? "" : "s");
	else
		answer(a, FINE, NULL, "no agent has a workspace of berth's, or egress");
}

static void config_place(const struct patient *p, struct answer *a)
{
	(void)p;
	check_directory(config_dir, NOTED, a);
}

static void first_problem(void *ctx, const struct err *e)
{
	struct err *first = ctx;

	if (first->kind == ERR_NONE)
		*first = *e;
}

static void check_own_settings(const struct patient *p, struct answer *a)
{
	struct err e = ERR_INIT;
	struct settings s;
	struct keymap keys;
	struct theme t;

	if (settings_load(cli_value(p->cli, "settings"), &s, &e) < 0) {
		answer(a, MISSING,
			"Correct the file: `berth config check FILE` shows when it is correct.",
			"%s", e.msg);
		return;
	}
	keymap_defaults(&keys);
	keymap_apply(&keys, &s.source, s.keys, first_problem, &e);
	if (e.kind == ERR_NONE && strcmp(s.theme, "auto") != 0)
		theme_load(s.theme, &t, &e);
	if (e.kind != ERR_NONE)
		answer(a, NOTED, "Correct the file: the rest of it is in effect.", "%s", e.msg);
	else if (s.source.root)
		answer(a, FINE, NULL, "%s", s.source.file);
	else
		answer(a, FINE, NULL, "the defaults: there is no berth.yaml");
	settings_release(&s);
}

static void ask_mcp(const struct patient *p, struct answer *a)
{
	char own[PATH_MAX], where[PATH_MAX], found[sizeof a->found];
	bool here = in_path("berth", where, sizeof where);
	const char *remedy;
	struct err e = ERR_INIT;
	int rc;

	if (runtime_program("berth-mcp", own, NULL) < 0 ||
		runtime_program("berth", own, NULL) < 0) {
		answer(a, MISSING, "Install berth again.", "berth-mcp is missing");
		return;
	}
	rc = doctor_try_mcp(cli_value(p->cli, "team"), here ? where : NULL, own, found,
		sizeof found, &remedy, &e);
	if (rc < 0)
		answer(a, NOTED, remedy, "%s", e.msg);
	else if (rc > 0)
		answer(a, FINE, NULL, "%s", found);
	else if (here)
		answer(a, FINE, NULL, "clients can start %.200s: berth -c FILE mcp --agent ID",
			where);
	else
		answer(a, NOTED, DOCTOR_IN_PATH, "`berth`, which clients start, is not in PATH");
}

const struct question doctor_person[] = {
	{"terminal", check_terminal},
	{"colours", check_colours},
	{"characters", check_characters},
	{"runtime_directory", runtime_place},
	{"state_directory", state_place},
	{"audit_log", audit_log},
	{"workspace_limits", limits_kept},
	{"config_directory", config_place},
	{"settings", check_own_settings},
	{"mcp", ask_mcp},
	{0},
};
