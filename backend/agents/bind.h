/*
 * bind.h - agents that work in one of berth's workspaces: made for them, and held while they are up.
 *
 * Thread: any.
 */
#ifndef AGENTS_BIND_H
#define AGENTS_BIND_H

#include <berth/err.h>
#include <berth/team.h>
#include <berth/workspace.h>

#include "container/container.h"

/* The workspace that a->bound names, for the user that will run inside.  1: made, 0: there already. */
int bind_make(const struct agent_def *a, struct err *e);
/* -1: it is not there, or is root's, and what to do. */
int bind_look(const struct agent_def *a, struct err *e);
/* Waits in line until there are fewer tasks, or smaller ones, than there may be (agents_defaults.tasks); said once by h->say.
 * The place is kept until bind_waited, after bind_hold.  -1, ERR_CANCELLED: h->stop says so. */
struct bind_turn {
	struct workspaces *w; /* NULL: there was nothing to wait for */
	struct workspace_turn turn;
};
int bind_wait(
	struct agents_host *h, const struct agent_def *a, struct bind_turn *ret, struct err *e);
void bind_waited(struct bind_turn *t);
/* From now on the agent's container has it, within the limits that were said of it, or `usual`.  1: since this call, 0: it had already.  ERR_CONFLICT: another has. */
int bind_hold(const struct agent_def *a, const char *engine, const struct workspace_limits *usual,
	struct err *e);
#endif
