/*
 * pen.h - writing paragraphs, tables of facts and charts down a scrolled page.
 *
 * A page is written from top to bottom in its own rows; what lies outside the area is skipped.
 * After the last line `y` is how long the page is.
 *
 * Thread: main.
 */
#ifndef TUI_VIEWS_PEN_H
#define TUI_VIEWS_PEN_H

#include "terminal/terminal.h"

struct pen {
	struct canvas *c;
	struct area a; /* where the page is seen */
	int x, w;      /* the column being written, relative to a.x */
	int y, scroll; /* the row being written, rows hidden above */
	int key_width; /* of pen_fact */
};

struct pen pen_on(struct canvas *c, struct area a, int scroll);
/* The row's place on the canvas, or -1 when it is not seen. */
int pen_row(const struct pen *p);
void pen_skip(struct pen *p, int rows);
void pen_head(struct pen *p, const char *text);
/* A line, clipped with an ellipsis. */
void pen_line(struct pen *p, struct style st, const char *text);
/* Text over as many rows as it takes, each indented by `indent`. */
void pen_text(struct pen *p, struct style st, int indent, const char *text);
/* "key      value": the value wrapped below itself. */
void pen_fact(struct pen *p, const char *key, struct style st, const char *value);

/* What went wrong with the row under the cursor, in the last line of its list; NULL: nothing did.
 * Returns the rows it took. */
int pen_problem(struct canvas *c, struct area list, const char *sentence);

#endif
