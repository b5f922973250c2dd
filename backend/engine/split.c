/* split.c - cuts a stream into frames, lines and JSON objects. */
#include "engine/split.h"

#include <string.h>

#define SECOND_NS 1000000000LL /* of which podman 4 has no part in a stamp */

int demux_feed(struct demux *d, const char *bytes, size_t n, demux_fn fn, void *ctx, struct err *e)
{
	while (n > 0) {
		size_t take;

		if (d->left == 0) {
			take = 8 - d->have < n ? 8 - d->have : n;
			memcpy(d->head + d->have, bytes, take);
			d->have += (unsigned)take;
			bytes += take;
			n -= take;
			if (d->have < 8)
				return 0;
			if (d->head[0] > 3 || d->head[1] || d->head[2] || d->head[3])
				return err_set(e, ERR_PROTOCOL,
					"the stream is not made of frames: it begins %02x%02x%02x%02x",
					d->head[0], d->head[1], d->head[2], d->head[3]);
			d->left = (uint32_t)d->head[4] << 24 | (uint32_t)d->head[5] << 16 |
				(uint32_t)d->head[6] << 8 | d->head[7];
			d->have = 0;
			d->fresh = true;
			continue;
		}
		take = d->left < n ? d->left : n;
		fn(ctx, d->head[0], bytes, take);
		d->fresh = false;
		d->left -= (uint32_t)take;
		bytes += take;
		n -= take;
	}
	return 0;
}

bool demux_inside(const struct demux *d)
{
	return d->left || d->have;
}

void lines_init(struct lines *l, const struct log_span *as, bool raw)
{
	*l = (struct lines){.most = as && as->line_max ? as->line_max : LOG_LINE_MAX,
		.run_ns = as ? as->started_ns - as->started_ns % SECOND_NS : 0,
		.pieces = as && as->pieces,
		.raw = raw};
	str_init(&l->part[0].text);
	str_init(&l->part[1].text);
}

void lines_release(struct lines *l)
{
	str_release(&l->part[0].text);
	str_release(&l->part[1].text);
}

/* Engines pass on a line that is longer than this in pieces, each with the stamp of the first. */
#define ENGINE_PIECE 16384u
#define SHORT_LINE 8192u

static int part_of(int stream)
{
	return stream == 2 || stream == 3;
}

/* Bytes of the stamp at the beginning of a line, with its blank; 0: it has none. */
static size_t take_stamp(const char *s, size_t n, int64_t *ret_ns)
{
	size_t most = n < STAMP_MAX ? n : STAMP_MAX, used = stamp_parse(s, most, ret_ns);

	return used > 0 && used < most && s[used] == ' ' ? used + 1 : used;
}

static void emit_text(
	struct lines *l, struct log_line *line, const char *text, size_t n, line_fn fn, void *ctx)
{
	if (n > 0 && !line->clipped && !line->more && text[n - 1] == '\r') {
		line->cr = true;
		n--;
	}
	if (n > l->most) {
		n = l->most;
		line->clipped = true;
	}
	line->text = text;
	line->len = (uint32_t)n;
	fn(ctx, line);
}

/* One that came whole, and is short. */
static void emit_whole(struct lines *l, int part, const char *s, size_t n, line_fn fn, void *ctx)
{
	struct log_line line = {.stream = (uint8_t)(part + 1)};
	size_t used = take_stamp(s, n, &l->last_ns);

	l->stamped = used > 0;
	line.wall_ns = l->last_ns;
	emit_text(l, &line, s + used, n - used, fn, ctx);
}

/* What is there of a line: the last of it, or a piece. */
static void emit_part(struct lines *l, int part, bool more, bool unended, line_fn fn, void *ctx)
{
	struct line_part *p = &l->part[part];
	struct log_line line = {.stream = (uint8_t)(part + 1),
		.wall_ns = p->ns,
		.clipped = p->clipped,
		.more = more,
		.unended = unended};

	l->stamped = p->stamped;
	emit_text(l, &line, p->text.s, p->text.len, fn, ctx);
	str_clear(&p->text);
}

static void open_line_part(struct lines *l, struct line_part *p)
{
	p->open = p->heading = true;
	p->begun = p->clipped = p->stamped = false;
	p->nhead = 0;
	p->length = 0;
	p->ns = l->last_ns;
}

/* One byte more than may be kept shows whether a CR at the end is all that is too much. */
static void keep_line_text(
	struct lines *l, int part, const char *bytes, size_t n, line_fn fn, void *ctx)
{
	struct line_part *p = &l->part[part];

	p->length += n;
	while (l->pieces && p->text.len + n > l->most) {
		size_t take = l->most - p->text.len;

		str_add(&p->text, bytes, take);
		emit_part(l, part, true, false, fn, ctx);
		bytes += take;
		n -= take;
	}
	if (n > l->most + 1 - p->text.len) {
		n = l->most + 1 - p->text.len;
		p->clipped = true;
	}
	str_add(&p->text, bytes, n);
}

/* Is what has this stamp the next piece of the line that has begun? */
static bool is_next_piece(const struct lines *l, const struct line_part *p, int64_t ns)
{
	if (ns == p->ns)
		return true;
	if (l->raw)
		return false;
	return l->piece_stamps ? p->ns >= l->run_ns || ns < l->run_ns
			       : p->length % ENGINE_PIECE == 0;
}

/*
 * The head is whole.  At the beginning of a line it is its stamp.  In a line it is the stamp of the next piece, which is
 * none of the text; another stamp means that the line before it never got its newline: its writer ended.
 */
static void take_head(struct lines *l, int part, line_fn fn, void *ctx)
{
	struct line_part *p = &l->part[part];
	int64_t ns = 0;
	size_t used = take_stamp(p->head, p->nhead, &ns);
	bool piece = p->begun && is_next_piece(l, p, ns);

	p->heading = false;
	if (p->begun && l->raw && !piece)
		used = 0;
	if (used && !piece) {
		if (p->begun) {
			emit_part(l, part, false, true, fn, ctx);
			p->clipped = false;
			p->length = 0;
		}
		p->ns = l->last_ns = ns;
		p->stamped = true;
	}
	p->begun = true;
	keep_line_text(l, part, p->head + used, p->nhead - used, fn, ctx);
}

static void take_line_text(
	struct lines *l, int part, const char *bytes, size_t n, line_fn fn, void *ctx)
{
	struct line_part *p = &l->part[part];

	while (n > 0) {
		size_t take = p->heading ? STAMP_MAX - p->nhead
			: l->raw         ? ENGINE_PIECE - p->length % ENGINE_PIECE
					 : n;

		if (take > n)
			take = n;
		if (p->heading) {
			memcpy(p->head + p->nhead, bytes, take);
			p->nhead += take;
			if (p->nhead == STAMP_MAX)
				take_head(l, part, fn, ctx);
		} else {
			keep_line_text(l, part, bytes, take, fn, ctx);
			p->heading = l->raw && p->length % ENGINE_PIECE == 0;
			p->nhead = 0;
		}
		bytes += take;
		n -= take;
	}
}

static void end_line_part(struct lines *l, int part, bool unended, bool cut, line_fn fn, void *ctx)
{
	struct line_part *p = &l->part[part];

	if (p->heading)
		take_head(l, part, fn, ctx);
	p->clipped |= cut;
	emit_part(l, part, false, unended, fn, ctx);
	p->open = p->heading = false;
}

void lines_frame(struct lines *l, int stream, line_fn fn, void *ctx)
{
	struct line_part *p = &l->part[part_of(stream)];

	if (!p->open)
		return;
	if (p->heading)
		take_head(l, part_of(stream), fn, ctx);
	p->heading = true;
	p->nhead = 0;
}

void lines_feed(struct lines *l, int stream, const char *bytes, size_t n, line_fn fn, void *ctx)
{
	int part = part_of(stream);
	struct line_part *p = &l->part[part];

	while (n > 0) {
		const char *newline = memchr(bytes, '\n', n);
		size_t len = newline ? (size_t)(newline - bytes) : n;

		if (!p->open && newline && len <= SHORT_LINE) {
			emit_whole(l, part, bytes, len, fn, ctx);
		} else {
			if (!p->open)
				open_line_part(l, p);
			take_line_text(l, part, bytes, len, fn, ctx);
			if (newline)
				end_line_part(l, part, false, false, fn, ctx);
		}
		bytes += len;
		n -= len;
		if (newline) {
			bytes++;
			n--;
		}
	}
}

void lines_end(struct lines *l, bool cut, line_fn fn, void *ctx)
{
	for (int i = 0; i < 2; i++)
		if (l->part[i].open)
			end_line_part(l, i, true, cut, fn, ctx);
}

void objects_init(struct objects *o, size_t max)
{
	*o = (struct objects){.max = max};
	str_init(&o->text);
}

void objects_release(struct objects *o)
{
	str_release(&o->text);
}

bool objects_inside(const struct objects *o)
{
	return o->depth > 0;
}

static void object_more(struct objects *o, const char *bytes, size_t n)
{
	o->length += n;
	if (o->length <= o->max)
		str_add(&o->text, bytes, n);
}

static void object_whole(struct objects *o, object_fn fn, void *ctx)
{
	if (o->length > o->max)
		fn(ctx, NULL, o->length);
	else
		fn(ctx, o->text.s, o->text.len);
	str_clear(&o->text);
	o->length = 0;
}

/* Does this byte end the object? */
static bool object_step(struct objects *o, char c)
{
	if (o->in_string) {
		if (o->escaped)
			o->escaped = false;
		else if (c == '\\')
			o->escaped = true;
		else if (c == '"')
			o->in_string = false;
		return false;
	}
	if (c == '"')
		o->in_string = true;
	else if (c == '{')
		o->depth++;
	else if (c == '}')
		return --o->depth == 0;
	return false;
}

int objects_feed(
	struct objects *o, const char *bytes, size_t n, object_fn fn, void *ctx, struct err *e)
{
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		if (o->depth == 0 && bytes[i] != '{') {
			if (!bytes[i] || !strchr(" \t\r\n\x1e", bytes[i]))
				return err_set(e, ERR_PROTOCOL,
					"the stream is not made of JSON objects: byte 0x%02x between two",
					(unsigned char)bytes[i]);
			continue;
		}
		if (o->depth == 0)
			from = i;
		if (object_step(o, bytes[i])) {
			object_more(o, bytes + from, i + 1 - from);
			object_whole(o, fn, ctx);
		}
	}
	if (o->depth > 0)
		object_more(o, bytes + from, n - from);
	return 0;
}
