/*
 * dialog.h - the dialog that asks for confirmation.
 *
 * The focus is on Cancel.  What can be undone and is small is confirmed by `y` or the other button;
 * everything else by typing a word (a name, a count) and Enter, which does nothing before the word
 * is right.  Keys typed before a person can have seen the dialog are thrown away.
 *
 * Thread: main.
 */
#ifndef TUI_WIDGETS_DIALOG_H
#define TUI_WIDGETS_DIALOG_H

#include "terminal/terminal.h"
#include "prompt.h"

#define DIALOG_BLIND_NS \
	300000000 /* keys this soon after it opened were meant for something else \
		   */

enum dialog_end { DIALOG_STAYS, DIALOG_CANCELLED, DIALOG_CONFIRMED };

/* Filled by who asks; the texts are copied by dialog_open and may be hostile. */
struct dialog_ask {
	const char *title;  /* "Remove 3 containers" */
	const char *where;  /* "on devbox (docker 20.10.24, unix:///...)" */
	const char *effect; /* what happens, what is kept; lines separated by '\n' */
	size_t nitems;
	const char *const *items; /* names, scrollable */
	const char *verb;         /* the other button: "Remove" */
	const char *word;         /* must be typed; NULL: `y` is enough */
	bool danger;              /* cannot be undone: looks like it */
};

struct dialog {
	bool open;
	char *title, *where, *effect, *verb, *word;
	char **items;
	size_t nitems;
	bool danger, on_verb; /* focus; false: Cancel */
	const char *said;     /* why Enter did nothing */
	int64_t opened_ns;
	size_t top; /* first item shown */
	int page;   /* items that fitted when drawn last */
	struct prompt typed;
	struct area cancel_box, verb_box; /* for clicks */
};

void dialog_open(struct dialog *d, const struct dialog_ask *ask, int64_t now_ns);
void dialog_close(struct dialog *d); /* frees; also at the end */
enum dialog_end dialog_key(struct dialog *d, struct key k, int64_t now_ns);
enum dialog_end dialog_click(struct dialog *d, int x, int y, int64_t now_ns);
void dialog_draw(struct dialog *d, struct canvas *c);

#endif
