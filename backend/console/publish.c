/* publish.c - creates a snapshot and passes it to the console. */
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

static void count_rows(const struct model *m, struct engine_host *h)
{
	h->containers = (uint32_t)m->n;
	for (size_t i = 0; i < m->n; i++) {
		const struct container_stats *t = &m->row[i]->c.stats;

		h->running += m->row[i]->c.state == CONTAINER_RUNNING;
		h->cpu_percent += t->rates ? t->cpu_percent : 0;
		h->memory_bytes += t->memory_bytes;
	}
}

static void copy_site(struct site *at, struct engine_host *h, struct arena *a)
{
	*h = (struct engine_host){.name = arena_strdup(a, at->name),
		.listed = at->listed,
		.ended = at->watch.ended,
		.heard_ns = at->watch.heard_ns,
		.latency_us = at->watch.latency_us};
	copy_engine(&at->state, &h->engine, a);
	h->engine.local = at->sweep.local;
	h->engine.read_only = at->read_only || at->b->recording.policy.read_only;
	count_rows(&at->model, h);
}

/* The engines, where they are several, and the rows of all. */
static void copy_sites(struct backend *b, struct snapshot *s, struct arena *a)
{
	struct engine_host *hosts = arena_array(a, b->nsites, sizeof *hosts);
	struct model *models[HOSTS_MAX];
	bool settled = true;

	for (size_t i = 0; i < b->nsites; i++) {
		struct site *at = &b->site[i];

		at->model.host = at->name;
		at->model.lost = at->state.phase == ENGINE_LOST;
		models[i] = &at->model;
		s->listed |= at->listed;
		settled &= (at->listed && at->watch.up) || at->watch.ended;
		if (b->many)
			copy_site(at, &hosts[s->nhosts++], a);
	}
	s->hosts = hosts;
	s->stats_done = copy_rows(models, b->nsites, s, a) && settled;
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
	copy_engine(&b->home->state, &s->engine, a);
	s->engine.local = b->home->sweep.local;
	s->host = b->host_stats;
	s->self = b->self_stats;
	copy_sites(b, s, a);
	roster_copy(b, s, a);
	terminals_copy(b, s, a);
	asking_copy(b, s, a);
	s->njobs = b->njobs;
	s->jobs = arena_array(a, b->njobs + 1, sizeof *s->jobs);
	memcpy((struct job_info *)(uintptr_t)s->jobs, b->jobs, b->njobs * sizeof *s->jobs);
	attention_copy(b, s);
	copy_pools(b, s, a);
	s->orphans = cleaning_orphans(b);
	s->images = b->home->images;
	s->networks = b->home->networks;
	s->volumes = b->home->volumes;
	d = detail_now(b);
	if (d) {
		struct detail *copy = arena_alloc(a, sizeof *copy);

		copy_detail(d, copy, a);
		s->detail = copy;
	}
	b->last_used = snapshot_used(s);
	alerts_look(b, s);
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
			a[i].id.serial != c[i].id.serial || a[i].state != c[i].state ||
			a[i].asks != c[i].asks)
			return false;
	return true;
}

void publish_jobs(struct backend *b)
{
	int64_t now = backend_now(b);
	size_t nwas = b->njobs;
	bool running = any_running(b);

	/* Of what is looked at once only agents have to do with jobs: what they ask. */
	if ((b->once && !b->roster) || (!running && now - b->jobs_ns < JOBS_EVERY_NS))
		return;
	b->jobs_ns = now;
	if (b->attended)
		board_attend(b->board, !b->recording.policy.read_only);
	memcpy(b->jobs_was, b->jobs, nwas * sizeof *b->jobs);
	b->njobs = jobs_read(b->board, b->jobs, JOBS_SHOWN);
	if (any_running(b) || running || nwas != b->njobs || !same_jobs(b->jobs_was, b->jobs, nwas))
		publish_soon(b);
}
