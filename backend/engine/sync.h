/*
 * sync.h - the engine for code that may block: command lines and worker threads.
 *
 * Bringing up an agent is a chain of a dozen requests; as straight-line code on a thread of its own it
 * reads like what it does.  Each engine_sync has a loop and an engine object of its own, and runs that
 * loop until the answer is there; the client behind it is the same.  A wait of more than a second is reported (runtime_waits).
 *
 * Thread: one owner at a time; never the backend thread.
 */
#ifndef BERTH_ENGINE_SYNC_H
#define BERTH_ENGINE_SYNC_H

#include <berth/arena.h>
#include <berth/str.h>

#include "engine/engine.h"
#include "engine/json.h"

struct engine_sync;

struct engine_sync *sync_open(const struct endpoint *ep, struct err *e);
void sync_close(struct engine_sync *s); /* NULL is fine */

/* For verbs that run on while others are asked: the engine, on the loop that the calls below run. */
struct engine *sync_engine(struct engine_sync *s);
uv_loop_t *sync_loop(struct engine_sync *s);
/* Waits until something has happened on that loop, be it a timer, and says whether anything more can. */
bool sync_turn(struct engine_sync *s);

/* `stop` is asked ten times a second while an answer is awaited.  Once it says yes the engine has half a
 * second more for each answer: a living one answers what is under way.  After the first that does not come the
 * others end at once, all with ERR_CANCELLED: whoever presses C-c is free within a second, also of an engine that
 * hangs. */
void sync_heed(struct engine_sync *s, bool (*stop)(void *ctx), void *ctx);

/* While this is on, an answer has 5 s instead of the half: for taking back what was made, where removing a container can
 * take seconds and giving up leaves it there. */
void sync_take_back(struct engine_sync *s, bool on);

/* From any thread: the call under way, and every later one, ends with ERR_CANCELLED. */
void sync_interrupt(struct engine_sync *s);

/* The fields point into the engine_sync and stay until it is closed. */
int sync_hello(struct engine_sync *s, struct engine_info *ret, struct err *e);
/* *reply (may be NULL) gets the body, appended. */
int sync_ask(struct engine_sync *s, const char *what, const char *subject, const char *method,
	const char *target, const char *body, int timeout_ms, struct str *reply, struct err *e);
/* That for an answer in JSON, which is the caller's (cJSON_Delete); NULL with *e. */
cJSON *sync_json(struct engine_sync *s, const char *what, const char *subject, const char *method,
	const char *target, const char *body, int timeout_ms, struct err *e);
/* What the engine says of one of its "containers", "networks" or "volumes". */
cJSON *sync_inspect(
	struct engine_sync *s, const char *what, const char *kind, const char *name, struct err *e);
/* Creates a container: its full id. */
int sync_create(
	struct engine_sync *s, const char *name, const char *body, char id[65], struct err *e);
/* 1: *ret is what the engine says of the image, which has a full id; cJSON_Delete it.  0: it has no such image.  -1. */
int sync_image(
	struct engine_sync *s, const char *reference, int timeout_ms, cJSON **ret, struct err *e);
int sync_act(struct engine_sync *s, enum act act, const char *id, bool force, bool volumes,
	int timeout_s, struct err *e);
/* `stop` is asked ten times a second; once it says yes the transfer ends with ERR_CANCELLED.  The
 * callbacks of `t` run from inside. */
int sync_transfer(struct engine_sync *s, const char *subject, const struct engine_transfer *t,
	bool (*stop)(void *ctx), void *ctx, struct err *e);
/* What `path` in a container is; a missing one is not an error.  The text is in `mem`. */
int sync_path(struct engine_sync *s, const char *id, const char *path, struct arena *mem,
	struct engine_path *ret, struct err *e);
/* As engine_fetch. */
int sync_fetch(struct engine_sync *s, const char *id, const char *path, engine_take_fn take,
	void *ctx, struct err *e);

#endif
