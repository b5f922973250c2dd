/* pool.h - taking a warm container for one call of a tool. */
#ifndef RUN_POOL_H
#define RUN_POOL_H

#include <limits.h>

#include <berth/tool.h>

#include "run/pool_registry.h"

struct pool_claim {
	int fd;
	char path[PATH_MAX];
};

/* The name of the pool of this definition of this team file, this workspace and this engine. */
void pool_key(const char *engine, const struct team *t, const struct tool_def *d,
	const char *workspace, char key[POOL_KEY]);

/* A warm container, now the caller's: to be run once and dropped, and then pool_done.  NULL: none. */
struct tool_box *pool_take(const char *engine, const struct team *t, const struct tool_def *d,
	const char *workspace, struct pool_claim *claim);
void pool_done(struct pool_claim *claim);

#endif
