/*
 * capture.h - a live tree becomes a manifest.
 *
 * First all directories are listed (tasks on worker threads), then the content of each file that may
 * differ from the base is read, hashed and put into a pack.  What the base has of an unchanged file is
 * taken over unread: the same inode, size, mtime, ctime, and that ctime two clock ticks older than when
 * the base was read, and nobody who could have written it through a mapping then or now.
 *
 * Whoever saves a file gives its name to a new one, and that is taken; what is gone meanwhile is left out and
 * counted; of what we may not read the manifest has the name alone.
 */
#ifndef CHECKPOINT_CAPTURE_H
#define CHECKPOINT_CAPTURE_H

#include "checkpoint/manifest.h"

struct pool;
struct pack;

struct capture {
	int root;
	const struct manifest *base; /* indexed; or NULL: all is read */
	struct pack *pack;           /* where contents go; NULL: they are only hashed */
	/* In place of `pack`: each content, one after another in the order of the entries of m, which is whole but
	 * for them; sets what pack_put does.  What changes while it is read is an error. */
	int (*put)(void *ctx, struct manifest *m, uint32_t i, int file, struct err *e);
	void *ctx;
	const struct checkpoint_options *o;
	struct pool *pool;
	bool whole; /* what cannot be read, or changes meanwhile, is an error; with `put` always */
};

/* Fills in the empty manifest m, head too but for name, serial and stored. */
int capture_tree(const struct capture *s, struct manifest *m, struct err *e);

/* Of which boot this is; zeros where it cannot be told. */
void capture_boot(uint8_t boot[16]);

/* Inodes that a live process maps shared and writable, as far as it may be seen. */
struct mapped {
	uint64_t *inode; /* sorted */
	size_t n, cap;
	bool blind; /* some process kept its mappings from us */
};
void mapped_read(struct mapped *m, const struct checkpoint_options *o);
bool mapped_holds(const struct mapped *m, uint64_t inode);
void mapped_release(struct mapped *m);

#endif
