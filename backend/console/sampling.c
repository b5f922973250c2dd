/*
 * sampling.c - decides when to sample and from which source.
 *
 * Rows whose cgroups are readable from here are read in one sweep per tick.  The others are asked
 * of the engine, a few at a time, those on screen first; a row that has not answered by the next
 * tick is not asked a second time, so that nothing ever queues up.  Late ticks are dropped, not
 * replayed.
 */
#include "console/core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/message.h>

#define NS_PER_MS 1000000LL
#define YOUNG_MS 100 /* between the first two samples of a row */
#define ONCE_MS 250  /* the same where these two are all: `berth ps` promises it */
#define ASK_AT_ONCE 6
#define UNSEEN_NS (5000 * NS_PER_MS) /* between questions about a row off the screen */
#define HOPELESS 3 /* refusals in a row after which a row is asked only now and then */

struct question {
	struct site *at;
	char id[];
};

static void ask_for_stats(struct site *at);

static void on_young(uv_timer_t *t);

static int64_t young_ms(const struct site *at)
{
	return at->b->once ? ONCE_MS : YOUNG_MS;
}

static void take_counters(struct site *at, struct row *r, const struct counters *c)
{
	bool first = !r->rates.any;

	r->stats_failed = 0;
	rates_sample(&r->rates, c, STATS_ENGINE, at->sweep.host_memory, 0, &r->c.stats);
	r->first_ns = first ? c->at_ns : r->c.stats.rates ? 0 : r->first_ns;
	if (first && !uv_is_active((uv_handle_t *)&at->stats.young))
		timer_start(&at->stats.young, on_young, young_ms(at));
}

static void on_answer(void *ctx, const struct counters *c, const struct err *err)
{
	struct question *q = ctx;
	struct site *at = q->at;
	struct row *r;

	at->stats.asking--;
	if (at->b->stopping)
		goto out;
	r = model_find(&at->model, q->id);
	if (r) {
		r->asking = false;
		if (!err && row_runs(r))
			take_counters(at, r, c);
		else if (err && err->kind != ERR_CANCELLED)
			r->stats_failed++;
	}
	if (!err) {
		at->watch.heard_ns = backend_now(at->b);
		publish_soon(at->b);
	} else {
		watch_trouble(at, err);
	}
	ask_for_stats(at);
out:
	free(q);
}

static bool wants_stats(const struct row *r)
{
	return r->want_stats && !r->asking && row_runs(r);
}

/* Visible rows first, then on from where the last question was asked. */
static struct row *next_question(struct site *at)
{
	struct model *m = &at->model;

	for (size_t i = 0; m->any_visible && i < m->n; i++)
		if (m->row[i]->visible && wants_stats(m->row[i]))
			return m->row[i];
	for (size_t i = 0; i < m->n; i++) {
		size_t k = (at->stats.round + i) % m->n;

		if (wants_stats(m->row[k])) {
			at->stats.round = k + 1;
			return m->row[k];
		}
	}
	return NULL;
}

static void ask_for_stats(struct site *at)
{
	struct row *r;

	while (at->watch.up && at->stats.asking < ASK_AT_ONCE && (r = next_question(at))) {
		size_t len = strlen(r->c.id) + 1;
		struct question *q = xmalloc(sizeof *q + len);

		q->at = at;
		memcpy(q->id, r->c.id, len);
		r->want_stats = false;
		r->asking = true;
		at->stats.asking++;
		engine_stats(at->engine, q->id, on_answer, q);
	}
}

/* Does the engine have to be asked for this row? */
static bool by_engine(const struct row *r)
{
	return r->cgroup_failed && row_runs(r);
}

static void want_all(struct site *at)
{
	int64_t now = backend_now(at->b);

	for (size_t i = 0; i < at->model.n; i++) {
		struct row *r = at->model.row[i];

		if (!by_engine(r))
			continue;
		/* What nobody looks at is asked for less often. */
		if (at->model.any_visible && !r->visible && r->c.stats.rates &&
			now - r->c.stats.at_ns < UNSEEN_NS)
			continue;
		/* An engine that gives no figures for a row is spared. */
		if (r->stats_failed >= HOPELESS && r->stats_failed++ % 16)
			continue;
		r->want_stats = true;
	}
	ask_for_stats(at);
}

/* Does the engine run on this machine?  Its containers prove it; without any, its word for it. */
static bool same_machine(const struct backend *b)
{
	char name[256];

	if (b->home->sweep.local || b->home->state.phase == ENGINE_CONNECTING)
		return true;
	if (b->home->endpoint.transport != TRANSPORT_UNIX || gethostname(name, sizeof name) < 0)
		return false;
	name[sizeof name - 1] = '\0';
	return strcmp(name, b->home->state.name) == 0;
}

/* Of another machine the engine tells two things only. */
static void read_host_stats(struct backend *b)
{
	struct host_stats *h = &b->host_stats;

	host_read(&b->host,
		b->home->state.root_dir[0] && same_machine(b) ? b->home->state.root_dir : NULL, h);
	if (same_machine(b))
		return;
	memset(h, 0, sizeof *h);
	h->cpu_percent = h->load1 = h->load5 = h->load15 = -1;
	h->uptime_s = -1;
	h->cpus = b->home->state.cpus;
	h->memory_total_bytes = b->home->state.memory_bytes;
}

static void on_stats_tick(uv_timer_t *t)
{
	struct backend *b = t->data;
	int64_t before;
	size_t n = 0;

	read_host_stats(b);
	host_read_self(&b->host, &b->self_stats);
	b->self_stats.hz = b->hz;
	before = backend_now(b);
	for (size_t i = 0; i < b->nsites; i++) {
		b->site[i].sweep.stolen = b->host.stolen;
		n += sweep_all(&b->site[i].sweep, &b->site[i].model);
	}
	b->self_stats.sweep_us = n ? (double)(backend_now(b) - before) / 1000 : 0;
	for (size_t i = 0; i < b->nsites; i++) {
		want_all(&b->site[i]);
		watch_inspect(&b->site[i]); /* cgroups that vanished */
	}
	publish_now(b);
	remembering_sample(b);
}

/* The second samples, soon after the first ones. */
static void on_young(uv_timer_t *t)
{
	struct site *at = t->data;
	int64_t old = backend_now(at->b) - young_ms(at) * NS_PER_MS * 9 / 10, first = 0;

	sweep_young(&at->sweep, &at->model, old);
	for (size_t i = 0; i < at->model.n; i++) {
		struct row *r = at->model.row[i];

		if (!r->first_ns || !row_runs(r))
			continue;
		if (by_engine(r) && r->first_ns <= old)
			r->want_stats = true;
		else if (!first || r->first_ns < first)
			first = r->first_ns;
	}
	ask_for_stats(at);
	if (first)
		timer_start(
			t, on_young, young_ms(at) - (backend_now(at->b) - first) / NS_PER_MS + 1);
	publish_now(at->b);
}

void stats_row(struct site *at, struct row *r)
{
	if (!row_runs(r) || at->b->unmeasured)
		return;
	sweep_attach(&at->sweep, &at->model, r);
	if (r->cgroup.open) {
		cgroup_limits(&r->cgroup, &at->sweep.mounts, r->c.id);
		if (!r->rates.any)
			sweep_row(&at->sweep, &at->model, r);
	} else if (by_engine(r) && !r->rates.any) {
		r->want_stats = true;
		ask_for_stats(at);
	}
	if (r->first_ns && !uv_is_active((uv_handle_t *)&at->stats.young))
		timer_start(&at->stats.young, on_young, young_ms(at));
}

void stats_visible(struct backend *b, const struct command *c)
{
	for (size_t k = 0; k < b->nsites; k++) {
		struct model *m = &b->site[k].model;

		for (size_t i = 0; i < m->n; i++)
			m->row[i]->visible = false;
		m->any_visible = c->ntargets > 0;
	}
	for (size_t i = 0; i < c->ntargets; i++) {
		const struct site *at = site_of(b, c->targets[i].engine);
		struct row *r = at ? model_find(&at->model, c->targets[i].id) : NULL;

		if (r)
			r->visible = true;
	}
}

void stats_rate(struct backend *b, double hz)
{
	int64_t ms;

	b->hz = hz > 0 ? fmin(fmax(hz, 0.1), 10) : 1;
	ms = (int64_t)(1000 / b->hz);
	uv_update_time(&b->loop);
	/* libuv starts the next period when a tick runs: late ones are dropped by themselves. */
	uv_timer_start(&b->tick, on_stats_tick, (uint64_t)ms, (uint64_t)ms);
}

void stats_start(struct backend *b)
{
	host_read(&b->host, NULL, &b->host_stats);
	host_read_self(&b->host, &b->self_stats);
	if (!b->unmeasured)
		stats_rate(b, b->hz);
}

void stats_stop(struct backend *b)
{
	uv_timer_stop(&b->tick);
	for (size_t i = 0; i < b->nsites; i++)
		uv_timer_stop(&b->site[i].stats.young);
}
