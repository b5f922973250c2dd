/*
 * beneath.h - opens paths below a directory so that no link leads out of it: openat2(2).
 *
 * A directory that is swapped in the meantime causes an error and never leads elsewhere.
 *
 * Thread: any.
 */
#ifndef BERTH_BENEATH_H
#define BERTH_BENEATH_H

#include <stdint.h>

/* One call, with RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS and `resolve`, and with O_CLOEXEC.  -1 with errno:
 * EXDEV it led out, ELOOP a link was in the way, ENOSYS there is no openat2, EAGAIN a rename kept the kernel
 * from a proof (or, with RESOLVE_CACHED, it is not in memory). */
int beneath_try(int dir, const char *path, int flags, uint64_t resolve);

/* The same, tried again after a rename, and with a path that may be longer than PATH_MAX.  Not for
 * RESOLVE_CACHED. */
int beneath_open(int dir, const char *path, int flags, uint64_t resolve);

#endif
