/*
 * list.h - every view there is.
 *
 * The tabs are the ones with a number; a new one is a file in this folder and its name here and in
 * list.c.  The others are pushed on top of a tab: `seed` of app_push says what they show.
 */
#ifndef TUI_VIEWS_LIST_H
#define TUI_VIEWS_LIST_H

#include "app/view.h"
#include "widgets/widgets.h"

extern const struct view_ops *const all_tabs[]; /* NULL at the end */

extern const struct view_ops agents_view, containers_view, logs_view, jobs_view, clean_view,
	audit_view, events_view, host_view, bench_view;

extern const struct view_ops help_view; /* seed: the view_ops of the view it explains */

/* seed: struct target, valid during app_push */
extern const struct view_ops inspect_view;

/* Those that a configuration may name. */
extern const struct table_column container_columns[];
extern const size_t container_ncolumns;

#endif
