/* bench_draw.h - one case of a run as a picture: a histogram per arm that builds up, figures, trends. */
#ifndef BENCH_DRAW_H
#define BENCH_DRAW_H

#include "terminal/terminal.h"
#include "views/bench/bench_live.h"

void bench_case_draw(
	struct canvas *c, struct area a, const struct live_run *r, const struct live_case *k);

#endif
