/* run.h - shared by the two ways to run a command: over the lane and through the engine. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <berth/agents.h>

#include "lane/lane.h"

struct journal_entry;

/* A command under way; the first member of its carrier's own state. */
struct running {
	const struct run_request *r;
	struct run_result *out;
	struct journal_entry *journal; /* NULL: none is kept */
	uint64_t seen[3];              /* bytes of its output so far, by stream */
	int unwritten, unwritten_to;   /* errno and stream of a write that ended it; 0: none */
	bool begun;                    /* it was started */
};

/* How it ended, for all to be judged alike. */
struct run_end {
	enum lane_how how;
	enum lane_stage stage; /* LANE_NOT_RUN */
	int code;              /* exit code, signal or errno, as `how` has it */
	bool oom;              /* the kernel ended something there meanwhile for want of memory */
	bool told;             /* the result says it already */
};

struct carrier {
	enum run_path path;
	/* Where it is to run, into *out; permitted, there, and its mounts those that were checked for this start of
	 * its init.  1: it has run another way, *out and *e say how it ended. */
	int (*find)(struct running *g, struct err *e);
	/* The intent is recorded: begin. */
	int (*start)(struct running *g, struct err *e);
	/* Input, output, time-out, signals, until it has ended, and all that it started.  -1: nobody can say how. */
	int (*relay)(struct running *g, struct run_end *end, struct err *e);
	void (*release)(struct running *g); /* after each find, whatever came of it */
};

/* *g is all zeroes, within a state of the carrier's.  As agents_run. */
int run_over(const struct carrier *t, struct running *g, const struct run_request *r,
	struct run_result *ret, struct err *e);

/* `n` bytes of output have come: how many of them are to be passed on. */
size_t run_seen(struct running *g, int stream, size_t n);

/* ERR_REFUSED: a limit of its workspace lets nothing new begin in that container. */
int run_check_room(const char *id, const char *name, struct err *e);

/* Where it runs, into the result. */
void run_where(struct run_result *ret, const struct lane_about *about);

/* Of a failed write of output, by its errno: whoever read it has gone, which is no fault. */
bool run_reader_left(int errnum);

/* The journal's entry of a command; NULL: none is kept of this container. */
struct journal_entry *journal_open_for(const struct run_request *r, const struct lane_about *about);

#endif
