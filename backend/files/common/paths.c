/* paths.c - resolves paths below a root by openat2, or by a walk where that is missing. */
#include "files/common/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include <berth/beneath.h>
#include <berth/mem.h>
#include <berth/text.h>

int path_error(struct err *e, int errnum, const char *verb, const char *path)
{
	char shown[256];

	if (!e)
		return -1;
	text_clean(shown, sizeof shown, path);
	switch (errnum) {
	case EXDEV:
		/* The kernel does not say which of the two it was. */
		err_set(e, ERR_REFUSED,
			strstr(path, "..")
				? "cannot %s %s: it leads outside the allowed directory"
				: "cannot %s %s: a link on the way leads outside the allowed directory, "
				  "or is absolute; only relative links are followed",
			verb, shown);
		break;
	case ELOOP:
		err_set(e, ERR_REFUSED,
			"cannot %s %s: a symbolic link is in the way, or links form a loop", verb,
			shown);
		break;
	case EAGAIN:
		err_set(e, ERR_CONFLICT, "cannot %s %s: its directories are being moved right now",
			verb, shown);
		break;
	case ENOENT:
		err_set(e, ERR_NOT_FOUND, "cannot %s %s: it does not exist", verb, shown);
		break;
	case EEXIST:
		err_set(e, ERR_CONFLICT, "cannot %s %s: it already exists", verb, shown);
		break;
	case ESTALE: /* another has its name */
		err_set(e, ERR_CONFLICT, "cannot %s %s: it was replaced in the meantime", verb,
			shown);
		break;
	case EBUSY:
		err_set(e, ERR_REFUSED, "cannot %s %s: a file system is mounted there", verb,
			shown);
		break;
	case ENOTDIR:
		err_set(e, ERR_SYS,
			"cannot %s %s: it, or what its path leads through, is not a directory",
			verb, shown);
		break;
	default: return err_sys(e, errnum, "cannot %s %s", verb, shown);
	}
	e->sys = errnum;
	return -1;
}

int path_check(const char *path, struct err *e)
{
	size_t n = 0, part = 0, longest = 0;

	if (!*path)
		return err_set(e, ERR_USAGE, "the path is empty");
	if (*path == '/')
		return err_set(e, ERR_REFUSED,
			"%.200s is an absolute path: name files relative to the root directory",
			path);
	for (; path[n]; n++) {
		part = path[n] == '/' ? 0 : part + 1;
		longest = part > longest ? part : longest;
	}
	if (longest > NAME_MAX)
		return err_set(e, ERR_USAGE, "a name of %zu bytes is too long in %.100s...",
			longest, path);
	if (n > PATH_LONGEST)
		return err_set(e, ERR_USAGE, "the path %.100s... is too long", path);
	return 0;
}

static bool is_component(const char *part, size_t n, const char *text)
{
	return n == strlen(text) && memcmp(part, text, n) == 0;
}

static bool is_link(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

/* One component after the other, following nothing.  The descriptor of the previous one is closed
 * on the way; the root's is not ours. */
static int walk_components(const struct files_root *r, const char *path, int flags)
{
	int dir = r->fd, fd = -1;

	for (const char *at = path;;) {
		size_t n = strcspn(at, "/");
		const char *next = at + n + strspn(at + n, "/");
		char part[NAME_MAX + 1];
		int saved;

		/* "a/" means a directory, whatever the caller's flags say of the last one. */
		int how = *next ? O_PATH | O_DIRECTORY : at[n] ? flags | O_DIRECTORY : flags;

		if (n > NAME_MAX || is_component(at, n, "..")) {
			errno = n > NAME_MAX ? ENAMETOOLONG : EXDEV;
			fd = -1;
		} else {
			memcpy(part, at, n);
			part[n] = '\0';
			fd = openat(dir, n ? part : ".", how | O_NOFOLLOW | O_CLOEXEC);
			if (fd < 0 && errno == ENOTDIR)
				errno = is_link(dir, part) ? ELOOP : ENOTDIR;
		}
		saved = errno;
		if (dir != r->fd)
			close(dir);
		errno = saved;
		if (fd < 0 || !*next)
			return fd;
		dir = fd;
		at = next;
	}
}

static int open_resolved(const struct files_root *r, const char *path, int flags, uint64_t resolve)
{
	return r->portable ? walk_components(r, path, flags)
			   : beneath_open(r->fd, path, flags, resolve);
}

int path_open(const struct files_root *r, const char *path, int flags)
{
	return open_resolved(r, path, flags, 0);
}

int path_open_strict(const struct files_root *r, const char *path, int flags)
{
	return open_resolved(r, path, flags, RESOLVE_NO_SYMLINKS);
}

int path_open_cached(const struct files_root *r, const char *path, int flags)
{
	if (r->portable) {
		errno = EAGAIN;
		return -1;
	}
	return beneath_try(r->fd, path, flags, RESOLVE_CACHED);
}

int path_open_leaf_cached(int dir, const char *leaf, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_NOFOLLOW | O_CLOEXEC),
		.resolve = RESOLVE_CACHED,
	};

	return (int)syscall(SYS_openat2, dir, leaf, &how, sizeof how);
}

int path_regular(int fd, const char *path, struct stat *st, struct err *e)
{
	if (fstat(fd, st) < 0)
		return path_error(e, errno, "read", path);
	if (S_ISREG(st->st_mode))
		return 0;
	return err_set(e, ERR_REFUSED, "cannot read %.200s: it is %s, not a regular file", path,
		S_ISDIR(st->st_mode)            ? "a directory"
			: S_ISFIFO(st->st_mode) ? "a pipe"
			: S_ISSOCK(st->st_mode) ? "a socket"
						: "a device");
}

/* "." and ".." are no directory to be made; what follows them is made where they lead. */
static bool names_no_entry(const char *leaf)
{
	return !*leaf || is_component(leaf, strlen(leaf), ".") ||
		is_component(leaf, strlen(leaf), "..");
}

/* The one that `path` ends with.  0, or -1 and *e. */
static int make_dir(const struct files_root *r, const char *path, struct made *made, struct err *e)
{
	const char *slash = strrchr(path, '/'), *leaf = slash ? slash + 1 : path;
	AUTO_CLOSE int dir = -1;

	if (names_no_entry(leaf))
		return 0;
	dir = path_parent_to_change(r, path, NULL, &leaf, e);
	if (dir < 0)
		return -1;
	if (mkdirat(dir, leaf, 0777) < 0)
		return errno == EEXIST ? 0 : path_error(e, errno, "make the directory", path);
	made->paths = mem_grow(made->paths, &made->cap, made->n + 1, sizeof(char *));
	made->paths[made->n++] = xstrdup(path);
	return 0;
}

/* Make the directories of `path` that are missing, from the top. */
static int make_dirs_above(const struct files_root *r, char *path, struct made *made, struct err *e)
{
	for (char *at = path; *at;) {
		char was;
		int rc;

		at += strcspn(at, "/");
		was = *at;
		*at = '\0';
		rc = make_dir(r, path, made, e);
		*at = was;
		if (rc < 0)
			return -1;
		at += strspn(at, "/");
	}
	return 0;
}

void made_undo(const struct files_root *r, struct made *m)
{
	for (size_t i = m->n; i-- > 0;) {
		const char *leaf;
		AUTO_CLOSE int dir = path_parent(r, m->paths[i], NULL, &leaf, NULL);

		if (dir >= 0)
			unlinkat(dir, leaf, AT_REMOVEDIR);
	}
}

void made_release(struct made *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->paths[i]);
	free(m->paths);
	*m = (struct made){0};
}

int path_parent(const struct files_root *r, const char *path, struct made *made, const char **leaf,
	struct err *e)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *parent = NULL;
	int fd;

	if (path_check(path, e) < 0)
		return -1;
	*leaf = slash ? slash + 1 : path;
	if (names_no_entry(*leaf))
		return err_set(e, ERR_USAGE, "%.200s does not end in a file name", path);
	parent = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
	fd = path_open(r, parent, O_PATH | O_DIRECTORY);
	if (fd < 0 && errno == ENOENT && made) {
		if (make_dirs_above(r, parent, made, e) < 0)
			return -1;
		fd = path_open(r, parent, O_PATH | O_DIRECTORY);
	}
	return fd < 0 ? path_error(e, errno, "reach the directory of", path) : fd;
}

struct path_identity path_identity(void)
{
	struct path_identity was = {.uid = path_user(), .gid = path_group()};

	was.changed = was.uid != geteuid() || was.gid != getegid();
	if (was.changed) {
		setfsuid(geteuid());
		setfsgid(getegid());
	}
	return was;
}

void path_identity_end(struct path_identity *i)
{
	if (i->changed) {
		setfsgid(i->gid);
		setfsuid(i->uid);
	}
}

bool path_is_fixed(const struct fixed_place *fixed, size_t n, const struct stat *st)
{
	for (size_t i = 0; i < n; i++)
		if (fixed[i].ino == st->st_ino && fixed[i].dev == st->st_dev)
			return true;
	return false;
}

/* The next directory upwards, in place of *at: 1; 0: there is none, -1: it cannot be reached. */
static int climb_up_from(int *at, struct stat *st)
{
	struct stat before = *st;
	int up = openat(*at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (up < 0)
		return -1;
	close(*at);
	*at = up;
	if (fstat(up, st) < 0)
		return -1;
	return !path_is_same(st, &before);
}

int path_may_change(
	const struct files_root *r, int dir, const char *leaf, const char *path, struct err *e)
{
	if (!r->nfixed)
		return 0;

	AS_PROCESS; /* what lies above may be closed to the user we work as */
	struct stat top, st;
	AUTO_CLOSE int at = -1;
	bool fixed = leaf && fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		path_is_fixed(r->fixed, r->nfixed, &st);

	at = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0 || fstat(at, &st) < 0 || fstat(r->fd, &top) < 0)
		return path_error(e, errno, "reach the directory of", path);
	while (!fixed && !(fixed = path_is_fixed(r->fixed, r->nfixed, &st)) &&
		!path_is_same(&st, &top))
		if (climb_up_from(&at, &st) <= 0) {
			err_set(e, ERR_REFUSED, "%.200s leads out of %.100s", path, r->name);
			errno = EROFS;
			return -1;
		}
	if (!fixed)
		return 0;
	err_set(e, ERR_REFUSED, "%.200s cannot be changed: it is read-only here", path);
	errno = EROFS;
	return -1;
}

#define DEPTH_MAX 10000 /* directories above one */

int path_lies_within(int inner, const struct stat *st, const struct stat *top)
{
	AS_PROCESS; /* as above */
	AUTO_CLOSE int at = openat(inner, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat here;

	if (at < 0 || fstat(at, &here) < 0)
		return -1;
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		int rc;

		if (path_is_same(&here, st))
			return 1;
		if (top && path_is_same(&here, top))
			return 0;
		rc = climb_up_from(&at, &here);
		if (rc <= 0)
			return rc;
	}
	errno = ELOOP;
	return -1;
}

bool path_holds_fixed(const struct files_root *r, const struct stat *st)
{
	for (size_t i = 0; i < r->nfixed; i++)
		if (path_lies_within(r->fixed[i].fd, st, NULL) != 0)
			return true; /* it does, or that cannot be seen */
	return false;
}

int path_parent_to_change(const struct files_root *r, const char *path, struct made *made,
	const char **leaf, struct err *e)
{
	AUTO_CLOSE int fd = path_parent(r, path, made, leaf, e);

	return fd < 0 || path_may_change(r, fd, *leaf, path, e) < 0 ? -1 : steal_fd(&fd);
}

struct files_root *path_root_open(
	int at, const char *path, const char *name, bool portable, struct err *e)
{
	struct files_root *r = xcalloc(1, sizeof *r);
	struct stat st;
	int probe;

	r->fd = openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r->fd < 0 || fstat(r->fd, &st) < 0) {
		path_error(e, errno, "open the directory", name);
		if (r->fd >= 0)
			close(r->fd);
		free(r);
		return NULL;
	}
	r->name = xstrdup(name);
	pthread_mutex_init(&r->lock, NULL);
	r->dev = st.st_dev;
	/* Old kernels have no openat2, old sandboxes answer EPERM to what they do not know. */
	probe = portable ? -1 : beneath_try(r->fd, ".", O_PATH | O_DIRECTORY, 0);
	r->portable = probe < 0;
	if (probe >= 0)
		close(probe);
	return r;
}

void path_root_close(struct files_root *r)
{
	pthread_mutex_destroy(&r->lock);
	for (size_t i = 0; i < r->nfixed; i++)
		close(r->fixed[i].fd);
	free(r->fixed);
	close(r->fd);
	free(r->name);
	free(r);
}

/* No user has that id, so it only tells. */
uid_t path_user(void)
{
	return (uid_t)setfsuid((uid_t)-1);
}

gid_t path_group(void)
{
	return (gid_t)setfsgid((gid_t)-1);
}
