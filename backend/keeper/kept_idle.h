/*
 * kept_idle.h - pauses agents that are idle, if their team file says so.
 *
 * Idle is an agent in which nothing runs but its init: no command of berth's, nothing that one left behind; and all of it
 * used less CPU time since the last look than a command takes to begin.  The next command wakes it (lane_wake); that it
 * was, and who was paused, is in the log.  What somebody else paused or woke is theirs.
 *
 * Thread: one, and no other in the process.
 */
#ifndef KEEPER_KEPT_IDLE_H
#define KEEPER_KEPT_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/record.h>

struct idle_box;
struct kept_idle {
	struct recorder *by;
	struct idle_box *box;
	size_t n;
	int64_t next_ns; /* to be looked at then */
};

void kept_idle_open(struct kept_idle *k, struct recorder *by);
void kept_idle_close(struct kept_idle *k);
void kept_idle_go_on(struct kept_idle *k); /* when it is time */
int kept_idle_wait_ms(const struct kept_idle *k);
bool kept_idle_any(const struct kept_idle *k); /* as of the last look */

#endif
