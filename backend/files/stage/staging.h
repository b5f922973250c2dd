/*
 * staging.h - the directory .berth of a root: where new files wait, locks, journals.
 *
 *   .berth/lock         never removed; byte 0 shared by every change, exclusive for recovery; one
 *                       byte (a hash of directory and name) exclusive per target; the last byte is
 *                       a gate, passed by every change and kept shut by who waits for all others
 *   .berth/owner.ID     locked for the life of the process (and root) that has it
 *   .berth/stage/ID.N   files on their way in, or out
 *   .berth/journal/ID.N a batch past its commit point: redo it, or undo it where it says so
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
	int dir, stage, journal; /* descriptors of the directories */
	int owner;               /* holds the lock that says we live */
	char id[17];
	_Atomic uint64_t serial;
	_Atomic bool kept; /* old files got a second name in the stage: no swapping here */
	char clearing[17]; /* while it is made: the dead process whose leavings are looked at */
	bool keep;         /* and whether they are still needed */
};

/* How long to wait for a lock, and what may end the waiting. */
struct patience {
	int64_t until; /* clock_mono_ns */
	const struct op *op;
};
struct patience patience(int timeout_ms, const struct op *op);

/* The staging of this root, made at the first call; what dead processes left is finished or undone
 * before the first call returns.  NULL and *e when .berth is not ours or cannot be made. */
struct staging *staging_get(struct files_root *r, const struct patience *p, struct err *e);
void staging_close(struct staging *s);
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
uint64_t staging_key(const struct stat *dir, const char *leaf);

/* Remove what is at dir/name, whatever it is, without following anything.  Directories are emptied
 * by moving those below them into the stage, so depth costs nothing.  Adds to *t, where the first
 * error is kept, too. */
void remove_tree(struct staging *s, int dir, const char *name, const struct op *op,
	struct files_tree_totals *t);

/* What is in the stage may be a note of a deletion on another file system: finish that.  The note
 * itself stays. */
void remove_noted(struct files_root *r, struct staging *s, const char *name);

/* Batches of dead processes that are past their commit point, if there are any: cheap when not. */
int staging_recover(struct files_root *r, struct staging *s, bool thorough,
	const struct patience *p, struct err *e);

/* --- the journal of one batch --- */

struct journal_item {
	const char *path; /* of the target, below the root */
	char stage[STAGE_NAME_MAX];
	bool existed;
	uint64_t new_ino, old_ino, old_size;
	int64_t old_mtime_ns;
};

/* Write it and make it durable: the commit point.  `name` receives its name. */
int journal_commit(struct staging *s, const struct journal_item *items, size_t n,
	char name[STAGE_NAME_MAX], struct err *e);
/* From now on recovery undoes it. */
int journal_reverse(struct staging *s, const char *name, struct err *e);
/* -1: not to be finished now; it and all that it needs stay, for the next change. */
int journal_replay(struct files_root *r, struct staging *s, const char *name, struct err *e);

/* Put the staged file of an item in place (forward) or take it back, whichever steps are still to
 * be done.  A target that somebody else changed meanwhile keeps that.  Idempotent.  -1: forward, it was
 * changed (ERR_CONFLICT, ERR_NOT_FOUND ...) or could not be done; back, it could not.
 * keep: it may have to be taken back. */
int journal_forward(struct files_root *r, struct staging *s, const struct journal_item *item,
	bool keep, struct err *e);
int journal_back(
	struct files_root *r, struct staging *s, const struct journal_item *item, struct err *e);
/* All are in place, or none: the journal goes, and what was kept of the old files. */
void journal_done(struct staging *s, const char *name, const struct journal_item *items, size_t n);

#endif
