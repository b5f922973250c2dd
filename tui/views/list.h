/*
 * list.h - every view there is.
 *
 * TABS are the ones with a number, in the order of their keys; a new one is a file in this folder
 * and a line here.  The others are pushed on top of a tab: `seed` of app_push says what they show.
 */
#ifndef TUI_VIEWS_LIST_H
#define TUI_VIEWS_LIST_H

#include "app/view.h"

#define TABS(TAB)       \
	TAB(agents)     \
	TAB(containers) \
	TAB(logs)       \
	TAB(jobs)       \
	TAB(clean)      \
	TAB(audit)      \
	TAB(events)     \
	TAB(host)       \
	TAB(bench)

#define TAB(name) extern const struct view_ops name##_view;
TABS(TAB)
#undef TAB

extern const struct view_ops help_view; /* seed: the view_ops of the view it explains */

/* seed: struct target, valid during app_push */
extern const struct view_ops inspect_view;

#endif
