/*
 * kept_past.h - records the usage of agents every ten seconds while no console does (past/past.h).
 *
 * Thread: one, and no other in the process.
 */
#ifndef KEEPER_KEPT_PAST_H
#define KEEPER_KEPT_PAST_H

#include <stddef.h>
#include <stdint.h>

struct cgroup_mounts;
struct kept_box;
struct past_writer;
struct kept_past {
	struct past_writer *writer;
	struct cgroup_mounts *mounts; /* NULL: not read yet */
	struct kept_box *box;
	size_t n;
	int64_t next_ns; /* to be looked at then */
};

void kept_past_open(struct kept_past *k);
void kept_past_close(struct kept_past *k);
void kept_past_go_on(struct kept_past *k); /* when it is time */
int kept_past_wait_ms(const struct kept_past *k);

#endif
