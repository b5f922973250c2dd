/*
 * tool.h - custom tools: each call runs in its own container, which is removed afterwards.
 *
 * Three steps that can be taken apart, so that containers can be made ahead of demand:
 *   tool_box_make   create, start, compare the mounts, hand over secrets, lane ready
 *   tool_box_run    the tool's command with the caller's arguments, once
 *   tool_box_drop   the container and everything in it is gone
 * and tool_run, which takes all three, asks policy and writes the log's entry.
 *
 * A box carries the label berth.owner of the process that made it: when that process dies without
 * having dropped it, the box is an orphan, and found as one.  Nothing is written into a box before
 * its run but the secrets of its definition.
 *
 * Limits of the call: argv and environment together 2 MiB; output of the definition.  Every call
 * blocks until it is done.  Thread: an agents_host and a box have one owner at a time; a box may be
 * made with one agents_host and dropped with another of the same engine.
 */
#ifndef BERTH_TOOL_H
#define BERTH_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agents.h"
#include "err.h"
#include "team.h"

struct tool_box {
	const struct team *team; /* must outlive the box */
	const struct tool_def *def;
	const char *workspace; /* what is mounted, in `mem`; NULL: nothing of the host */
	const char *network;   /* the engine's id of an internal one; NULL */
	char name[64], id[65]; /* of the container; id "" until it is made */
	char engine[128], session[33];
	int64_t ready_ns;                         /* monotonic: when its lane was ready */
	uint64_t created_us, started_us, lane_us; /* how long each step took */
	bool pool, used, asked;                   /* asked: a create was sent */
	int guest;                                /* host pid of its init; 0: not known */
	struct arena mem;
};

/* `workspace`: for a tool with filesystem: workspace whose definition names none; else NULL.
 * `pool`: made ahead of demand (label berth.role=pool).  `cancel_fd` readable: stop, ERR_CANCELLED;
 * -1: none.  When it fails nothing is left, or it is TOOL_BOX_LEFT and *e names what the engine did not remove. */
enum { TOOL_BOX_LEFT = -2 };
int tool_box_make(struct agents_host *h, const struct team *t, const struct tool_def *d,
	const char *workspace, bool pool, int cancel_fd, struct tool_box **ret, struct err *e);

/* Whether its init still lives. */
bool tool_box_alive(const struct tool_box *b);

/* Streams, callbacks, time-out and environment as in run_request; argv are the arguments after the
 * tool's own command; `agent` is for the log only (who called; NULL: nobody's agent).  timeout_ms 0:
 * the definition's; output_max is the definition's.  ERR_USAGE for a box that was used before. */
int tool_box_run(
	struct tool_box *b, const struct run_request *r, struct run_result *ret, struct err *e);

/* Remove the container, its processes and its lane, and free the box; NULL is fine.  When the engine
 * cannot be asked its processes are ended all the same, and -1 says that the container is left. */
int tool_box_drop(struct agents_host *h, struct tool_box *b, struct err *e);

struct tool_ran {
	char name[64], id[65]; /* of the container that ran it */
	bool warm;             /* it was there already */
	double create_ms, start_ms, lane_ms, remove_ms;
};

/* Policy, make, run, drop, and one record.  0 when the command ran, whatever came of it and even if
 * its container could not be removed: then result->err is that sentence. */
int tool_run(struct agents_host *h, const struct team *t, const struct tool_def *d,
	const char *workspace, const struct run_request *r, struct tool_ran *ran,
	struct run_result *result, struct err *e);

/* The command of a call: the tool's own words and then the caller's; the array lives in mem. */
void tool_argv(const struct tool_def *d, const struct run_request *r, struct arena *mem,
	const char *const **argv, size_t *argc);

#endif
