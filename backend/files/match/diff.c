/* diff.c - unified diffs, three lines of context. */
#include "files/match/diff.h"

#include <string.h>

#define CONTEXT 3

static size_t skip_line(const char *s, size_t n, size_t at)
{
	const char *nl = memchr(s + at, '\n', n - at);

	return nl ? (size_t)(nl + 1 - s) : n;
}

static size_t previous_line(const char *s, size_t at)
{
	const char *nl = at > 1 ? memrchr(s, '\n', at - 1) : NULL;

	return nl ? (size_t)(nl + 1 - s) : 0;
}

static size_t lines_in(const char *s, size_t from, size_t to)
{
	size_t n = 0;

	for (size_t at = from; at < to; at = skip_line(s, to, at))
		n++;
	return n;
}

static void put_lines(struct str *out, char mark, const char *s, size_t n, size_t from, size_t to)
{
	for (size_t at = from, end; at < to; at = end) {
		end = skip_line(s, n, at);
		str_addc(out, mark);
		str_add(out, s + at, end - at);
		if (s[end - 1] != '\n')
			str_adds(out, "\n\\ No newline at end of file\n");
	}
}

static void put_range(struct str *out, size_t line, size_t count)
{
	if (count == 1)
		str_addf(out, "%zu", line);
	else
		str_addf(out, "%zu,%zu", count ? line : line - 1, count);
}

/* Where the context behind `at` ends: CONTEXT lines, not beyond `limit`. */
static size_t context_end(const char *s, size_t n, size_t at, size_t limit)
{
	for (int i = 0; i < CONTEXT && at < limit; i++)
		at = skip_line(s, n, at);
	return at < limit ? at : limit;
}

void diff_unified(struct str *out, const char *path, const char *old, size_t old_n, const char *new,
	size_t new_n, const struct change *changes, size_t n)
{
	size_t old_line = 1, old_at = 0; /* line number of old_at */
	ptrdiff_t shift = 0;             /* new line number less old line number */

	str_addf(out, "--- a/%s\n+++ b/%s\n", path, path);
	for (size_t first = 0, last; first < n; first = last + 1) {
		size_t from = changes[first].old_from, to, old_count, new_count = 0, at;
		ptrdiff_t grown = 0;

		for (int i = 0; i < CONTEXT && from > (first ? changes[first - 1].old_to : 0); i++)
			from = previous_line(old, from);
		/* Changes whose contexts touch are one hunk. */
		for (last = first; last + 1 < n; last++) {
			size_t gap = context_end(
				old, old_n, changes[last].old_to, changes[last + 1].old_from);

			if (context_end(old, old_n, gap, changes[last + 1].old_from) <
				changes[last + 1].old_from)
				break;
		}
		to = context_end(old, old_n, changes[last].old_to,
			last + 1 < n ? changes[last + 1].old_from : old_n);
		old_line += lines_in(old, old_at, from);
		old_at = from;
		old_count = lines_in(old, from, to);
		for (size_t i = first; i <= last; i++)
			grown += (ptrdiff_t)lines_in(new, changes[i].new_from, changes[i].new_to) -
				(ptrdiff_t)lines_in(old, changes[i].old_from, changes[i].old_to);
		new_count = (size_t)((ptrdiff_t)old_count + grown);
		str_adds(out, "@@ -");
		put_range(out, old_line, old_count);
		str_adds(out, " +");
		put_range(out, (size_t)((ptrdiff_t)old_line + shift), new_count);
		str_adds(out, " @@\n");
		at = from;
		for (size_t i = first; i <= last; i++) {
			put_lines(out, ' ', old, old_n, at, changes[i].old_from);
			put_lines(out, '-', old, old_n, changes[i].old_from, changes[i].old_to);
			put_lines(out, '+', new, new_n, changes[i].new_from, changes[i].new_to);
			at = changes[i].old_to;
		}
		put_lines(out, ' ', old, old_n, at, to);
		shift += grown;
	}
}
