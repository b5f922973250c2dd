/* workspace_tree.h - the open directory of all workspaces. */
#ifndef WORKSPACE_WORKSPACE_TREE_H
#define WORKSPACE_WORKSPACE_TREE_H

#include <stdbool.h>

#include <berth/workspace.h>

/* No name of a workspace begins with a dot. */
#define UNFINISHED ".new." /* begins to be, or ends: gone once the lock is taken again */
#define LEAVING ".end."    /* a workspace whose archive is not in its place yet: comes back */
#define ARCHIVED ".tar.zst"
#define GIT_STATE ".git-state" /* what projects.c keeps, by name */
#define SEALED ".sealed"       /* what kept_hashes.c does */

struct workspaces {
	int fd, kind[WORKSPACE_KINDS]; /* the folders */
	dev_t device;                  /* on which they are */
	char *dir;
	struct err unmounted; /* why an image could not be mounted (loop_image.h) */
	struct err left;      /* why what a dead process left could not be removed */
	bool recovered;       /* what dead processes left was looked for, under the lock */
};

/* Waits for other processes; flock(w->fd, LOCK_UN) ends it.  What dead processes left is recovered first. */
int workspaces_lock(struct workspaces *w, struct err *e);
int workspaces_check_name(const char *name, struct err *e);
/* The folder of archives of that kind, opened; -1: *e. */
int workspaces_archives(struct workspaces *w, int kind, struct err *e);
/* Is it, or anything in it, mounted in the sight of any process that may be looked at?  0: it is not; else -1, and
 * *e (ERR_CONFLICT) names one. */
int workspace_check_mounted(int dir, const char *path, struct err *e);
/* Fills in how a task ended, where that is known. */
void workspace_recall_end(struct workspaces *w, struct workspace_info *i);
/* That of each of `all`, sorted by `order`. */
void workspace_recall_ends(struct workspaces *w, struct workspace_info *all, size_t n,
	int (*order)(const void *, const void *));
int workspace_forget_end(struct workspaces *w, const char *name, struct err *e);
/* *ret: tasks that have a container; true: the one of this holder is among them. */
bool workspace_count_active(struct workspaces *w, const struct workspace_holder *by, size_t *ret);
int workspace_forget_holders(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e);
/* Sets the limits that the file system keeps for this directory, which is put into a project of its own first.  As
 * workspace_quota_begin. */
int workspace_keep_quota(int dir, const struct workspace_limits *l, struct err *e);
/* Of the workspace of that name for which this inode stands. */
int workspace_keep_limits(struct workspaces *w, uint64_t inode, enum workspace_kind kind,
	const char *name, const struct workspace_limits *l, struct err *e);
int workspace_begin_kept(struct workspaces *w, const char *task, struct err *e);
/* ERR_REFUSED names directories of other users whose contents would stay. */
int workspace_check_removable(int root, const char *path, struct err *e);
/* Takes a tree away without following a link; the folder is ours, the names in it are known. */
int workspace_remove_tree(int folder, const char *name, struct err *e);
/* What lies under this name; false: no workspace. */
bool workspace_describe(struct workspaces *w, int kind, const char *name, struct workspace_info *i);

#endif
