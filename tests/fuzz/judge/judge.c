/*
 * judge.c - for tests/fuzz/shells.py: verdicts of the command rules, of many scripts at once.
 *
 *   rules-judge ALLOW BLOCK <scripts >verdicts
 *
 * Lists: patterns with a newline between them.  Scripts end with NUL.  A line each: under the allow list as
 * bash -c and as sh -c, under the block list the same; R is refused, . passes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

#include "policy/rules.h"

#define PATTERNS_MAX 64

static size_t split_patterns(char *text, const char **pattern)
{
	char *save = NULL;
	size_t n = 0;

	for (char *at = strtok_r(text, "\n", &save); at && n < PATTERNS_MAX;
		at = strtok_r(NULL, "\n", &save))
		pattern[n++] = at;
	return n;
}

static struct rule_set *compile_list(char *text, bool allow)
{
	static const char *const writable[] = {"/w"};
	struct rule_options o = {
		.home = "/home/agent", .workdir = "/w", .writable = writable, .nwritable = 1};
	const char *pattern[PATTERNS_MAX];
	size_t n = split_patterns(text, pattern);
	struct err e = ERR_INIT;
	struct rule_set *r;

	if (allow) {
		o.allow = pattern;
		o.nallow = n;
	} else {
		o.block = pattern;
		o.nblock = n;
	}
	r = rule_set_compile(&o, &e);
	if (!r) {
		fprintf(stderr, "%s\n", e.msg);
		exit(2);
	}
	return r;
}

int main(int argc, char **argv)
{
	static const char *const shell[] = {"bash", "sh"};
	struct rule_set *list[2];
	char *script = NULL;
	size_t size = 0;

	if (argc != 3)
		return 2;
	list[0] = compile_list(argv[1], true);
	list[1] = compile_list(argv[2], false);
	setlinebuf(stdout); /* where it ends too soon, the script is known */
	while (getdelim(&script, &size, '\0', stdin) >= 0) {
		for (size_t i = 0; i < 4; i++) {
			const char *command[] = {shell[i % 2], "-c", script};
			struct err e = ERR_INIT;

			putchar(rule_set_check(list[i / 2], command, 3, &e) ? 'R' : '.');
		}
		putchar('\n');
	}
	free(script);
	rule_set_free(list[0]);
	rule_set_free(list[1]);
	return 0;
}
