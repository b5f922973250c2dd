/* canvas.c - draws text into a grid of cells. */
#include "terminal/canvas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/check.h>
#include <berth/mem.h>
#include <berth/text.h>

#define CANVAS_MAX_COLUMNS 1000
#define CANVAS_MAX_ROWS 500

static const struct {
	const char *text;
	char ascii[2];
} glyphs[GLYPH_COUNT] = {
#define X(id, text, ascii) [GLYPH_##id] = {text, {ascii, 0}},
	GLYPHS(X)
#undef X
};

/* Twins of what is no glyph but occurs in our own texts, sparklines and meters. */
static const struct {
	uint16_t cp;
	char ascii;
} twins[] = {{0xB7, '.'}, {0xD7, 'x'}, {0x2014, '-'}, {0x2192, '>'}, {0x2190, '<'}, {0x2264, '<'},
	{0x2265, '>'}, {0x2581, '_'}, {0x2582, '.'}, {0x2583, '-'}, {0x2584, '='}, {0x2585, '+'},
	{0x2586, '*'}, {0x2588, '#'}, {0x2589, '#'}, {0x258A, '#'}, {0x258B, '|'}, {0x258D, '.'},
	{0x258E, '.'}, {0x258F, '.'}, {0x2588, '#'}, {0x251C, '|'}};

const char *glyph_text(const struct canvas *c, enum glyph g)
{
	return c->ascii ? glyphs[g].ascii : glyphs[g].text;
}

static char ascii_twin(uint32_t cp)
{
	char text[5] = {0};

	utf8_put(cp, text);
	for (int i = 0; i < GLYPH_COUNT; i++)
		if (strcmp(glyphs[i].text, text) == 0)
			return glyphs[i].ascii[0];
	for (size_t i = 0; i < COUNT(twins); i++)
		if (twins[i].cp == cp)
			return twins[i].ascii;
	return '?';
}

void canvas_init(struct canvas *c, bool ascii)
{
	*c = (struct canvas){.ascii = ascii, .cursor_x = -1, .cursor_y = -1};
}

void canvas_release(struct canvas *c)
{
	free(c->cells);
	canvas_init(c, c->ascii);
}

void canvas_resize(struct canvas *c, int columns, int rows)
{
	columns = columns < 1 ? 1 : columns > CANVAS_MAX_COLUMNS ? CANVAS_MAX_COLUMNS : columns;
	rows = rows < 1 ? 1 : rows > CANVAS_MAX_ROWS ? CANVAS_MAX_ROWS : rows;
	if (columns != c->columns || rows != c->rows) {
		free(c->cells);
		c->cells = xcalloc((size_t)columns * (size_t)rows, sizeof *c->cells);
		c->columns = columns;
		c->rows = rows;
	}
	canvas_clear(c);
}

void canvas_clear(struct canvas *c)
{
	for (size_t i = 0, n = (size_t)c->columns * (size_t)c->rows; i < n; i++)
		c->cells[i] = (struct cell){.width = 1};
	c->cursor_x = c->cursor_y = -1;
}

static struct cell *cell_at(struct canvas *c, int x, int y)
{
	return &c->cells[(size_t)y * (size_t)c->columns + (size_t)x];
}

static void blank_cell(struct cell *cell)
{
	*cell = (struct cell){.width = 1, .style = cell->style};
}

/* About to overwrite (x, y): a wide cell that this cuts in half leaves a blank. */
static void split_wide(struct canvas *c, int x, int y)
{
	struct cell *cell = cell_at(c, x, y);

	if (cell->width == 0 && x > 0)
		blank_cell(&cell[-1]);
	if (cell->width == 2 && x + 1 < c->columns)
		blank_cell(&cell[1]);
}

static void write_cell(
	struct canvas *c, int x, int y, struct style st, const char *text, size_t len, int w)
{
	struct cell *cell = cell_at(c, x, y);

	split_wide(c, x, y);
	if (w == 2)
		split_wide(c, x + 1, y);
	memcpy(cell->text, text, len);
	cell->len = (uint8_t)len;
	cell->width = (uint8_t)w;
	cell->style = st;
	if (w == 2)
		cell[1] = (struct cell){.style = st};
}

/* A combining mark joins the cell before it while there is room. */
static void combine_mark(struct canvas *c, int x, int y, const char *text, size_t len)
{
	struct cell *cell;

	if (x < 0)
		return;
	cell = cell_at(c, x, y);
	if (cell->width == 0 && x > 0)
		cell--;
	if (cell->len && cell->len + len <= CELL_BYTES) {
		memcpy(cell->text + cell->len, text, len);
		cell->len = (uint8_t)(cell->len + len);
	}
}

/* Zero-width characters that do not combine visibly but change how terminals measure what is beside
 * them (joiners, variation selectors): widths stay ours only without them. */
static bool is_dropped(uint32_t cp)
{
	return (cp >= 0x200B && cp <= 0x200D) || (cp >= 0xFE00 && cp <= 0xFE0F) ||
		(cp >= 0xE0100 && cp <= 0xE01EF) || (cp >= 0x1F3FB && cp <= 0x1F3FF);
}

/* What a text still has to draw: one decoded character at a time, at most two columns wide. */
struct drawn {
	char text[4];
	size_t len;
	int width;
};

static struct drawn neutral_char(const struct canvas *c, uint32_t cp)
{
	struct drawn d = {.len = 1, .width = 1};

	if (cp == '\t') {
		d.text[0] = ' ';
	} else if (cp < 0x20 || cp == 0x7F) {
		d = (struct drawn){.text = {'^', (char)(cp ^ 0x40)}, .len = 2, .width = 2};
	} else if (c->ascii && cp >= 0x80) {
		int w = text_cp_width(cp);

		/* A combining mark vanishes; a wide character keeps its two columns. */
		d.width = w < 0 ? 1 : w;
		d.len = (size_t)d.width;
		memset(d.text, ascii_twin(cp), sizeof d.text);
	} else {
		d.width = text_cp_width(cp);
		if (d.width < 0) {
			cp = TEXT_BAD;
			d.width = 1;
		}
		d.len = utf8_put(cp, d.text);
	}
	return d;
}

int canvas_textn(struct canvas *c, int x, int y, int w, struct style st, const char *text, size_t n)
{
	int end = w < 0 || w > c->columns - x ? c->columns : x + w, at = x;

	if (y < 0 || y >= c->rows || x >= c->columns)
		return 0;
	for (size_t i = 0; i < n && at < end;) {
		struct drawn d = {.len = 1, .width = 1};
		uint32_t cp = (unsigned char)text[i];

		if (cp >= 0x20 && cp < 0x7F) {
			d.text[0] = text[i++];
		} else {
			i += utf8_next(text + i, n - i, &cp);
			if (is_dropped(cp))
				continue;
			d = neutral_char(c, cp);
		}
		if (d.width == 0) {
			combine_mark(c, at > x ? at - 1 : -1, y, d.text, d.len);
			continue;
		}
		if (at + d.width > end)
			break;
		if (d.width == 2 && (unsigned char)d.text[0] < 0x80) {
			/* "^X" and "??": two plain cells */
			if (at >= 0)
				write_cell(c, at, y, st, d.text, 1, 1);
			if (at + 1 >= 0)
				write_cell(c, at + 1, y, st, d.text + 1, 1, 1);
		} else if (at >= 0) {
			write_cell(c, at, y, st, d.text, d.len, d.width);
		}
		at += d.width;
	}
	return at - x;
}

int canvas_text(struct canvas *c, int x, int y, int w, struct style st, const char *text)
{
	return canvas_textn(c, x, y, w, st, text, strlen(text));
}

int canvas_printf(struct canvas *c, int x, int y, int w, struct style st, const char *fmt, ...)
{
	char buf[4096]; /* wider than any canvas */
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof buf, fmt, ap);
	va_end(ap);
	return canvas_text(c, x, y, w, st, buf);
}

void canvas_right(struct canvas *c, int x, int y, int w, struct style st, const char *text)
{
	int used = text_width(text, strlen(text));

	if (used >= w)
		canvas_clip(c, x, y, w, st, text);
	else
		canvas_text(c, x + w - used, y, used, st, text);
}

int canvas_clip(struct canvas *c, int x, int y, int w, struct style st, const char *text)
{
	size_t n = strlen(text);
	int used;

	if (w < 0)
		w = c->columns - x;
	if (w <= 0)
		return 0;
	if (n <= (size_t)w || text_width(text, n) <= w)
		return canvas_textn(c, x, y, w, st, text, n);
	used = canvas_textn(c, x, y, w - 1, st, text, n);
	canvas_glyph(c, x + used, y, st, GLYPH_ELLIPSIS);
	return used + 1;
}

#define CLIPPED_NAME_MIN 10 /* below, two ends say less than one beginning */

int canvas_clip_name(struct canvas *c, int x, int y, int w, struct style st, const char *name)
{
	size_t n = strlen(name), from = 0;
	int tail = (w - 1) / 2, used;

	if (w < CLIPPED_NAME_MIN || text_width(name, n) <= w)
		return canvas_clip(c, x, y, w, st, name);
	while (text_width(name + from, n - from) > tail) {
		uint32_t cp;

		from += utf8_next(name + from, n - from, &cp);
	}
	used = canvas_textn(c, x, y, w - 1 - tail, st, name, n);
	canvas_glyph(c, x + used, y, st, GLYPH_ELLIPSIS);
	return used + 1 + canvas_textn(c, x + used + 1, y, tail, st, name + from, n - from);
}

/* Bytes of `text` that go on a line of `w` columns. */
static size_t fit_line(const char *text, int w)
{
	size_t n = strcspn(text, "\n"), fits = 0;
	int used = 0;

	for (size_t i = 0; i < n;) {
		uint32_t cp;
		size_t len = utf8_next(text + i, n - i, &cp);

		used += text_width(text + i, len);
		if (used > w)
			break;
		i += len;
		fits = i;
	}
	if (fits < n && text[fits] != ' ')
		for (size_t i = fits; i > fits / 2; i--)
			if (text[i] == ' ')
				return i;
	return fits ? fits : n > 0;
}

int canvas_wrap(struct canvas *c, struct area a, struct style st, const char *text)
{
	int lines = 0;

	while (*text) {
		size_t n = fit_line(text, a.w > 0 ? a.w : 1);

		if (c && lines < a.h)
			canvas_textn(c, a.x, a.y + lines, a.w, st, text, n);
		lines++;
		text += n;
		text += *text == '\n' ? 1 : strspn(text, " ");
	}
	return lines;
}

int canvas_glyph(struct canvas *c, int x, int y, struct style st, enum glyph g)
{
	return canvas_text(c, x, y, 1, st, glyphs[g].text);
}

/* The part of an area that lies on the canvas. */
static struct area clip_area(const struct canvas *c, struct area a)
{
	if (a.x < 0) {
		a.w += a.x;
		a.x = 0;
	}
	if (a.y < 0) {
		a.h += a.y;
		a.y = 0;
	}
	if (a.w > c->columns - a.x)
		a.w = c->columns - a.x;
	if (a.h > c->rows - a.y)
		a.h = c->rows - a.y;
	return a;
}

void canvas_fill(struct canvas *c, struct area a, struct style st, char ch)
{
	size_t len = ch == ' ' ? 0 : 1;

	a = clip_area(c, a);
	for (int y = a.y; y < a.y + a.h; y++)
		for (int x = a.x; x < a.x + a.w; x++)
			write_cell(c, x, y, st, &ch, len, 1);
}

void canvas_hline(struct canvas *c, int x, int y, int w, struct style st)
{
	for (int i = 0; i < w; i++)
		canvas_glyph(c, x + i, y, st, GLYPH_HLINE);
}

void canvas_frame(struct canvas *c, struct area a, struct style st)
{
	int right = a.x + a.w - 1, low = a.y + a.h - 1;

	canvas_fill(c, a, st, ' ');
	if (a.w < 2 || a.h < 2)
		return;
	canvas_hline(c, a.x, a.y, a.w, st);
	canvas_hline(c, a.x, low, a.w, st);
	for (int y = a.y + 1; y < low; y++) {
		canvas_glyph(c, a.x, y, st, GLYPH_VLINE);
		canvas_glyph(c, right, y, st, GLYPH_VLINE);
	}
	canvas_text(c, a.x, a.y, 1, st, c->ascii ? "+" : "\u250c");
	canvas_text(c, right, a.y, 1, st, c->ascii ? "+" : "\u2510");
	canvas_text(c, a.x, low, 1, st, c->ascii ? "+" : "\u2514");
	canvas_text(c, right, low, 1, st, c->ascii ? "+" : "\u2518");
}

void canvas_under(struct canvas *c, struct area a, enum role under)
{
	a = clip_area(c, a);
	for (int y = a.y; y < a.y + a.h; y++)
		for (int x = a.x; x < a.x + a.w; x++)
			cell_at(c, x, y)->style.under = (uint8_t)under;
}

void canvas_restyle(struct canvas *c, struct area a, enum role role)
{
	a = clip_area(c, a);
	for (int y = a.y; y < a.y + a.h; y++)
		for (int x = a.x; x < a.x + a.w; x++)
			cell_at(c, x, y)->style = (struct style){.role = (uint8_t)role,
				.attrs = cell_at(c, x, y)->style.attrs,
				.under = cell_at(c, x, y)->style.under};
}

static void dump_text(const struct cell *row, int columns, struct str *out)
{
	for (int x = 0; x < columns; x++) {
		if (row[x].len)
			str_add(out, row[x].text, row[x].len);
		else if (row[x].width)
			str_addc(out, ' ');
	}
	while (out->len && out->s[out->len - 1] == ' ')
		out->s[--out->len] = '\0';
	str_addc(out, '\n');
}

/* One letter per cell, `.` for plain text, trailing dots cut. */
static void dump_roles(const struct cell *row, int columns, bool under, struct str *out)
{
	static const char letters[] =
		".abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t from = out->len;
	bool any = false;

	str_adds(out, under ? "  _ " : "  ~ ");
	for (int x = 0; x < columns; x++) {
		uint8_t role = under ? row[x].style.under : row[x].style.role;

		any |= role != 0;
		str_addc(out, letters[role % (sizeof letters - 1)]);
	}
	while (out->len > from && out->s[out->len - 1] == '.')
		out->s[--out->len] = '\0';
	if (any) {
		str_addc(out, '\n');
	} else {
		out->len = from;
		out->s[from] = '\0';
	}
}

/* Colours that a log asked for: a hexadecimal digit for the first 16, `+` for others, `_` where it is the paper. */
static void dump_inks(const struct cell *row, int columns, struct str *out)
{
	static const char letters[] = ".123456789ABCDEF0";
	size_t from = out->len, last = 0;

	str_adds(out, "  ^ ");
	for (int x = 0; x < columns; x++) {
		uint8_t ink = row[x].style.ink, paper = row[x].style.paper;

		str_addc(out, paper ? '_' : ink < sizeof letters - 1 ? letters[ink] : '+');
		if (ink || paper)
			last = out->len;
	}
	out->len = last ? last : from;
	out->s[out->len] = '\0';
	if (last)
		str_addc(out, '\n');
}

void canvas_dump_rows(const struct canvas *c, int from, int to, struct str *out, bool styles)
{
	_Static_assert(ROLE_COUNT < 63, "one letter per role");
	for (int y = from; y < to; y++) {
		const struct cell *row = &c->cells[(size_t)y * (size_t)c->columns];

		dump_text(row, c->columns, out);
		if (styles) {
			dump_roles(row, c->columns, false, out);
			dump_roles(row, c->columns, true, out);
			dump_inks(row, c->columns, out);
		}
	}
}

void canvas_dump(const struct canvas *c, struct str *out, bool styles)
{
	canvas_dump_rows(c, 0, c->rows, out, styles);
}
