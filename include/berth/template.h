/*
 * template.h - a shipped text of configs/ in named pieces, filled in.
 *
 * A line that begins with @@ names the piece that follows; {{name}} in it is a slot.  Values are escaped for HTML,
 * so what they hold is never markup: neutralised (text.h), cut at TEMPLATE_TEXT_MAX bytes.  Thread: any.
 *
 * Why no library: Debian 12 has none in C.
 */
#ifndef BERTH_TEMPLATE_H
#define BERTH_TEMPLATE_H

#include <stdio.h>

#define TEMPLATE_TEXT_MAX 600

struct slot {
	const char *name;
	const char *text; /* NULL: a number, with so many digits */
	double number;
	int digits;
};

#define SLOT_TEXT(slot, value)                  \
	{                                       \
		.name = (slot), .text = (value) \
	}
#define SLOT_NUMBER(slot, value, places)                                      \
	{                                                                     \
		.name = (slot), .number = (double)(value), .digits = (places) \
	}
#define SLOT_COUNT(slot, value) SLOT_NUMBER(slot, value, 0)

/* `slots` ends in an empty one, NULL for none.  A missing piece or slot is a bug: CHECK. */
void template_fill(FILE *out, const char *file, const char *piece, const struct slot *slots);

#endif
