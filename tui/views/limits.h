/*
 * limits.h - changing limits of the container under the cursor: a line to edit, a dialog, `berth limit`.
 *
 * Thread: main.
 */
#ifndef TUI_VIEWS_LIMITS_H
#define TUI_VIEWS_LIMITS_H

#include "app/app.h"

/* Whom the line is about, and what it was: a member of the view's state. */
struct limits_ask {
	char id[72], name[64], engine[256], was[96];
};

/* `c` NULL: there is no container on this row. */
void limits_ask_for(struct view *v, struct limits_ask *l, const struct container *c);
void limits_typed(struct view *v, const struct limits_ask *l, const char *text);

#endif
