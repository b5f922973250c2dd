/* nearest.c - finds the known word closest to a misspelt one. */
#include <string.h>

#include <berth/config.h>
#include <berth/mem.h>

#define WORD_MAX 64

/* Damerau-Levenshtein distance (optimal string alignment: insert, delete, replace, swap). */
static size_t measure_distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t rows[3][WORD_MAX + 1], *before = rows[0], *last = rows[1], *now = rows[2];

	for (size_t j = 0; j <= nb; j++)
		last[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *spare = before;

		now[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			now[j] = best;
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[nb];
}

size_t word_distance(const char *a, const char *b)
{
	size_t na = strnlen(a, WORD_MAX + 1), nb = strnlen(b, WORD_MAX + 1);

	return na > WORD_MAX || nb > WORD_MAX ? SIZE_MAX : measure_distance(a, na, b, nb);
}

const char *nearest_word(const char *word, const char *const *known)
{
	size_t n = strnlen(word, WORD_MAX + 1), best;
	const char *found = NULL;

	if (n == 0 || n > WORD_MAX)
		return NULL;
	/* A short word is near when one letter is off, a long one when three are. */
	best = (n <= 3 ? 1 : n <= 7 ? 2 : 3) + 1;
	for (; *known; known++) {
		size_t nk = strnlen(*known, WORD_MAX + 1), d;

		if (nk > WORD_MAX || (nk > n ? nk - n : n - nk) >= best)
			continue;
		d = measure_distance(word, n, *known, nk);
		if (d < best && d < nk) {
			best = d;
			found = *known;
		}
	}
	return found;
}
