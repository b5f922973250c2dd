/* commit_record.h - the transaction record of one batch: what remains to be done after its commit point. */
#ifndef BERTH_FILES_COMMIT_RECORD_H
#define BERTH_FILES_COMMIT_RECORD_H

#include "files/stage/staging.h"

struct journal_item {
	const char *path; /* of the target, below the root */
	char stage[STAGE_NAME_MAX];
	bool existed;
	uint64_t new_ino, old_ino, old_size;
	int64_t new_ctime_ns, old_mtime_ns;
};

/* What is staged for the item, now that all of it is written: what is put in place later must be just that. */
int journal_seal(int stage, struct journal_item *item, struct err *e);
/* Write it and make it durable: the commit point.  `name` receives its name. */
int journal_commit(struct staging *s, const struct journal_item *items, size_t n,
	char name[STAGE_NAME_MAX], struct err *e);
/* From now on recovery undoes it. */
int journal_reverse(struct staging *s, const char *name, struct err *e);
/* -1: not to be finished now; it and all that it needs stay, for the next change. */
int journal_replay(struct files_root *r, struct staging *s, const char *name, struct err *e);

/* Put the staged file of an item in place (forward) or take it back, whichever steps are still to
 * be done; `stage` is the directory where it lies.  A target that somebody else changed meanwhile keeps that, and a
 * staged file that was touched since it was sealed stays out.  Idempotent.  -1: forward, it was
 * changed (ERR_CONFLICT, ERR_NOT_FOUND ...) or could not be done; back, it could not.
 * kept: not NULL where it may have to be taken back; true: the old file got a second name for that. */
int journal_forward(struct files_root *r, int stage, const struct journal_item *item,
	_Atomic bool *kept, struct err *e);
int journal_back(struct files_root *r, int stage, const struct journal_item *item, struct err *e);
/* All are in place, or none: the journal goes, and what was kept of the old files. */
void journal_done(struct staging *s, const char *name, const struct journal_item *items, size_t n);

#endif
