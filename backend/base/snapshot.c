/* snapshot.c - counts references to snapshots and keeps the newest in a slot. */
#include "base/snapshot.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/check.h>
#include <berth/mem.h>

#define SNAPSHOT_MAGIC 0x62736e70u

struct counted {
	struct snapshot s; /* first: a snapshot is its counted */
	unsigned magic;
	atomic_uint refs;
	struct arena mem;
};

static struct counted *counted_of(const struct snapshot *s)
{
	struct counted *c = (struct counted *)(uintptr_t)s;

	CHECK(c->magic == SNAPSHOT_MAGIC);
	return c;
}

struct snapshot *snapshot_new(size_t bytes, struct arena **arena)
{
	struct counted *c = xcalloc(1, sizeof *c);
	struct snapshot *s = &c->s;

	c->magic = SNAPSHOT_MAGIC;
	atomic_init(&c->refs, 1);
	/* One block that holds as much as last time and an eighth more is usually all it takes. */
	arena_init(&c->mem, bytes + bytes / 8);
	s->engine.endpoint = s->engine.source = s->engine.id = s->engine.name = "";
	s->engine.version = s->engine.api = s->engine.product = s->engine.os = "";
	s->engine.kernel = s->engine.arch = s->engine.root_dir = s->engine.storage = "";
	s->engine.cgroup = s->engine.runtimes = "";
	s->images = s->networks = s->volumes = -1;
	*arena = &c->mem;
	return s;
}

size_t snapshot_used(const struct snapshot *s)
{
	return arena_used(&counted_of(s)->mem);
}

struct snapshot *snapshot_ref(const struct snapshot *s)
{
	struct counted *c = counted_of(s);

	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return &c->s;
}

void snapshot_unref(const struct snapshot *s)
{
	struct counted *c;

	if (!s)
		return;
	c = counted_of(s);
	if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
		return;
	c->magic = 0;
	arena_release(&c->mem);
	free(c);
}

const struct container *snapshot_find(const struct snapshot *s, const char *engine, const char *id)
{
	for (size_t i = 0; i < s->ncontainers; i++) {
		const struct container *c = &s->containers[i];

		if (strcmp(c->id, id) == 0 && strcmp(c->engine, engine) == 0)
			return c;
	}
	return NULL;
}

void snapshot_slot_init(struct snapshot_slot *slot)
{
	struct arena *mem;

	pthread_mutex_init(&slot->lock, NULL);
	slot->latest = snapshot_new(0, &mem);
}

void snapshot_slot_release(struct snapshot_slot *slot)
{
	snapshot_unref(slot->latest);
	slot->latest = NULL;
	pthread_mutex_destroy(&slot->lock);
}

void snapshot_publish(struct snapshot_slot *slot, struct snapshot *s)
{
	const struct snapshot *old;

	pthread_mutex_lock(&slot->lock);
	old = slot->latest;
	slot->latest = s;
	pthread_mutex_unlock(&slot->lock);
	snapshot_unref(old); /* outside the lock: this may free a megabyte */
}

const struct snapshot *snapshot_take(struct snapshot_slot *slot)
{
	const struct snapshot *s;

	pthread_mutex_lock(&slot->lock);
	s = snapshot_ref(slot->latest);
	pthread_mutex_unlock(&slot->lock);
	return s;
}

double snapshot_progress(const struct snapshot *s)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < s->njobs; i++) {
		const struct job_info *j = &s->jobs[i];

		if (job_ended(j->state))
			continue;
		if (j->fraction < 0 && j->state != JOB_QUEUED)
			return -1;
		sum += j->fraction > 0 ? j->fraction : 0;
		n++;
	}
	return n ? sum / (double)n : -1;
}

size_t snapshot_held(const struct snapshot *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nasks; i++)
		n += s->asks[i].held > 0;
	for (size_t i = 0; i < s->njobs; i++)
		n += s->jobs[i].asks;
	return n;
}

size_t snapshot_terminals_waiting(const struct snapshot *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nagents; i++)
		n += s->agents[i].nwaiting;
	return n;
}

bool snapshot_lost(const struct snapshot *s)
{
	bool lost = s->engine.phase == ENGINE_LOST;

	for (size_t i = 0; i < s->nhosts; i++) {
		if (s->hosts[i].engine.phase == ENGINE_UP)
			return false;
		lost |= s->hosts[i].engine.phase == ENGINE_LOST;
	}
	return lost;
}

const struct engine_state *snapshot_engine(const struct snapshot *s, const char *engine)
{
	for (size_t i = 0; i < s->nhosts; i++)
		if (strcmp(s->hosts[i].engine.id, engine) == 0)
			return &s->hosts[i].engine;
	return &s->engine;
}

struct container_counts snapshot_counts(const struct snapshot *s)
{
	struct container_counts n = {0};

	for (size_t i = 0; i < s->ncontainers; i++) {
		const struct container *c = &s->containers[i];

		if (s->nhosts > 1 && c->lost)
			continue;
		n.state[c->state]++;
		n.unhealthy += c->state == CONTAINER_RUNNING && c->health == HEALTH_UNHEALTHY;
	}
	return n;
}
