/*
 * row_line.h - a line that is typed about the container under the cursor: its limits, or a signal to it.  A dialog, then
 * `berth limit` or `berth kill`.
 *
 * Thread: main.
 */
#ifndef TUI_VIEWS_ROW_LINE_H
#define TUI_VIEWS_ROW_LINE_H

#include "app/app.h"

/* Whom the line is about, and which limits there were: a member of the view's state. */
struct row_line {
	bool signal;
	char id[72], name[64], engine[256], was[96];
};

/* DO_LIMITS and DO_SIGNAL; `c` NULL: there is no container on this row. */
void row_line_ask(struct view *v, struct row_line *l, enum action a, const struct container *c);
void row_line_typed(struct view *v, const struct row_line *l, const char *text);

#endif
