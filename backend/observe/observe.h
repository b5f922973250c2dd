/*
 * observe.h - the public header of this module: the table of containers and their readings, this machine, and the
 * processes of a container.
 *
 * A row is made by a list or an inspection and removed only by a later list without it or by its
 * destroy event.  Strings of a row live in the row's arena and are replaced as a whole.
 * Thread: the backend's, unless said otherwise.
 */
#ifndef BERTH_OBSERVE_OBSERVE_H
#define BERTH_OBSERVE_OBSERVE_H

#include <berth/apparmor.h>
#include <berth/arena.h>
#include <berth/snapshot.h>

#include "engine/engine.h"
#include "observe/cgroup.h"
#include "observe/rates.h"

/* How it is remembered (console/remembering.c). */
struct row_past {
	uint32_t epoch;
	int row; /* -1: not */
	uint32_t rounds;
	bool looked, known;
	enum container_state state; /* as remembered last */
	enum health health;
	int64_t at_ns;
	int64_t oom_ns; /* when it was last told that a command ran out of memory */
};

struct row {
	struct container c; /* as published; strings in `mem`, c.problem in `problem` */
	struct arena mem;
	char *problem;
	uint64_t list_mark; /* of the last list that had it */
	size_t nlabels;
	const struct key_value *labels; /* in `mem` */

	bool tty, no_net; /* as inspected; no_net: nothing that docker stats would count */
	bool inspected;
	bool dirty;      /* to be inspected (again) */
	bool retry;      /* the engine would not inspect it: again with the next list */
	bool inspecting; /* a request is under way; dirty may be set meanwhile */
	bool settling;   /* the act succeeded: `pending` goes with the next inspection */
	bool visible;

	struct cgroup_reader cgroup;
	bool cgroup_failed; /* not readable from here: ask the engine */
	bool brief;         /* descriptors are short: open, read and close each time */
	bool want_stats;    /* to be asked of the engine in this round */
	bool asking;        /* an engine_stats is under way */
	int stats_failed;   /* times in a row */
	int64_t first_ns;   /* when the first sample was taken, while there is only one */
	struct rates rates;
	struct row_past past;
};

struct model {
	char *engine;     /* engine id; rows point here */
	const char *host; /* of several; NULL: there is one */
	bool lost;        /* the engine is */
	bool labels;      /* copied rows have them */
	struct row **row; /* by name, then id, once sorted */
	size_t n, cap;
	bool unsorted;
	struct row **slot; /* open addressing by id */
	size_t nslots;
	uint64_t list_mark;
	size_t fds;       /* held by readers */
	bool any_visible; /* somebody told what is on screen */
};

void model_init(struct model *m);
void model_release(struct model *m);
void model_clear(struct model *m, const char *engine); /* another engine: no rows */
void model_name(
	struct model *m, const char *engine); /* the rows stay: whose they are is known now */

struct row *model_find(const struct model *m, const char *id);
void model_remove(struct model *m, struct row *r);
void model_sort(struct model *m);
int row_order(const struct row *a, const struct row *b); /* as strcmp: how they are sorted */

/* Take a whole list: new rows, changed rows (both marked dirty), and rows that are gone removed. */
void model_take_list(struct model *m, const struct engine_summary *list, size_t n, int64_t now_ns);
/* Take an inspection; makes the row when it is not there. */
struct row *model_take_inspection(
	struct model *m, const struct engine_container *ec, int64_t now_ns);

void row_set_problem(struct row *r, const char *sentence); /* NULL: none */
bool row_runs(const struct row *r); /* it has a process whose use can be measured */
/* Forget readings: it does not run, or runs anew. */
void row_stop_stats(struct model *m, struct row *r);

/* --- one round of readings over all rows whose cgroups are readable from here --- */

struct sweep {
	struct cgroup_mounts mounts;
	size_t fd_budget;     /* descriptors that readers may hold together */
	uint64_t host_memory; /* limit of a container without one */
	double stolen;        /* as rates_sample wants it */
	bool local;           /* a container's processes were found on this machine */
	bool elsewhere;       /* nothing of it is looked for here */
};

/* `fd_budget`: raise the soft limit of open files to the hard one and leave room for the rest. */
size_t sweep_raise_fds(void);

/* Open the row's files if that has not been tried in this life of the container. */
void sweep_attach(struct sweep *s, struct model *m, struct row *r);
/* Read one row.  A cgroup that vanished marks the row dirty. */
void sweep_row(struct sweep *s, struct model *m, struct row *r);
/* Read all; returns how many were. */
size_t sweep_all(struct sweep *s, struct model *m);
/* Read those that have one sample only, so that they have rates. */
size_t sweep_young(struct sweep *s, struct model *m, int64_t older_than_ns);

/* --- deep copies into a snapshot's arena --- */

/* "" is shared, everything else copied; NULL gives "". */
const char *copy_text(struct arena *a, const char *s);

/* Rows of n engines (at most HOSTS_MAX), sorted; returns whether every running one has rates (or cannot have any). */
bool copy_rows(struct model *const *models, size_t n, struct snapshot *s, struct arena *a);
void copy_engine(const struct engine_state *from, struct engine_state *to, struct arena *a);
void copy_detail(const struct detail *from, struct detail *to, struct arena *a);

/* --- the machine berth runs on, and berth itself --- */

struct host {
	int fd_stat, fd_meminfo; /* kept open */
	bool any;
	int64_t at_ns;
	uint64_t busy, total, steal; /* ticks, as last read */
	double stolen;               /* share of CPU time taken by a hypervisor, smoothed */
	int64_t self_at_ns, self_cpu_ns;
	int64_t disk_at_ns, fds_at_ns;
	int fds;
	struct series cpu, memory;
};

void host_init(struct host *h);
void host_release(struct host *h);

/* Fill both with new readings.  `root_dir`: the engine's, NULL when it is not on this machine;
 * its file system is asked every 10 s only. */
void host_read(struct host *h, const char *root_dir, struct host_stats *out);
void host_read_self(struct host *h, struct self_stats *out);

/* CPU ticks of /proc/stat's first line: all, those spent working, those stolen. */
bool host_scan_cpu(const char *p, size_t n, uint64_t *total, uint64_t *busy, uint64_t *steal);

/*
 * --- the processes of one container, and what holds them, read from this machine's /proc ---
 *
 * Reading another process's command line may block (it takes that process's memory lock), so this
 * runs on a worker thread, on a struct that nobody else touches meanwhile.
 */

#define PROCESSES_MAX 512
#define COMMAND_MAX 512

/* CPU time of a process as seen last, to make a percentage of. */
struct process_seen {
	int pid;
	uint64_t started, ticks;
};

struct process_list {
	/* in */
	char id[65];
	pid_t pid; /* init process */
	/* kept from one reading to the next */
	int64_t at_ns;
	size_t nseen;
	struct process_seen seen[PROCESSES_MAX];
	/* out: in `mem` */
	bool ok;
	size_t n;
	struct process_info *process; /* by pid */
	/* what is in force, read from the cgroup and /proc/PID/status; -1 unknown */
	int64_t memory_limit, memory_swap_limit, pids_limit; /* 0: none */
	double cpus;                                         /* 0: none */
	int64_t cap_effective, cap_bounding;                 /* masks */
	int seccomp, no_new_privileges, uid;
	char apparmor
		[APPARMOR_LABEL_MAX]; /* of the init: "docker-default (enforce)"; "" unknown, or none here */
	struct arena mem;
};

void process_list_init(struct process_list *l);
void process_list_release(struct process_list *l);
/* Fills in l->process and the rest; l->ok tells whether the container was there. */
void process_list_read(struct process_list *l, const struct cgroup_mounts *m);

/* Fields of /proc/PID/stat; the name in it may hold anything, parentheses too. */
bool process_scan_stat(char *text, char *state, char **name, uint64_t *ticks, uint64_t *started,
	uint64_t *rss_pages);

#endif
