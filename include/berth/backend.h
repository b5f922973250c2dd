/*
 * backend.h - the other half, from the outside.
 *
 * One thread runs a libuv loop and does everything that touches the world.  It is reached by
 * commands and answers by events and snapshots.  Nothing here blocks, except backend_stop, which
 * waits (at most 2 s) for what is in flight.
 *
 * Thread: all calls from the one thread that called backend_start.  That thread must have every
 * signal it wants to handle; the backend's threads block all of them.
 */
#ifndef BERTH_BACKEND_H
#define BERTH_BACKEND_H

#include <stdbool.h>

#include "err.h"
#include "policy.h"
#include "snapshot.h"

struct backend;
struct command; /* message.h */
struct event;

struct backend_options {
	const char *host;    /* -H, or NULL */
	const char *context; /* --context, or NULL */
	double hz;           /* sampling rate, 0.1 .. 10; 0: 1 */
	bool read_only;
	bool once;                   /* for command lines: no retry, the first failure is final */
	const struct policy *policy; /* copied; NULL: nothing is protected */
	int64_t audit_keep_ms;       /* retention of the audit log; 0: for ever */
	uint64_t audit_keep_bytes;   /* 0: any size */
	bool audit_watch; /* say it when nothing can be recorded, also before anything is done */
	size_t journal_commands; /* of agents that come up (settings.h) */
	uint64_t journal_bytes;
	const char *team;    /* a team file whose agents are shown, up or not; NULL */
	const char *program; /* what the job board calls this process: "console", "ps" */
};

/* NULL and *err when the endpoint cannot even be named (wrong context, malformed URL). */
struct backend *backend_start(const struct backend_options *o, struct err *err);
void backend_stop(struct backend *b);

int backend_fd(const struct backend *b);                     /* readable: call backend_next */
uint64_t backend_send(struct backend *b, struct command *c); /* takes c; returns its id */
/* Next event, owned by the caller, or NULL.  Drain until NULL, then take the snapshot: it may be what
 * the descriptor was readable for. */
struct event *backend_next(struct backend *b);
/* The newest snapshot, a reference of the caller's; never NULL. */
const struct snapshot *backend_snapshot(struct backend *b);

#endif
