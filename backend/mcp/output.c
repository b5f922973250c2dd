/* output.c - what a command printed, without the middle of what is too long. */
#include "mcp/output.h"

#include <stdint.h>
#include <string.h>

#include <berth/text.h>

#define STEP 131072 /* left out at a time */

size_t output_len(const struct output *o)
{
	return o->kept.len + o->gap;
}

static void leave_out(struct output *o, size_t n)
{
	if (!n)
		return;
	memmove(o->kept.s + o->gap_at, o->kept.s + o->gap_at + n, o->kept.len - o->gap_at - n + 1);
	o->kept.len -= n;
	o->gap += n;
}

static bool is_inside(const char *s)
{
	return ((unsigned char)*s & 0xC0) == 0x80;
}

void output_add(struct output *o, const char *bytes, size_t n, size_t most)
{
	size_t over = o->kept.len + n > most ? o->kept.len + n - most : 0, late, out;

	if (!over) {
		str_add(&o->kept, bytes, n);
		return;
	}
	if (!o->gap)
		o->gap_at = utf8_whole(o->kept.s, o->kept.len < most / 4 ? o->kept.len : most / 4);
	late = o->kept.len - o->gap_at;
	out = over < STEP ? STEP : over;
	if (out >= late) { /* the first of the new ones, too */
		leave_out(o, late);
		out = out - late < n ? out - late : n;
		o->gap += out;
		bytes += out;
		n -= out;
		out = 0;
	}
	leave_out(o, out);
	str_add(&o->kept, bytes, n);
	for (out = 0;
		out < 3 && o->gap_at + out < o->kept.len && is_inside(o->kept.s + o->gap_at + out);
		out++)
		;
	leave_out(o, out);
}

struct output_part output_from(const struct output *o, size_t offset, size_t limit, bool more)
{
	bool after = o->gap && offset >= o->gap_at;
	size_t first = after ? o->gap_at : 0, end = o->gap && !after ? o->gap_at : o->kept.len;
	const char *s = o->kept.s;
	size_t from = offset, n, whole;
	uint32_t cp;

	if (after)
		from = offset < o->gap_at + o->gap ? o->gap_at : offset - o->gap;
	if (from > end)
		from = end;
	if (from < end && is_inside(s + from))
		from = first + utf8_whole(s + first, from - first);
	n = end - from < limit ? end - from : limit;
	whole = n < end - from || more ? utf8_whole(s + from, n) : n;
	if (!whole && n < end - from)
		whole = utf8_next(s + from, end - from, &cp);
	return (struct output_part){s + from, whole, from + (after ? o->gap : 0)};
}
