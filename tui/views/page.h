/*
 * page.h - a page of lines that is longer than the screen: scrolling, its arrows, its keys.
 *
 * A view keeps a struct page, draws with pen_on(..., page.scroll) and tells length and seen.
 * Thread: main.
 */
#ifndef VIEWS_PAGE_H
#define VIEWS_PAGE_H

#include "app/app.h"

struct page {
	int scroll; /* first row shown */
	int length; /* rows in all, and rows that fit: set by the drawing */
	int seen;
};

void page_scroll(struct page *p, int rows);

/* Draws once; again when the page has become shorter than where it was scrolled to. */
void page_draw(struct page *p, struct view *v, struct canvas *c, struct area a,
	void (*draw)(struct view *v, struct canvas *c, struct area a));

#define SPLIT_MIN_ROWS 15 /* of a body: below this the detail takes all of it */

/* The page of the row `id` below the list, which is made shorter but keeps `least` rows; `*of`: whose page it was, the
 * caller frees it.  false: there is no room for the list beside it. */
bool page_draw_below(struct page *p, char **of, const char *id, struct view *v, struct canvas *c,
	struct area *list, int least,
	void (*draw)(struct view *v, struct canvas *c, struct area a));

/* Movement: true when it was one. */
bool page_act(struct page *p, struct view *v, enum action a);

#endif
