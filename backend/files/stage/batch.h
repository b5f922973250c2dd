/*
 * batch.h - files that are written together: the steps, in the order they are taken.
 *
 * write.c prepares (resolve, lock, check, stage), commit.c makes it true (barrier, journal, rename,
 * barrier).  Nothing is visible before commit_batch; a failure before leaves no trace.
 */
#ifndef BERTH_FILES_BATCH_H
#define BERTH_FILES_BATCH_H

#include "files/stage/commit_record.h"

struct batch_dir {
	int fd; /* O_PATH */
	struct stat st;
};

struct batch_item {
	const struct files_put *put;
	struct files_put_result *res;
	struct journal_item j;
	const char *leaf;
	size_t dir; /* index into batch.dirs */
	uint64_t key;
	struct stat old; /* valid with j.existed */
	int fd;      /* of the new file: open until it is in place, or closed when it has a name */
	int old_fd;  /* of the file replaced: its blocks are freed when this is closed, later */
	bool staged; /* j.stage is a name in the stage: of the new file or, swapped, of the old */
	bool placed;
};

struct batch {
	struct op op;
	struct files_root *root;
	struct staging *staging;
	const struct files_write_options *o;
	struct files_writing *out;
	struct patience patience;
	struct batch_item *items;
	size_t n;
	struct batch_dir *dirs;
	size_t ndirs, dirs_cap;
	struct made made;
	int lock;
	bool hold;           /* old_fd is used, and fd as long as it can be */
	bool naming;         /* every new file has a name in the stage before it is flushed */
	bool by_syncfs;      /* flushed as a whole, not one by one */
	int sync_fd;         /* the staging's file system; sees write errors since it was opened */
	_Atomic size_t next; /* work sharing */
	_Atomic uint64_t failed;
	char journal[STAGE_NAME_MAX]; /* "" before the commit point */
	bool unfinished;              /* it stays, and what it needs of the stage */
};

void batch_fail(struct batch *b, struct batch_item *it, const struct err *e);
static inline bool batch_ok(const struct batch_item *it)
{
	return it->res->err == NULL;
}
/* The sentence for a target that no name of the stage can move to; -1. */
int batch_far(const struct batch_item *it, struct err *e);
/* Give the new file of the item its name in the stage, if it has none. */
int batch_name(struct batch *b, struct batch_item *it, struct err *e);
/* Since Linux 5.8 syncfs reports the write errors of the file system; before, it hides them. */
bool syncfs_tells(void);
/* From staged to in place, with the promise of b->o.  -1: items tell; *e says the most telling. */
int commit_batch(struct batch *b, struct err *e);

#endif
