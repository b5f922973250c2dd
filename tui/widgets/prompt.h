/*
 * prompt.h - one line of text being typed: UTF-8, the usual line keys, history, paste.
 *
 * Thread: main.
 */
#ifndef TUI_WIDGETS_PROMPT_H
#define TUI_WIDGETS_PROMPT_H

#include "terminal/terminal.h"

#define PROMPT_MAX 512
#define HISTORY_MAX 50

struct history {
	char *line[HISTORY_MAX]; /* oldest first */
	size_t n;
};
void history_add(struct history *h, const char *line); /* empty and repeated ones are not kept */
void history_release(struct history *h);

struct prompt {
	char text[PROMPT_MAX]; /* terminated */
	size_t len, at;        /* bytes; `at` is where the cursor stands, on a character */
	bool selected;         /* all of it: what is typed next takes its place */
	struct history *history;
	size_t recalled;        /* index into history; history->n: the line being typed */
	char typed[PROMPT_MAX]; /* that line, kept while older ones are looked at */
};

enum prompt_end { PROMPT_STAYS, PROMPT_EDITED, PROMPT_DONE, PROMPT_CANCELLED };

/* `history` may be NULL; it must outlive the prompt. */
void prompt_open(struct prompt *p, const char *text, struct history *history);
void prompt_select(struct prompt *p); /* until the next key */
enum prompt_end prompt_key(struct prompt *p, struct key k);
/* Where the cursor stands; what does not fit is dropped. */
void prompt_insert(struct prompt *p, const char *text, size_t n);
/* Pasted text: controls become blanks, what does not fit is dropped. */
void prompt_paste(struct prompt *p, const char *text, size_t n);
/* Label, then the text with the terminal's cursor in it, scrolled so that the cursor shows. */
void prompt_draw(const struct prompt *p, struct canvas *c, int x, int y, int w, const char *label);

#endif
