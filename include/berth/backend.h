/*
 * backend.h - the interface between the console and the backend thread.
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

#include "agents_defaults.h"
#include "err.h"
#include "policy.h"
#include "snapshot.h"

struct alert_rule;
struct backend;
struct command; /* message.h */
struct event;

/* An engine that is known by name: of the settings (`hosts`), or a docker context. */
struct host_spec {
	const char *name;     /* [A-Za-z0-9][A-Za-z0-9_.-]* */
	const char *endpoint; /* or NULL, and then the context: */
	const char *context;
	bool read_only;
};

struct backend_options {
	const char *host;    /* -H, or NULL */
	const char *context; /* --context, or NULL */
	size_t nhosts; /* shown beside that one, which is one of them where neither is given and no default socket is there */
	const struct host_spec *hosts;
	bool together; /* as several even if there is one: it has a name, and its failure is a state */
	double hz;     /* sampling rate, 0.1 .. 10; 0: 1 */
	bool read_only;
	bool attended; /* interactive: a person can answer the questions of jobs (CMD_JOB_ALLOW) */
	bool labels;   /* containers have all of theirs */
	int64_t since_ns; /* report events from then on, Unix time; 0: those of the last ten minutes */
	int64_t until_ns; /* then an EV_ENGINE without an action ends them; 0: open */
	bool once;        /* for command lines: no retry, the first failure is final */
	bool unmeasured;  /* no container's use is read (snapshot's stats) */
	bool agents;      /* with once: agents are looked at, too (snapshot.agents_done) */
	const struct policy *policy; /* copied; NULL: nothing is protected */
	int64_t audit_keep_ms;       /* retention of the audit log; 0: for ever */
	uint64_t audit_keep_bytes;   /* 0: any size */
	bool audit_watch; /* say it when nothing can be recorded, also before anything is done */
	struct agents_defaults defaults;
	/* How often workspaces that were kept long enough are ended and what is stored is checked (settings.h); 0:
	 * never.  The file of settings that holds for it; NULL: the usual one. */
	int64_t clean_ms, verify_ms;
	const char *settings_file;
	size_t nalerts; /* settings.h; they must stay */
	const struct alert_rule *alerts;
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
