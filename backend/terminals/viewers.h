/*
 * viewers.h - those who are attached to a terminal, in the process that keeps it.
 *
 * The one who types is sent what the program prints, and first the whole screen (paint.h); so he is again when he has not
 * read for VIEWER_REST bytes, or when more changed than what is passed on can say.  All others are sent its cells, not more
 * often than VIEWERS_PAINT_MS says.  Nothing here waits for anybody.  Memory: for each VIEWER_REST and a screen.
 * Thread: one owner.
 */
#ifndef TERMINALS_VIEWERS_H
#define TERMINALS_VIEWERS_H

#include "terminals/emulate.h"
#include "terminals/seen.h"
#include "terminals/terminals.h"
#include "terminals/typed.h"

#define VIEWERS_MAX 8
#define VIEWERS_PAINT_MS 50
#define VIEWER_REST ((size_t)256 << 10)

struct viewer {
	int conn;
	char who[TERMINAL_WHO_MAX];
	int columns, rows;
	bool watches, types;
	struct typed typed;
	bool told;        /* who types */
	bool stale;       /* is to be sent the screen */
	int64_t shown_ms; /* when it was, clock_real_ms */
	struct str rest;  /* that it has not been sent yet */
};

struct viewers {
	struct viewer of[VIEWERS_MAX];
	size_t n;
};

/* What they are shown. */
struct viewed {
	const struct terminal_screen *screen;
	const struct seen *seen;
	struct terminal_cell pen;
	const struct emulator_cursor *saved; /* NULL: none */
};

/* The connection is theirs now.  He types if nobody does; an errno. */
int viewers_add(struct viewers *all, int conn, const struct terminals_attach *a);
void viewers_remove(struct viewers *all, size_t i);
/* His terminal has that size, or the nearest one that there may be: he is sent all of the screen. */
void viewer_resize(struct viewer *v, const struct terminals_size *size);
void viewers_close(struct viewers *all);
struct viewer *viewers_typist(struct viewers *all); /* NULL: nobody */
void viewers_take(struct viewers *all, size_t i);   /* he types from now on */

/* Another screen: each is sent all of it. */
void viewers_redraw(struct viewers *all);
/* The program printed that, which may pass; `n` 0: something changed. */
void viewers_print(
	struct viewers *all, const struct terminal_screen *s, const char *bytes, size_t n);
/* Does one of them have to be sent the screen now? */
bool viewers_due(const struct viewers *all);
/* Send what can be sent.  `what` NULL: no screen; `now`: the screen also to those whose time has not come. */
void viewers_send(struct viewers *all, const struct viewed *what, bool now);
/* -1: until one is readable, or one who has `rest` or is not told is writable. */
int viewers_wait_ms(const struct viewers *all);

#endif
