/*
 * model.h - the table of containers as berth knows it now; what snapshots are made of.
 *
 * A row is made by a list or an inspection and removed only by a later list without it or by its
 * destroy event.  Strings of a row live in the row's arena and are replaced as a whole.
 * Thread: the backend's.
 */
#ifndef BERTH_OBSERVE_MODEL_H
#define BERTH_OBSERVE_MODEL_H

#include <berth/arena.h>
#include <berth/snapshot.h>

#include "engine/engine.h"
#include "observe/cgroup.h"
#include "observe/rates.h"

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
};

struct model {
	char *engine;     /* engine id; rows point here */
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

/* Take a whole list: new rows, changed rows (both marked dirty), and rows that are gone removed. */
void model_take_list(struct model *m, const struct engine_summary *list, size_t n, int64_t now_ns);
/* Take an inspection; makes the row when it is not there. */
struct row *model_take_inspection(
	struct model *m, const struct engine_container *ec, int64_t now_ns);

void row_set_problem(struct row *r, const char *sentence); /* NULL: none */
bool row_runs(const struct row *r); /* it has a process whose use can be measured */
/* Forget readings: it does not run, or runs anew. */
void row_stop_stats(struct model *m, struct row *r);

#endif
