/*
 * engine_session.h - a session with one engine: its endpoint, its version, the policy that applies and the recorder.
 *
 * Thread: one owner at a time, as its engine (engine/sync.h); the rest does not change once it is open.
 */
#ifndef ENGINE_SESSION_ENGINE_SESSION_H
#define ENGINE_SESSION_ENGINE_SESSION_H

#include <berth/arena.h>
#include <berth/record.h>

#include "engine/sync.h"

struct engine_session {
	struct endpoint endpoint;
	struct engine_sync *engine;
	struct engine_info info;  /* what it said of itself: id, name, version */
	struct policy policy;     /* a copy */
	struct recorder recorder; /* under that policy, for that engine */
	bool borrowed;            /* the recorder's log is another's */
	struct arena mem;
};

struct engine_session_options {
	const char *host, *context;  /* NULL: as the settings and docker's contexts say */
	const char *program;         /* what the audit log calls this process; copied */
	const struct policy *policy; /* NULL: nothing is protected */
	struct audit
		*audit; /* the log of who opens it, or NULL: one of its own with the first record */
	bool (*stop)(void *ctx); /* while ssh connects, and sync_heed; may be NULL */
	void *ctx;
	bool unasked; /* ssh asks nobody, even at a terminal */
};

/* *o must stay where it is.  -1: it says where no engine is reached, and there is nothing to close. */
int engine_session_open(
	struct engine_session *o, const struct engine_session_options *how, struct err *e);
/* Everything recorded is on disk then, unless the log is borrowed.  A zeroed struct is accepted. */
void engine_session_close(struct engine_session *o);

#endif
