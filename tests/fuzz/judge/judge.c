/* judge.c - for tests/fuzz/shells.py: verdicts of the command rules, one after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "rules/rules.h"

#define PATTERNS_MAX 64

/* One field of the input, up to its NUL; false at the end. */
static bool read_field(char **text, size_t *size)
{
	return getdelim(text, size, '\0', stdin) >= 0;
}

/* Input: fields that end with NUL, four a question: shell, "allow" "block" or "harm", patterns with a
 * newline between them, script.  Output: a line each, "0" or "1" and why. */
int main(void)
{
	char *field[4] = {NULL};
	size_t size[4] = {0};

	for (;;) {
		const char *pattern[PATTERNS_MAX], *save = NULL;
		static const char *const writable[] = {"/w"};
		struct rule_options o = {.home = "/home/agent",
			.workdir = "/w",
			.writable = writable,
			.nwritable = 1};
		struct err e = ERR_INIT;
		struct rule_set *r;
		char shown[400];
		size_t n = 0;

		for (size_t i = 0; i < COUNT(field); i++)
			if (!read_field(&field[i], &size[i]))
				goto out;
		for (char *at = strtok_r(field[2], "\n", (char **)&save); at && n < PATTERNS_MAX;
			at = strtok_r(NULL, "\n", (char **)&save))
			pattern[n++] = at;
		if (!strcmp(field[1], "allow")) {
			o.allow = pattern;
			o.nallow = n;
		} else if (!strcmp(field[1], "block")) {
			o.block = pattern;
			o.nblock = n;
		}
		r = rule_set_compile(&o, &e);
		if (!r) {
			fprintf(stderr, "%s\n", e.msg);
			return 2;
		}
		if (rule_set_check(r, (const char *[]){field[0], "-c", field[3]}, 3, &e))
			printf("1 %s\n", text_clean(shown, sizeof shown, e.msg));
		else
			printf("0\n");
		fflush(stdout);
		rule_set_free(r);
	}
out:
	for (size_t i = 0; i < COUNT(field); i++)
		free(field[i]);
	return 0;
}
