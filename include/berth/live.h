/*
 * live.h - what the keeper (keeper.h) counts of the workspaces that containers have, for everybody who shows them.
 *
 * One small file in the tree of workspaces, replaced at most twice a second while something changes.  Its folder is locked
 * as long as the keeper runs: what a dead one left is ignored.
 *
 * Thread: any.
 */
#ifndef BERTH_LIVE_H
#define BERTH_LIVE_H

#include "flags.h"
#include "workspace.h"

struct live {
	enum workspace_kind kind;
	char name[WORKSPACE_NAME_MAX + 1];
	uint64_t inode; /* as in struct workspace_info */
	struct workspace_amount
		amount;        /* as limits count it, deleted files that are open included */
	uint64_t bytes, files; /* of regular files: their sizes, and how many */
	bool partly;           /* bytes and files are not known: it is too large to be watched */
	int64_t changed_ns;    /* Unix time of the last change; 0: none since the keeper started */
	struct flag_sums
		flags;    /* of what changed since live_since: less thorough than flags_look */
	int64_t flags_ns; /* Unix time of the last look for them; 0: none yet */
};

/* The keeper's: a lock that lasts until it is closed; -1: *e. */
int live_start(struct workspaces *w, struct err *e);
int live_write(struct workspaces *w, const struct live *all, size_t n, struct err *e);

/* Unix time, in nanoseconds, from which on what changes in it is new: when a container got it, or of its newest checkpoint. */
int64_t live_since(struct workspaces *w, const struct workspace_info *i);

/* 0 where no keeper runs.  free(*ret). */
size_t live_read(struct workspaces *w, struct live **ret);
/* NULL: a container does not have it, or the keeper has not counted it yet. */
const struct live *live_find(const struct live *all, size_t n, const struct workspace_info *i);

#endif
