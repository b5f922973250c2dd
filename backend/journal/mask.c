/* mask.c - finds secrets in output by their fingerprints. */
#include <stdbool.h>
#include <string.h>

#include "journal/layout.h"

#define P ((UINT64_C(1) << 61) - 1)

static uint64_t multiply_mod(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)a * b;
	uint64_t sum = (uint64_t)(product & P) + (uint64_t)(product >> 61);

	return sum >= P ? sum - P : sum;
}

static uint64_t push_byte(uint64_t h, uint64_t base, unsigned char byte)
{
	h = multiply_mod(h, base) + byte + 1;
	return h >= P ? h - P : h;
}

uint64_t mask_fingerprint(uint64_t base, const char *bytes, size_t n)
{
	uint64_t h = 0;

	for (size_t i = 0; i < n; i++)
		h = push_byte(h, base, (unsigned char)bytes[i]);
	return h;
}

static bool is_masked(const struct journal_file *f, uint32_t len, uint64_t h)
{
	for (uint32_t i = 0; i < f->nmasks; i++)
		if (f->mask[i].len == len && f->mask[i].fingerprint == h)
			return true;
	return false;
}

static size_t mask_length(const struct journal_file *f, uint32_t len, char *text, size_t n)
{
	uint64_t h = 0, top = 1;
	size_t hits = 0;

	for (uint32_t i = 0; i < len; i++)
		top = multiply_mod(top, f->base);
	for (size_t i = 0; i < n; i++) {
		h = push_byte(h, f->base, (unsigned char)text[i]);
		if (i >= len) {
			uint64_t out = multiply_mod(top, (unsigned char)text[i - len] + 1u);

			h = h >= out ? h - out : h + P - out;
		}
		if (i + 1 >= len && is_masked(f, len, h)) {
			memset(text + i + 1 - len, '*', len);
			/* What follows is looked for anew: the window's bytes are stars now. */
			h = mask_fingerprint(f->base, text + i + 1 - len, len);
			hits++;
		}
	}
	return hits;
}

size_t mask_text(const struct journal_file *f, char *text, size_t n)
{
	size_t hits = 0;

	for (uint32_t i = 0; i < f->nmasks; i++) {
		bool done = f->mask[i].len == 0 || f->mask[i].len > n;

		for (uint32_t k = 0; k < i && !done; k++)
			done = f->mask[k].len == f->mask[i].len;
		if (!done)
			hits += mask_length(f, f->mask[i].len, text, n);
	}
	return hits;
}
