/*
 * table_view.h - members of struct view_ops for views whose state begins with a struct table.
 *
 * Thread: main.
 */
#ifndef VIEWS_TABLE_VIEW_H
#define VIEWS_TABLE_VIEW_H

#include <assert.h>
#include <stddef.h>

#include "app/app.h"
#include "widgets/widgets.h"

#define TABLE_COMES_FIRST(type) static_assert(offsetof(type, table) == 0, "table_view.h")

void table_view_wheel(struct view *v, int lines);
bool table_view_filter(struct view *v, const char *text, bool done, struct err *e);
int table_view_sort(struct view *v, const char *column, struct err *e);
void table_view_status(struct view *v, char *buf, size_t cap);
bool table_view_save(struct view *v, struct str *out);
void table_view_keep(struct view *v, struct jsonw *j);
void table_view_recall(struct view *v, const struct node *kept);
/* DO_BACK: unmarks all, unless there is a filter to end or nothing is marked. */
bool table_view_back(struct view *v);

#endif
