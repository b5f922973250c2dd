/*
 * kept_routes.c - saves an agent's routes for a restart of its egress process: references, never keys.
 *
 * What `up` told the end, but for "key VALUE": "secret file PATH", "secret command" with a line "word ..." for each of its
 * words, and "secret env NAME".  That one was the shell's of `up`, which is gone; this process may have been started from
 * another one, where the variable is another key.
 */
#include <stdio.h>
#include <string.h>

#include <berth/keeper.h>
#include <berth/mem.h>
#include <berth/route.h>

#include "container/container.h"

#define WORDS_MAX 64

struct kept_secret {
	bool wanted;
	struct secret_def def;
	const char *word[WORDS_MAX];
};

/* The value never stands anywhere but in `out`. */
static void add_kept_key(struct kept_secret *s, struct str *out, unsigned *missing)
{
	struct secret_values v = {0};
	struct err ignored = ERR_INIT;

	if (!s->wanted)
		return;
	s->wanted = false;
	s->def.command.word = s->word;
	if (s->def.from == SECRET_ENV || (s->def.from == SECRET_COMMAND && !s->def.command.n) ||
		secrets_add(&v, &s->def, &ignored) ||
		!route_key_fits(v.secret->value, v.secret->len))
		++*missing;
	else
		str_addf(out, "key %.*s\n", (int)v.secret->len, v.secret->value);
	secrets_release(&v);
}

static void begin_kept_secret(struct kept_secret *s, char *rest)
{
	char *source = strchr(rest, ' ');

	if (source)
		*source++ = '\0';
	*s = (struct kept_secret){.wanted = true,
		.def = {.name = "of a route",
			.from = !strcmp(rest, "file") && source ? SECRET_FILE
				: !strcmp(rest, "command")      ? SECRET_COMMAND
								: SECRET_ENV,
			.source = source}};
}

void keeper_resolve_routes(char *text, struct str *out, unsigned *missing)
{
	struct kept_secret s = {0};
	char *save = NULL;

	*missing = 0;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!strncmp(line, "word ", 5) && s.wanted && s.def.command.n < WORDS_MAX) {
			s.word[s.def.command.n++] = line + 5;
			continue;
		}
		add_kept_key(&s, out, missing);
		if (!strncmp(line, "secret ", 7))
			begin_kept_secret(&s, line + 7);
		else
			str_addf(out, "%s\n", line);
	}
	add_kept_key(&s, out, missing);
}
