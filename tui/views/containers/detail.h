/*
 * detail.h - everything about one container, on tabs: charts, isolation, limits, processes ...
 *
 * Thread: main.
 */
#ifndef CONTAINERS_DETAIL_H
#define CONTAINERS_DETAIL_H

#include "views/containers/containers.h"
#include "views/page.h"

/* `d` may be NULL (not here yet) or of another container (then it is not shown). */
void detail_draw(struct page *p, int tab, struct canvas *c, struct area a,
	const struct container *k, const struct detail *d, const struct moment *m);
void detail_turn(int *tab, int tabs); /* to the next tab or back */

#endif
