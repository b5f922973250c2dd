/*
 * screens.c - golden tests: every tests/golden/NAME.script drives the real console on the fixture, and what it dumps must
 * equal NAME.txt.
 *
 *   golden_screens [NAME...]            compare
 *   golden_screens --update [NAME...]   rewrite the .txt files
 *   golden_screens --play [SCENARIO]    the same console on this terminal, by hand
 *
 * The first lines of a script may hold `#! scenario ascii read-only past theme=NAME settings=FILE`.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/arena.h>
#include <berth/mem.h>
#include <berth/policy.h>
#include <berth/settings.h>
#include <berth/str.h>
#include <berth/text.h>

#include "app/app.h"
#include "views/list.h"
#include "golden/fixture/fixture.h"
#include "lib/paths.h"

#define WALL_MS 1795211102000 /* 2026-11-20 21:45:02 UTC */

static int read_golden(const char *path, struct str *out)
{
	char buf[4096];
	FILE *f = fopen(path, "re");
	size_t n;

	if (!f)
		return -1;
	while ((n = fread(buf, 1, sizeof buf, f)) > 0)
		str_add(out, buf, n);
	fclose(f);
	return 0;
}

/* `#!` words of the script. */
struct words {
	char theme[64], settings[256]; /* "": not said */
	bool past;
};

static void read_options(const char *path, struct app_options *o, struct words *said)
{
	AUTO_STR struct str text = STR_INIT;
	char *rest = NULL;

	if (read_golden(path, &text) < 0 || strncmp(text.s, "#!", 2) != 0)
		return;
	*strchrnul(text.s, '\n') = '\0';
	for (char *w = strtok_r(text.s + 2, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
		if (strcmp(w, "ascii") == 0) {
			o->ascii = true;
		} else if (strcmp(w, "read-only") == 0) {
			o->read_only = true;
		} else if (strncmp(w, "theme=", 6) == 0) {
			snprintf(said->theme, sizeof said->theme, "%s", w + 6);
			o->theme = said->theme;
		} else if (strncmp(w, "settings=", 9) == 0) {
			snprintf(said->settings, sizeof said->settings, "%s/tests/golden/%s",
				test_source, w + 9);
		} else if (strncmp(w, "live=", 5) == 0) {
			char live[PATH_MAX];

			snprintf(live, sizeof live, "%s/tests/golden/%s", test_source, w + 5);
			setenv("BERTH_BENCH_LIVE", live, 1);
		} else if (strcmp(w, "past") == 0) {
			said->past = true;
		} else if (fixture_choose(w) < 0) {
			fprintf(stderr, "%s: no option is called %s\n", path, w);
			exit(2);
		}
	}
}

/* The defaults for "", else this file over them. */
static int read_settings(const char *file, struct settings *ret, struct err *e)
{
	return *file ? settings_load(file, ret, e) : settings_from(NULL, ret, e);
}

/* The console with its own settings, whatever this machine's are. */
static int run_console(struct app_options *o, const char *file, struct err *e)
{
	struct settings settings;
	struct policy policy;
	struct arena mem;
	struct backend_options bo = {.read_only = o->read_only, .program = "console"};
	int code;

	if (read_settings(file, &settings, e) < 0)
		return -1;
	arena_init(&mem, 0);
	policy_from_settings(&policy, &settings, &mem);
	o->settings = &settings;
	o->policy = &policy;
	o->backend = backend_start(&bo, e);
	code = app_run(o, e);
	backend_stop(o->backend);
	arena_release(&mem);
	settings_release(&settings);
	return code;
}

static int compare_screen(const char *name, bool update)
{
	AUTO_FREE char *script = xasprintf("%s/tests/golden/%s.script", test_source, name);
	/* The README shows one of them. */
	AUTO_FREE char *golden = strcmp(name, "picture") == 0
		? xasprintf("%s/.github/console.svg", test_source)
		: xasprintf("%s/tests/golden/%s.txt", test_source, name);
	AUTO_FREE char *new = NULL;
	AUTO_STR struct str got = STR_INIT, want = STR_INIT;
	struct app_options o = {.views = all_tabs,
		.help = &help_view,
		.output = &output_view,
		.network = &network_view,
		.pages = all_pages,
		.script = script,
		.out = &got};
	struct err e = ERR_INIT;
	struct words said = {0};
	FILE *f;

	setenv("BERTH_BENCH_LIVE", "", 1); /* unless the script says `live=` */
	fixture_choose("full");
	read_options(script, &o, &said);
	clock_freeze(1000000000000, WALL_MS);
	fixture_past(said.past);
	if (run_console(&o, said.settings, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	if (update) {
		f = fopen(golden, "we");
		if (!f || fwrite(got.s, 1, got.len, f) != got.len || fclose(f) != 0) {
			perror(golden);
			return 1;
		}
		return 0;
	}
	if (read_golden(golden, &want) < 0) {
		fprintf(stderr, "%s: %s; --update writes it\n", golden, strerror(errno));
		return 1;
	}
	if (got.len == want.len && memcmp(got.s, want.s, got.len) == 0)
		return 0;
	new = xasprintf("%.*s.new", (int)strlen(golden) - 4, golden);
	f = fopen(new, "we");
	if (f) {
		fwrite(got.s, 1, got.len, f);
		fclose(f);
	}
	fprintf(stderr, "%s differs: diff -u %s %s\n", name, golden, new);
	return 1;
}

static int is_screen(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return dot && strcmp(dot, ".script") == 0;
}

static int compare_screens(bool update)
{
	struct dirent **names;
	AUTO_FREE char *folder = xasprintf("%s/tests/golden", test_source);
	int n = scandir(folder, &names, is_screen, alphasort), failed = 0;

	for (int i = 0; i < n; i++) {
		*strrchr(names[i]->d_name, '.') = '\0';
		failed += compare_screen(names[i]->d_name, update);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	printf("%d screens, %d wrong\n", n, failed);
	return n <= 0 || failed > 0;
}

static int play_scenario(const char *scenario)
{
	struct app_options o = {0};
	struct err e = ERR_INIT;
	int code;

	if (scenario && fixture_choose(scenario) < 0)
		return 2;
	code = run_console(&o, "", &e);
	if (code < 0)
		fprintf(stderr, "berth: %s\n", e.msg);
	return code < 0 ? 1 : code;
}

int main(int argc, char **argv)
{
	bool update = argc > 1 && strcmp(argv[1], "--update") == 0;
	int failed = 0;

	text_init();
	if (argc > 1 && strcmp(argv[1], "--play") == 0)
		return play_scenario(argv[2]);
	setenv("TZ", "UTC", 1);
	if (argc <= 1 + update)
		return compare_screens(update);
	for (int i = 1 + update; i < argc; i++)
		failed += compare_screen(argv[i], update);
	return failed > 0;
}
