/* planner.h - an engine as the clean-up uses it, shared by the files of this module. */
#ifndef CLEAN_PLANNER_H
#define CLEAN_PLANNER_H

#include <pthread.h>
#include <stdatomic.h>

#include <berth/clean.h>

#include "clean/verdict.h"
#include "engine_session/engine_session.h"

#define CLEAN_WIDTH_MAX 32

struct clean_host {
	struct engine_session at;
	const char *name; /* of several hosts; or NULL */

	pthread_mutex_t lock; /* the workers' engines come and go */
	struct engine_sync *worker[CLEAN_WIDTH_MAX];
	bool interrupted;
};

/* ERR_CONFLICT: of several hosts this one says that it is an engine that agents were brought up on elsewhere.  What is recorded
 * of these, and what their containers prove, may not be its. */
int host_refuse_claim(const struct clean_host *h, struct err *e);

/* The world now, and what the rules say of it. */
struct clean_plan *host_plan(struct clean_host *h, struct engine_sync *en, bool foreign, bool sizes,
	struct arena *mem, struct err *e);

/* The same for what was chosen. */
struct clean_plan *host_choose(struct clean_host *h, struct engine_sync *en, enum clean_type type,
	const char *const *id, size_t n, bool sizes, struct arena *mem, struct err *e);

#endif
