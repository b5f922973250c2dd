/*
 * paths.h - paths below a root, resolved so that nothing leads out of it.
 *
 * Reading resolves the whole path in one openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS): symlinks
 * inside the tree work, everything that leaves it is an error of the kernel.  Changing resolves the
 * parent that way and then names one component relative to that descriptor.  Where openat2 is not
 * to be had, the path is walked one component at a time with O_NOFOLLOW: no symlink and no ".." at
 * all, so it fails closed.  Never a check of a string and then a use of it.
 */
#ifndef BERTH_FILES_PATHS_H
#define BERTH_FILES_PATHS_H

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <berth/err.h>
#include <berth/files.h>

/* How a file is opened that may turn out to be a pipe or a terminal. */
#define PATH_READ (O_RDONLY | O_NONBLOCK | O_NOCTTY)
#define PATH_LONGEST (1u << 20) /* bytes; resolved in pieces beyond PATH_MAX */

/* A directory or file that is not changed through a root, nor anything below it, whatever path leads there. */
struct fixed_place {
	dev_t dev;
	ino_t ino;
	int fd; /* the directory, or that of the file: what is above it is looked for from here */
};

struct files_root {
	int fd;        /* O_PATH | O_DIRECTORY */
	bool portable; /* no openat2: the walk */
	char *name;    /* as the user gave it, for sentences */
	dev_t dev;
	struct fixed_place *fixed; /* set before the root is used */
	size_t nfixed;
	pthread_mutex_t lock;    /* guards the next */
	struct staging *staging; /* made by the first change */
};

/* `portable`: without openat2, also where there is one.  What was staged is not path_root_close's to close. */
struct files_root *path_root_open(
	int at, const char *path, const char *name, bool portable, struct err *e);
void path_root_close(struct files_root *r);

/* The lexical gate: not empty, not absolute, components of at most 255 bytes. */
int path_check(const char *path, struct err *e);

/* Open below the root; -1 and errno.  `flags` as for open, O_CLOEXEC is added.  EXDEV: led out. */
int path_open(const struct files_root *r, const char *path, int flags);
/* The same, but any symlink on the way is ELOOP. */
int path_open_strict(const struct files_root *r, const char *path, int flags);
/* The same, but EAGAIN as soon as something is not cached. */
int path_open_cached(const struct files_root *r, const char *path, int flags);
/* One component, no symlink, relative to a directory that was resolved before; likewise. */
int path_open_leaf_cached(int dir, const char *leaf, int flags);

/* Whether what is open as fd is a regular file; fills in *st. */
int path_regular(int fd, const char *path, struct stat *st, struct err *e);

/* Directories that were made on the way, to be taken back when nothing comes of it. */
struct made {
	char **paths;
	size_t n, cap;
};
void made_undo(const struct files_root *r, struct made *m); /* removes those that are empty */
void made_release(struct made *m);

/* Descriptor (O_PATH) of the directory that holds the last component; *leaf points into `path`.
 * With `made`, missing directories on the way are made and noted there. */
int path_parent(const struct files_root *r, const char *path, struct made *made, const char **leaf,
	struct err *e);

/* The same for what is to be changed: ERR_REFUSED where it is, or lies below, a fixed place.  Each is recognised by
 * device and inode on the way up from the descriptor that was reached, so neither a link, another name of a directory
 * above nor a rename meanwhile leads around it. */
int path_parent_to_change(const struct files_root *r, const char *path, struct made *made,
	const char **leaf, struct err *e);
/* What is at dir/leaf (leaf NULL: dir itself), likewise; errno is EROFS where it is refused. */
int path_may_change(
	const struct files_root *r, int dir, const char *leaf, const char *path, struct err *e);
/* Whether the directory with `st` is or holds a fixed place: it cannot be deleted or moved. */
bool path_holds_fixed(const struct files_root *r, const struct stat *st);
bool path_is_fixed(const struct fixed_place *fixed, size_t n, const struct stat *st);
/* Is the directory `inner` (a descriptor) the one with st, or below it?  Looked for up to `top`; NULL: up to the root of all.
 * -1 and errno: that cannot be found out. */
int path_lies_within(int inner, const struct stat *st, const struct stat *top);
static inline bool path_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* What lies in the state directory belongs to the process, also while a thread works as the user of a container
 * (setfsuid).  For the scope in which it stands. */
struct path_identity {
	uid_t uid;
	gid_t gid;
	bool changed;
};
struct path_identity path_identity(void);
void path_identity_end(struct path_identity *i);
#define AS_PROCESS                                                                            \
	__attribute__((cleanup(path_identity_end), unused)) struct path_identity as_process = \
		path_identity()

/* Who this thread is to file systems: a server works as the user of a container (setfsuid). */
uid_t path_user(void);
gid_t path_group(void);

/* The sentence for errno `errnum` of trying to `verb` ("read") `path`. */
int path_error(struct err *e, int errnum, const char *verb, const char *path);

#endif
