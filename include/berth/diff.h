/*
 * diff.h - compares two texts line by line, and writes a unified diff.
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

/* "--- a/PATH", "+++ b/PATH" (quoted as by text_quote_name) and the hunks, with three lines of context; nothing
 * without changes. */
void diff_unified(struct str *out, const char *path, const char *old, size_t old_n, const char *new,
	size_t new_n, const struct change *changes, size_t n);
/* The same until `out` holds `most` bytes, and the rest of one line at most as many more. */
void diff_unified_most(struct str *out, size_t most, const char *path, const char *old,
	size_t old_n, const char *new, size_t new_n, const struct change *changes, size_t n);

/* One side of a change as git has it.  Mode 0: it is not there. */
#define DIFF_PLAIN 0100644u
#define DIFF_EXECUTABLE 0100755u
#define DIFF_SYMLINK 0120000u
struct diff_side {
	unsigned mode;
	const char *text; /* of a symbolic link its target */
	size_t n;
};

/* As `git diff` prints it, so that `git apply` and `patch -p1` make the new side of the old one: "diff --git a/PATH b/PATH",
 * what became of the mode, and the hunks; of other changes than of the mode there are some. */
void diff_git(struct str *out, const char *path, const struct diff_side *old,
	const struct diff_side *new, const struct change *changes, size_t n);
/* The same without lines: "Binary files a/PATH and b/PATH differ". */
void diff_git_binary(struct str *out, const char *path, unsigned old_mode, unsigned new_mode);

#endif
