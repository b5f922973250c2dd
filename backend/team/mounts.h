/*
 * mounts.h - which host paths may be mounted into a container.
 *
 * Refused as sources, by the real path that is opened and not by the text: the system's
 * directories, engine sockets, a home directory itself, credential places below one, berth's own
 * state, configuration and data but for workspaces, and anything below a path that an agent can write (it could be swapped).
 * A source is opened (O_PATH) and remembered by device and inode; after the start the guest tells
 * what it sees at the target, and a difference ends the container (lane.h).
 *
 * Thread: any.
 */
#ifndef TEAM_MOUNTS_H
#define TEAM_MOUNTS_H

#include <stdbool.h>
#include <sys/types.h>

#include <berth/err.h>

struct mount {
	char *source, *target;
	bool read_only;
	bool private_ours; /* guest and lane directory: not shown as the definition's */
	dev_t dev;
	ino_t ino;
	uid_t uid;
	gid_t gid;
	mode_t mode;
};

struct mount_list {
	size_t n, cap;
	struct mount *mount;
};

enum mount_kind {
	MOUNT_DECLARED,   /* the rules above hold */
	MOUNT_CREDENTIAL, /* named under credentials: credential places are allowed, read-only */
	MOUNT_OURS,       /* berth's own guest and lane directory */
};

/* `writable` are paths that an agent of this team may write: nothing may be mounted from below
 * them, except each itself.  The source must exist. */
int mounts_add(struct mount_list *l, enum mount_kind kind, const char *source, const char *target,
	bool read_only, const char *const *writable, size_t nwritable, struct err *e);
void mounts_release(struct mount_list *l);

/* For a protected path inside `grant`, which can be written: each directory that leads to it is mounted over itself.
 * A directory that holds a mount can be renamed, and another one put in its place; one that is a mount cannot.
 * To be called when all else is in the list: nothing becomes writable by it. */
int mounts_pin(struct mount_list *l, const char *grant, const char *path, struct err *e);

/* Is `real`, a path without links, `dir` or below it, wherever that really is?  Never below "/". */
bool mounts_within(const char *real, const char *dir);

/* Only the judgement: real path in, sentence out. */
int mounts_judge(enum mount_kind kind, const char *real, struct err *e);
/* For `config check`: of a path that is not there yet, as it would be judged where it will be. */
int mounts_foresee(enum mount_kind kind, const char *path, struct err *e);

#endif
