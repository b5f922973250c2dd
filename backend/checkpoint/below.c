/* below.c - opens directories and files below a root by descriptors only. */
#include "checkpoint/below.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/beneath.h>
#include <berth/mem.h>
#include <berth/text.h>

#define STRICTLY (RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV)

int below_open_leaf(int dir, const char *name, int flags)
{
	return beneath_open(dir, name, flags | O_NOFOLLOW, STRICTLY);
}

char *below_proc(char buf[BELOW_PROC_MAX], int dir, const char *name)
{
	snprintf(buf, BELOW_PROC_MAX, "/proc/self/fd/%d/%s", dir, name);
	return buf;
}

char *below_self(char buf[BELOW_PROC_MAX], int fd)
{
	snprintf(buf, BELOW_PROC_MAX, "/proc/self/fd/%d", fd);
	return buf;
}

int below_open_own(int dir, const char *name, int flags)
{
	int fd = below_open_leaf(dir, name, flags), saved;
	AUTO_CLOSE int held = -1;
	char proc[BELOW_PROC_MAX];
	struct stat st;

	if (fd >= 0 || (errno != EACCES && errno != EPERM))
		return fd;
	/* O_NOATIME is for the owner only. */
	if (errno == EPERM && flags & O_NOATIME)
		return below_open_own(dir, name, flags & ~O_NOATIME);
	held = below_open_leaf(dir, name, O_PATH);
	if (held < 0)
		return -1;
	if (fstat(held, &st) < 0 || st.st_uid != geteuid() ||
		!(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) {
		errno = EACCES;
		return -1;
	}
	if (chmod(below_self(proc, held),
		    (st.st_mode & 07777) | (S_ISDIR(st.st_mode) ? 0700 : 0600)) < 0)
		return -1;
	fd = below_open_leaf(dir, name, flags);
	saved = errno;
	chmod(proc, st.st_mode & 07777);
	errno = saved;
	return fd;
}

void below_leave(struct below_place *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	p->dir = NOWHERE;
}

/* From the root down, each by its name: for where the mode of one on the way keeps us out. */
static int climb_down(int root, const struct manifest *m, uint32_t dir)
{
	AUTO_FREE uint32_t *way = NULL;
	size_t n = 0, cap = 0;
	int at = root;

	for (uint32_t i = dir; i != 0; i = m->entry[i].parent) {
		way = mem_grow(way, &cap, n + 1, sizeof *way);
		way[n++] = i;
	}
	while (n-- > 0) {
		int next = below_open_own(at, manifest_name(m, way[n]), O_RDONLY | O_DIRECTORY);
		int saved = errno;

		if (at != root)
			close(at);
		errno = saved;
		if (next < 0)
			return -1;
		at = next;
	}
	return at;
}

int below_open_to_read(int dir, const char *name)
{
	return below_open_own(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOATIME);
}

int below_goto(int root, const struct manifest *m, uint32_t dir, struct below_place *p)
{
	int fd;

	if (p->fd >= 0 && p->dir == dir)
		return 0;
	if (p->fd >= 0 && dir != 0 && m->entry[dir].parent == p->dir) {
		fd = below_open_own(p->fd, manifest_name(m, dir), O_RDONLY | O_DIRECTORY);
	} else {
		AUTO_STR struct str path = STR_INIT;

		manifest_path(m, dir, &path);
		fd = beneath_open(root, path.s, O_RDONLY | O_DIRECTORY, STRICTLY);
		if (fd < 0 && errno == EACCES && dir != 0)
			fd = climb_down(root, m, dir);
	}
	if (fd < 0)
		return -1;
	below_leave(p);
	p->fd = fd;
	p->dir = dir;
	return 0;
}

int below_error(struct err *e, int errnum, const char *verb, const struct manifest *m, uint32_t i,
	const char *name)
{
	AUTO_STR struct str path = STR_INIT;
	char shown[256];

	if (!e)
		return -1;
	manifest_path(m, i, &path);
	if (name)
		str_addf(&path, "/%s", name);
	text_clean(shown, sizeof shown, path.s);
	switch (errnum) {
	case EXDEV:
		return err_set(
			e, ERR_REFUSED, "cannot %s %s: something is mounted there", verb, shown);
	case ELOOP:
	case ENOTDIR:
	case ENOENT:
	case ESTALE: /* another inode has the name */
	case ENOTEMPTY:
	case EEXIST:
		return err_set(e, ERR_CONFLICT,
			"cannot %s %s: it changed in the meantime: stop what writes "
			"there, then try again",
			verb, shown);
	case EACCES:
	case EPERM:
		return err_set(e, ERR_REFUSED,
			"cannot %s %s: it belongs to another user: do it as that user, or as root",
			verb, shown);
	case ENOSYS:
		return err_set(e, ERR_FAILED,
			"cannot %s %s: this kernel lacks openat2, which berth needs for safe access",
			verb, shown);
	default: return err_sys(e, errnum, "cannot %s %s", verb, shown);
	}
}

/* --- times --- */

/* Nanoseconds since 1970 of any year that there is a name for. */
__extension__ typedef __int128 wide_ns;

static int16_t far_of(struct timespec t)
{
	wide_ns far =
		((wide_ns)t.tv_sec * 1000000000 + t.tv_nsec - below_ns(t)) / ((wide_ns)1 << 64);

	return (int16_t)(far > INT16_MAX ? INT16_MAX : far < INT16_MIN ? INT16_MIN : far);
}

static struct timespec whole_time(int64_t low, int16_t far)
{
	wide_ns ns = (wide_ns)far * ((wide_ns)1 << 64) + low, s = ns / 1000000000;

	s -= s * 1000000000 > ns; /* before 1970 */
	return (struct timespec){(time_t)s, (long)(ns - s * 1000000000)};
}

void below_keep_mtime(struct entry *x, struct timespec t)
{
	x->mtime_ns = below_ns(t);
	x->mtime_far = far_of(t);
}

void below_keep_atime(struct entry *x, struct timespec t)
{
	x->atime_ns = below_ns(t);
	x->atime_far = far_of(t);
}

struct timespec below_mtime(const struct entry *x)
{
	return whole_time(x->mtime_ns, x->mtime_far);
}

struct timespec below_atime(const struct entry *x)
{
	return whole_time(x->atime_ns, x->atime_far);
}
