/*
 * staging.h - where a change of a tree is prepared: files on their way in, locks, transaction records.
 *
 * In the tree there is one directory for as long as a change takes, because a rename needs the same file system:
 *
 *   .berth-ID/ID.N       files on their way in, or out; ID is 128 random bits, made by us (never found and used)
 *
 * Everything that is believed later is where whoever can write to the tree cannot: in the state directory,
 * changes/ROOT/ (ROOT: file system and inode of the root):
 *
 *   lock                 byte 0 shared by every change, exclusive for recovery; one byte (a hash of
 *                        directory and name) exclusive per target; behind these a gate, passed by
 *                        every change and kept shut by whoever waits for all others; the last byte is
 *                        shared by all that have it open, and exclusive for removing it
 *   owner.ID             locked for the life of the process (and root) that has it
 *   journal/ID.N         a batch past its commit point: redo it, or undo it where it says so
 *   notes/ID.N           a deletion that continues in a directory of another file system
 *
 * The last to close removes all of it, unless something in it is still needed.  Where the state directory cannot be
 * written, changes go on without locks (version tokens still find conflicts), but no all-or-nothing batch.
 *
 * A file on its way in could be written to by the owner of the tree: it is put in place only if it is, by inode, size
 * and change time, what was written.
 *
 * Thread: any, except where noted.
 */
#ifndef BERTH_FILES_STAGING_H
#define BERTH_FILES_STAGING_H

#include <stdint.h>

#include "files/common/paths.h"
#include "files/common/op.h"

#define STAGING_PREFIX ".berth-"
#define STAGING_ID_LEN 32 /* hexadecimal digits */
#define STAGE_NAME_MAX 64

struct staging {
	int top;              /* the root */
	int stage;            /* .berth-ID: there while it has users */
	unsigned stage_users; /* under lock */
	bool stage_stays;     /* it could not be removed; under lock */
	_Atomic bool
		durable; /* a change was to survive a power failure: so must the stage's removal */
	pthread_mutex_t lock;
	int dir, journal, notes; /* in the state directory; -1: it cannot be written */
	int held;                /* the lock file, with its last byte locked */
	_Atomic unsigned users;
	int owner; /* holds the lock that says we live */
	char id[STAGING_ID_LEN + 1];
	char place[64]; /* ROOT, below changes/ */
	_Atomic uint64_t serial;
	_Atomic bool kept; /* old files got a second name in the stage: no swapping here */
	const struct fixed_place *fixed; /* the root's */
	size_t nfixed;
};

/* Whether a name in a root is that of a directory of changes. */
bool staging_is_ours(const char *name);
/* ".berth-ID", of this or another process. */
#define STAGING_DIR_MAX (sizeof STAGING_PREFIX + STAGING_ID_LEN)
char *staging_dir_name(char buf[STAGING_DIR_MAX], const char *id);
/* The stage of `id`; -1 with errno where it is not there or not ours alone. */
int staging_open_stage(const struct staging *s, const char *id);

/* How long to wait for a lock, and what may end the waiting. */
struct patience {
	int64_t until; /* clock_mono_ns */
	const struct op *op;
};
struct patience patience(int timeout_ms, const struct op *op);

/* NULL and *e when no directory can be made in the root.  What dead processes left is not looked at: that is recover.h's. */
struct staging *staging_open(struct files_root *r, const struct patience *p, struct err *e);
struct staging *staging_ref(struct staging *s);
void staging_unref(struct staging *s); /* the last one closes it */
/* From the first to the last of its users the directory in the tree is there. */
int staging_use(struct staging *s, const char *root, struct err *e);
void staging_leave(struct staging *s);
char *stage_name(struct staging *s, char buf[STAGE_NAME_MAX]); /* a new one: "ID.N" */

/* Whether a file without a name (O_TMPFILE) can get one here, and giving it: fails as linkat. */
bool staging_can_link(void);
int staging_link(int fd, int dir, const char *leaf);

/* As renameat2 with RENAME_NOREPLACE; also on file systems that know no flags (NFS, much of FUSE).  What
 * cannot be linked there, directories above all, is renamed when nothing was found at `to`. */
int rename_new(int from_dir, const char *from, int to_dir, const char *to);

/* Lock the targets (keys sorted, ascending).  The descriptor holds the locks until it is closed.
 * ERR_TIMEOUT when patience ends. */
int staging_lock(
	struct staging *s, const uint64_t *keys, size_t n, const struct patience *p, struct err *e);
/* Alone: nobody commits, finishes or recovers until the descriptor is closed. */
int staging_lock_all(struct staging *s, const struct patience *p, struct err *e);
/* The process that `id` stands for is gone; and whether nobody holds this file of the state directory. */
bool staging_is_dead(struct staging *s, const char *id);
bool staging_is_unlocked(struct staging *s, const char *name);
/* A file "owner.ID": its process may have a directory in the tree.  One that is still "new.ID" has none. */
bool staging_is_owner(const char *name);
/* The id of a file in the state directory, "owner.ID" or "ID.N"; false: it has none. */
bool staging_id_of(const char *name, char id[STAGING_ID_LEN + 1]);
uint64_t staging_key(const struct stat *dir, const char *leaf);

#endif
