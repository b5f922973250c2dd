/*
 * ignore.h - ignore files where they lie: in a directory of the walk, and above its start.
 *
 * As git has it, what a directory ignores holds in all below it, so the .gitignore files from the
 * top of the repository (the nearest directory upwards with a .git) down to the start count, too,
 * also where that top lies above the root: there nothing but ignore files is read.  Without a
 * repository those from the root down count.  .ignore files are read beside them.
 */
#ifndef BERTH_FILES_IGNORE_H
#define BERTH_FILES_IGNORE_H

#include "files/walk/filter.h"
#include "files/common/paths.h"

/* Rules of the file dirfd/name inside of `outer`; `outer` when there is nothing to read.  `base` and
 * `prefix` (NULL: the directory is of the walk) as in filter.h. */
const struct rules *ignore_read(struct slab *slab, int dirfd, const char *name,
	const struct rules *outer, size_t base, const char *prefix);

/* What holds in the directory `start` because of those above it. */
const struct rules *ignore_above(struct slab *slab, const struct files_root *r, const char *start);

#endif
