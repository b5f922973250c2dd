/*
 * pane.h - the detail of a row of a table: below the table, or in its place.
 *
 * For views whose state begins with a struct table (table_view.h).
 * Thread: main.
 */
#ifndef VIEWS_PANE_H
#define VIEWS_PANE_H

#include "views/page.h"

struct pane {
	enum { PANE_CLOSED, PANE_SPLIT, PANE_FULL } open;
	struct page page;
	struct area body; /* of both */
	int split_y;      /* first row of the detail, relative to the body; 0: there is no table */
};

/* Parts `a`: the table's part may have no height.  false: no detail is to be drawn.  `row`: the cursor is on one that has one. */
bool pane_part(struct pane *p, struct view *v, struct area a, bool row, struct area *list,
	struct area *below);
/* The arrows of a detail that was drawn in `a`, below a line of its own. */
void pane_arrows(const struct page *p, struct canvas *c, struct area a);

void pane_enter(struct pane *p);
/* One step out: full detail, detail, marks; a filter is taken away by the app before those. */
bool pane_back(struct pane *p, struct view *v);
/* Movement in a detail that takes all of the body, and DO_ZOOM; true when it was one. */
bool pane_act(struct pane *p, struct view *v, enum action a);
bool pane_click(struct pane *p, struct view *v, int x, int y, bool twice); /* true: enter the row */
void pane_wheel(struct pane *p, struct view *v, int lines);

#endif
