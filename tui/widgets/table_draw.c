/* table_draw.c - draws a table: columns fitted to the width, heads, rows, the columns dialog. */
#include "table_draw.h"

#include <string.h>

#include <berth/text.h>

#define GUTTER 1 /* mark or edge */
#define NARROWEST 8

static bool is_chosen(const struct table *t, size_t i)
{
	return t->chosen >> i & 1;
}

/* One that is not shown else is while the rows are in its order, which would say nothing without it. */
static bool is_drawn_for_order(const struct table *t, size_t i)
{
	return t->sort == i && t->columns[i].optional;
}

/* How soon a column goes: that of the order the last. */
static int column_keep(const struct table *t, size_t i)
{
	int keep = t->columns[i].keep;

	return keep && is_drawn_for_order(t, i) ? 1 : keep;
}

/* The column that goes first: the largest keep, the rightmost of equals; ncolumns: none may. */
static size_t least_column(const struct table *t)
{
	size_t worst = t->ncolumns;

	for (size_t i = 0; i < t->ncolumns; i++)
		if (t->w[i] && column_keep(t, i) &&
			(worst == t->ncolumns || column_keep(t, i) >= column_keep(t, worst)))
			worst = i;
	return worst;
}

static int total_width(const struct table *t, int gap)
{
	int sum = -gap;

	for (size_t i = 0; i < t->ncolumns; i++)
		if (t->w[i])
			sum += t->w[i] + gap;
	return sum;
}

/* The least keep above `last`; beyond UINT8_MAX: there is none. */
static int next_keep(const struct table *t, int last)
{
	int next = UINT8_MAX + 1;

	for (size_t i = 0; i < t->ncolumns; i++)
		if (column_keep(t, i) > last && column_keep(t, i) < next)
			next = column_keep(t, i);
	return next;
}

/* Widen columns to what they want, the most important ones first, as far as there is room. */
static int widen_columns(struct table *t, int spare, const int want[TABLE_COLUMNS_MAX])
{
	for (int keep = next_keep(t, -1); keep <= UINT8_MAX && spare > 0;
		keep = next_keep(t, keep)) {
		for (size_t i = 0; i < t->ncolumns; i++) {
			int more = want[i] - t->w[i];

			if (!t->w[i] || column_keep(t, i) != keep || more <= 0)
				continue;
			if (more > spare)
				more = spare;
			t->w[i] = (int16_t)(t->w[i] + more);
			spare -= more;
		}
	}
	return spare;
}

/* What is left first completes texts that are cut off; no column becomes wider than `most` for that. */
static int complete_columns(struct table *t, int spare, int most)
{
	int want[TABLE_COLUMNS_MAX] = {0};

	for (size_t i = 0; i < t->ncolumns; i++)
		want[i] = t->need[i] < most ? t->need[i] : most;
	return widen_columns(t, spare, want);
}

/* The rest goes to the columns that can use it. */
static int grow_columns(struct table *t, int spare)
{
	int shares = 0, given = 0;

	for (size_t i = 0; i < t->ncolumns; i++)
		if (t->w[i])
			shares += t->columns[i].grow;
	for (size_t i = 0; i < t->ncolumns && shares; i++) {
		int more = spare * t->columns[i].grow / shares;

		if (!t->w[i] || !t->columns[i].grow)
			continue;
		/* Beyond three times the ideal a column only tears a row apart. */
		if (more > 2 * t->columns[i].ideal)
			more = 2 * t->columns[i].ideal;
		t->w[i] = (int16_t)(t->w[i] + more);
		given += more;
	}
	return spare - given;
}

void table_fit(struct table *t, int x, int w)
{
	int gap = 1, spare, n = 0, ideal[TABLE_COLUMNS_MAX] = {0};
	size_t gone;

	for (size_t i = 0; i < t->ncolumns; i++)
		t->w[i] = is_drawn_for_order(t, i)                  ? t->columns[i].ideal
			: is_chosen(t, i) && !t->columns[i].nothing ? t->columns[i].min
								    : 0;
	while (total_width(t, gap) > w && (gone = least_column(t)) < t->ncolumns)
		t->w[gone] = t->w[gone] > t->columns[gone].min ? (int16_t)t->columns[gone].min : 0;
	spare = w - total_width(t, gap);
	if (spare < 0) {
		int first = t->w[0] + spare;

		t->w[0] = (int16_t)(first < NARROWEST ? NARROWEST : first);
		spare = 0;
	}
	for (size_t i = 0; i < t->ncolumns; i++) {
		n += t->w[i] > 0;
		ideal[i] = t->columns[i].ideal;
	}
	spare = widen_columns(t, spare, ideal);
	if (spare >= n - 1) {
		gap = 2;
		spare -= n - 1;
	}
	/* One very long name does not cut all the others off. */
	spare = complete_columns(t, spare, w / 4);
	spare = complete_columns(t, spare, w / 2);
	grow_columns(t, spare);
	for (size_t i = 0; i < t->ncolumns; i++) {
		t->x[i] = (int16_t)x;
		if (t->w[i])
			x += t->w[i] + gap;
	}
}

static void draw_table_head(const struct table *t, struct canvas *c, int y, int end)
{
	for (size_t i = 0; i < t->ncolumns; i++) {
		const struct table_column *col = &t->columns[i];
		bool sorted = t->sort == i;
		struct style st = sorted ? STYLE(COLUMN_SORT) : STYLE(COLUMN);
		int len = text_width(col->head, strlen(col->head)), x = t->x[i], w = t->w[i];
		int pad = col->sign ? 2 : 0;

		if (!w || x >= end)
			continue;
		if (w > end - x)
			w = end - x;
		if (col->right) {
			canvas_right(c, x, y, w, st, col->head);
			if (sorted && w > len)
				canvas_glyph(c, x + w - len - 1, y, st,
					t->inverted ? GLYPH_DOWN : GLYPH_UP);
		} else {
			canvas_clip(c, x + pad, y, w - pad, st, col->head);
			if (sorted && w - pad > len)
				canvas_glyph(c, x + pad + len, y, st,
					t->inverted ? GLYPH_DOWN : GLYPH_UP);
		}
	}
}

/* Signs before the first column's text: fold of a head, branch of a child's child. */
static int draw_tree(const struct table_row *r, struct canvas *c, int x, int y)
{
	int at = x;

	if (r->group) {
		at += 2 * r->depth;
		canvas_glyph(c, at, y, STYLE(GROUP), r->folded ? GLYPH_CLOSED : GLYPH_OPEN);
		return at + 2;
	}
	if (r->depth >= 2) {
		at += 2 * (r->depth - 1);
		canvas_glyph(c, at, y, STYLE(DIM), GLYPH_BRANCH);
		return at + 2;
	}
	return at;
}

static bool cell_text(
	const struct table *t, const struct table_row *r, size_t i, char *buf, struct style *st)
{
	buf[0] = '\0';
	*st = r->group ? STYLE(GROUP) : STYLE(TEXT);
	if (t->columns[i].text)
		t->columns[i].text(r, buf, TABLE_CELL_MAX, st);
	return buf[0];
}

/* A head's text may run over the empty cells to its right. */
static int text_room(const struct table *t, const struct table_row *r, size_t i, int end)
{
	int limit = t->x[i] + t->w[i];
	char buf[TABLE_CELL_MAX];
	struct style st;

	if (!r->group || t->columns[i].right)
		return limit < end ? limit : end;
	for (size_t j = i + 1; j < t->ncolumns; j++) {
		if (!t->w[j])
			continue;
		if (cell_text(t, r, j, buf, &st)) {
			limit = t->columns[j].right
				? t->x[j] + t->w[j] - text_width(buf, strlen(buf)) - 1
				: t->x[j] - 1;
			break;
		}
		limit = t->x[j] + t->w[j];
	}
	return limit < end ? limit : end;
}

/* Numbers, which are sorted largest first, have their room: what is cut off is a text. */
static bool is_measured(const struct table *t, const struct table_row *r, size_t i)
{
	return !r->group && !t->columns[i].right && !t->columns[i].descending;
}

/* Once a text was on screen its width stays: columns are not to move with every row that is scrolled. */
static void measure_cell(struct table *t, const struct table_row *r, size_t i, const char *text)
{
	int w = text_width(text, strlen(text)) + (t->columns[i].sign ? 2 : 0);

	if (i == 0 && r->depth >= 2)
		w += 2 * r->depth;
	if (w > t->need[i]) {
		t->need[i] = (int16_t)w;
		t->grew = true;
	}
}

static void draw_table_row(struct table *t, struct canvas *c, size_t at, int y, int end)
{
	const struct table_row *r = table_shown(t, at);
	bool current = at == t->cursor;
	char buf[TABLE_CELL_MAX];
	struct style st;
	int x0 = t->body.x;

	for (size_t i = 0; i < t->ncolumns; i++) {
		int x = t->x[i], limit;

		if (!t->w[i] || x >= end)
			continue;
		if (t->columns[i].draw && !r->group) {
			int w = t->w[i] < end - x ? t->w[i] : end - x;

			if (is_measured(t, r, i) && cell_text(t, r, i, buf, &st))
				measure_cell(t, r, i, buf);
			t->columns[i].draw(r, c, (struct area){x, y, w, 1});
			continue;
		}
		if (!cell_text(t, r, i, buf, &st) && i)
			continue;
		if (is_measured(t, r, i))
			measure_cell(t, r, i, buf);
		if (i == 0)
			x = draw_tree(r, c, x, y);
		limit = text_room(t, r, i, end);
		if (t->columns[i].right)
			canvas_right(c, x, y, limit - x, st, buf);
		else
			canvas_clip(c, x, y, limit - x, st, buf);
	}
	if (r->stale)
		canvas_restyle(c, (struct area){x0, y, end - x0, 1}, ROLE_STALE);
	if (r->marked)
		canvas_glyph(c, x0, y, STYLE(MARK), GLYPH_MARK);
	else if (current)
		canvas_glyph(c, x0, y, STYLE(ACCENT), GLYPH_EDGE);
	if (current)
		canvas_under(c, (struct area){x0, y, end - x0, 1}, ROLE_CURSOR);
	else if (r->marked)
		canvas_under(c, (struct area){x0, y, end - x0, 1}, ROLE_MARK);
}

static void scroll_rows(struct table *t)
{
	size_t page = t->page > 0 ? (size_t)t->page : 1;

	if (t->top + page > t->nshown)
		t->top = t->nshown > page ? t->nshown - page : 0;
	if (t->cursor < t->top)
		t->top = t->cursor;
	else if (t->cursor >= t->top + page)
		t->top = t->cursor - page + 1;
	/* The head above the first row of its group comes along when there is room for it. */
	if (t->top && t->top == t->cursor && t->cursor < t->nshown && page > 2 &&
		table_shown(t, t->top - 1)->depth < table_shown(t, t->top)->depth)
		t->top--;
}

static void draw_choice(struct table *t, struct canvas *c, struct area a)
{
	int rows = (int)t->ncolumns, w = 24, h = rows + 2, from = 0;
	struct area box;

	for (size_t i = 0; i < t->ncolumns; i++) {
		int len = (int)strlen(t->columns[i].name) + 10;

		w = len > w ? len : w;
	}
	h = h > a.h ? a.h : h;
	w = w > a.w ? a.w : w;
	box = (struct area){a.x + (a.w - w) / 2, a.y + (a.h - h) / 2, w, h};
	canvas_frame(c, box, STYLE(DIALOG));
	canvas_clip(c, box.x + 2, box.y, w - 3,
		(struct style){.role = ROLE_DIALOG, .attrs = ATTR_BOLD}, " Columns ");
	canvas_right(c, box.x + 10, box.y, w - 12, STYLE(DIALOG), " Space, Esc ");
	if ((int)t->choose_at >= h - 2)
		from = (int)t->choose_at - (h - 3);
	/* choose_box maps a click to a column: row 0 of it is column 0. */
	t->choose_box = (struct area){box.x, box.y + 1 - from, w, rows};
	for (int i = 0; i < h - 2 && from + i < rows; i++) {
		size_t col = (size_t)(from + i);
		bool on = col == t->choose_at;
		struct style st = on ? STYLE(BUTTON_FOCUS) : STYLE(DIALOG);

		canvas_fill(c, (struct area){box.x + 1, box.y + 1 + i, w - 2, 1}, st, ' ');
		if (on)
			canvas_glyph(c, box.x + 1, box.y + 1 + i, st, GLYPH_RIGHT);
		canvas_text(c, box.x + 3, box.y + 1 + i, 3, st, is_chosen(t, col) ? "[x]" : "[ ]");
		canvas_clip(c, box.x + 7, box.y + 1 + i, w - 9, st, t->columns[col].name);
	}
}

static void draw_rows(struct table *t, struct canvas *c, struct area a)
{
	int end = a.x + a.w;

	table_fit(t, a.x + GUTTER, a.w - GUTTER);
	if (a.h > 0)
		draw_table_head(t, c, a.y, end);
	for (int i = 0; i < t->body.h && t->top + (size_t)i < t->nshown; i++)
		draw_table_row(t, c, t->top + (size_t)i, t->body.y + i, end);
}

void table_draw(struct table *t, struct canvas *c, struct area a)
{
	t->body = (struct area){a.x, a.y + 1, a.w, a.h > 1 ? a.h - 1 : 0};
	t->page = t->body.h;
	scroll_rows(t);
	if (t->measured != t->nrows)
		memset(t->need, 0, sizeof t->need);
	t->measured = t->nrows;
	t->grew = false;
	draw_rows(t, c, a);
	/* Texts are measured as they are drawn: again, where one was wider than all before. */
	if (t->grew) {
		canvas_fill(c, a, STYLE(TEXT), ' ');
		draw_rows(t, c, a);
	}
	if (t->nshown == 0 && t->body.h > 0)
		canvas_wrap(c,
			(struct area){a.x + 3, t->body.y + (t->body.h > 2), a.w - 6,
				t->body.h - (t->body.h > 2)},
			STYLE(DIM),
			t->nitems          ? "nothing matches the filter; Esc clears it"
				: t->empty ? t->empty
					   : "nothing here");
	if (t->choosing)
		draw_choice(t, c, a);
}
