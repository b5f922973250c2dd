/* beneath.c - opens paths below a directory, whatever is renamed meanwhile and however long the path is. */
#include <berth/beneath.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RACE_RETRIES 32

int beneath_try(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve,
	};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

static int try_until_proven(int dir, const char *path, int flags, uint64_t resolve)
{
	for (int attempt = 0;; attempt++) {
		int fd = beneath_try(dir, path, flags, resolve);

		/* EAGAIN: a ".." could not be proven safe because of a rename at the same time. */
		if (fd >= 0 || errno != EAGAIN || attempt == RACE_RETRIES)
			return fd;
		sched_yield();
	}
}

/* Beyond PATH_MAX the kernel takes no path: go there in pieces.  Within a piece the kernel keeps us
 * beneath the piece before, which is stricter than beneath the root and so still safe. */
static int open_in_pieces(int root, const char *path, int flags, uint64_t resolve)
{
	int dir = root, fd;

	for (;;) {
		size_t n = strlen(path);
		char piece[PATH_MAX];
		int saved;

		if (n < sizeof piece) {
			fd = try_until_proven(dir, path, flags, resolve);
		} else {
			n = sizeof piece - 1;
			while (n > 0 && path[n] != '/')
				n--;
			memcpy(piece, path, n);
			piece[n] = '\0';
			fd = try_until_proven(dir, piece, O_PATH | O_DIRECTORY, resolve);
		}
		saved = errno;
		if (dir != root)
			close(dir);
		errno = saved;
		if (fd < 0 || !path[n])
			return fd;
		dir = fd;
		path += n + strspn(path + n, "/");
		if (!*path)
			path = ".";
	}
}

int beneath_open(int dir, const char *path, int flags, uint64_t resolve)
{
	int fd = try_until_proven(dir, path, flags, resolve);

	return fd < 0 && errno == ENAMETOOLONG ? open_in_pieces(dir, path, flags, resolve) : fd;
}
