/* seeklines.c - counts lines of a file of any size, block by block, from either end. */
#include "files/common/seeklines.h"

#include <errno.h>
#include <string.h>

#include <berth/file.h>
#include <berth/mem.h>

#define BLOCK (256u << 10)
#define END_MOST ((uint64_t)64 << 20) /* of a file that says it is empty */

/* A whole block, but at the end. */
static ssize_t fill_block(int fd, char *buf, size_t want, uint64_t at, const struct op *op)
{
	if (op && op_stopped(op)) {
		errno = ECANCELED;
		return -1;
	}
	return file_fill_at(fd, buf, want, (off_t)at);
}

int lines_skip(int fd, uint64_t *at, uint64_t *lines, const struct op *op)
{
	AUTO_FREE char *buf = xmalloc(BLOCK);

	while (*lines) {
		ssize_t n = fill_block(fd, buf, BLOCK, *at, op);
		const char *p = buf, *end = buf + n, *nl;

		if (n <= 0)
			return (int)n;
		while (*lines && (nl = memchr(p, '\n', (size_t)(end - p))) != NULL) {
			p = nl + 1;
			--*lines;
		}
		*at += (uint64_t)(*lines ? n : p - buf);
	}
	return 0;
}

/* The end of a file that has none of its own: those of /proc say that they are empty. */
static int find_end(int fd, char *buf, const struct op *op, uint64_t *size)
{
	ssize_t n;

	while ((n = fill_block(fd, buf, BLOCK, *size, op)) > 0) {
		*size += (uint64_t)n;
		if (*size > END_MOST) {
			errno = EFBIG;
			return -1;
		}
	}
	return (int)n;
}

int lines_back(int fd, uint64_t size, uint64_t lines, const struct op *op, uint64_t *at)
{
	AUTO_FREE char *buf = xmalloc(BLOCK);

	if (!size && find_end(fd, buf, op, &size) < 0)
		return -1;
	for (*at = size; *at;) {
		size_t want = *at < BLOCK ? (size_t)*at : BLOCK;
		ssize_t n = fill_block(fd, buf, want, *at - want, op);
		const char *p = buf + want;

		if (n < (ssize_t)want) {
			if (n >= 0)
				errno = EBUSY; /* it shrank */
			return -1;
		}
		/* The end of the last line begins none. */
		if (*at == size && p[-1] == '\n')
			p--;
		while ((p = memrchr(buf, '\n', (size_t)(p - buf))) != NULL)
			if (--lines == 0) {
				*at = *at - want + (size_t)(p + 1 - buf);
				return 0;
			}
		*at -= want;
	}
	return 0;
}
