/* tab_paths.c - completes file names in a prompt when Tab is pressed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>

#include "app/app_state.h"

/* The line in which paths are typed now; *whole: it is one path and nothing else. */
static struct prompt *path_line(struct app *a, bool *whole)
{
	*whole = a->prompting == PROMPT_SAVE || a->prompting == PROMPT_FILE;
	if (a->palette.open)
		return palette_takes_words(&a->palette) ? &a->palette.line : NULL;
	return *whole || a->prompting == PROMPT_TASK || a->prompting == PROMPT_IMPORT ? &a->prompt
										      : NULL;
}

/* Where the word at the cursor begins: blanks behind a backslash are its own. */
static size_t word_begin(const struct prompt *p)
{
	size_t at = p->at;

	while (at > 0 && (p->text[at - 1] != ' ' || (at > 1 && p->text[at - 2] == '\\')))
		at--;
	return at;
}

/* Without the backslashes of a word. */
static char *plain_word(const char *text, size_t n)
{
	char *word = xmalloc(n + 1), *to = word;

	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\\' && i + 1 < n)
			i++;
		*to++ = text[i];
	}
	*to = '\0';
	return word;
}

char *complete_path(const char *typed)
{
	const char *home = getenv("HOME");
	AUTO_FREE char *here = NULL;

	if (typed[0] == '~' && typed[1] == '/' && home)
		return xasprintf("%s%s", home, typed + 1);
	if (typed[0] == '/')
		return xstrdup(typed);
	here = getcwd(NULL, 0);
	return xasprintf("%s/%s", here ? here : ".", typed);
}

static void ask_for_paths(struct app *a, const struct prompt *p, bool whole)
{
	size_t from = whole ? 0 : word_begin(p);
	AUTO_FREE char *typed =
		whole ? xstrndup(p->text, p->at) : plain_word(p->text + from, p->at - from);
	AUTO_FREE char *path = complete_path(typed);
	struct command *c = command_new(CMD_PATHS);

	memcpy(a->paths_for, p->text, p->len + 1);
	a->paths_at = p->at;
	a->paths_from = from;
	c->paths.begin = arena_strdup(&c->mem, path);
	a->paths_id = app_send(a, c);
}

bool complete_key(struct app *a, struct key k)
{
	bool whole;
	struct prompt *p = path_line(a, &whole);

	a->offers[0] = '\0';
	if (!p || k.mods || k.code != NAMED_TAB)
		return false;
	ask_for_paths(a, p, whole);
	return true;
}

/* What all names have in common from byte `from` on. */
static size_t common_length(const struct event *e, size_t from)
{
	size_t n = strlen(e->names[0]);

	for (size_t i = 1; i < e->nnames; i++)
		for (size_t k = from; k < n; k++)
			if (e->names[i][k] != e->names[0][k])
				n = k;
	/* Not through the middle of a character. */
	while (n > from && e->nnames > 1 && ((unsigned char)e->names[0][n] & 0xC0) == 0x80)
		n--;
	return n;
}

static bool is_typable(const char *name)
{
	for (size_t i = 0, n = strlen(name); i < n;) {
		uint32_t cp;

		i += utf8_next(name + i, n - i, &cp);
		if (cp == TEXT_BAD || text_cp_width(cp) < 0)
			return false;
	}
	return true;
}

static void insert_name(struct prompt *p, const char *text, size_t n, bool whole)
{
	for (size_t i = 0; i < n; i++) {
		if (!whole && strchr(" \\\"'", text[i]))
			prompt_insert(p, "\\", 1);
		prompt_insert(p, text + i, 1);
	}
}

static void offer_names(struct app *a, const struct event *e)
{
	size_t used = 0;

	for (size_t i = 0; i < e->nnames && used < sizeof a->offers; i++) {
		char name[64];

		text_clean(name, sizeof name, e->names[i]);
		used += (size_t)snprintf(
			a->offers + used, sizeof a->offers - used, "%s%s", i ? "  " : "", name);
	}
}

void complete_event(struct app *a, const struct event *e)
{
	bool whole;
	struct prompt *p = path_line(a, &whole);
	AUTO_FREE char *typed = NULL;
	const char *slash;
	size_t have, common;

	/* The line went on meanwhile: the answer is to another question. */
	if (e->id != a->paths_id || !p || p->at != a->paths_at ||
		strcmp(p->text, a->paths_for) != 0)
		return;
	a->dirty = a->urgent = true;
	if (!e->nnames) {
		snprintf(a->offers, sizeof a->offers, "nothing begins so");
		return;
	}
	typed = whole ? xstrndup(p->text, p->at)
		      : plain_word(p->text + a->paths_from, p->at - a->paths_from);
	slash = strrchr(typed, '/');
	have = strlen(slash ? slash + 1 : typed);
	common = common_length(e, have);
	if (common > have && is_typable(e->names[0]))
		insert_name(p, e->names[0] + have, common - have, whole);
	else if (e->nnames > 1)
		offer_names(a, e);
	if (a->palette.open)
		palette_edited(&a->palette);
}
