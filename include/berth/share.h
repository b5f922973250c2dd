/*
 * share.h - shared/{templates,libraries,datasets,configs}: read by every task, changed only here, version by version.
 *
 * Each change makes a version, a whole of its own under a name; none goes.  One is the present one, which
 * shared/ shows; a task keeps the one that was present when it was made.  What two versions have in common
 * is stored once (hard links: nobody but us ever has a way to write there).
 *
 * A version is there as a whole or not at all, after kill -9 too.  Versions are ours, readable by all who are
 * given a way to them (0444, 0755).
 *
 * Thread: any; one struct workspaces per thread.
 * Errors: ERR_SYS, ERR_USAGE (a name), ERR_CONFLICT (exists), ERR_NOT_FOUND.
 */
#ifndef BERTH_SHARE_H
#define BERTH_SHARE_H

#include "workspace.h"

enum share_kind { SHARE_TEMPLATES, SHARE_LIBRARIES, SHARE_DATASETS, SHARE_CONFIGS, SHARE_KINDS };
const char *share_kind_name(enum share_kind k); /* "templates": the folder, too */
/* SHARE_KINDS: no such. */
enum share_kind share_kind_of(const char *word);

struct share_version {
	char name[WORKSPACE_NAME_MAX + 1];
	int64_t made_ms; /* Unix time */
	uint64_t files, bytes;
	bool present;
	size_t ntasks; /* that keep it */
};
/* Oldest first; free(*ret).  None where nothing was ever shared. */
int share_list(struct workspaces *w, struct share_version **ret, size_t *n, struct err *e);
/* Opened for reading.  `version` NULL: the present one. */
int share_open(struct workspaces *w, const char *version, struct err *e);

/* All of a version against the hashes that were kept when it was made; *kept false: there are none, for it is
 * older than that.  ERR_FAILED names the first file that differs. */
int share_verify(struct workspaces *w, const char *version, bool *kept, struct err *e);

/* Changes a copy of the present version, in `dir` with a folder for each kind. */
typedef int share_change_fn(void *ctx, int dir, struct err *e);
/* The copy becomes the version `name`, and the present one.  Where `change` fails nothing is. */
int share_make(
	struct workspaces *w, const char *name, share_change_fn *change, void *ctx, struct err *e);
/* An older one is the present one again, for tasks that are made from now on. */
int share_return(struct workspaces *w, const char *name, struct err *e);

/* The task keeps the present version from now on, where it keeps none yet: .kept/TASK leads to it. */
int share_keep(struct workspaces *w, const char *task, struct err *e);
/* The version that the task keeps. */
int share_kept(
	struct workspaces *w, const char *task, char name[WORKSPACE_NAME_MAX + 1], struct err *e);

#endif
