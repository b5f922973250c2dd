/*
 * past.h - reads the recorded usage and events of containers.
 *
 * One file, history.ring below the state directory, of a fixed size: for each of PAST_ROWS containers a value a second for
 * ten minutes, one for ten seconds for six hours, one for five minutes for thirty days; and the last PAST_EVENTS things
 * that happened to them.  It is written while a console or the keeper runs (backend/past/past.h): times without either are
 * gaps.  A row is known by its engine and the name of its container, so that a recreated container continues its row; the row
 * without a name is all containers of the engine together.  Values have 16 bits of their logarithm: 0.07 % off at most.
 *
 * Thread: any; it waits for the disk.
 */
#ifndef BERTH_PAST_H
#define BERTH_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define PAST_ROWS 192
#define PAST_EVENTS 4096
#define PAST_NAME_MAX 128
#define PAST_ENGINE_MAX 72
#define PAST_POINTS_MAX 4096

enum past_value {
	PAST_CPU,     /* percent of a core; the mean of the time that a record stands for */
	PAST_CPU_MAX, /* the highest second in it */
	PAST_MEMORY,  /* bytes, without the page cache */
	PAST_MEMORY_MAX,
	PAST_MEMORY_LIMIT, /* 0: none */
	PAST_NET_RX,       /* bytes per second */
	PAST_NET_TX,
	PAST_BLOCK_READ,
	PAST_BLOCK_WRITE,
	PAST_PIDS,
	PAST_PIDS_LIMIT, /* 0: none */
	PAST_THROTTLED,  /* percent of the periods of its CPU limit in which it was stopped by it */
	PAST_VALUES,
};

enum past_what {
	PAST_STARTED,
	PAST_ENDED, /* with the exit code `value`; -1: it is not known any more */
	PAST_OOM,   /* likewise, for want of memory; -1: something in it did, and it runs on */
	PAST_PAUSED,
	PAST_UNPAUSED,
	PAST_UNHEALTHY,
	PAST_HEALTHY,
	PAST_WHATS,
};
const char *past_what_name(enum past_what what); /* "started", "exited" ... */

struct past_point {
	int64_t at_ms; /* its begin, Unix time */
	bool seen;     /* else it is a gap, and all values are 0 */
	float v[PAST_VALUES];
};

struct past_event {
	int64_t at_ms;
	enum past_what what;
	int32_t value;
	char name[PAST_NAME_MAX]; /* of the container; raw text from outside */
};

struct past_row {
	char engine[PAST_ENGINE_MAX];
	char name[PAST_NAME_MAX];  /* "": all of the engine together */
	char agent[PAST_NAME_MAX]; /* ""; as its label says, which is anybody's claim */
	int64_t since_ms, last_ms;
};

/* What a question is answered with. */
struct past {
	struct past_row row;
	int64_t from_ms, step_ms; /* of the points */
	size_t npoints;
	struct past_point *point;
	size_t nevents; /* between the first and the last point, oldest first */
	struct past_event *event;
};

/* Where it lies: PATH_MAX bytes. */
int past_path(char *buf, size_t cap, struct err *e);

/* Everything that is kept, by engine and name; the caller frees *ret.  No file yet: none. */
int past_list(const char *path, struct past_row **ret, size_t *n, struct err *e);

/* `npoints` points from `from_ms` on, `step_ms` (a second at least) each, of a container by its name or, where there is
 * none of that name, of the agent that is called so; "" all together.  `engine` NULL: whichever was seen last.
 * ERR_NOT_FOUND.  past_release in any case. */
int past_read(const char *path, const char *engine, const char *name, int64_t from_ms,
	int64_t step_ms, size_t npoints, struct past *ret, struct err *e);
void past_release(struct past *p);

#endif
