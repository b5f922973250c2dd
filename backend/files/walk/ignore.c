/* ignore.c - reads ignore files, also those of the enclosing repository. */
#include "files/walk/ignore.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "files/common/op.h"

#define IGNORE_MAX (1u << 20)
#define LEVELS 64 /* that are looked upwards */

const struct rules *ignore_read(struct slab *slab, int dirfd, const char *name,
	const struct rules *outer, size_t base, const char *prefix)
{
	AUTO_STR struct str text = STR_INIT;

	if (file_read(dirfd, name, PATH_READ | O_NOFOLLOW, IGNORE_MAX, &text, NULL) < 0 ||
		!text.len)
		return outer;
	return prefix ? rules_compile_above(slab, outer, text.s, text.len, prefix)
		      : rules_compile(slab, outer, text.s, text.len, base);
}

/* Directories from the start upwards, and how to come back down to it. */
struct climb {
	int fd[LEVELS];
	const char *prefix[LEVELS]; /* into `path`; that of the start is empty */
	size_t n;                   /* the last one is the outermost that counts */
	char path[PATH_MAX + 2];
};

/* Where the start lies, as the kernel names it now: absolute, with a slash in the end. */
static size_t locate_start(int fd, char path[PATH_MAX + 2])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX);
	if (n <= 1 || n == PATH_MAX || path[0] != '/')
		return 0;
	path[n] = '/';
	path[n + 1] = '\0';
	return (size_t)n + 1;
}

/* Up to the top of the repository, else to the root. */
static void climb_up(struct climb *c, const struct files_root *r, const char *start)
{
	int fd = path_open(r, *start ? start : ".", O_RDONLY | O_DIRECTORY);
	size_t at, inside = 0;
	struct stat root, here, git;

	if (fd < 0)
		return;
	c->fd[0] = fd;
	c->n = 1;
	at = locate_start(fd, c->path);
	c->prefix[0] = c->path + at;
	fstat(r->fd, &root);
	for (;;) {
		fd = c->fd[c->n - 1];
		if (fstatat(fd, ".git", &git, AT_SYMLINK_NOFOLLOW) == 0)
			return;
		if (inside == 0 && fstat(fd, &here) == 0 && path_is_same(&here, &root))
			inside = c->n;
		if (at <= 1 || c->n == LEVELS)
			break;
		for (at--; c->path[at - 1] != '/'; at--)
			;
		fd = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			break;
		c->fd[c->n] = fd;
		c->prefix[c->n++] = c->path + at;
	}
	/* No repository: what lies above the root is nobody's business. */
	while (c->n > (inside ? inside : 1))
		close(c->fd[--c->n]);
}

const struct rules *ignore_above(struct slab *slab, const struct files_root *r, const char *start)
{
	const struct rules *outer = NULL;
	struct climb c = {.n = 0};

	climb_up(&c, r, start);
	for (size_t i = c.n; i-- > 0;) {
		size_t len = strlen(c.prefix[i]);
		const char *prefix = memcpy(slab_alloc(slab, len + 1), c.prefix[i], len + 1);

		if (i == c.n - 1)
			outer = ignore_read(slab, c.fd[i], ".git/info/exclude", outer, 0, prefix);
		/* Those of the start are read with the rest of it. */
		if (i > 0) {
			outer = ignore_read(slab, c.fd[i], ".gitignore", outer, 0, prefix);
			outer = ignore_read(slab, c.fd[i], ".ignore", outer, 0, prefix);
		}
		close(c.fd[i]);
	}
	return outer;
}
