/*
 * pool.h - warm containers of tools: started ahead of demand, used once.
 *
 * A long-lived process (the console, the agents' server) keeps, for each tool of a team file that asks
 * for it (`pool: {size, idle}`), that many containers ready: one pool per definition, workspace, network
 * and engine.  Any berth process of this user that runs the tool takes one from there and becomes its
 * owner: it runs its one command and is removed.  A container that was taken is replaced immediately.  Containers that
 * died, are older than `idle`, or whose definition or image has changed are replaced, and all that nobody
 * took are removed when the keeper ends.
 *
 * Thread: the keeper is a thread of its own; the calls below may be made by any one thread.
 */
#ifndef BERTH_POOL_H
#define BERTH_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agents.h"
#include "err.h"

struct pool;

/* Keep the pools of `team` (path of a team file).  NULL without *err: no tool asks for one. */
struct pool *pool_start(const struct agents_options *o, const char *team, struct err *e);
/* Remove the unused containers; returns how many containers could not be removed.  NULL is fine. */
unsigned pool_stop(struct pool *p);

struct pool_info { /* one pool of one process */
	char tool[64];
	int32_t pid;           /* of its keeper */
	uint32_t size, warm;   /* asked for, ready */
	uint64_t hits, misses; /* calls that found one, and that did not */
	uint64_t made, failed; /* containers so far */
	int64_t oldest_ms,
		idle_ms;   /* age of the oldest that is ready (-1: none); when it is replaced */
	char problem[192]; /* why none can be made; "" */
};

/* The pools of all living processes of this user; returns how many. */
size_t pool_list(struct pool_info *out, size_t max);

#endif
