/* pane.c - parts a view between a table and the detail of its row. */
#include "views/pane.h"

#include "views/table_view.h"
#include "widgets/widgets.h"

bool pane_part(struct pane *p, struct view *v, struct area a, bool row, struct area *list,
	struct area *below)
{
	const struct table *t = v->state;

	p->body = *list = *below = a;
	if (p->open == PANE_SPLIT && row && a.h >= SPLIT_MIN_ROWS) {
		int want = (int)t->nshown + 1, most = a.h * 2 / 5;

		list->h = want < most ? want : most;
		list->h = list->h < 4 ? 4 : list->h;
		below->y += list->h;
		below->h -= list->h;
	} else if (p->open != PANE_CLOSED && row) {
		list->h = 0;
	}
	p->split_y = list->h;
	return p->open != PANE_CLOSED && below->h > 0 && p->split_y < a.h;
}

void pane_arrows(const struct page *p, struct canvas *c, struct area a)
{
	if (p->length > p->scroll + p->seen)
		canvas_glyph(c, a.x + a.w - 1, a.y + a.h - 1, STYLE(ACCENT), GLYPH_DOWN);
	if (p->scroll > 0)
		canvas_glyph(c, a.x + a.w - 1, a.y + 1, STYLE(ACCENT), GLYPH_UP);
}

static bool has_room(const struct pane *p)
{
	return p->body.h >= SPLIT_MIN_ROWS;
}

void pane_enter(struct pane *p)
{
	p->open = p->open == PANE_CLOSED && has_room(p) ? PANE_SPLIT : PANE_FULL;
}

bool pane_back(struct pane *p, struct view *v)
{
	if (p->open == PANE_CLOSED)
		return table_view_back(v);
	p->open = p->open == PANE_FULL && has_room(p) ? PANE_SPLIT : PANE_CLOSED;
	return true;
}

bool pane_act(struct pane *p, struct view *v, enum action a)
{
	if (a == DO_ZOOM) {
		p->open = p->open == PANE_FULL && has_room(p) ? PANE_SPLIT : PANE_FULL;
		return true;
	}
	return p->open != PANE_CLOSED && p->split_y == 0 && page_act(&p->page, v, a);
}

bool pane_click(struct pane *p, struct view *v, int x, int y, bool twice)
{
	if (p->split_y == 0 || y >= p->split_y)
		return false;
	app_dirty(v->app);
	return table_click(v->state, p->body.x + x, p->body.y + y) && twice && y > 0;
}

void pane_wheel(struct pane *p, struct view *v, int lines)
{
	if (p->split_y)
		table_wheel(v->state, lines);
	else
		page_scroll(&p->page, lines);
	app_dirty(v->app);
}
