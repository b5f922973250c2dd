/* table_draw.h - how wide columns are; shared by drawing and its tests. */
#ifndef TUI_WIDGETS_TABLE_DRAW_H
#define TUI_WIDGETS_TABLE_DRAW_H

#include "table.h"

/* Fit the chosen columns into [x, x + w): fills t->x and t->w. */
void table_fit(struct table *t, int x, int w);

#endif
