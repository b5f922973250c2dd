/* logs_page.c - draws the page of the Logs view. */
#include "views/logs/logs_page.h"

#include <stdio.h>
#include <string.h>

#include <berth/format.h>
#include <berth/text.h>

#include "views/wrap.h"

#define LEVEL_WITHIN 80 /* bytes of a line in which its level stands */

struct log_key key_of(const struct logs *s, size_t i)
{
	return i < s->buf->count ? logbuf_at(s->buf, i)->key
				 : (struct log_key){INT64_MAX, UINT64_MAX};
}

/* Places: arithmetic in rows. */

size_t rows_of(const struct logs *s, size_t line)
{
	const struct logbuf_line *l = logbuf_at(s->buf, line);

	return s->wrap && s->width > 0 ? wrap_rows(logbuf_text(s->buf, l), l->len, s->width) : 1;
}

struct place place_back(const struct logs *s, struct place p, size_t rows)
{
	while (rows) {
		if (p.row >= rows) {
			p.row -= rows;
			break;
		}
		rows -= p.row;
		if (!p.line) {
			p.row = 0;
			break;
		}
		p.line--;
		p.row = rows_of(s, p.line);
	}
	return p;
}

struct place place_forth(const struct logs *s, struct place p, size_t rows)
{
	while (rows && p.line < s->buf->count) {
		size_t left = rows_of(s, p.line) - p.row;

		if (rows < left) {
			p.row += rows;
			break;
		}
		rows -= left;
		p.line++;
		p.row = 0;
	}
	return p;
}

/* The highest top at which the end is on the screen. */
struct place last_top(const struct logs *s)
{
	return place_back(s, (struct place){s->buf->count, 0}, (size_t)(s->rows > 0 ? s->rows : 1));
}

bool place_before(struct place a, struct place b)
{
	return a.line != b.line ? a.line < b.line : a.row < b.row;
}

struct place top_of(const struct logs *s)
{
	struct place p = {logbuf_find(s->buf, s->top), s->top_row}, end = last_top(s);

	if (s->follow || place_before(end, p))
		return end;
	/* Its line may be gone: the oldest one held takes its place. */
	if (s->buf->count && p.row >= rows_of(s, p.line))
		p.row = 0;
	return p;
}

void set_top(struct logs *s, struct place p)
{
	s->top = key_of(s, p.line);
	s->top_row = p.row;
}

/* Drawing. */

/* The run that holds at byte `at`, and where the next begins: at most *stop. */
static struct style run_style(const struct logbuf *b, const struct logbuf_line *l, size_t at,
	struct style st, size_t *stop)
{
	struct ink k = {0};

	for (size_t i = 0; i < l->nruns; i++) {
		struct log_run r = logbuf_run(b, l, i);

		if (r.at > at) {
			*stop = r.at < *stop ? r.at : *stop;
			break;
		}
		k = r.ink;
	}
	return ink_style(k, st);
}

/* The text of one row with its colours and hits. */
static void draw_text(const struct logs *s, struct canvas *c, int x, int y, int w, struct style st,
	const struct logbuf_line *l, size_t from, size_t to)
{
	const char *text = logbuf_text(s->buf, l);
	size_t at = from, start, end;

	while (at < to && w > 0) {
		size_t stop = to;
		struct style now = run_style(s->buf, l, at, st, &stop);
		int used;

		if (pattern_next(&s->find, text, l->len, at, &start, &end) && start < to) {
			/* A hit may have begun in the row before. */
			if (start <= at) {
				stop = end < to ? end : to;
				now = STYLE(HIT);
			} else if (start < stop) {
				stop = start;
			}
		}
		used = canvas_textn(c, x, y, w, now, text + at, stop - at);
		x += used;
		w -= used;
		at = stop;
	}
}

static int stamp_width(int columns)
{
	return columns >= 100 ? 13 : columns >= 60 ? 9 : 0;
}

/* A line of JSON in columns; false: it is none, and is drawn as it is. */
static bool draw_fields(const struct logs *s, struct canvas *c, int x, int y, int w,
	const struct logbuf_line *l, bool *ret_more)
{
	struct log_fields f = {.text = STR_INIT};
	size_t at, start, end;

	if (l->flags & (LOG_GAP | LOG_CLIPPED) ||
		!fields_unfold(logbuf_text(s->buf, l), l->len,
			!s->stamps || !stamp_width(s->columns), &f)) {
		fields_release(&f);
		return false;
	}
	at = text_skip(f.text.s, f.text.len, s->shift);
	*ret_more = text_width(f.text.s + at, f.text.len - at) > w;
	while (at < f.text.len && w > 0) {
		size_t stop = f.text.len;
		struct style now = {.role = (uint8_t)fields_role(&f, at, &stop)};
		int used;

		if (pattern_next(&s->find, f.text.s, f.text.len, at, &start, &end)) {
			if (start <= at) {
				stop = end;
				now = STYLE(HIT);
			} else if (start < stop) {
				stop = start;
			}
		}
		used = canvas_textn(c, x, y, w, now, f.text.s + at, stop - at);
		x += used;
		w -= used;
		at = stop;
	}
	fields_release(&f);
	return true;
}

static void draw_stamp(struct canvas *c, int x, int y, int w, const struct logbuf_line *l)
{
	char when[FORMAT_MAX];

	if (l->flags & LOG_NO_STAMP)
		return;
	format_wall(when, l->key.ns / 1000000);
	if (w > 9)
		canvas_printf(
			c, x, y, w, STYLE(DIM), "%s.%03d", when, (int)(l->key.ns / 1000000 % 1000));
	else
		canvas_text(c, x, y, w, STYLE(DIM), when);
}

static int name_width(const struct logs *s, int columns)
{
	int most = columns / 5 < 24 ? columns / 5 : 24, w = 0;

	if (s->nsources < 2)
		return 0;
	for (size_t i = 0; i < s->nsources; i++) {
		int n = text_width(s->source[i].name, strlen(s->source[i].name));

		w = n > w ? n : w;
	}
	return (w < most ? w : most) + 1;
}

static struct style source_style(size_t source)
{
	return (struct style){.role = (uint8_t)(ROLE_SOURCE1 + source % 6)};
}

struct columns {
	int stamp, name, mark, text; /* x of each, relative */
	int stamp_w, name_w, text_w;
};

static struct columns lay_out_columns(const struct logs *s, struct area a)
{
	struct columns k = {
		.stamp_w = s->stamps ? stamp_width(a.w) : 0, .name_w = name_width(s, a.w)};

	k.stamp = 1;
	k.name = k.stamp + k.stamp_w;
	k.mark = k.name + k.name_w;
	k.text = k.mark + 1;
	k.text_w = a.w - k.text > 1 ? a.w - k.text : 1;
	return k;
}

/* What a line says of itself near its beginning; words as programs write them. */
static enum role level_role(const char *text, size_t len)
{
	static const struct {
		const char *word;
		enum role role;
	} levels[] = {{"ERROR", ROLE_BAD}, {"FATAL", ROLE_BAD}, {"CRITICAL", ROLE_BAD},
		{"PANIC", ROLE_BAD}, {"error:", ROLE_BAD}, {"Error:", ROLE_BAD},
		{"[error]", ROLE_BAD}, {"fatal:", ROLE_BAD}, {"warning:", ROLE_WARN},
		{"Warning:", ROLE_WARN}, {"[warn", ROLE_WARN}, {"level=error", ROLE_BAD},
		{"\"level\":\"error\"", ROLE_BAD}, {"WARN", ROLE_WARN}, {"level=warn", ROLE_WARN},
		{"\"level\":\"warn", ROLE_WARN}, {"DEBUG", ROLE_DIM}, {"TRACE", ROLE_DIM},
		{"level=debug", ROLE_DIM}};

	for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
		if (memmem(text, len < LEVEL_WITHIN ? len : LEVEL_WITHIN, levels[i].word,
			    strlen(levels[i].word)))
			return levels[i].role;
	return ROLE_TEXT;
}

/* One row on the screen: row `row` of line `l`, from byte `from` to `to`. */
static void draw_log_row(const struct logs *s, struct canvas *c, struct area a,
	const struct columns *k, int y, const struct logbuf_line *l, struct place p, size_t from,
	size_t to)
{
	const char *text = logbuf_text(s->buf, l);
	const struct source *src = l->source < s->nsources ? &s->source[l->source] : NULL;
	bool both = src && src->streams == ((1 << 1) | (1 << 2)), more = false;
	struct style st = {.role = (uint8_t)(l->nruns ? ROLE_TEXT : level_role(text, l->len))};

	if (l->flags & LOG_GAP) {
		canvas_glyph(c, a.x + k->mark, y, STYLE(WARN), GLYPH_BANG);
		canvas_textn(c, a.x + k->text, y, k->text_w, STYLE(WARN), text, l->len);
		return;
	}
	if (!p.row && k->stamp_w)
		draw_stamp(c, a.x + k->stamp, y, k->stamp_w, l);
	if (!p.row && k->name_w && src)
		canvas_clip_name(
			c, a.x + k->name, y, k->name_w - 1, source_style(l->source), src->name);
	/* A program that writes everything to stderr means nothing by it. */
	if (l->stream == 2 && both) {
		st.role = st.role == ROLE_TEXT ? ROLE_WARN : st.role;
		canvas_glyph(c, a.x + k->mark, y, STYLE(WARN), GLYPH_VLINE);
	}
	if (s->fields && draw_fields(s, c, a.x + k->text, y, k->text_w, l, &more)) {
		from = s->shift;
		to = more ? 0 : l->len;
	} else {
		draw_text(s, c, a.x + k->text, y, k->text_w, st, l, from, to);
	}
	if (!s->wrap) {
		if (from)
			canvas_glyph(c, a.x + k->text, y, STYLE(ACCENT), GLYPH_ELLIPSIS);
		if (to < l->len)
			canvas_glyph(c, a.x + a.w - 1, y, STYLE(ACCENT), GLYPH_ELLIPSIS);
	}
	if (to == l->len && l->flags & LOG_CLIPPED)
		canvas_right(c, a.x, y, a.w, STYLE(WARN), " cut here");
}

static void draw_lines(struct logs *s, struct canvas *c, struct area a)
{
	struct columns k = lay_out_columns(s, a);
	size_t cursor;
	struct place p;

	s->rows = a.h;
	s->width = k.text_w;
	s->columns = a.w;
	p = top_of(s);
	cursor = s->follow ? SIZE_MAX : logbuf_find(s->buf, s->cursor);
	s->last_line = p.line;
	for (int y = 0; y < a.h && p.line < s->buf->count;) {
		const struct logbuf_line *l = logbuf_at(s->buf, p.line);
		const char *text = logbuf_text(s->buf, l);
		size_t from = s->wrap ? 0 : text_skip(text, l->len, s->shift), to;

		for (size_t row = 0; s->wrap && row < p.row; row++)
			from = wrap_next(text, l->len, from, k.text_w);
		do {
			to = wrap_next(text, l->len, from, k.text_w);
			draw_log_row(s, c, a, &k, a.y + y, l, p, from, to);
			if (p.line == cursor) {
				canvas_glyph(c, a.x, a.y + y, STYLE(ACCENT), GLYPH_EDGE);
				canvas_under(c, (struct area){a.x, a.y + y, a.w, 1}, ROLE_CURSOR);
			}
			from = to;
			p.row++;
			y++;
		} while (s->wrap && from < l->len && y < a.h);
		s->last_line = p.line;
		p = (struct place){p.line + 1, 0};
	}
}

static size_t new_below(const struct logs *s)
{
	size_t below = s->last_line + 1 < s->buf->count ? s->buf->count - s->last_line - 1 : 0;
	uint64_t fresh = s->buf->serial - s->seen;

	return below < fresh ? below : (size_t)fresh;
}

/* What goes on, in words, at the right of the first line; returns the columns used. */
static int draw_state(const struct logs *s, struct canvas *c, struct area a)
{
	char text[200], n[FORMAT_MAX], more[64] = "";
	struct style st = STYLE(DIM);
	size_t fresh = s->follow ? 0 : new_below(s);

	if (s->buf->lost)
		snprintf(more, sizeof more, "%s lost · ", format_count(n, s->buf->lost));
	if (s->search != IDLE) {
		snprintf(text, sizeof text, "searching…");
		st = STYLE(BUSY);
	} else if (fresh) {
		snprintf(text, sizeof text, "%s%s new below", more, format_count(n, fresh));
		st = STYLE(ACCENT);
	} else if (s->ended) {
		snprintf(text, sizeof text, "%s%s", more, *s->why ? s->why : "ended");
	} else {
		snprintf(text, sizeof text, "%s%s %s · %s", more, format_count(n, s->buf->count),
			s->buf->count == 1 ? "line" : "lines",
			s->lost             ? "the engine does not answer"
				: s->follow ? "following"
					    : "not following");
		if (s->lost)
			st = STYLE(WARN);
	}
	if (text_width(text, strlen(text)) > a.w - 12)
		text[0] = '\0';
	canvas_right(c, a.x, a.y, a.w - 1, st, text);
	return text_width(text, strlen(text)) + 4;
}

static void draw_logs_head(struct logs *s, struct canvas *c, struct area a)
{
	int stop = a.x + a.w - draw_state(s, c, a), x = a.x + 1;

	for (size_t i = 0; i < s->nsources && x < stop; i++) {
		int left = stop - x, w = text_width(s->source[i].name, strlen(s->source[i].name));
		char more[32];

		snprintf(more, sizeof more, "and %zu more", s->nsources - i);
		if (i && left < w + 14 && i + 1 < s->nsources) {
			canvas_clip(c, x, a.y, left, STYLE(DIM), more);
			break;
		}
		if (s->nsources > 1)
			x += canvas_glyph(c, x, a.y, source_style(i), GLYPH_DOT) + 1;
		x += canvas_clip(c, x, a.y, left - 2,
			     s->nsources > 1 ? source_style(i) : STYLE(STRONG), s->source[i].name) +
			2;
	}
}

void logs_page_draw(struct logs *s, struct canvas *c, struct area a)
{
	draw_logs_head(s, c, a);
	a.y++;
	a.h--;
	draw_lines(s, c, a);
	if (!s->buf->count)
		canvas_wrap(c, (struct area){a.x + 2, a.y + 1, a.w - 4, a.h - 1}, STYLE(DIM),
			s->filling ? "Looking\u2026"
				: s->nparts && s->all.count
				? "No line passes the filter; Esc clears it."
				: s->lost
				? "Not read yet: the engine does not answer.  They appear once it does."
				: s->of_agent
				? "Nothing read yet.  What an agent's commands print is not here but kept "
				  "with them: o in Agents."
				: s->ended ? "The log is empty."
					   : "Nothing read yet.");
}
