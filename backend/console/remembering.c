/* remembering.c - writes the usage and events of containers to the history file (past/past.h). */
#include "console/core.h"

#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "past/past.h"

#define ROUNDS \
	10 /* that a container has to be seen running before it has a row: tools come and go */
#define OOM_APART_NS INT64_C(60000000000)

struct remembering {
	struct past_writer *writer;
	bool writes;
	uint32_t epoch; /* numbers of rows are good within one */
};

void remembering_open(struct backend *b)
{
	if (b->once || !b->attended)
		return;
	b->remembering = xcalloc(1, sizeof *b->remembering);
	b->remembering->writer = past_start(NULL);
}

void remembering_close(struct backend *b)
{
	if (!b->remembering)
		return;
	past_stop(b->remembering->writer);
	free(STEAL(b->remembering));
}

/* Is there a file to write to?  Else all numbers of rows are worthless. */
static bool may_remember(struct backend *b)
{
	struct remembering *r = b->remembering;
	bool writes = past_writes(r->writer);
	char why[ERR_MSG_MAX];

	if (past_trouble(r->writer, why, sizeof why))
		backend_notice(b, "%s", why);
	r->epoch += writes && !r->writes;
	return r->writes = writes;
}

/* Is it known which engine this is?  Another one's numbers are not its. */
static bool is_remembered(struct remembering *k, struct site *at)
{
	struct site_past *p = &at->past;
	const char *engine = at->model.engine;

	if (!at->watch.up || !at->listed || !*engine || strlen(engine) >= sizeof p->engine)
		return false;
	if (strcmp(p->engine, engine) != 0) {
		memcpy(p->engine, engine, strlen(engine) + 1);
		k->epoch++;
	}
	if (p->epoch != k->epoch)
		p->all = -1;
	p->epoch = k->epoch;
	return true;
}

static void find_past_number(
	struct remembering *k, const char *engine, struct row *r, int64_t now_ms)
{
	bool runs = row_runs(r);

	if (r->past.epoch != k->epoch)
		r->past = (struct row_past){.epoch = k->epoch, .row = -1};
	if (r->past.row >= 0)
		return;
	r->past.rounds += runs;
	if (!r->past.looked || (runs && r->past.rounds % ROUNDS == 0))
		r->past.row = past_row_of(
			k->writer, engine, r->c.name, r->c.agent, r->past.rounds >= ROUNDS, now_ms);
	r->past.looked = true;
}

/* The engine says when: that is so also for what happened while nobody looked. */
static void tell_row_ends(struct past_writer *w, const struct row *r)
{
	const struct container *c = &r->c;
	bool over = c->state == CONTAINER_EXITED || c->state == CONTAINER_DEAD;

	if (c->finished_wall_ms > 0 && (over || c->finished_wall_ms < c->started_wall_ms))
		past_tell(w, r->past.row, c->finished_wall_ms,
			over && c->oom_killed ? PAST_OOM : PAST_ENDED, over ? c->exit_code : -1);
	if (c->started_wall_ms > 0)
		past_tell(w, r->past.row, c->started_wall_ms, PAST_STARTED, c->restarts);
}

static void tell_row_changes(struct past_writer *w, struct row *r, int64_t now_ms)
{
	const struct container *c = &r->c;
	struct row_past *p = &r->past;

	if (p->state == CONTAINER_RUNNING && c->state == CONTAINER_PAUSED)
		past_tell(w, p->row, now_ms, PAST_PAUSED, 0);
	if (p->state == CONTAINER_PAUSED && c->state == CONTAINER_RUNNING)
		past_tell(w, p->row, now_ms, PAST_UNPAUSED, 0);
	if (p->known && p->health != c->health && c->health == HEALTH_UNHEALTHY)
		past_tell(w, p->row, now_ms, PAST_UNHEALTHY, 0);
	if (p->known && p->health == HEALTH_UNHEALTHY && c->health == HEALTH_HEALTHY)
		past_tell(w, p->row, now_ms, PAST_HEALTHY, 0);
	p->known = true;
	p->state = c->state;
	p->health = c->health;
}

/* A command ran out of its container's memory, which runs on: no inspection tells of that.  Once a minute: all share the
 * room for events, and an agent can have as many as it likes. */
void remembering_event(struct site *at, const struct engine_event *ev)
{
	struct remembering *k = at->b->remembering;
	struct row *r = model_find(&at->model, ev->id);
	int64_t now = backend_now(at->b);

	if (!k || !k->writes || !r || r->past.epoch != k->epoch || strcmp(ev->action, "oom") != 0 ||
		(r->past.oom_ns && now - r->past.oom_ns < OOM_APART_NS))
		return;
	r->past.oom_ns = now;
	past_tell(k->writer, r->past.row, ev->wall_ns / 1000000, PAST_OOM, -1);
}

static void add_to_all(struct container_stats *sum, const struct container_stats *s)
{
	sum->cpu_percent += s->cpu_percent;
	sum->memory_bytes += s->memory_bytes;
	sum->net_rx_bytes_per_s += s->net_rx_bytes_per_s;
	sum->net_tx_bytes_per_s += s->net_tx_bytes_per_s;
	sum->block_read_bytes_per_s += s->block_read_bytes_per_s;
	sum->block_write_bytes_per_s += s->block_write_bytes_per_s;
	sum->pids += s->pids;
}

static void remember_container(struct remembering *k, const char *engine, struct row *r,
	int64_t now_ms, struct container_stats *sum)
{
	const struct container_stats *s = &r->c.stats;
	bool measured = row_runs(r) && s->rates;

	if (measured)
		add_to_all(sum, s);
	find_past_number(k, engine, r, now_ms);
	if (r->past.row < 0)
		return;
	tell_row_ends(k->writer, r);
	tell_row_changes(k->writer, r, now_ms);
	if (!measured || s->at_ns == r->past.at_ns)
		return;
	past_add(k->writer, r->past.row, now_ms, s);
	r->past.at_ns = s->at_ns;
}

static void remember_site(struct remembering *k, struct site *at, int64_t now_ms)
{
	/* Of this machine it is known how much there is. */
	struct container_stats sum = {.memory_limited = at->state.local,
		.memory_limit_bytes = at->b->host_stats.memory_total_bytes};
	struct site_past *p = &at->past;

	for (size_t i = 0; i < at->model.n; i++)
		if (at->model.row[i]->inspected)
			remember_container(k, p->engine, at->model.row[i], now_ms, &sum);
	if (p->all < 0)
		p->all = past_row_of(k->writer, p->engine, "", "", true, now_ms);
	past_add(k->writer, p->all, now_ms, &sum);
}

void remembering_sample(struct backend *b)
{
	struct remembering *k = b->remembering;
	int64_t now_ms = clock_wall_ms();

	if (!k || !may_remember(b))
		return;
	for (size_t i = 0; i < b->nsites; i++)
		if (is_remembered(k, &b->site[i]))
			remember_site(k, &b->site[i], now_ms);
	past_round(k->writer, now_ms);
}
