/* pen.c - writes paragraphs, tables and charts to a scrolled page. */
#include "views/pen.h"

#include <string.h>

#include "views/wrap.h"

struct pen pen_on(struct canvas *c, struct area a, int scroll)
{
	return (struct pen){.c = c, .a = a, .w = a.w, .scroll = scroll, .key_width = 14};
}

int pen_row(const struct pen *p)
{
	int y = p->y - p->scroll;

	return y >= 0 && y < p->a.h ? p->a.y + y : -1;
}

void pen_skip(struct pen *p, int rows)
{
	p->y += rows;
}

void pen_line(struct pen *p, struct style st, const char *text)
{
	int y = pen_row(p);

	if (y >= 0)
		canvas_clip(p->c, p->a.x + p->x, y, p->w, st, text);
	p->y++;
}

void pen_head(struct pen *p, const char *text)
{
	pen_line(p, STYLE(COLUMN), text);
}

void pen_text(struct pen *p, struct style st, int indent, const char *text)
{
	size_t len = strlen(text), at = 0, next;
	int w = p->w - indent > 4 ? p->w - indent : 4;

	do {
		int y = pen_row(p);

		next = wrap_next(text, len, at, w);
		if (next < len) {
			size_t space = next;

			/* Between words where there is a blank in the second half. */
			while (space > at + (next - at) / 2 && text[space - 1] != ' ')
				space--;
			if (space > at && text[space - 1] == ' ')
				next = space;
		}
		if (y >= 0)
			canvas_textn(p->c, p->a.x + p->x + indent, y, w, st, text + at, next - at);
		at = next;
		p->y++;
	} while (at < len);
}

void pen_fact(struct pen *p, const char *key, struct style st, const char *value)
{
	int y = pen_row(p), w = p->key_width < p->w / 2 ? p->key_width : p->w / 2;

	if (y >= 0)
		canvas_clip(p->c, p->a.x + p->x, y, w - 1, STYLE(DIM), key);
	pen_text(p, st, w, *value ? value : " ");
}

int pen_problem(struct canvas *c, struct area list, const char *sentence)
{
	int y = list.y + list.h - 1;

	if (!sentence || list.h < 4)
		return 0;
	canvas_glyph(c, list.x + 1, y, STYLE(BAD), GLYPH_BANG);
	canvas_clip(c, list.x + 3, y, list.w - 4, STYLE(BAD), sentence);
	return 1;
}
