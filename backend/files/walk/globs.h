/*
 * globs.h - the patterns that a caller gives, as ripgrep's -g has them.
 *
 * One without a slash is of names, one with a slash of paths from the start of the walk.  {a,b} is either, ! leaves out
 * as a line of .gitignore does.  A pattern that can match nothing is an error: nobody gives one on purpose.
 */
#ifndef BERTH_FILES_GLOBS_H
#define BERTH_FILES_GLOBS_H

#include <berth/err.h>

#include "files/walk/filter.h"

struct glob_pattern {
	const char *pattern;
	bool path;
};

struct globs {
	struct glob_pattern *take; /* any must match; none: all do */
	size_t n;
	const struct rules *leave; /* NULL: nothing */
};

int globs_compile(
	struct slab *slab, const struct files_filter *f, struct globs *out, struct err *e);
bool globs_take(const struct globs *g, const char *path, const char *name);

#endif
