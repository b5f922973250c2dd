/*
 * checkpoint.h - checkpoints of a directory tree: create, restore, compare.
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
 * read twice, then taken as it was the second time and counted (moving).  Of a name that is given to another
 * file meanwhile the new one is taken; what went away is left out and counted (gone).
 *
 * Who is not root may find entries that he cannot read: of them the name is kept, they are counted and can be
 * asked for (checkpoint_tree_unread), they take no part in comparisons, and a restore leaves them, and what
 * could not be seen at the time of the checkpoint, as it is.  Archives and seals refuse both.
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
	uint64_t gone;   /* entries removed while the tree was read */
	uint64_t mounts; /* below which nothing was read */
	uint64_t unread; /* closed to us: of them only the name is kept */
	bool synced;     /* survives a power failure */
	bool damaged;    /* the manifest is; nothing else is then filled in but name */
};

/* How a live tree is read.  NULL or all zero: as below. */
struct checkpoint_options {
	const pid_t *
		pids; /* whose writable mappings are looked at; NULL: those of all processes that may be seen */
	size_t npids;
	bool sync; /* return only when it survives a power failure, too */
	/* Of a restore: whether it goes on, asked when `undo` is there and before anything is changed; -1 and *e: `undo`
	 * goes again.  NULL: it does. */
	int (*allow)(void *ctx, const struct checkpoint_info *undo, struct err *e);
	void *ctx;
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

/* Disk space of all checkpoints of the store, as the file system counts it. */
int checkpoint_disk(struct checkpoint_store *s, uint64_t *bytes, struct err *e);

/* How many checkpoints the store `dir`, below the open directory `at`, holds, and the newest of them ("": there are
 * none) with the Unix time at which it was finished: by their names alone, for who looks at a thousand stores. */
size_t checkpoint_glance(
	int at, const char *dir, char newest[CHECKPOINT_NAME_MAX + 1], int64_t *newest_ns);

/* For who makes one, looks at the others and drops some of them by what he sees: one after the other.  Nothing else
 * waits for it; it comes before all that the making of a checkpoint waits for. */
int checkpoint_turn(struct checkpoint_store *s, struct err *e);
void checkpoint_turn_end(struct checkpoint_store *s);

/* Takes a checkpoint away and gives back what only it needed; *freed (or NULL): bytes. */
int checkpoint_drop(struct checkpoint_store *s, const char *name, uint64_t *freed, struct err *e);

/* Every content of it against its hash.  0: sound; -1 and ERR_FAILED name the first that is not. */
int checkpoint_verify(struct checkpoint_store *s, const char *name, struct err *e);

struct checkpoint_restored {
	uint64_t written, removed,
		mended; /* entries: created again, removed for good, only mode, owner, times or attributes changed */
	uint64_t
		left; /* that could not be seen now, or when the checkpoint was made, and stay as they are */
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

/* The same tree in other directories, which must be empty, at once. */
struct checkpoint_target {
	int root;
	/* Its own checkpoints: there it is noted, before anything is written, with what the tree begins.  Or NULL. */
	struct checkpoint_store *begins;
	struct err
		err; /* ERR_NONE: it is whole; else why it is not, and what is there is to be removed */
	struct checkpoint_restored done;
};
/* -1: none of them was begun. */
int checkpoint_fork(struct checkpoint_store *s, const char *name, struct checkpoint_target *t,
	size_t n, struct err *e);

/*
 * A tree as one file: a tar (pax) compressed with zstd, which any tar reads, and behind it, in a frame that they
 * skip, the manifest with the SHA-256 of every content.  That manifest alone says what is unpacked where; the tar
 * gives the contents, and what differs from their hashes is refused.
 */
struct checkpoint_archiving {
	const char *name; /* that the archive has in sentences and in itself */
	int level;        /* of zstd; 0: its own default */
	unsigned threads; /* that compress; 0: everything runs on the calling thread */
	/* Is shown each file's path and content, block by block (at most 1 MiB), and 0 bytes at its end; of a file that
	 * is not text, or is empty, at most one byte.  Or NULL. */
	void (*look)(void *ctx, const char *path, const char *bytes, size_t n);
	void *ctx;
};
struct checkpoint_tree;
/* Into the empty open file, which is synced, read back and checked when this returns: what it holds.  ERR_REFUSED:
 * something is mounted in the tree, or a file is longer than 1 TiB with its holes. */
struct checkpoint_tree *checkpoint_archive(
	int root, int file, const struct checkpoint_archiving *o, struct err *e);
/* What an archive holds: names and hashes, no contents. */
struct checkpoint_tree *checkpoint_archive_open(int file, const char *name, struct err *e);
struct checkpoint_entry;
/* Reads the contents of these files of such a tree from its archive, once through and no further than the last of
 * them, checked, into the empty open file `scratch`, which must stay open as long as the tree is used;
 * checkpoint_content gives them then.  Once for each tree. */
int checkpoint_archive_fetch(struct checkpoint_tree *t, int file, int scratch,
	const struct checkpoint_entry *const *files, size_t n, struct err *e);
/* When it was made and how much it holds, by its own word; nothing is hashed. */
int checkpoint_archive_show(int file, const char *name, struct checkpoint_info *ret, struct err *e);
/* Every content against its hash.  ERR_FAILED: damaged. */
int checkpoint_archive_verify(int file, const char *name, struct err *e);
/*
 * Into the empty directory `root`; what is damaged is found before this returns, not before anything is written.
 * Set-id bits, attributes but user.*, devices and owners other than that of the tree's root (or, for who is not
 * root, oneself) do not pass: `dropped` (or NULL) is told of each.
 */
typedef void checkpoint_dropped_fn(void *ctx, const char *path, const char *what);
int checkpoint_unarchive(int file, const char *name, int root, checkpoint_dropped_fn *dropped,
	void *ctx, struct checkpoint_restored *ret, struct err *e);
/* Of a tree that shall stay as it is: names, modes and hashes into the empty open file, synced; and whether it is
 * still so, ERR_FAILED naming the first that is not.  Times are no part of it. */
int checkpoint_seal(int root, int file, struct err *e);
int checkpoint_check_seal(int root, int file, const char *name, struct err *e);
/* Whether the live tree is still exactly t: 0, or -1 and ERR_CONFLICT naming the first that is not. */
int checkpoint_unchanged(const struct checkpoint_tree *t, int root, struct err *e);
/*
 * What a tree holds, by name, to be compared with others and read: a checkpoint, what a directory holds now,
 * or what a fork began with.  The store (and the directory) must stay open as long.  NULL: *e.
 */
struct checkpoint_tree *checkpoint_tree_of(
	struct checkpoint_store *s, const char *name, struct err *e);
/* Contents are hashed, but those for which the newest checkpoint in s vouches. */
struct checkpoint_tree *checkpoint_tree_now(
	struct checkpoint_store *s, int root, const struct checkpoint_options *o, struct err *e);
/* What checkpoint_fork noted of the tree `root`: names and hashes, no contents.  ERR_NOT_FOUND: it began
 * with nothing. */
struct checkpoint_tree *checkpoint_tree_start(struct checkpoint_store *s, int root, struct err *e);
/* The same of the tree that t was read from, an archive of it by now. */
struct checkpoint_tree *checkpoint_tree_start_of(
	struct checkpoint_store *s, const struct checkpoint_tree *t, struct err *e);
/* Of a directory with nothing in it. */
struct checkpoint_tree *checkpoint_tree_empty(void);
void checkpoint_tree_free(struct checkpoint_tree *t); /* NULL is fine */

/* The checkpoint that t is, or began as: its name, and whether it is the same one. */
const char *checkpoint_tree_name(const struct checkpoint_tree *t);
bool checkpoint_tree_same(const struct checkpoint_tree *a, const struct checkpoint_tree *b);

/* How much it holds, and what it does not. */
void checkpoint_tree_info(const struct checkpoint_tree *t, struct checkpoint_info *ret);
/* The next entry behind *at (at first 0) that could not be read: its path, appended.  false: no more. */
bool checkpoint_tree_unread(const struct checkpoint_tree *t, uint32_t *at, struct str *path);

/* One entry of a tree.  Texts are the tree's. */
struct checkpoint_entry {
	uint32_t id;
	mode_t mode; /* type and permission bits; 0: there is none */
	uid_t uid;
	gid_t gid;
	uint64_t size;      /* of a regular file, bytes */
	bool attributes;    /* it has extended ones: capabilities, lists of who may */
	const char *target; /* of a symbolic link */
};
/* By its path from the root on ("src/a.c"); false: there is none, or no such path. */
bool checkpoint_lookup(
	const struct checkpoint_tree *t, const char *path, struct checkpoint_entry *ret);
/* Whether what was added, block by block, is the content of that file; it cannot be asked twice.  (Of one with holes it
 * is not told: false.) */
struct checkpoint_sum;
struct checkpoint_sum *checkpoint_sum_new(void);
void checkpoint_sum_add(struct checkpoint_sum *s, const void *bytes, size_t n);
bool checkpoint_sum_is(struct checkpoint_sum *s, const struct checkpoint_tree *t,
	const struct checkpoint_entry *x);
/* Or: it ends as 64 hexadecimal digits, the same for the same bytes and for no others. */
void checkpoint_sum_print(struct checkpoint_sum *s, char hex[65]);
/* What stands for the content of a regular file, 32 bytes. */
const uint8_t *checkpoint_hash_of(
	const struct checkpoint_tree *t, const struct checkpoint_entry *x);
void checkpoint_sum_free(struct checkpoint_sum *s); /* NULL is fine */
/* Whether both are of one type with the same content, target or number. */
bool checkpoint_same(const struct checkpoint_tree *a, const struct checkpoint_entry *x,
	const struct checkpoint_tree *b, const struct checkpoint_entry *y);
/* The content of a regular file of at most `most` bytes, behind what `ret` holds, checked against its hash.
 * ERR_REFUSED: longer; ERR_NOT_FOUND: a start has none, and of an archive it was not fetched.  Of what a directory
 * holds now: where it was saved anew since the tree was read, what it is now, and so the tree has it from then on;
 * ERR_CONFLICT: it is gone. */
int checkpoint_content(struct checkpoint_tree *t, const struct checkpoint_entry *x, uint64_t most,
	struct str *ret, struct err *e);
/* What the tree has of it by now: another size or mode where its content was read anew.  Of none it stays none. */
void checkpoint_entry_again(const struct checkpoint_tree *t, struct checkpoint_entry *x);
/* The content of any size, block by block; ERR_CONFLICT: changed since the tree was read.  Opening is for one thread
 * of a tree at a time, reading for any. */
struct checkpoint_reader;
struct checkpoint_reader *checkpoint_reader_open(
	struct checkpoint_tree *t, const struct checkpoint_entry *x, struct err *e);
/* The next bytes, at most `n`; 0: that was all, and it is what the tree says it is. */
ssize_t checkpoint_read(struct checkpoint_reader *r, void *to, size_t n, struct err *e);
void checkpoint_reader_close(struct checkpoint_reader *r); /* NULL is fine */

enum checkpoint_difference {
	CHECKPOINT_ADDED,
	CHECKPOINT_REMOVED,
	CHECKPOINT_CONTENT, /* of a file, the target of a link, the number of a device */
	CHECKPOINT_TYPE,    /* a file became a directory, say */
	CHECKPOINT_MODE     /* only mode, owner or attributes; times are no difference */
};
struct checkpoint_change {
	char *path; /* from the root on, any bytes but NUL */
	enum checkpoint_difference what;
	struct checkpoint_entry old, new;
};
struct checkpoint_changes {
	struct checkpoint_change
		*all; /* by path; every entry below an added or removed directory is one */
	size_t n;
};
/* From a to b.  Holes in a file are content.  The texts live as long as the trees. */
void checkpoint_compare(const struct checkpoint_tree *a, const struct checkpoint_tree *b,
	struct checkpoint_changes *ret);
void checkpoint_changes_release(struct checkpoint_changes *c);

#endif
