/* split.c - frames, lines and JSON objects, cut from a stream that comes in any pieces. */
#include "engine/split.h"

#include <string.h>

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
			continue;
		}
		take = d->left < n ? d->left : n;
		fn(ctx, d->head[0], bytes, take);
		d->left -= (uint32_t)take;
		bytes += take;
		n -= take;
	}
	return 0;
}

void lines_init(struct lines *l)
{
	*l = (struct lines){0};
	str_init(&l->part[0].text);
	str_init(&l->part[1].text);
}

void lines_release(struct lines *l)
{
	str_release(&l->part[0].text);
	str_release(&l->part[1].text);
}

/* Room for the stamp beside the text, so that the clipping is exact. */
enum { STAMP_MAX = 40, KEEP = LOG_LINE_MAX + STAMP_MAX };

static void emit_line(
	struct lines *l, int part, const char *text, size_t n, bool clipped, line_fn fn, void *ctx)
{
	struct log_line line = {.stream = (uint8_t)(part + 1), .clipped = clipped};
	size_t used = stamp_parse(text, n, &l->last_ns);

	if (used > 0 && used < n && text[used] == ' ')
		used++;
	text += used;
	n -= used;
	if (n > 0 && !clipped && text[n - 1] == '\r')
		n--;
	if (n > LOG_LINE_MAX) {
		n = LOG_LINE_MAX;
		line.clipped = true;
	}
	line.wall_ns = l->last_ns;
	line.text = text;
	line.len = (uint32_t)n;
	fn(ctx, &line);
}

static void keep_part(struct line_part *p, const char *bytes, size_t n)
{
	size_t room = KEEP + 1 - p->text.len;

	p->open = true;
	if (n > room) {
		n = room;
		p->clipped = true;
	}
	str_add(&p->text, bytes, n);
}

static void emit_part(struct lines *l, int part, line_fn fn, void *ctx)
{
	struct line_part *p = &l->part[part];

	emit_line(l, part, p->text.s, p->text.len, p->clipped, fn, ctx);
	str_clear(&p->text);
	p->open = p->clipped = false;
}

void lines_feed(struct lines *l, int stream, const char *bytes, size_t n, line_fn fn, void *ctx)
{
	int part = stream == 2 || stream == 3;
	struct line_part *p = &l->part[part];

	while (n > 0) {
		const char *newline = memchr(bytes, '\n', n);
		size_t len = newline ? (size_t)(newline - bytes) : n;

		if (!newline) {
			keep_part(p, bytes, len);
			return;
		}
		if (p->open) {
			keep_part(p, bytes, len);
			emit_part(l, part, fn, ctx);
		} else {
			bool clipped = len > KEEP + 1;

			emit_line(l, part, bytes, clipped ? KEEP + 1 : len, clipped, fn, ctx);
		}
		bytes += len + 1;
		n -= len + 1;
	}
}

void lines_end(struct lines *l, line_fn fn, void *ctx)
{
	for (int i = 0; i < 2; i++)
		if (l->part[i].open)
			emit_part(l, i, fn, ctx);
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
