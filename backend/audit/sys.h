/*
 * sys.h - the system calls with which the log changes the world, so that tests can make each of
 * them fail, or be the last one of the process.  Reading calls are made directly.
 */
#ifndef BERTH_AUDIT_SYS_H
#define BERTH_AUDIT_SYS_H

#include <stdint.h>
#include <sys/types.h>

struct audit_sys {
	int (*openat)(int dir, const char *name, int flags, mode_t mode);
	ssize_t (*pwrite)(int fd, const void *bytes, size_t n, off_t at);
	int (*fdatasync)(int fd);
	int (*fsync)(int fd);
	int (*ftruncate)(int fd, off_t size);
	int (*fallocate)(int fd, int mode, off_t at, off_t n);
	int (*unlinkat)(int dir, const char *name, int flags);
	int64_t (*wall_ms)(void);
	int64_t (*mono_us)(void); /* since boot, suspend included */
};

extern const struct audit_sys audit_sys_real;

/* All of it, or -1 with errno. */
int audit_pwrite_all(const struct audit_sys *s, int fd, const void *bytes, size_t n, off_t at);

#endif
