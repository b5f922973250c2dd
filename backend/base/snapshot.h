/*
 * snapshot.h - making snapshots and handing the newest one from one thread to another.
 *
 * snapshot_new, fill in (everything it points to in the arena), snapshot_publish; from then on it
 * is const and freed with its last reference.  The slot holds one reference; taking from it adds
 * one.
 */
#ifndef BERTH_BASE_SNAPSHOT_H
#define BERTH_BASE_SNAPSHOT_H

#include <pthread.h>
#include <stddef.h>

#include <berth/arena.h>
#include <berth/snapshot.h>

/* One reference, the caller's.  `bytes`: what the last one used, or 0. */
struct snapshot *snapshot_new(size_t bytes, struct arena **arena);
size_t snapshot_used(const struct snapshot *s);

struct snapshot_slot {
	pthread_mutex_t lock;
	const struct snapshot *latest; /* under lock */
};

/* The slot begins with an empty snapshot, so that there always is one. */
void snapshot_slot_init(struct snapshot_slot *slot);
void snapshot_slot_release(struct snapshot_slot *slot);
void snapshot_publish(struct snapshot_slot *slot, struct snapshot *s); /* takes the reference */
const struct snapshot *snapshot_take(struct snapshot_slot *slot);      /* adds a reference */

#endif
