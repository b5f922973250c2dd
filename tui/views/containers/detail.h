/*
 * detail.h - everything about one container, on tabs: charts, isolation, limits, processes ...
 *
 * Thread: main.
 */
#ifndef CONTAINERS_DETAIL_H
#define CONTAINERS_DETAIL_H

#include "views/containers/containers.h"

struct detail_pane {
	int tab, scroll;
	int length, seen; /* rows of the page and of the pane at the last drawing */
};

/* `d` may be NULL (not here yet) or of another container (then it is not shown). */
void detail_draw(struct detail_pane *p, struct canvas *c, struct area a, const struct container *k,
	const struct detail *d, const struct moment *m);
void detail_turn(struct detail_pane *p, int tabs); /* to the next tab or back */
void detail_scroll(struct detail_pane *p, int rows);

#endif
