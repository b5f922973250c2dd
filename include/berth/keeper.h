/*
 * keeper.h - the keeper: one background process per user for what must continue without a console.
 *
 * It enforces the limits of workspaces, creates timed checkpoints, records the usage of agents every ten seconds, and
 * restarts egress processes that die and terminals that fail.  `berth up` and `berth terminal start` start it where an
 * agent has one of these; it ends with the last `berth down`, or when the containers are gone.  A lock in the runtime
 * directory keeps it single.
 *
 * It sleeps until something changes below a workspace (inotify), then counts the directories that changed, but not before
 * enough could have been written to reach the limit, and the whole workspace once more a second later.  If it is killed,
 * a child of it thaws the containers that it had frozen.
 *
 * Thread: one; the process has no other when keeper_run is called.
 */
#ifndef BERTH_KEEPER_H
#define BERTH_KEEPER_H

#include <sys/types.h>

#include "err.h"
#include "freeze.h"
#include "record.h"
#include "str.h"
#include "workspace.h"

struct keeper_options {
	const char *tree; /* of the workspaces */
	struct workspace_limits usual;
	struct recorder *by; /* direct */
	freeze_pause_fn *pause;
	/* Begins an automatic checkpoint of "tasks/ID", of which `keep` stay, in a process of its own; -1: none. */
	pid_t (*save)(void *ctx, const char *workspace, int64_t keep);
	/* Begins a terminal again as its team file says, in a process of its own; -1: none. */
	pid_t (*start_terminal)(void *ctx, const char *container, const char *name);
	void *ctx;
};
/* Until there is nothing to keep, or SIGTERM.  0 immediately if another keeper is running. */
int keeper_run(const struct keeper_options *o, struct err *e);

/* Its process; 0: there is none. */
pid_t keeper_find(void);
/* How many workspaces containers have that it should keep. */
size_t keeper_missed(void);
/* How many agents have egress that it should keep. */
size_t keeper_missed_ends(void);
/* An agent's routes as they were kept (kept_routes.c), which it cuts to pieces, become what its end is told: secrets are
 * read again.  `missing`: so many routes are without their key. */
void keeper_resolve_routes(char *text, struct str *out, unsigned *missing);

#endif
