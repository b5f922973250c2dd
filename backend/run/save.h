/*
 * save.h - a checkpoint of an agent's workspace before one of its commands.
 *
 * Thread: any; it waits until that is made.
 */
#ifndef RUN_SAVE_H
#define RUN_SAVE_H

#include <berth/err.h>

#include "run/rulebook.h"

/* By `berth workspace checkpoint --auto`, with its own entry in the log.  -1: the command is not to run. */
int save_workspace(
	const struct rulebook_save *s, const char *host, const char *context, struct err *e);

#endif
