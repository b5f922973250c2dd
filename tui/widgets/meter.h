/*
 * meter.h - numbers as pictures: bars, sparklines, charts.  In ASCII mode all have their twins.
 *
 * Thread: main.
 */
#ifndef TUI_WIDGETS_METER_H
#define TUI_WIDGETS_METER_H

#include "terminal/terminal.h"

/* A bar of `w` columns, `fraction` 0..1 of it filled (<0: unknown, all empty).  More than nothing
 * shows at least half a column; only all of it fills the last one.  Rows of bars stay apart. */
void meter_bar(struct canvas *c, int x, int y, int w, enum role full, double fraction);
/* As above, the role by how full it is: BAR, from `warn` BAR_WARN, from `bad` BAR_BAD. */
void meter_level(struct canvas *c, int x, int y, int w, double fraction, double warn, double bad);

/* The newest `w` of n values as one row of blocks, the newest at the right.  `top` is the value of
 * a full block; 0: the largest shown. */
void meter_spark(struct canvas *c, int x, int y, int w, struct style st, const uint16_t *v, int n,
	double top);

#define METER_NEAR 0.85 /* of a limit: there a chart against it has a line */

/* A line across the chart that is drawn over it next, at that part of its height. */
void meter_level_line(struct canvas *c, struct area a, struct style st, double fraction);

/* How many values a column of a chart shows. */
int meter_each(const struct canvas *c);

/* A filled curve in braille: two values a column, four steps a row, the newest at the right; else one and two.
 * A value that is not a number is a gap.  `top` as above; returns the value that the upper edge stands for. */
double meter_chart(
	struct canvas *c, struct area a, struct style st, const float *v, int n, double top);

#endif
