/*
 * clean.h - clean-up plans: what would be removed and why, what is kept, and executing exactly that plan.
 *
 * A plan is frozen: it names full ids, and only what it names is ever touched.  Each item is looked at
 * again right before its act (still there, still for the same reason, not started meanwhile, not
 * protected), else it is left alone and the outcome says why.  What runs is stopped first, with its
 * grace time; as long as it is not removed, cancelling starts it again.  Plans can be saved as JSON
 * (berth.clean_plan/1) and run later; one that was interrupted can be run again: what is gone is gone.
 *
 * By default only what this user's berth made is a candidate, by proof (REQUIREMENTS 2.5 and 2.6): what
 * a dead process or an ended session left behind.  What lives never is one, nor what another berth
 * made.  `foreign` adds other people's exited containers, unused networks, dangling images and
 * anonymous volumes.
 *
 * For command lines and workers: the calls of a clean_host block.  Thread: one owner at a time; the
 * rest is plain data.
 */
#ifndef BERTH_CLEAN_H
#define BERTH_CLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "err.h"
#include "policy.h"
#include "str.h"

#define CLEAN_ITEMS_MAX 20000
#define CLEAN_JSON_MAX ((size_t)16 << 20) /* bytes of a saved plan */

enum clean_type {
	CLEAN_CONTAINER,
	CLEAN_NETWORK,
	CLEAN_VOLUME,
	CLEAN_IMAGE,
	CLEAN_LEFTOVER, /* files of berth's on this machine: a session's record, a lane's directory */
	CLEAN_TYPES
};
const char *clean_type_name(enum clean_type t); /* "container" */

enum clean_reason {
	CLEAN_NOTHING,       /* not a candidate */
	CLEAN_OWNER_DEAD,    /* the process that made it for itself is dead */
	CLEAN_SESSION_ENDED, /* its session ended, or has another container now */
	CLEAN_UNFINISHED,    /* made, but never started: bringing it up was interrupted */
	CLEAN_EXITED,
	CLEAN_DEAD,     /* the engine failed to remove it once */
	CLEAN_UNUSED,   /* no container uses it */
	CLEAN_DANGLING, /* an image without a name that nothing is made from */
	CLEAN_LEFT,     /* files whose container is gone */
	CLEAN_CHOSEN,   /* by a person, by its name: never in a plan that was saved */
	CLEAN_REASONS
};
const char *clean_reason_name(enum clean_reason r); /* "owner_dead" */
/* An orphan: nothing else will ever remove it. */
static inline bool clean_orphan(enum clean_reason r)
{
	return r == CLEAN_OWNER_DEAD || r == CLEAN_SESSION_ENDED || r == CLEAN_UNFINISHED;
}

struct clean_item {
	enum clean_type type;
	enum clean_reason reason;
	const char *id;   /* full: 64 hex digits, sha256:..., a volume's name, a container's name */
	const char *name; /* for people */
	const char *owner; /* "agent researcher", "process 4211", "somebody else" */
	const char *why;   /* sentence: the reason in full */
	const char *keep;  /* sentence: why it is protected; NULL: it is not */
	int64_t bytes;     /* that go with it; -1 unknown */
	int64_t made_ms;   /* wall time; 0 unknown */
	bool foreign, running;
	bool marked; /* to be removed; never with `keep` */
};

struct clean_plan {
	const char *name; /* 8 hex digits, for people to tell plans apart */
	const char *engine, *engine_name, *endpoint;
	int64_t made_ms;
	bool foreign;
	size_t n;
	struct clean_item *item; /* containers first; everything in the arena it was made in */
};

struct clean_totals {
	size_t marked, kept, running, orphans; /* running, orphans: of the marked, of all */
	uint64_t bytes;                        /* of the marked, where known */
	bool bytes_unknown;                    /* some are not */
};
struct clean_totals clean_totals(const struct clean_plan *p);

struct clean_plan *clean_plan_copy(const struct clean_plan *p, struct arena *mem);
void clean_plan_json(const struct clean_plan *p, struct str *out);
/* Trusts nothing: ERR_USAGE with what is wrong and where. */
struct clean_plan *clean_plan_parse(const char *bytes, size_t n, struct arena *mem, struct err *e);

/* -- on an engine -------------------------------------------------------------------------------- */

struct clean_host;
struct audit;
struct board;

struct clean_options {
	const char *host, *context;  /* as in backend_options */
	const char *program;         /* what the audit log calls this process: "clean" */
	const struct policy *policy; /* NULL: nothing is protected; copied */
	struct audit *audit;         /* the process's log when it has one open; NULL */
	bool (*stop)(void *ctx); /* asked while the engine is opened, ten times a second; NULL */
	void *stop_ctx;
	const char *
		name; /* of several hosts: what the log calls its engine, "@NAME/ID"; NULL: only the id */
	bool unasked; /* ssh asks nobody */
};

struct clean_host *clean_open(const struct clean_options *o, struct err *e);
void clean_close(struct clean_host *h); /* NULL is fine */
/* From any thread: what waits for the engine ends with ERR_CANCELLED. */
void clean_interrupt(struct clean_host *h);

/* sizes: ask the engine to measure, which takes it a while.  In mem. */
struct clean_plan *clean_plan_make(
	struct clean_host *h, bool foreign, bool sizes, struct arena *mem, struct err *e);
/* A plan of exactly these ids of one type (image, volume, network), whatever the rules say of them; what is used
 * or protected is in it with its `keep`.  What is not there is left out. */
struct clean_plan *clean_plan_choose(struct clean_host *h, enum clean_type type,
	const char *const *id, size_t n, bool sizes, struct arena *mem, struct err *e);
/* Of a plan only the items of one type. */
void clean_plan_only(struct clean_plan *p, enum clean_type type);
/* Orphans there are now, for a word at the start of things: -1 when that cannot be found out. */
int clean_orphans(struct clean_host *h);

enum clean_state {
	CLEAN_WAITING,
	CLEAN_CHECKING,
	CLEAN_STOPPING,
	CLEAN_STOPPED, /* not removed yet: cancelling starts it again */
	CLEAN_REMOVING,
	/* from here on: ended */
	CLEAN_REMOVED,
	CLEAN_GONE,    /* it was not there any more */
	CLEAN_SKIPPED, /* changed since the plan was made: left alone */
	CLEAN_REFUSED, /* policy said no */
	CLEAN_KEPT,    /* cancelled before its turn, or started again */
	CLEAN_FAILED,
};
const char *clean_state_name(enum clean_state s); /* "removed" */
static inline bool clean_ended(enum clean_state s)
{
	return s >= CLEAN_REMOVED;
}

struct clean_outcome {
	enum clean_state state;
	char said[240]; /* a sentence, or "" */
};

struct clean_run {
	int width;           /* at once; 0: 8 */
	int grace_s;         /* of what runs; -1: the container's own */
	int64_t undo_ms;     /* how long what was stopped waits before it is removed */
	int64_t limit_ms;    /* for all of it; 0: five minutes, and five seconds for each item */
	const char *user;    /* whose the job is; NULL: this process's user */
	struct board *board; /* for the job; NULL: one is opened */
	/* Called by the workers: `cancelled` by several at once, `changed` by one at a time.  NULL: none. */
	bool (*cancelled)(void *ctx);
	void (*changed)(void *ctx, size_t item, const struct clean_outcome *o);
	void *ctx;
};

struct clean_sum {
	size_t done, gone, skipped, refused, kept,
		failed; /* done: removed; gone: already, before */
	uint64_t bytes; /* that went, where known */
};

/* Carry out the marked items.  outcome: one for each item of the plan, filled in.  0: every marked item
 * is gone or was rightly left alone; -1: the first failure, ERR_CONFLICT when the plan is for another
 * engine, ERR_REFUSED, ERR_UNREACHABLE when the engine was lost, ERR_TIMEOUT, or ERR_CANCELLED.
 * Once `cancelled` says yes an answer that does not come is waited for half a second more; only what was
 * stopped and is started again may take 10 s, of an engine that answers at all. */
int clean_carry_out(struct clean_host *h, const struct clean_plan *p, const struct clean_run *how,
	struct clean_outcome *outcome, struct clean_sum *ret, struct err *e);
/* -- on several hosts ---------------------------------------------------------------------------- */

/* One of them. None waits for another. */
struct clean_site {
	const char *name;           /* as the settings or docker's contexts call it */
	const char *host, *context; /* as in clean_options */
	bool prefixed; /* its records carry its name: it is not the engine that is meant without one */
	struct clean_plan *plan; /* given, or made */
	struct err
		err; /* why it cannot be reached, or how its part failed; set before: it is left out */
	struct clean_host *h;
	struct clean_outcome
		*outcome; /* of each item of its plan; NULL: nothing was to be done, or could be */
	struct clean_sum sum;
	struct arena mem; /* initialised by the caller; what was made is in it */
};

/* Opens each and makes its plan, unless it has one, all at the same time: blocks until the last one has failed or has a
 * plan. Files of this machine are only in the plan of the one that is not prefixed. Of several that have one engine's id
 * all but the first get ERR_CONFLICT and no plan. o->stop is asked on several threads. */
void clean_open_sites(struct clean_site *s, size_t n, const struct clean_options *o, bool foreign);
/* Carries out the plans of those that are open, all at the same time.  how->changed: one call at a time, its ctx is the
 * struct clean_site; `cancelled` gets how->ctx. */
void clean_run_sites(
	struct clean_site *s, size_t n, const char *program, const struct clean_run *how);
void clean_close_sites(struct clean_site *s, size_t n);

/* A document of several plans (berth.clean_plans/1), for --plan: {name, plan} each; NULL where there was none. */
struct clean_named_plan {
	const char *name;
	struct clean_plan *plan;
};
int clean_plans_parse(const char *bytes, size_t n, struct clean_named_plan *ret, size_t max,
	size_t *ret_n, struct arena *mem, struct err *e);

/* Record that nothing of a plan was begun because of `it`, which stays. */
void clean_refused(struct clean_host *h, const struct clean_plan *p, const struct clean_item *it,
	const struct err *why);

#endif
