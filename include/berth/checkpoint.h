/*
 * checkpoint.h - going back in a directory tree: checkpoints of it, and what differs between them.
 *
 * A store is a directory of our own (0700) that holds the checkpoints of one tree: for each a manifest
 * (every name with its mode, owner, times, links, extended attributes and the SHA-256 of its content) and
 * a pack with the contents that no checkpoint before it had, as reflinks where the file system can.  No
 * stored content shares an inode with the tree.
 *
 * A checkpoint is there as a whole or not at all, after kill -9 too; after a power failure once it is
 * synced.  The tree is given as an open directory, so that nothing can be put in its place; nothing
 * follows a symbolic link, crosses a mount or leaves it.  What is mounted below it takes no part.  The
 * caller sees to it that nobody writes meanwhile (a frozen container): what changes while it is read is
 * read twice, then taken as it was the second time and counted (moving).
 *
 * Names of checkpoints: 1 to 64 of A-Z a-z 0-9 . _ - and no dot in front.
 * Limits: 16 million entries, 4 GiB of names and attributes.
 * Thread: any; one struct checkpoint_store per thread.  Processes wait for each other (a lock in the store).
 * Errors: ERR_SYS, ERR_USAGE (a name), ERR_NOT_FOUND, ERR_CONFLICT (exists, or changed meanwhile),
 * ERR_FAILED (damaged), ERR_REFUSED (not ours to read or to make).
 */
#ifndef BERTH_CHECKPOINT_H
#define BERTH_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "str.h"

#define CHECKPOINT_NAME_MAX 64

struct checkpoint_store;

/* Makes the directory where it is missing; its parent must exist. */
struct checkpoint_store *checkpoint_open(const char *dir, struct err *e);
void checkpoint_close(struct checkpoint_store *s); /* NULL is fine */

struct checkpoint_info {
	char name[CHECKPOINT_NAME_MAX + 1];
	uint64_t serial; /* grows with each checkpoint of the store */
	int64_t made_ns; /* Unix time at which reading began */
	uint64_t files, dirs, others;
	uint64_t bytes;  /* of all files */
	uint64_t stored; /* bytes that this one added to the store */
	uint64_t moving; /* files that changed while they were read */
	uint64_t mounts; /* below which nothing was read */
	bool synced;     /* survives a power failure */
	bool damaged;    /* the manifest is; nothing else is then filled in but name */
};

/* How a live tree is read.  NULL or all zero: as below. */
struct checkpoint_options {
	const pid_t *
		pids; /* whose writable mappings are looked at; NULL: those of all processes that may be seen */
	size_t npids;
	bool sync; /* return only when it survives a power failure, too */
};

/* `ret` may be NULL.  Without o->sync call checkpoint_sync once the tree may be written again. */
int checkpoint_make(struct checkpoint_store *s, int root, const char *name,
	const struct checkpoint_options *o, struct checkpoint_info *ret, struct err *e);
int checkpoint_sync(struct checkpoint_store *s, const char *name, struct err *e);

/* Oldest first; free(*ret). */
int checkpoint_list(
	struct checkpoint_store *s, struct checkpoint_info **ret, size_t *n, struct err *e);
int checkpoint_show(
	struct checkpoint_store *s, const char *name, struct checkpoint_info *ret, struct err *e);

/* Takes a checkpoint away and gives back what only it needed; *freed (or NULL): bytes. */
int checkpoint_drop(struct checkpoint_store *s, const char *name, uint64_t *freed, struct err *e);

/* Every content of it against its hash.  0: sound; -1 and ERR_FAILED name the first that is not. */
int checkpoint_verify(struct checkpoint_store *s, const char *name, struct err *e);

struct checkpoint_restored {
	uint64_t written, removed,
		mended; /* entries: made anew, taken away, only mode, owner, times, attributes */
	uint64_t bytes; /* written */
};

/*
 * Makes the tree below `root` what it was, in the same directory inode.  First makes the checkpoint
 * `undo` of what is there (NULL: does not), and checks every content that it will need.  After a kill or
 * an error in the middle checkpoint_pending names what was to be restored; restoring it, or `undo`, again
 * ends that.
 */
int checkpoint_restore(struct checkpoint_store *s, int root, const char *name, const char *undo,
	const struct checkpoint_options *o, struct checkpoint_restored *ret, struct err *e);
/* Whether a restore was cut short; its checkpoint's name is then in `name`. */
bool checkpoint_pending(struct checkpoint_store *s, char name[CHECKPOINT_NAME_MAX + 1]);

/* The same tree in another directory, which must be empty. */
int checkpoint_fork(struct checkpoint_store *s, const char *name, int root,
	struct checkpoint_restored *ret, struct err *e);

#endif
