/* str.c - implements a growable byte string. */
#include <berth/str.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/check.h>
#include <berth/mem.h>

char str_empty[1];

void str_init(struct str *s)
{
	s->s = str_empty;
	s->len = s->cap = 0;
}

void str_release(struct str *s)
{
	if (!s)
		return;
	if (s->cap)
		free(s->s);
	str_init(s);
}

void str_cleanup(struct str *s)
{
	str_release(s);
}

void str_clear(struct str *s)
{
	s->len = 0;
	if (s->cap)
		s->s[0] = '\0';
}

void str_reserve(struct str *s, size_t more)
{
	size_t want = s->len + more + 1, cap = s->cap ? s->cap : 64;

	CHECK(more < SIZE_MAX / 4);
	if (want <= s->cap)
		return;
	while (cap < want)
		cap += cap / 2;
	if (s->cap) {
		s->s = xrealloc(s->s, cap);
	} else {
		s->s = xmalloc(cap);
		s->s[0] = '\0';
	}
	s->cap = cap;
}

void str_add(struct str *s, const void *bytes, size_t n)
{
	if (!n)
		return;
	str_reserve(s, n);
	memcpy(s->s + s->len, bytes, n);
	s->len += n;
	s->s[s->len] = '\0';
}

void str_adds(struct str *s, const char *text)
{
	str_add(s, text, strlen(text));
}

void str_addc(struct str *s, char c)
{
	str_add(s, &c, 1);
}

void str_addv(struct str *s, const char *fmt, va_list ap)
{
	va_list copy;
	int n;

	va_copy(copy, ap);
	n = vsnprintf(NULL, 0, fmt, copy);
	va_end(copy);
	CHECK(n >= 0);
	str_reserve(s, (size_t)n);
	vsnprintf(s->s + s->len, (size_t)n + 1, fmt, ap);
	s->len += (size_t)n;
}

void str_addf(struct str *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	str_addv(s, fmt, ap);
	va_end(ap);
}

void str_add_base64(struct str *s, const void *bytes, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		unsigned v = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) |
			(left > 2 ? p[i + 2] : 0);

		str_addc(s, digits[v >> 18]);
		str_addc(s, digits[v >> 12 & 63]);
		str_addc(s, left > 1 ? digits[v >> 6 & 63] : '=');
		str_addc(s, left > 2 ? digits[v & 63] : '=');
	}
}

void str_add_json(struct str *s, const char *text)
{
	str_addc(s, '"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			str_addc(s, '\\');
		if (c < 0x20)
			str_addf(s, "\\u%04x", c);
		else
			str_addc(s, (char)c);
	}
	str_addc(s, '"');
}

void str_remove_front(struct str *s, size_t n)
{
	CHECK(n <= s->len);
	if (!n)
		return;
	memmove(s->s, s->s + n, s->len - n + 1);
	s->len -= n;
}

char *str_detach(struct str *s)
{
	char *text = s->cap ? s->s : xstrdup("");

	str_init(s);
	return text;
}
