/* clean_rows.c - defines the columns of a clean-up plan, and draws one item in detail. */
#include "views/clean/clean_rows.h"

#include <stdio.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>

#include "views/pen.h"

/* Columns. */

static const struct {
	enum role role;
	enum glyph glyph;
} looks[] = {
	[CLEAN_WAITING] = {ROLE_DIM, GLYPH_RING},
	[CLEAN_CHECKING] = {ROLE_BUSY, GLYPH_DOT},
	[CLEAN_STOPPING] = {ROLE_BUSY, GLYPH_DOT},
	[CLEAN_STOPPED] = {ROLE_WARN, GLYPH_PAUSE},
	[CLEAN_REMOVING] = {ROLE_BUSY, GLYPH_DOT},
	[CLEAN_REMOVED] = {ROLE_GOOD, GLYPH_TICK},
	[CLEAN_GONE] = {ROLE_GOOD, GLYPH_TICK},
	[CLEAN_SKIPPED] = {ROLE_WARN, GLYPH_DASH},
	[CLEAN_REFUSED] = {ROLE_WARN, GLYPH_BANG},
	[CLEAN_KEPT] = {ROLE_DIM, GLYPH_RING},
	[CLEAN_FAILED] = {ROLE_BAD, GLYPH_CROSS},
};

static void item_name_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct shown *s = clean_row(r);

	*st = s->item->keep                     ? STYLE(DIM)
		: clean_orphan(s->item->reason) ? STYLE(STRONG)
						: STYLE(TEXT);
	snprintf(buf, cap, "%s", s->item->name);
}

static void item_name_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	const struct shown *s = clean_row(r);
	struct style st;
	char name[TABLE_CELL_MAX];

	item_name_text(r, name, sizeof name, &st);
	if (s->run)
		canvas_glyph(c, a.x, a.y,
			(struct style){.role = (uint8_t)looks[s->outcome.state].role},
			looks[s->outcome.state].glyph);
	else if (s->item->keep)
		canvas_glyph(c, a.x, a.y, STYLE(DIM), GLYPH_DASH);
	else if (s->item->running)
		canvas_glyph(c, a.x, a.y, STYLE(GOOD), GLYPH_DOT);
	canvas_clip_name(c, a.x + 2, a.y, a.w - 2, st, name);
}

static int item_name_compare(const struct table_row *a, const struct table_row *b)
{
	return strcmp(clean_row(a)->item->name, clean_row(b)->item->name);
}

static void type_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = STYLE(DIM);
	snprintf(buf, cap, "%s", clean_type_name(clean_row(r)->item->type));
}

static int type_compare(const struct table_row *a, const struct table_row *b)
{
	return (int)clean_row(a)->item->type - (int)clean_row(b)->item->type;
}

/* Why it may go or stays; once it is its turn, what becomes of it. */
static void why_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct shown *s = clean_row(r);

	if (s->run && s->outcome.state != CLEAN_WAITING) {
		*st = (struct style){.role = (uint8_t)looks[s->outcome.state].role};
		if (*s->outcome.said && s->outcome.state < CLEAN_SKIPPED)
			snprintf(buf, cap, "%s", s->outcome.said);
		else
			snprintf(buf, cap, "%s%s%s", clean_state_name(s->outcome.state),
				*s->outcome.said ? ": " : "", s->outcome.said);
	} else if (s->item->keep) {
		*st = STYLE(DIM);
		snprintf(buf, cap, "kept: %s", s->item->keep);
	} else {
		*st = clean_orphan(s->item->reason) ? STYLE(WARN) : STYLE(TEXT);
		snprintf(buf, cap, "%s", s->item->why);
	}
}

static void item_owner_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = clean_row(r)->item->foreign || clean_row(r)->item->keep ? STYLE(DIM) : STYLE(TEXT);
	snprintf(buf, cap, "%s", clean_row(r)->item->owner);
}

static int item_owner_compare(const struct table_row *a, const struct table_row *b)
{
	return strcmp(clean_row(a)->item->owner, clean_row(b)->item->owner);
}

static void item_size_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	int64_t bytes = clean_row(r)->item->bytes;
	char n[FORMAT_MAX];

	*st = bytes > 0 && !clean_row(r)->item->keep ? STYLE(TEXT) : STYLE(DIM);
	snprintf(buf, cap, "%s",
		bytes > 0            ? format_bytes(n, (uint64_t)bytes)
			: bytes == 0 ? "–"
				     : "?");
}

static int size_compare(const struct table_row *a, const struct table_row *b)
{
	int64_t x = clean_row(a)->item->bytes, y = clean_row(b)->item->bytes;

	return x < y ? -1 : x > y;
}

static void item_age_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct shown *s = clean_row(r);
	char n[FORMAT_MAX];

	*st = STYLE(DIM);
	snprintf(buf, cap, "%s",
		s->item->made_ms > 0 && s->now_ms > s->item->made_ms
			? format_age(n, s->now_ms - s->item->made_ms)
			: "–");
}

static int item_age_compare(const struct table_row *a, const struct table_row *b)
{
	int64_t x = clean_row(a)->item->made_ms, y = clean_row(b)->item->made_ms;

	return x > y ? -1 : x < y;
}

/* clang-format off */
const struct table_column clean_columns[] = {
	{.name = "name", .head = "NAME", .min = 19, .ideal = 26, .grow = 1, .sign = true,
		.text = item_name_text, .draw = item_name_draw, .compare = item_name_compare},
	{.name = "type", .head = "TYPE", .min = 9, .ideal = 9, .keep = 20, .text = type_text,
		.compare = type_compare},
	{.name = "why", .head = "WHY", .min = 10, .ideal = 34, .grow = 3, .keep = 5,
		.text = why_text},
	{.name = "owner", .head = "OWNER", .min = 26, .ideal = 26, .keep = 40, .text = item_owner_text,
		.compare = item_owner_compare},
	{.name = "size", .head = "SIZE", .min = 6, .ideal = 6, .right = true, .descending = true,
		.text = item_size_text, .compare = size_compare},
	{.name = "age", .head = "AGE", .min = 5, .ideal = 5, .keep = 30, .right = true,
		.descending = true, .text = item_age_text, .compare = item_age_compare},
};
/* clang-format on */

const size_t clean_ncolumns = COUNT(clean_columns);

/* One item in full. */
void clean_draw_item(struct canvas *c, struct area a, const struct shown *s)
{
	struct pen p = pen_on(c, (struct area){a.x + 2, a.y + 1, a.w - 4, a.h - 1}, 0);
	const struct clean_item *it = s->item;
	char text[512], n[FORMAT_MAX];
	int x = a.x + 1;

	canvas_hline(c, a.x, a.y, a.w, STYLE(RULE));
	canvas_text(c, x++, a.y, 1, STYLE(TEXT), " ");
	snprintf(text, sizeof text, "%s %.200s", clean_type_name(it->type), it->name);
	x += canvas_clip(c, x, a.y, a.w - 6, STYLE(STRONG), text);
	canvas_text(c, x, a.y, 1, STYLE(TEXT), " ");
	p.key_width = 10;
	if (s->run) {
		snprintf(text, sizeof text, "%s%s%s", clean_state_name(s->outcome.state),
			*s->outcome.said ? ". " : "", s->outcome.said);
		pen_fact(&p, "Outcome",
			(struct style){.role = (uint8_t)looks[s->outcome.state].role}, text);
	}
	if (it->keep)
		pen_fact(&p, "Kept", STYLE(WARN), it->keep);
	pen_fact(&p, "Reason", STYLE(TEXT), it->why);
	pen_fact(&p, "Owner", STYLE(TEXT), it->owner);
	pen_fact(&p, "Undo", STYLE(TEXT),
		it->running ? "stopped first, and started again when cancelled within 10 s"
			    : "not possible");
	if (it->bytes >= 0) {
		snprintf(text, sizeof text, "%s", format_bytes(n, (uint64_t)it->bytes));
		pen_fact(&p, "Size", STYLE(TEXT), text);
	}
	if (it->made_ms > 0)
		pen_fact(&p, "Made", STYLE(TEXT), format_stamp(n, it->made_ms));
	pen_fact(&p, "Id", STYLE(TEXT), it->id);
}
