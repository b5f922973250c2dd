/*
 * opened.h - an engine opened for acts: where it is, what it is, who may do what there, and who records it.
 *
 * Thread: one owner at a time, as its engine (engine/sync.h); the rest does not change once it is open.
 */
#ifndef OPENED_OPENED_H
#define OPENED_OPENED_H

#include <berth/arena.h>
#include <berth/record.h>

#include "engine/sync.h"

struct opened {
	struct endpoint endpoint;
	struct engine_sync *engine;
	struct engine_info info;  /* what it said of itself: id, name, version */
	struct policy policy;     /* a copy */
	struct recorder recorder; /* under that policy, for that engine */
	bool borrowed;            /* the recorder's log is another's */
	struct arena mem;
};

struct opening {
	const char *host, *context;  /* NULL: as the settings and docker's contexts say */
	const char *program;         /* what the audit log calls this process; copied */
	const struct policy *policy; /* NULL: nothing is protected */
	struct audit
		*audit; /* the log of who opens it, or NULL: one of its own with the first record */
	bool (*stop)(void *ctx); /* sync_heed; may be NULL */
	void *ctx;
};

/* *o must stay where it is.  -1: it says where no engine is reached, and there is nothing to close. */
int opened_open(struct opened *o, const struct opening *how, struct err *e);
/* Everything recorded is on disk then, unless the log is borrowed.  One of zeroes is fine. */
void opened_close(struct opened *o);

#endif
