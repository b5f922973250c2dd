/* sys.c - forwards to the real system calls; tests replace them. */
#include "audit/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <berth/clock.h>

static int real_openat(int dir, const char *name, int flags, mode_t mode)
{
	return openat(dir, name, flags, mode);
}

static int64_t boot_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

const struct audit_sys audit_sys_real = {
	.openat = real_openat,
	.pwrite = pwrite,
	.fdatasync = fdatasync,
	.fsync = fsync,
	.ftruncate = ftruncate,
	.fallocate = fallocate,
	.unlinkat = unlinkat,
	.wall_ms = clock_wall_ms,
	.mono_us = boot_us,
};

int audit_pwrite_all(const struct audit_sys *s, int fd, const void *bytes, size_t n, off_t at)
{
	const char *p = bytes;

	while (n) {
		ssize_t w = s->pwrite(fd, p, n, at);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -1;
		if (w == 0) {
			errno = EIO;
			return -1;
		}
		p += w;
		at += w;
		n -= (size_t)w;
	}
	return 0;
}
