/*
 * core.h - the backend from the inside: its state, and which file does what with it.
 *
 *   backend.c   the thread: starts, drains commands, wakes the console, stops in order
 *   services.c  what all others need: time, timers, letters to the console, the job board
 *   publish.c   snapshots: from what
 *   watch.c     the connection's life: hello, events, list, inspections, loss and return
 *   sampling.c  when to sample, from cgroups or from the engine
 *   recording.c policy and the audit log: the gate (audit/audit.h) that every act passes
 *   act.c       start, stop, remove ... of containers in the table, many at once
 *   log_streams.c merged log subscriptions
 *   shell.c     a terminal in a container
 *   detail.c    everything about the container in focus
 *   roster.c    the agents: what they do; roster_acts.c: bringing them up and taking them down
 *   cleaning.c  clean-up plans, made and carried out; orphans
 *   chores.c    inspect, save, import: small commands
 *
 * Thread: everything belongs to the backend's thread unless it says otherwise.  Engine callbacks
 * run exactly once, also while stopping: each begins by looking at `stopping`.
 */
#ifndef CONSOLE_CORE_H
#define CONSOLE_CORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include <berth/pool.h>
#include <berth/backend.h>

#include "audit/audit.h"
#include "base/mailbox.h"
#include "base/snapshot.h"
#include "engine/engine.h"
#include "job/board.h"
#include "net/errand.h"
#include "observe/observe.h"

#define JOBS_SHOWN 256
#define POOLS_SHOWN 32

struct watch {
	struct engine_call *hello, *events, *early, *list, *counts;
	uv_timer_t retry, opening;
	int64_t hello_at_ns, heard_ns, listed_ns, counted_ns, pulse_ns;
	int64_t backoff_ms;
	int64_t last_event_wall_ns;
	int64_t told_wall_ns; /* of the last one of the stream before this one */
	bool opened;          /* the event stream is */
	bool up;              /* hello succeeded and nothing failed since */
	bool listing;         /* the first list of this connection was asked for */
	bool list_again;      /* something happened that the list under way may not show */
	bool recount;         /* images, networks or volumes changed */
	size_t inspecting;
};

struct stats {
	uv_timer_t tick, young;
	size_t asking;
	size_t round; /* where in the table the next question comes from */
};

struct recording_state {
	struct gate gate;
	struct policy policy; /* read_only: as it is now */
	struct arena mem;
	struct unlock *unlock; /* the end of read-only that waits; the newest, if not taken back */
	bool watches;          /* looked at also before anything is done */
	int64_t probe_ns;      /* when next */
	struct err trouble;    /* what the person was told: the log cannot be written */
};

/* What travels in a mailbox. */
struct envelope {
	struct mail mail; /* first */
	struct command *command;
	struct event *event;
};

/* Who is told by those that know nobody (services.c, watch.c): backend.c hands it on. */
struct listener {
	void (*publish)(struct backend *b);             /* make a snapshot */
	void (*paused)(struct backend *b, bool paused); /* the console reads too slowly */
	void (*row)(struct backend *b, struct row *r);  /* it was inspected */
	void (*gone)(struct backend *b, const char *id);
	void (*listed)(struct backend *b); /* whole list taken: what it lacks was removed */
	void (*lost)(struct backend *b);   /* the connection is */
};

#define UP_LOW ((size_t)1 << 20) /* weight of unread events at which paused streams go on */

struct act_batch;
struct subscription;
struct shell;
struct import;
struct focus;
struct cleaning;
struct roster;

struct backend {
	/* the main thread's */
	pthread_t thread;
	uint64_t next_id;

	/* shared: each is safe by itself */
	struct mailbox down, up;
	uv_async_t wake;     /* main -> backend */
	int wake_fd;         /* backend -> main: eventfd */
	atomic_bool fresh;   /* main was woken for a snapshot and has not looked since */
	atomic_bool crowded; /* main should say when it has drained `up` */
	atomic_bool quit;    /* main wants the thread to end */
	atomic_bool ended;   /* nobody will look at `down` any more */
	struct snapshot_slot slot;

	/* the backend's */
	uv_loop_t loop;
	const struct listener *listener;
	struct endpoint endpoint;
	struct engine *engine; /* NULL once closing */
	bool once, stopping, paused;
	double hz;
	char *program, *user;

	struct engine_state state; /* strings: in state_mem, problem in problem_text */
	struct arena state_mem;
	char *problem_text;
	int images, networks, volumes;
	bool listed;

	struct model model;
	struct sweep sweep;
	struct host host;
	struct host_stats host_stats;
	struct self_stats self_stats;
	struct watch watch;
	struct stats stats;

	uv_timer_t pulse;   /* slow housekeeping: liveness, jobs, resync */
	uv_timer_t publish; /* coalesces changes */
	uv_timer_t farewell;
	uint64_t seq;
	int64_t published_ns, farewell_ns; /* farewell_ns: when stopping began */
	size_t last_used;

	struct board *board; /* opened with the first job */
	struct job_info jobs[JOBS_SHOWN], jobs_was[JOBS_SHOWN];
	size_t njobs;
	int64_t jobs_ns;
	struct pool_info pools[POOLS_SHOWN];
	size_t npools;
	int64_t pools_ns;

	struct recording_state recording;
	bool engine_closed; /* stopping: its last handle is gone */

	struct focus *focus;
	struct roster *roster; /* NULL with `once` */
	struct act_batch *acts;
	struct subscription *logs;
	struct shell *shells;
	struct import *imports;
	struct cleaning *cleaning;
};

/* services.c */
void backend_up(struct backend *b, struct event *ev);                       /* takes ev */
void backend_result(struct backend *b, uint64_t id, const struct err *err); /* NULL: it worked */
void backend_notice(struct backend *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void backend_tell_main(struct backend *b); /* a snapshot is new */
struct board *backend_board(struct backend *b);
int backend_may_change(const struct backend *b, const char *what, struct err *e);
int64_t backend_now(const struct backend *b); /* monotonic ns */
void timer_start(uv_timer_t *t, uv_timer_cb fn, int64_t ms);
void services_wake_main(void *ctx);       /* of the mailbox `up` */
void services_drained(struct backend *b); /* main may have read: go on with paused streams */
void publish_soon(struct backend *b);     /* something changed: within 50 ms */
void publish_now(struct backend *b);

/* publish.c */
void publish_snapshot(struct backend *b); /* of everything, to main */
void publish_jobs(struct backend *b);     /* read the boards when it is time */

/* watch.c */
void watch_start(struct backend *b);
void watch_pulse(struct backend *b);
void watch_refresh(struct backend *b);
void watch_inspect(struct backend *b); /* start inspections of dirty rows, as many as may be */
void watch_trouble(struct backend *b, const struct err *err); /* a call failed: is it the engine? */
void watch_stop(struct backend *b);

/* sampling.c */
void stats_start(struct backend *b);
void stats_rate(struct backend *b, double hz);
void stats_row(struct backend *b, struct row *r); /* inspected: first sample at once */
void stats_visible(struct backend *b, const struct command *c);
void stats_stop(struct backend *b);

/* recording.c */
void recording_init(struct backend *b, const struct backend_options *o);
struct gate *gate_of(struct backend *b); /* that every act passes (audit/audit.h) */
/* What is recorded of a container, and what policy goes by: as it is now, to be handed on at once. */
struct audit_record record_of_container(
	struct backend *b, enum deed deed, const struct target *c, struct record_target *ret);
/* Can what is read now be recorded? */
int recording_may_read(struct backend *b, struct err *e);
void recording_pulse(struct backend *b); /* says it when records cannot be written */
void recording_release(struct backend *b);

/* act.c */
void act_command(struct backend *b, const struct command *c);
void act_pulse(struct backend *b); /* cancelled jobs */
bool act_busy(const struct backend *b);

/* log_streams.c */
void logs_subscribe(struct backend *b, const struct command *c);
void logs_close(struct backend *b, uint64_t ref);
void logs_row(struct backend *b, const struct row *r); /* inspected: may run again */
void logs_gone(struct backend *b, const char *id);     /* removed */
void logs_listed(struct backend *b); /* whole list taken: what it lacks was removed */
void logs_lost(struct backend *b);   /* the connection is: streams are opened again later */
void logs_pulse(struct backend *b);
void logs_pause(struct backend *b, bool paused);
void logs_stop(struct backend *b);

/* shell.c */
void shell_open(struct backend *b, const struct command *c);
void shell_command(struct backend *b, const struct command *c); /* input, resize, close */
void shell_pause(struct backend *b, bool paused);
void shell_stop(struct backend *b);

/* detail.c */
void detail_focus(struct backend *b, const struct command *c);
void detail_row(struct backend *b, const struct row *r); /* inspected: look again */
void detail_pulse(struct backend *b);
const struct detail *detail_now(struct backend *b); /* NULL: none */
void detail_stop(struct backend *b);

/* roster.c */
void roster_open(struct backend *b, const struct backend_options *o);
void roster_command(struct backend *b, const struct command *c);
void roster_pulse(struct backend *b);
void roster_drain(struct backend *b); /* letters of its threads */
void roster_copy(struct backend *b, struct snapshot *s, struct arena *a); /* after the rows */
bool roster_busy(const struct backend *b);
void roster_close(struct backend *b);

/* cleaning.c */
void cleaning_open(struct backend *b, const struct backend_options *o);
void cleaning_close(struct backend *b);
void cleaning_command(struct backend *b, const struct command *c); /* a plan, or its execution */
void cleaning_drain(struct backend *b);
void cleaning_pulse(struct backend *b);
int cleaning_orphans(const struct backend *b);
bool cleaning_works(const struct backend *b); /* a worker is under way, and may wake the loop */
bool cleaning_busy(struct backend *b);        /* asks what is under way to end */
void cleaning_stop(struct backend *b);        /* without waiting for the engine */

/* chores.c */
void chores_inspect(struct backend *b, const struct command *c);
void chores_save(struct backend *b, const struct command *c);
void chores_journal(struct backend *b, const struct command *c);
void chores_import(struct backend *b, const struct command *c);
void chores_pulse(struct backend *b);
void chores_cancel_job(struct backend *b, const struct command *c);
void chores_dismiss_job(struct backend *b, const struct command *c);

#endif
