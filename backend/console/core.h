/*
 * core.h - the state of the backend, and which file uses which part of it.
 *
 *   backend.c   the thread: starts, drains commands, wakes the console, stops in order
 *   services.c shared services: time, timers, messages to the console, the job board
 *   sites.c     the engines: which, and what is one's own of each
 *   publish.c   snapshots: from what
 *   watch.c     the connection's life: hello, events, list, inspections, loss and return
 *   sampling.c  when to sample, from cgroups or from the engine
 *   recording.c policy and the audit log: the gate (audit/audit.h) that every act passes
 *   act.c       start, stop, remove ... of containers in the table, many at once
 *   log_streams.c merged log subscriptions; log_place.c: where in a log they are
 *   shell.c     a terminal in a container
 *   detail.c    everything about the container in focus
 *   roster.c    the agents: what they do; roster_acts.c: bringing them up and taking them down
 *   cleaning.c  clean-up plans, made and carried out; orphans
 *   asking.c    what agents ask to reach, and what they reached
 *   alerts.c    rules of the settings: told once; alert_logs.c, alert_acts.c
 *   needs.c     since when an agent needs a person
 *   remembering.c what containers use and what happens to them, kept on disk
 *   workspaces.c workspaces looked at and counted
 *   housekeeping.c what of them was kept long enough, and whether what is stored is sound
 *   chores.c    inspect, save, import: small commands
 *   typed_paths.c what begins as a path that is being typed
 *
 * Thread: everything belongs to the backend's thread unless it says otherwise.  Engine callbacks
 * run exactly once, also while stopping: each begins by looking at `stopping`.
 */
#ifndef CONSOLE_CORE_H
#define CONSOLE_CORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include <berth/past.h>
#include <berth/pool.h>
#include <berth/backend.h>

#include "audit/audit.h"
#include "base/mailbox.h"
#include "base/snapshot.h"
#include "engine/engine.h"
#include "job/board.h"
#include "net/blocking.h"
#include "observe/observe.h"

#define SITE_PREFIX "@" /* of the ids of engines that are known by a name of the settings */
#define JOBS_SHOWN 256
#define POOLS_SHOWN 32

struct watch {
	struct engine_call *hello, *events, *early, *list, *counts, *ping;
	uv_timer_t retry, opening;
	int64_t hello_at_ns, heard_ns, listed_ns, counted_ns, pulse_ns, ping_ns;
	int64_t latency_us; /* of its last answer to a ping or a hello; -1 unknown */
	int64_t backoff_ms,
		lost_ns; /* lost_ns: since when it has not been up; 0: it is, or was asked for again */
	int64_t last_event_wall_ns;
	int64_t told_wall_ns; /* of the last one of the stream before this one */
	bool opened;          /* the event stream is */
	bool events_done;     /* all of them up to until_ns came */
	bool up;              /* hello succeeded and nothing failed since */
	bool listing;         /* the first list of this connection was asked for */
	bool list_again;      /* something happened that the list under way may not show */
	bool recount;         /* images, networks or volumes changed */
	size_t inspecting;
	struct blocking_task way; /* ssh being started, while on_way */
	atomic_bool way_stop;     /* set by the loop to end it */
	struct err way_err;
	bool on_way;
	bool ended; /* it failed, and is not tried again */
};

struct stats {
	uv_timer_t young;
	size_t asking;
	size_t round; /* where in the table the next question comes from */
};

struct site_past { /* remembering.c: where it is kept */
	char engine[PAST_ENGINE_MAX];
	uint32_t epoch;
	int all; /* the row of all its containers together */
};

/* An engine, and all that is known of it. */
struct site {
	struct backend *b;
	char *name; /* of several; NULL: it is alone */
	/* Of its rows' engine id; "" of the one that was named, or is here.  No engine can say that it is another than it is
	 * called here: whatever it says stands behind this, and that one's word begins otherwise. */
	char *prefix;
	bool read_only; /* whatever else is */
	struct endpoint endpoint;
	struct engine *engine;     /* NULL once closing */
	struct engine_state state; /* strings: in state_mem, problem in problem_text */
	struct arena state_mem;
	char *problem_text;
	int images, networks, volumes;
	bool listed;
	struct model model;
	struct sweep sweep;
	struct watch watch;
	struct stats stats;
	struct site_past past;
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
	void (*row)(struct site *at, struct row *r);    /* it was inspected */
	void (*gone)(struct site *at, const char *id);
	void (*listed)(struct site *at); /* whole list taken: what it lacks was removed */
	void (*lost)(struct site *at);   /* the connection is */
	/* To a container, told once. */
	void (*happened)(struct site *at, const struct engine_event *ev);
};

#define UP_LOW ((size_t)1 << 20) /* weight of unread events at which paused streams go on */

struct act_batch;
struct subscription;
struct shell;
struct import;
struct focus;
struct cleaning;
struct roster;
struct workspaces_work;
struct asking;
struct upkeep;
struct alerts;
struct remembering;

struct needs { /* needs.c */
	struct need *need;
	size_t n, cap;
};

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
	/* Those that are shown.  The first is the one that was named: agents, cleaning up, egress and alerts are its. */
	struct site *site, *home;
	size_t nsites, nclosed; /* nclosed: stopping: whose last handle is gone */
	bool many; /* several are shown, be they one: each by its name, and none is waited for */
	bool once, unmeasured, stopping, paused;
	int64_t since_ns; /* of events; 0: what the console shows */
	int64_t until_ns; /* likewise; 0: open */
	bool labels;
	double hz;
	char *program, *user;

	struct host host;
	struct host_stats host_stats;
	struct self_stats self_stats;

	uv_timer_t tick;    /* of statistics */
	uv_timer_t pulse;   /* slow housekeeping: liveness, jobs, resync */
	uv_timer_t publish; /* coalesces changes */
	uv_timer_t farewell;
	uint64_t seq;
	int64_t published_ns, farewell_ns; /* farewell_ns: when stopping began */
	size_t last_used;

	struct board *board; /* opened with the first job, or at once where `attended` */
	bool attended;
	struct job_info jobs[JOBS_SHOWN], jobs_was[JOBS_SHOWN];
	size_t njobs;
	int64_t jobs_ns;
	struct pool_info pools[POOLS_SHOWN];
	size_t npools;
	int64_t pools_ns;

	struct recording_state recording;

	struct focus *focus;
	struct roster *roster; /* NULL with `once` */
	struct act_batch *acts;
	struct subscription *logs;
	struct shell *shells;
	struct import *imports;
	struct cleaning *cleaning;
	struct workspaces_work *workspaces; /* looks and counts under way */
	struct upkeep *upkeep;              /* NULL: not by this process */
	struct asking *asking;              /* of each agent with egress */
	struct alerts *alerts;              /* NULL: there is no rule */
	struct remembering *remembering;    /* NULL: not by this process */
	struct terminals_watch *terminals;  /* NULL: not looked at */
	struct needs needs;                 /* of agents that need a person */
	int64_t asked_ns;                   /* when agents were looked through for them */
};

/* services.c */
void backend_up(struct backend *b, struct event *ev);                       /* takes ev */
void backend_result(struct backend *b, uint64_t id, const struct err *err); /* NULL: it worked */
void backend_notice(struct backend *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void backend_tell_main(struct backend *b); /* a snapshot is new */
struct board *backend_board(struct backend *b);
struct site *site_of(struct backend *b, const char *engine); /* NULL: it is none of ours */
int site_may_change(const struct site *at, const char *what, struct err *e);
int64_t backend_now(const struct backend *b); /* monotonic ns */
void timer_init(struct backend *b, uv_timer_t *t, void *data);
void timer_start(uv_timer_t *t, uv_timer_cb fn, int64_t ms);
void services_wake_main(void *ctx);       /* of the mailbox `up` */
void services_drained(struct backend *b); /* main may have read: go on with paused streams */
void publish_soon(struct backend *b);     /* something changed: within 50 ms */
void publish_now(struct backend *b);

/* sites.c */
/* -1: what was named cannot be found, or none can be opened; sites_free in any case. */
int sites_choose(struct backend *b, const struct backend_options *o, struct err *e);
void sites_set_up(struct backend *b); /* with the loop open */
int sites_open(struct backend *b, struct err *e);
void sites_free(struct backend *b);

/* publish.c */
void publish_snapshot(struct backend *b); /* of everything, to main */
void publish_jobs(struct backend *b);     /* read the boards when it is time */

/* watch.c */
void watch_start(struct site *at);
void watch_pulse(struct site *at);
void watch_refresh(struct site *at);
void watch_hurry(struct site *at);   /* try the next connection now, where one is waited for */
void watch_inspect(struct site *at); /* start inspections of dirty rows, as many as may be */
void watch_trouble(struct site *at, const struct err *err); /* a call failed: is it the engine? */
void watch_stop(struct site *at);

/* sampling.c */
void stats_start(struct backend *b);
void stats_rate(struct backend *b, double hz);
void stats_row(struct site *at, struct row *r); /* inspected: first sample at once */
void stats_visible(struct backend *b, const struct command *c);
void stats_stop(struct backend *b);

/* recording.c */
void recording_init(struct backend *b, const struct backend_options *o);
struct gate *gate_of(struct site *at); /* that every act passes (audit/audit.h) */
/* What is recorded of a container, and what policy goes by: as it is now, to be handed on at once. */
struct audit_record record_of_container(struct site *at, enum operation operation,
	const struct target *c, struct record_target *ret);
/* Can what is read now be recorded? */
int recording_may_read(struct backend *b, struct err *e);
void recording_pulse(struct backend *b); /* says it when records cannot be written */
void recording_release(struct backend *b);

/* act.c */
void act_command(struct backend *b, const struct command *c);
void act_pulse(struct backend *b); /* cancelled jobs */
bool act_busy(const struct backend *b);

/* log_place.c */
#define LOG_ALIKE_MAX 64 /* lines of one stamp that are told apart */
struct log_place {
	int64_t last_ns,
		newest_ns; /* stamps of the last line and of the newest; 0: there was none */
	uint64_t last;     /* what the last line was */
	uint64_t key[LOG_ALIKE_MAX]; /* those of its stamp */
	size_t nkeys, skip; /* skip: so many lines as the last one are still to come again */
};
/* The span of a stream that goes on from there.  started_ns: of a start since then, else 0. */
void log_place_resume(struct log_place *p, int64_t started_ns, struct log_span *span);
/* A line came.  false: it was taken before. */
bool log_place_take(struct log_place *p, const struct log_line *line);

/* log_streams.c */
void logs_subscribe(struct backend *b, const struct command *c);
void logs_close(struct backend *b, uint64_t ref);
void logs_row(struct site *at, const struct row *r); /* inspected: may run again */
void logs_gone(struct site *at, const char *id);     /* removed */
void logs_listed(struct site *at); /* whole list taken: what it lacks was removed */
void logs_lost(struct site *at);   /* the connection is: streams are opened again later */
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
void detail_row(struct site *at, const struct row *r); /* inspected: look again */
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

/* terminal_watch.c */
struct terminals_watch;
void terminals_open(struct backend *b, const struct backend_options *o);
void terminals_pulse(struct backend *b);
void terminals_copy(struct backend *b, struct snapshot *s, struct arena *a); /* after the agents */
void terminals_close(struct backend *b);

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

/* asking.c */
void asking_pulse(struct backend *b); /* agents that came up, ends that came back */
void asking_copy(struct backend *b, struct snapshot *s, struct arena *a); /* after the agents */
void asking_stop(struct backend *b);
void asking_rules(struct backend *b, const struct command *c);

/* needs.c */
void attention_copy(struct backend *b, struct snapshot *s); /* after agents, asks and jobs */
void attention_close(struct backend *b);

/* alerts.c */
void alerts_open(struct backend *b, const struct backend_options *o);
void alerts_look(struct backend *b, const struct snapshot *s); /* after attention_copy */
void alerts_pulse(struct backend *b);
void alerts_stop(struct backend *b);
void alerts_close(struct backend *b);

/* remembering.c */
void remembering_open(struct backend *b);
void remembering_sample(struct backend *b); /* after a round of samples */
void remembering_event(struct site *at, const struct engine_event *ev);
void remembering_close(struct backend *b);

/* workspaces.c */
void workspaces_command(struct backend *b, const struct command *c);
void view_work_command(struct backend *b, const struct command *c); /* view_work.c */
void workspaces_stop(struct backend *b);

/* housekeeping.c */
void upkeep_open(struct backend *b, const struct backend_options *o);
void upkeep_pulse(struct backend *b);
void upkeep_stop(struct backend *b); /* ends what it runs */
void upkeep_close(struct backend *b);

/* chores.c */
/* Files that are read on a worker thread for an event, which goes up then. */
struct look {
	struct blocking_task work;
	struct backend *b;
	char *name; /* of the command's target; NULL: it has none */
	struct event *ev;
	uint64_t seq; /* of the journal; 0: all commands, else that of the one, and 1 */
	void (*read)(struct look *l);
};
struct look *look_new(struct backend *b, const struct command *c, struct event *ev);
void look_start(struct look *l, void (*read)(struct look *l), const char *what);
void chores_inspect(struct backend *b, const struct command *c);
void chores_save(struct backend *b, const struct command *c);
void chores_journal(struct backend *b, const struct command *c);
void paths_command(struct backend *b, const struct command *c); /* typed_paths.c */
void chores_calls(struct backend *b, const struct command *c);
void chores_import(struct backend *b, const struct command *c);
void chores_pulse(struct backend *b);
void chores_cancel_job(struct backend *b, const struct command *c);
void chores_dismiss_job(struct backend *b, const struct command *c);
void chores_allow_job(struct backend *b, const struct command *c);

#endif
