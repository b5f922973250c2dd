/*
 * clean_rows.h - the rows of the Clean-up view.
 *
 * Thread: main.
 */
#ifndef CLEAN_ROWS_H
#define CLEAN_ROWS_H

#include <berth/clean.h>

#include "widgets/widgets.h"

struct shown { /* one row */
	const struct clean_item *item;
	struct clean_outcome outcome;
	bool run; /* it is of the marked ones that are being, or were, carried out */
	int64_t now_ms;
};

static inline const struct shown *clean_row(const struct table_row *r)
{
	return r->item;
}

extern const struct table_column clean_columns[];
extern const size_t clean_ncolumns;

void clean_draw_item(struct canvas *c, struct area a, const struct shown *s);

#endif
