/* publish.c - making a snapshot of everything and handing it to the console. */
#include "console/core.h"

#include <string.h>

#include <berth/clock.h>

#include "observe/observe.h"

#define JOBS_EVERY_NS (1000 * 1000000LL) /* while none runs */

/* Looked at once a second: a few small files in memory. */
static void copy_pools(struct backend *b, struct snapshot *s, struct arena *a)
{
	struct pool_info *pools;

	if (!b->once && (!b->pools_ns || s->at_ns - b->pools_ns >= JOBS_EVERY_NS)) {
		b->pools_ns = s->at_ns;
		b->npools = pool_list(b->pools, POOLS_SHOWN);
	}
	pools = arena_array(a, b->npools + 1, sizeof *pools);
	memcpy(pools, b->pools, b->npools * sizeof *pools);
	s->pools = pools;
	s->npools = b->npools;
}

void publish_snapshot(struct backend *b)
{
	struct arena *a;
	struct snapshot *s;
	const struct detail *d;

	s = snapshot_new(b->last_used, &a);
	s->seq = ++b->seq;
	s->at_ns = b->published_ns = backend_now(b);
	s->at_wall_ms = clock_wall_ms();
	copy_engine(&b->state, &s->engine, a);
	s->engine.local = b->sweep.local;
	s->host = b->host_stats;
	s->self = b->self_stats;
	s->listed = b->listed;
	s->stats_done = copy_rows(&b->model, s, a) && b->listed;
	roster_copy(b, s, a);
	s->njobs = b->njobs;
	s->jobs = arena_array(a, b->njobs + 1, sizeof *s->jobs);
	memcpy((struct job_info *)(uintptr_t)s->jobs, b->jobs, b->njobs * sizeof *s->jobs);
	copy_pools(b, s, a);
	s->orphans = cleaning_orphans(b);
	s->images = b->images;
	s->networks = b->networks;
	s->volumes = b->volumes;
	d = detail_now(b);
	if (d) {
		struct detail *copy = arena_alloc(a, sizeof *copy);

		copy_detail(d, copy, a);
		s->detail = copy;
	}
	b->last_used = snapshot_used(s);
	snapshot_publish(&b->slot, s);
	backend_tell_main(b);
}

static bool any_running(const struct backend *b)
{
	for (size_t i = 0; i < b->njobs; i++)
		if (!job_ended(b->jobs[i].state))
			return true;
	return false;
}

/* The same jobs with the same figures?  Those of running ones always move. */
static bool same_jobs(const struct job_info *a, const struct job_info *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i].id.pid != c[i].id.pid || a[i].id.started != c[i].id.started ||
			a[i].id.serial != c[i].id.serial || a[i].state != c[i].state)
			return false;
	return true;
}

void publish_jobs(struct backend *b)
{
	int64_t now = backend_now(b);
	size_t nwas = b->njobs;
	bool running = any_running(b);

	if (b->once || (!running && now - b->jobs_ns < JOBS_EVERY_NS))
		return;
	b->jobs_ns = now;
	memcpy(b->jobs_was, b->jobs, nwas * sizeof *b->jobs);
	b->njobs = jobs_read(b->board, b->jobs, JOBS_SHOWN);
	if (any_running(b) || running || nwas != b->njobs || !same_jobs(b->jobs_was, b->jobs, nwas))
		publish_soon(b);
}
