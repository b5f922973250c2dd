/*
 * mem.h - allocation that cannot fail, and scope cleanup.
 *
 * Running out of memory ends the program the way a failed CHECK does (terminal restored first), so
 * no caller tests for NULL.  Sizes that come from outside must be bounded before they get here.
 *
 * Thread: any.
 */
#ifndef BERTH_MEM_H
#define BERTH_MEM_H

#include <dirent.h>
#include <stddef.h>
#include <stdlib.h>

void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size); /* zeroed; n * size is checked for overflow */
void *xrealloc(void *p, size_t n);
void *xreallocarray(void *p, size_t n, size_t size);
char *xstrdup(const char *s); /* NULL gives NULL */
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Grow *p (elements of `size` bytes, capacity *cap) so that `want` elements fit. */
void *mem_grow(void *p, size_t *cap, size_t want, size_t size);

/* qsort, which an empty array may not be given to as NULL. */
static inline void mem_sort(
	void *base, size_t n, size_t size, int (*order)(const void *, const void *))
{
	if (n > 1)
		qsort(base, n, size, order);
}

/* Locals that clean up after themselves; hand them over with STEAL. */
void cleanup_free(void *p);
void cleanup_close(int *fd);
void cleanup_closedir(DIR **d);
#define AUTO_FREE __attribute__((cleanup(cleanup_free)))
#define AUTO_CLOSE __attribute__((cleanup(cleanup_close)))
#define AUTO_CLOSEDIR __attribute__((cleanup(cleanup_closedir)))
#define STEAL(p)                             \
	({                                   \
		__typeof__(p) stolen_ = (p); \
		(p) = NULL;                  \
		stolen_;                     \
	})
int steal_fd(int *fd); /* returns *fd and leaves -1 there */

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#endif
