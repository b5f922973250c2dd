/*
 * overview.h - a cheap list of all workspaces: nothing is created, repaired, counted or waited for.
 *
 * Thread: any; plain data in the caller's arena.  Names are plain (workspace.h), a branch is raw text.
 */
#ifndef BERTH_OVERVIEW_H
#define BERTH_OVERVIEW_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "checkpoint.h"
#include "flags.h"
#include "workspace.h"

struct overview_row {
	struct workspace_holder
		held; /* the first of nheld containers that have it, from up to down */
	size_t nheld;
	struct workspace_usage usage; /* counted_ns 0: not counted yet */
	bool live;                    /* the keeper counts it, and has looked for flags: */
	struct flag_sums flags;       /* struct live */
	bool limited;                 /* a person said so of this one; else the settings hold */
	struct workspace_limits limits;
	size_t checkpoints;
	char newest[CHECKPOINT_NAME_MAX + 1];
	int64_t newest_ns;        /* Unix time of the newest of them; 0: none */
	const char *branch;       /* that a project is on, as its .git/HEAD says; "": not known */
	struct workspace_git git; /* of a project, as seen last */
};

/* A folder below shared/. */
struct overview_shared {
	const char *name;
	size_t entries;
	int64_t changed_ns; /* Unix time */
};

/* By its file alone: it is not opened. */
struct overview_archive {
	enum workspace_kind kind;
	char name[WORKSPACE_NAME_MAX + 1];
	uint64_t packed; /* bytes */
	int64_t made_ns; /* Unix time */
};

struct overview {
	uint64_t stamp;  /* the same as before: nothing changed; never 0 */
	const char *dir; /* of the tree, without symbolic links; "": there is none yet */
	size_t n;
	const struct overview_row *rows; /* tasks first, by name */
	size_t nshared;
	const struct overview_shared *shared; /* by name */
	size_t narchives;
	const struct overview_archive *archives; /* of tasks first, by name */
	pid_t keeper;                            /* the process that counts (keeper.h); 0: none */
};

/* `data`: as data_dir (runtime.h).  `keeper`: its process, for the tree knows nothing of it.  0; 1: the stamp would be `seen`, and nothing is filled in. */
int overview_look(const char *data, pid_t keeper, uint64_t seen, struct overview *ret,
	struct arena *mem, struct err *e);

/* One of them in full. */
struct overview_one {
	struct overview_row row;
	uint64_t stamp;
	const char *path;  /* of it, on this machine */
	const char *start; /* the checkpoint that it began as; "": no fork */
	const char *
		pending; /* the checkpoint to which it was being restored when that was cut off; "": none */
	size_t npoints;
	const struct checkpoint_info *points; /* newest first */
	pid_t keeper;
	enum workspace_kept kept; /* what keeps its limits beside the count */
};
/* As overview_look. */
int overview_one(const char *data, pid_t keeper, enum workspace_kind kind, const char *name,
	uint64_t seen, struct overview_one *ret, struct arena *mem, struct err *e);

#endif
