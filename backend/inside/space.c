/* space.c - leaves space on a file system that a container's files go to. */
#include "inside/inside.h"

#include <sys/statvfs.h>

enum { LOOK_EACH = 16 << 20, LEAVE = 256 << 20 };

int inside_check_space(int fd, uint64_t *unchecked, size_t n, const char *where, struct err *e)
{
	struct statvfs fs;

	*unchecked += n;
	if (*unchecked < LOOK_EACH)
		return 0;
	*unchecked = 0;
	if (fstatvfs(fd, &fs) || !fs.f_blocks || fs.f_bavail * fs.f_frsize >= LEAVE)
		return 0;
	return err_set(e, ERR_FAILED, "stopped: less than %d MiB would be left in %s.", LEAVE >> 20,
		where);
}
