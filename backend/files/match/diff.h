/* diff.h - a unified diff of two texts of which it is known what lines changed. */
#ifndef BERTH_FILES_DIFF_H
#define BERTH_FILES_DIFF_H

#include <stddef.h>

#include <berth/str.h>

/* Lines [old_from, old_to) became [new_from, new_to): byte offsets, whole lines, in order. */
struct change {
	size_t old_from, old_to, new_from, new_to;
};

void diff_unified(struct str *out, const char *path, const char *old, size_t old_n, const char *new,
	size_t new_n, const struct change *changes, size_t n);

#endif
