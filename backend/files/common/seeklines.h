/*
 * seeklines.h - where lines of a file begin, without holding it.
 */
#ifndef BERTH_FILES_SEEKLINES_H
#define BERTH_FILES_SEEKLINES_H

#include "files/common/op.h"

/* *at behind so many line feeds from there, or at the end; *lines: how many are missing.  `op` may be NULL.  -1 and errno
 * (ECANCELED). */
int lines_skip(int fd, uint64_t *at, uint64_t *lines, const struct op *op);
/* *at: where the last `lines` lines of the first `size` bytes begin. */
int lines_back(int fd, uint64_t size, uint64_t lines, const struct op *op, uint64_t *at);

#endif
