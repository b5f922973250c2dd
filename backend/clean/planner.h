/* planner.h - one engine as the clean-up uses it; what the files of this room share. */
#ifndef CLEAN_PLANNER_H
#define CLEAN_PLANNER_H

#include <pthread.h>
#include <stdatomic.h>

#include <berth/clean.h>
#include <berth/record.h>

#include "clean/verdict.h"
#include "engine/sync.h"

#define CLEAN_WIDTH_MAX 32

struct clean_host {
	struct endpoint endpoint;
	struct engine_sync *engine;
	struct engine_info info;
	struct arena mem;
	struct policy policy;
	struct recorder recorder;
	bool borrowed; /* the recorder's log is the caller's */

	pthread_mutex_t lock; /* the workers' engines come and go */
	struct engine_sync *worker[CLEAN_WIDTH_MAX];
	bool interrupted;
};

/* The world now, and what the rules say of it. */
struct clean_plan *host_plan(struct clean_host *h, struct engine_sync *en, bool foreign, bool sizes,
	struct arena *mem, struct err *e);

#endif
