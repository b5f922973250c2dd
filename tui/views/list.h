/*
 * list.h - every view there is, from the list in terminal/action.h.
 *
 * Pages are pushed on top of a tab: `seed` of app_push says what they show.  help_view: the view_ops of
 * the view it explains; inspect_view: a struct target, valid during app_push; journal_view: see
 * views/journal.h.
 */
#ifndef TUI_VIEWS_LIST_H
#define TUI_VIEWS_LIST_H

#include "app/app.h"
#include "widgets/widgets.h"

#define VIEW(id, name, ...) extern const struct view_ops name##_view;
VIEWS(VIEW, VIEW)
#undef VIEW

extern const struct view_ops *const all_tabs[];  /* NULL at the end */
extern const struct view_ops *const all_pages[]; /* likewise: those that open by a word */

/* Those that a configuration may name. */
extern const struct table_column container_columns[];
extern const size_t container_ncolumns;

#endif
