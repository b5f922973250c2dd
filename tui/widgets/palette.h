/*
 * palette.h - the command palette (`:`): fuzzy search over all actions with their keys, views, themes and a few words
 * (`:ro`, `:quit`, `:theme NAME`, `:jobs`).
 *
 * Thread: main.
 */
#ifndef TUI_WIDGETS_PALETTE_H
#define TUI_WIDGETS_PALETTE_H

#include "terminal/terminal.h"
#include "prompt.h"

struct palette_item {
	char name[48]; /* what is typed: "remove", "theme dark", "jobs" */
	char help[96];
	const char *also; /* other words that mean it, a blank between; NULL: none */
	char key[KEY_TEXT_MAX];
	bool greyed;      /* shown, says why it does nothing: read-only */
	bool takes_words; /* what is typed behind the name is meant for the action */
	enum { PALETTE_ACTION, PALETTE_VIEW, PALETTE_THEME, PALETTE_CUSTOM } kind;
	size_t custom;      /* PALETTE_CUSTOM: which of the settings' commands */
	enum action action; /* PALETTE_ACTION */
	int score;          /* of the match; <0: none */
};

struct palette {
	bool open;
	struct prompt line;
	struct palette_item *items;
	size_t nitems, items_cap;
	size_t *shown; /* best first */
	size_t nshown, at, top;
	int page;
	struct area list; /* for clicks */
	const char *note; /* shown below what is being typed; NULL or "": nothing */
};

void palette_open(struct palette *p, struct history *history);
void palette_add(struct palette *p, struct palette_item item);
void palette_ready(struct palette *p); /* after the last palette_add */
void palette_close(struct palette *p); /* frees; also at the end */

/* What was typed behind the item's name; "" when nothing or when it takes no words. */
/* Words are being typed behind the name of an action that takes some. */
bool palette_takes_words(const struct palette *p);
void palette_edited(struct palette *p); /* its line was, from outside */
const char *palette_words(const struct palette *p, const struct palette_item *it);

/* PROMPT_DONE: *ret is what was chosen, NULL if nothing matches. */
enum prompt_end palette_key(struct palette *p, struct key k, const struct palette_item **ret);
const struct palette_item *palette_click(struct palette *p, int x, int y);
void palette_paste(struct palette *p, const char *text, size_t n);
void palette_draw(struct palette *p, struct canvas *c);

/* How well `typed` is found in `name` in order; <0: not at all. */
int palette_score(const char *typed, const char *name);

#endif
