/*
 * run.h - what both ways of running a command share.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <berth/agents.h>

#include "lane/lane.h"

/* Where it runs, into the result and back out of it. */
void run_where(struct run_result *ret, const struct lane_about *about);
void run_about(const struct run_result *r, struct lane_about *ret);

/* A command that could not be started: errno, and where it went wrong. */
void run_not_started(
	struct run_result *ret, enum lane_stage stage, int errnum, const char *command);

/* SIGKILL while the kernel ended something there for want of memory: told apart from any other. */
void run_oom(struct run_result *ret, bool killed);

/* Of a failed write of output, by its errno: whoever read it has gone, which is no fault. */
bool run_reader_left(int errnum);
/* A command that was ended (or whose output is cut off) for that: as SIGPIPE ends one when the reader left,
 * otherwise 125 and the sentence. */
void run_unwritten(struct run_result *ret, int errnum, int stream);

#endif
