/* maker.h - an engine as the callers that create containers use it: look up, create, remove. */
#ifndef CONTAINER_MAKER_H
#define CONTAINER_MAKER_H

#include <stdbool.h>

#include <berth/agents.h>

#include "container/spec.h"
#include "engine_session/engine_session.h"

struct agents_host {
	struct engine_session at;
	char guest[4096];
	struct agents_defaults defaults;
	bool own_board, create, replace;
	bool (*stop)(void *ctx);
	void *stop_ctx;
	void (*say)(void *ctx, const char *agent, const char *line);
	void *say_ctx;
};

extern const struct limits tool_limits_small; /* of helpers */

struct existing {
	char id[65], spec[17], session[64], role[16], network[128];
	char runtime[65];  /* as the engine says */
	char apparmor[64]; /* as the engine says; "": none */
	bool running, ours;
	int pid;
	const char *image; /* this and `of` only by host_look_whole */
	struct record_target of;
};

/* What stands under a name or id: 1 filled in, 0 nothing, -1 error. */
int host_look(struct agents_host *h, const char *name, struct existing *ret, struct err *e);
/* The same with what policy goes by, in mem; for who is about to remove it.  *ret must stay in place. */
int host_look_whole(struct agents_host *h, const char *name, struct existing *ret,
	struct arena *mem, struct err *e);
int host_create(struct agents_host *h, const struct spec *s, char id[65], struct err *e);
/* For helpers: start, wait for its end, ERR_FAILED unless it ended with 0. */
int host_start_and_wait(struct agents_host *h, const char *name, const char *id, struct err *e);
/* Kill and remove, anonymous volumes too; not being there is success. */
int host_remove(struct agents_host *h, const char *id, struct err *e);
/* Its init answers on its lane; ERR_NOT_FOUND: it has none, else the lane is lost. */
int host_try_lane(const char *name, const char *id, struct err *e);
bool host_lane_dir_exists(const char *dir);

#endif
