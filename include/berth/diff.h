/*
 * diff.h - what differs between two texts, line by line, and the unified form of it.
 *
 * Bytes are taken as they are; a line ends with its newline.
 * Thread: any.
 */
#ifndef BERTH_DIFF_H
#define BERTH_DIFF_H

#include <stddef.h>

#include "str.h"

/* Lines [old_from, old_to) became [new_from, new_to): byte offsets, whole lines, in order. */
struct change {
	size_t old_from, old_to, new_from, new_to;
};

/* The fewest lines that differ, where that takes no more than DIFF_STEPS_MAX; else all between the lines that are
 * equal at the start and those at the end as one change.  Returns how many; free(*ret). */
#define DIFF_STEPS_MAX 1500
size_t diff_lines(
	const char *old, size_t old_n, const char *new, size_t new_n, struct change **ret);

/* "--- a/PATH", "+++ b/PATH" (quoted as by text_quote_name) and the hunks, with three lines of context. */
void diff_unified(struct str *out, const char *path, const char *old, size_t old_n, const char *new,
	size_t new_n, const struct change *changes, size_t n);
/* The same until `out` holds `most` bytes, and the rest of one line at most as many more. */
void diff_unified_most(struct str *out, size_t most, const char *path, const char *old,
	size_t old_n, const char *new, size_t new_n, const struct change *changes, size_t n);

#endif
