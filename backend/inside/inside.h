/*
 * inside.h - internals of copying files into and out of containers.
 *
 *   inside.c       source and destination by the rules of `docker cp`; the session, policy and record around it
 *   look_inside.c  what a path in the container is (copying.h)
 *   unpack.c       a tar from a container, below a directory here
 *   pack_tree.c    a file or tree here, as a tar for a container
 *   owner.c        who owns what is copied into a container
 *   space.c        leaves space for others
 */
#ifndef INSIDE_INSIDE_H
#define INSIDE_INSIDE_H

#include <sys/types.h>

#include <berth/inside.h>
#include <berth/str.h>

/* ERR_CANCELLED: `stop` says so; it may be NULL. */
static inline int inside_check_stop(bool (*stop)(void *ctx), void *ctx, struct err *e)
{
	return stop && stop(ctx) ? err_set(e, ERR_CANCELLED, "cancelled") : 0;
}

#define INSIDE_SPOOL "$TMPDIR, or /var/tmp" /* where file_temporary() is */

/* Before n more bytes go to fd; *unchecked begins as 0.  ERR_FAILED: little space would be left in `where`. */
int inside_check_space(int fd, uint64_t *unchecked, size_t n, const char *where, struct err *e);

/* Unpacks the tar in fd, whose entries are all `root` or below it (any where root is ""), as `name` in the directory
 * `dir`; name NULL: the content of root goes into dir itself.  `shown`: what to call dir. */
struct unpack {
	int fd, dir;
	const char *root, *name, *shown;
	bool keep_owner;
	bool (*stop)(void *ctx);
	void *ctx;
};
int inside_unpack(const struct unpack *u, struct inside_copied *ret, struct err *e);
/* The first entry of the tar in fd, a file of at most `most` bytes. */
int inside_read_file(int fd, size_t most, struct str *ret, struct err *e);

/* Writes a tar of what is `from` in the directory `dir` to fd, as `name`; name NULL: of what is in the directory `from`.
 * `path`: what to call it.  `prefix`, "" or with a slash at its end, is before all names in the tar. */
struct pack {
	int fd, dir;
	const char *from, *path, *prefix, *name;
	/* 1: a directory of that name (without prefix) is in the container, and no entry changes its owner or mode; 0; or
	 * -1.  Asked only about what is in one that is there.  May be NULL. */
	int (*is_there)(void *ctx, const char *name, struct err *e);
	bool keep_owner; /* else: uid and gid */
	uid_t uid;
	gid_t gid;
	bool (*stop)(void *ctx);
	void *ctx;
};
int inside_pack(const struct pack *p, struct inside_copied *ret, struct err *e);

/* The numbers of `user`, USER[:GROUP] as of `docker run --user`; "" is root.  Names are looked up in the files of the
 * container, which `read_file` returns.  A number without a group has that of its line in /etc/passwd, or 0. */
typedef int inside_read_fn(void *ctx, const char *path, struct str *ret, struct err *e);
int inside_owner(const char *user, inside_read_fn *read_file, void *ctx, uid_t *uid, gid_t *gid,
	struct err *e);

#endif
