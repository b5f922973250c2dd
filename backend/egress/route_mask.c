/* route_mask.c - replaces a key in a stream with stars, however the bytes are split (Knuth, Morris, Pratt). */
#include <string.h>

#include <berth/mem.h>

#include "egress/routes.h"

uint16_t *mask_table(const char *key, size_t len)
{
	uint16_t *back = xcalloc(len, sizeof *back);
	size_t k = 0;

	for (size_t i = 1; i < len; i++) {
		while (k && key[i] != key[k])
			k = back[k - 1];
		k += key[i] == key[k];
		back[i] = (uint16_t)k;
	}
	return back;
}

/* What is held is the beginning of the key: no buffer is needed for it. */
static void mask_byte(struct mask *m, char c, struct str *out)
{
	while (m->held && m->key[m->held] != c) {
		size_t keep = m->back[m->held - 1];

		str_add(out, m->key, m->held - keep);
		m->held = keep;
	}
	if (m->key[m->held] != c) {
		str_addc(out, c);
		return;
	}
	if (++m->held < m->len)
		return;
	for (; m->held; m->held--)
		str_addc(out, '*');
}

void mask_add(struct mask *m, const char *bytes, size_t n, struct str *out)
{
	const char *end = bytes + n;

	while (bytes < end) {
		const char *first = m->held ? bytes : memchr(bytes, *m->key, (size_t)(end - bytes));

		if (!first)
			first = end;
		str_add(out, bytes, (size_t)(first - bytes));
		bytes = first;
		if (bytes < end)
			mask_byte(m, *bytes++, out);
	}
}

void mask_end(struct mask *m, struct str *out)
{
	str_add(out, m->key, m->held);
	m->held = 0;
}
