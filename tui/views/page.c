/* page.c - scrolls a page of lines. */
#include "views/page.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

#include "app/app.h"

void page_scroll(struct page *p, int rows)
{
	int most = p->length > p->seen ? p->length - p->seen : 0;

	p->scroll += rows;
	p->scroll = p->scroll > most ? most : p->scroll < 0 ? 0 : p->scroll;
}

void page_draw(struct page *p, struct view *v, struct canvas *c, struct area a,
	void (*draw)(struct view *v, struct canvas *c, struct area a))
{
	int was = p->scroll;

	draw(v, c, a);
	page_scroll(p, 0);
	if (p->scroll != was) {
		canvas_fill(c, a, STYLE(TEXT), ' ');
		draw(v, c, a);
	}
	if (p->length > p->scroll + p->seen)
		canvas_glyph(c, a.x + a.w - 1, a.y + a.h - 1, STYLE(ACCENT), GLYPH_DOWN);
	if (p->scroll)
		canvas_glyph(c, a.x + a.w - 1, a.y, STYLE(ACCENT), GLYPH_UP);
}

bool page_draw_below(struct page *p, char **of, const char *id, struct view *v, struct canvas *c,
	struct area *list, int least, void (*draw)(struct view *v, struct canvas *c, struct area a))
{
	struct area below = *list;
	bool beside = list->h + 1 >= SPLIT_MIN_ROWS; /* and the line of headings */

	if (beside) {
		list->h = list->h / 3 < least ? least : list->h / 3;
		below.y += list->h;
		below.h -= list->h;
	}
	if (!*of || strcmp(*of, id) != 0) {
		free(*of);
		*of = xstrdup(id);
		p->scroll = 0;
	}
	page_draw(p, v, c, below, draw);
	return beside;
}

bool page_act(struct page *p, struct view *v, enum action a)
{
	int rows = action_rows(a, p->seen);

	if (!rows)
		return false;
	page_scroll(p, rows);
	app_dirty(v->app);
	return true;
}
