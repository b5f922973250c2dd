/*
 * utf16.c - converts UTF-16 text to UTF-8 while it is read, so that patterns need only UTF-8.
 *
 * Why not iconv: a static program has to load its tables, and it stops at what is no character.
 */
#include "files/match/searchfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/text.h>

#define WORST 3 /* bytes of UTF-8 for two of UTF-16 */

size_t text_mark(const char *s, size_t n, bool *wide, bool *big)
{
	*big = n >= 2 && !memcmp(s, "\xFE\xFF", 2);
	*wide = *big || (n >= 2 && !memcmp(s, "\xFF\xFE", 2));
	return *wide ? 2 : n >= 3 && !memcmp(s, "\xEF\xBB\xBF", 3) ? 3 : 0;
}

size_t utf16_mark(struct utf16 *u, const char *s, size_t n)
{
	size_t mark = text_mark(s, n, &u->on, &u->big);

	u->n = 0;
	if (u->on && !u->raw)
		u->raw = xmalloc(UTF16_RAW);
	return mark;
}

void utf16_push(struct utf16 *u, const char *s, size_t n)
{
	memcpy(u->raw, s, n);
	u->n = n;
}

static unsigned read_unit(const struct utf16 *u, size_t at)
{
	return u->big ? u->raw[at] << 8 | u->raw[at + 1] : u->raw[at + 1] << 8 | u->raw[at];
}

/* As many characters of raw as there are, and fit.  `end`: what is cut off at the end stays so. */
static size_t convert_utf16(struct utf16 *u, char *to, size_t room, bool end)
{
	size_t at = 0, out = 0;

	while (at < u->n && out + 4 <= room) {
		unsigned c = 0xFFFD;
		size_t used = 2;

		if (u->n - at < 2) {
			if (!end)
				break;
			used = 1;
		} else {
			c = read_unit(u, at);
			if (c >= 0xD800 && c < 0xDC00) {
				unsigned low = u->n - at >= 4 ? read_unit(u, at + 2) : 0;

				if (u->n - at < 4 && !end)
					break;
				if (low >= 0xDC00 && low < 0xE000) {
					c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
					used = 4;
				} else {
					c = 0xFFFD;
				}
			} else if (c >= 0xDC00 && c < 0xE000) {
				c = 0xFFFD;
			}
		}
		out += utf8_put(c, to + out);
		at += used;
	}
	u->n -= at;
	memmove(u->raw, u->raw + at, u->n);
	return out;
}

ssize_t utf16_read(struct utf16 *u, int fd, char *to, size_t room)
{
	for (;;) {
		size_t want = room / WORST * 2,
		       out = u->n >= 4 ? convert_utf16(u, to, room, false) : 0;
		ssize_t n;

		if (out > 0)
			return (ssize_t)out;
		if (want > UTF16_RAW - u->n)
			want = UTF16_RAW - u->n;
		n = read(fd, u->raw + u->n, want ? want : 1);
		if (n < 0)
			return -1;
		if (n == 0)
			return (ssize_t)convert_utf16(u, to, room, true);
		u->n += (size_t)n;
		out = convert_utf16(u, to, room, false);
		if (out > 0)
			return (ssize_t)out;
	}
}

void utf16_decode(bool big, const char *s, size_t n, struct str *out)
{
	struct utf16 u = {.big = big, .raw = xmalloc(UTF16_RAW)};

	for (size_t at = 0, take; at < n; at += take) {
		take = n - at < UTF16_RAW - u.n ? n - at : UTF16_RAW - u.n;
		memcpy(u.raw + u.n, s + at, take);
		u.n += take;
		str_reserve(out, (size_t)WORST * UTF16_RAW);
		out->len += convert_utf16(
			&u, out->s + out->len, (size_t)WORST * UTF16_RAW, at + take == n);
		out->s[out->len] = '\0';
	}
	free(u.raw);
}

static void put_unit(struct str *out, bool big, unsigned c)
{
	str_addc(out, (char)(big ? c >> 8 : c));
	str_addc(out, (char)(big ? c : c >> 8));
}

void utf16_encode(bool big, const char *s, size_t n, struct str *out)
{
	for (size_t i = 0; i < n;) {
		uint32_t c;

		i += utf8_next(s + i, n - i, &c);
		if (c >= 0x10000) {
			put_unit(out, big, 0xD800 + ((c - 0x10000) >> 10));
			c = 0xDC00 + ((c - 0x10000) & 0x3FF);
		}
		put_unit(out, big, c);
	}
}
