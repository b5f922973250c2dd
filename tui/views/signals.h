/*
 * signals.h - sending a signal to the container under the cursor: its name is typed, a dialog, `berth kill`.
 *
 * Thread: main.
 */
#ifndef TUI_VIEWS_SIGNALS_H
#define TUI_VIEWS_SIGNALS_H

#include "app/app.h"

/* Whom the line is about: a member of the view's state. */
struct signal_ask {
	char id[72], name[64], engine[256];
};

/* `c` NULL: there is no container on this row. */
void signal_ask_for(struct view *v, struct signal_ask *s, const struct container *c);
void signal_typed(struct view *v, const struct signal_ask *s, const char *text);

#endif
