/* terminal_send.c - `berth terminal send`: types text and keys into an agent's terminal. */
#include <stdio.h>
#include <string.h>

#include <berth/agents.h>
#include <berth/arena.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/terminal.h>
#include <berth/text.h>

#include "cli/commands.h"
#include "cli/gate.h"

/* What is to be typed, and where. */
struct sending {
	const char *name;
	struct str text;
	struct str names; /* of keys, with a NUL behind each */
	const char **key;
	size_t nkeys;
};

static void join_words(char *const *word, int n, struct str *out)
{
	for (int i = 0; i < n; i++)
		str_addf(out, "%s%s", i ? " " : "", word[i]);
}

/* Each --key; one may name several: "Up Up Enter". */
static void read_keys(const struct cli *c, struct sending *s)
{
	size_t at = 0;

	for (size_t i = 0; i < c->ngiven; i++) {
		if (strcmp(c->given[i].option->name, "key") != 0)
			continue;
		for (const char *k = c->given[i].value; *(k += strspn(k, " "));) {
			size_t n = strcspn(k, " ");

			str_add(&s->names, k, n);
			str_addc(&s->names, '\0');
			s->nkeys++;
			k += n;
		}
	}
	s->key = xcalloc(s->nkeys + 1, sizeof *s->key);
	for (size_t i = 0; i < s->nkeys; i++) {
		s->key[i] = s->names.s + at;
		at += strlen(s->key[i]) + 1;
	}
}

/* AGENT [NAME] -- TEXT..., AGENT NAME TEXT..., AGENT TEXT, AGENT [NAME] --key KEY. */
static int read_sending(const struct cli *c, struct sending *s, struct err *e)
{
	bool named = c->nwords || s->nkeys ? c->argc > 1 : c->argc > 2;
	int from = named ? 2 : 1;

	s->name = named ? c->argv[1] : USUAL_NAME;
	if (c->nwords && c->argc > 2)
		return err_set(e, ERR_USAGE, "only AGENT and NAME can come before --, not `%.40s`.",
			c->argv[2]);
	join_words(c->argv + from, c->argc - from, &s->text);
	join_words(c->words, c->nwords, &s->text);
	return 0;
}

static int send_all(const struct cli *c, struct sending *s, struct err *e)
{
	struct terminal_typing typing;
	struct policy policy;
	struct arena mem;
	int rc;

	read_keys(c, s);
	if (read_sending(c, s, e))
		return -1;
	typing = (struct terminal_typing){s->text.s, s->text.len, s->key, s->nkeys};
	arena_init(&mem, 1024);
	rc = cli_policy(c, &policy, &mem, e);
	if (!rc)
		rc = agents_type_terminal(c->argv[0], s->name, &typing, &policy, e);
	arena_release(&mem);
	return rc;
}

int cli_terminal_send(const struct cli *c, const struct settings *s, struct err *e)
{
	struct sending sending = {.text = STR_INIT, .names = STR_INIT};
	int rc;

	(void)s;
	text_init();
	rc = send_all(c, &sending, e);
	if (!rc)
		printf("typed into terminal %s of %s\n", sending.name, c->argv[0]);
	str_release(&sending.text);
	str_release(&sending.names);
	free(sending.key);
	return rc ? -1 : cli_recorded(cli_finish() ? 1 : 0, 1);
}
