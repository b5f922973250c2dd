/* bench_draw.h - one case of a run as a picture: a histogram per arm that builds up, figures, trends. */
#ifndef TUI_VIEWS_BENCH_DRAW_H
#define TUI_VIEWS_BENCH_DRAW_H

#include "canvas.h"
#include "views/bench_live.h"

void bench_case_draw(
	struct canvas *c, struct area a, const struct live_run *r, const struct live_case *k);

#endif
