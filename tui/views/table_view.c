/* table_view.c - implements what all views with a table share. */
#include "views/table_view.h"

void table_view_wheel(struct view *v, int lines)
{
	table_wheel(v->state, lines);
	app_dirty(v->app);
}

bool table_view_filter(struct view *v, const char *text, bool done, struct err *e)
{
	(void)done;
	return table_filter(v->state, text, e) == 0;
}

int table_view_sort(struct view *v, const char *column, struct err *e)
{
	app_dirty(v->app);
	return table_sort(v->state, column, e);
}

void table_view_status(struct view *v, char *buf, size_t cap)
{
	table_status(v->state, buf, cap);
}

bool table_view_save(struct view *v, struct str *out)
{
	table_save(v->state, out);
	return true;
}

void table_view_keep(struct view *v, struct jsonw *j)
{
	table_keep(v->state, j);
}

void table_view_recall(struct view *v, const struct node *kept)
{
	table_recall(v->state, kept);
}

bool table_view_back(struct view *v)
{
	struct table *t = v->state;
	size_t hidden;

	if (t->filter || !table_marked(t, &hidden))
		return false;
	table_unmark_all(t);
	return true;
}
