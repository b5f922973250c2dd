/*
 * holdings.h - shared by the files of the views Images, Volumes and Networks: holdings.c (the views),
 * holdings_columns.c, holdings_page.c (details).
 *
 * Thread: main.
 */
#ifndef VIEWS_HOLDINGS_HOLDINGS_H
#define VIEWS_HOLDINGS_HOLDINGS_H

#include <berth/holdings.h>

#include "widgets/widgets.h"

struct held_row {
	const struct holding *item;
	int64_t now_ms; /* when the list was read */
};

static inline const struct holding *held_item(const struct table_row *r)
{
	return ((const struct held_row *)r->item)->item;
}

struct held_columns {
	const struct table_column *column;
	size_t n;
};
extern const struct held_columns held_columns[HOLDING_KINDS];

/* What a person calls it: a tag, "(no name)". */
const char *held_name(enum holding_kind k, const struct holding *h);

/* `layers`: of an image, with its history; NULL: not known yet. */
struct pen;
void held_write_page(
	struct pen *p, enum holding_kind k, const struct holding *h, const struct holding *layers);

#endif
