/*
 * template.h - a text of configs/ in named pieces, filled in.
 *
 * A line that begins with @@ names the piece that follows; {{name}} in it is a slot.  Values are escaped for HTML,
 * so what a result holds is never markup.  Thread: any.
 *
 * Why no library: Debian 12 has none in C.
 */
#ifndef BENCH_TEMPLATE_H
#define BENCH_TEMPLATE_H

#include <stdio.h>

struct slot {
	const char *name;
	const char *text; /* NULL: a number, with so many digits */
	double number;
	int digits;
};

/* `slots` ends in an empty one, NULL for none.  A piece or slot that is not there is a mistake of ours: CHECK. */
void template_fill(FILE *out, const char *file, const char *piece, const struct slot *slots);

#endif
