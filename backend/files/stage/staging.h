/*
 * staging.h - the directory .berth of a root: where new files wait, locks, journals.
 *
 *   .berth/lock         byte 0 shared by every change, exclusive for recovery; one byte (a hash of
 *                       directory and name) exclusive per target; behind these a gate, passed by
 *                       every change and kept shut by who waits for all others; the last byte is
 *                       shared by all that have .berth open, and exclusive for removing it
 *   .berth/owner.ID     locked for the life of the process (and root) that has it
 *   .berth/stage/ID.N   files on their way in, or out
 *   .berth/journal/ID.N a batch past its commit point: redo it, or undo it where it says so
 *
 * The last to close removes all of it, unless something in it is still needed.
 *
 * Whoever can write to the root can also put things here, so: the directory must belong to us with
 * nobody else allowed to write, no symlink is followed, and a journal can only move files of its
 * stage to paths below the root.  Thread: any, except where noted.
 */
#ifndef BERTH_FILES_STAGING_H
#define BERTH_FILES_STAGING_H

#include <stdint.h>

#include "files/common/paths.h"
#include "files/common/op.h"

#define STAGING_NAME ".berth"
#define STAGE_NAME_MAX 64

struct staging {
	int top, dir, stage, journal; /* descriptors of the root and of the directories */
	int held;                     /* the lock file, with its last byte locked */
	_Atomic unsigned users;
	int owner; /* holds the lock that says we live */
	char id[17];
	_Atomic uint64_t serial;
	_Atomic bool kept; /* old files got a second name in the stage: no swapping here */
	char clearing[17]; /* recover.c's: the dead process whose leavings are looked at */
	bool keep;         /* and whether they are still needed */
};

/* How long to wait for a lock, and what may end the waiting. */
struct patience {
	int64_t until; /* clock_mono_ns */
	const struct op *op;
};
struct patience patience(int timeout_ms, const struct op *op);

/* Open .berth of this root, made where there is none; NULL and *e when it is not ours or cannot be
 * made.  What dead processes left is not looked at: that is recover.h's. */
struct staging *staging_open(struct files_root *r, const struct patience *p, struct err *e);
struct staging *staging_ref(struct staging *s);
void staging_unref(struct staging *s);                         /* the last one closes it */
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
/* The process that `id` stands for is gone. */
bool staging_is_dead(struct staging *s, const char *id);
/* Files of owners that are gone, and of those that went before they became owners. */
void staging_bury(struct staging *s);
uint64_t staging_key(const struct stat *dir, const char *leaf);

#endif
