/*
 * down.h - taking an agent's container away, and one berth at a time at an agent.
 *
 * Thread: any.
 */
#ifndef AGENTS_DOWN_H
#define AGENTS_DOWN_H

#include "container/container.h"

struct removal {
	struct agents_host *h;
	const struct existing *x;
};

/* Wait for who else brings `container` up or takes it down, which may take the minutes of an installation.  A descriptor
 * that holds it until it is closed, or -1: ERR_CANCELLED when h->stop says so. */
int agent_hold(struct agents_host *h, const char *container, struct err *e);

#endif
