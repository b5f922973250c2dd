/*
 * target.h - the container that a command over the engine is meant for: found, permitted, running.
 */
#ifndef RUN_TARGET_H
#define RUN_TARGET_H

#include <berth/agents.h>

#include "container/container.h"
#include "engine_session/engine_session.h"

struct exec_target {
	struct engine_session at;
	char id[65], name[64];
	pid_t pid;          /* of its init, as the engine sees it */
	struct start start; /* of that init; checked for `mounts` */
	enum mounts_state mounts;
	bool local;   /* the engine is on this machine: that pid is in a cgroup of that id */
	bool sandbox; /* its runtime has a kernel of its own: its processes are not this machine's */
	bool lane;    /* it has a lane here, which was not tried yet */
};

/* By name, id or agent; policy and the command rules are asked.  Fills in where it is in *ret, and
 * ENDED_REFUSED, too for one of berth's whose mounts are not the checked ones.  ERR_CONFLICT: it is
 * paused or does not run.  Release in any case. */
int target_find(
	struct exec_target *t, const struct run_request *r, struct run_result *ret, struct err *e);
void target_release(struct exec_target *t);

/* How often the kernel ended something in it for want of memory: so far, or (where the engine is not
 * here) since that moment of the monotonic clock. */
uint64_t target_ooms(struct exec_target *t, int64_t since_ns);

#endif
