/*
 * alerts.c - evaluates the alert rules of berth.yaml at every snapshot and reports each cause once.
 *
 * Without a rule nothing here runs.  A cause is a rule and a container (or an agent without one); it begins when the
 * condition holds, is told when it has held for as long as the rule says, and is forgotten when it holds no more.
 */
#include "console/alerts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/hash.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/runtime.h>
#include <berth/str.h>
#include <berth/text.h>

#define TRY_NS INT64_C(1000000000) /* between looks whether the lock is free */
#define TOLD_MOST 8                /* in one look; the others in the next */
#define SOON_MS 250
#define FILE_MAX ((size_t)256 << 10)
#define QUIET_LOOK_MS 20000
/* What another process told is not forgotten before everything was looked at: numbers and agents come later than
 * containers. */
#define SETTLE_MS 5000
#define SETTLE_MOST_MS 30000

/* ---- causes */

static uint64_t hash_rule(const struct alert_rule *r)
{
	uint64_t h = hash_string(HASH_START, r->name);

	h = hash_string(h, r->when);
	h = hash_string(h, r->bell ? "bell" : "");
	h = hash_string(h, r->notify ? "notify" : "");
	h = hash_string(h, r->command ? r->command : "");
	return hash_string(h, r->webhook ? r->webhook : "");
}

static struct cause *find_cause(struct alerts *k, size_t alert, const char *id)
{
	/* Rows come in the same order each time: it is mostly the next one. */
	for (size_t i = 0; i < k->ncauses; i++) {
		struct cause *c = &k->cause[(k->hint + i) % k->ncauses];

		if (c->alert == alert && !strcmp(c->id, id)) {
			k->hint = (size_t)(c - k->cause) + 1;
			return c;
		}
	}
	return NULL;
}

struct cause *alert_cause(struct alerts *k, size_t alert, const char *id)
{
	struct cause *c = find_cause(k, alert, id);

	if (c)
		return c;
	k->cause = mem_grow(k->cause, &k->causes_cap, k->ncauses + 1, sizeof *k->cause);
	c = &k->cause[k->ncauses++];
	*c = (struct cause){.alert = alert, .id = xstrdup(id), .since_ns = backend_now(k->b)};
	return c;
}

int64_t alert_line_ms(const struct alerts *k, const struct cause *c)
{
	int64_t again = k->alert[c->alert].rule->again_s * 1000;

	return again ? again : ALERT_LINE_MS;
}

static bool has_looked_long(const struct alerts *k, const struct snapshot *s)
{
	int64_t ms = s->at_wall_ms - k->held_wall_ms;

	return ms > SETTLE_MOST_MS || ms < 0 || (ms > SETTLE_MS && s->stats_done);
}

static void forget_causes(struct alerts *k, const struct snapshot *s)
{
	int64_t now = s->at_wall_ms;
	bool settled = has_looked_long(k, s);
	size_t n = 0;

	/* In their order, by which they are found. */
	for (size_t i = 0; i < k->ncauses; i++) {
		struct cause *c = &k->cause[i];

		if (c->line ? now - c->told_ms >= alert_line_ms(k, c)
			    : !c->seen && (settled || !c->old)) {
			k->changed |= c->told_ms && !c->line;
			free(c->id);
			continue;
		}
		c->old &= !settled;
		c->seen = false;
		k->cause[n++] = *c;
	}
	k->ncauses = n;
	k->hint = 0;
}

/* ---- the file */

static void keep_told(
	struct alerts *k, size_t alert, const char *id, int64_t told_ms, int64_t start_ms)
{
	struct cause *c = alert_cause(k, alert, id);

	c->told_ms = told_ms;
	c->start_ms = start_ms;
	c->old = true;
}

static void read_told(struct alerts *k)
{
	AUTO_FREE char *text = xcalloc(1, FILE_MAX + 1);
	char *rest = NULL;

	if (file_fill(k->lock, text, FILE_MAX) < 0)
		return;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		uint64_t hash;
		int64_t told, start;
		char id[129];

		if (sscanf(line, "%16" SCNx64 " %" SCNd64 " %" SCNd64 " %128s", &hash, &told,
			    &start, id) != 4)
			continue;
		for (size_t i = 0; i < k->n; i++)
			if (k->alert[i].hash == hash)
				keep_told(k, i, id, told, start);
	}
}

static void write_told(struct alerts *k)
{
	AUTO_STR struct str text = STR_INIT;

	k->changed = false;
	for (size_t i = 0; i < k->ncauses && text.len < FILE_MAX - 256; i++) {
		const struct cause *c = &k->cause[i];

		if (c->told_ms && !c->line)
			str_addf(&text, "%016" PRIx64 " %" PRId64 " %" PRId64 " %s\n",
				k->alert[c->alert].hash, c->told_ms, c->start_ms, c->id);
	}
	/* A full disk has the next console tell something twice. */
	if (ftruncate(k->lock, 0) < 0 || pwrite(k->lock, text.s, text.len, 0) < 0)
		return;
}

static bool take_alert_lock(struct alerts *k)
{
	char dir[PATH_MAX - 64], path[PATH_MAX];
	uint64_t h = HASH_START;
	int fd;

	if (k->lock >= 0)
		return true;
	if (backend_now(k->b) < k->try_ns)
		return false;
	k->try_ns = backend_now(k->b) + TRY_NS;
	h = hash_string(h, k->b->home->state.id);
	for (size_t i = 0; i < k->n; i++)
		h = hash_more(h, &k->alert[i].hash, sizeof k->alert[i].hash);
	if (runtime_dir(dir, sizeof dir, NULL) < 0)
		return false;
	snprintf(path, sizeof path, "%s/alerts-%016" PRIx64, dir, h);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		return false;
	}
	k->lock = fd;
	k->held_wall_ms = clock_wall_ms();
	read_told(k);
	return true;
}

/* ---- telling */

static bool is_quiet_time(const struct alert_rule *r)
{
	time_t now = clock_wall_ms() / 1000;
	struct tm at;
	int minute;

	if (!r->nquiet || !localtime_r(&now, &at))
		return false;
	minute = at.tm_hour * 60 + at.tm_min;
	for (size_t i = 0; i < r->nquiet; i++) {
		const struct day_span *q = &r->quiet[i];

		if (q->from < q->to ? minute >= q->from && minute < q->to
				    : minute >= q->from || minute < q->to)
			return true;
	}
	return false;
}

static void note_alert(struct backend *b, const struct alert_rule *r, const struct where_row *row)
{
	const struct key_value kv[] = {{"rule", r->name, false}, {"when", r->when, false},
		{"told",
			r->notify         ? (r->bell ? "bell, terminal" : "terminal")
				: r->bell ? "bell"
					  : "",
			false}};
	const struct audit_record rec = {.operation = OP_ALERT,
		.target_type = "container",
		.engine = b->home->model.engine,
		.target = row->c ? row->c->id : NULL,
		.name = row->c ? row->c->name : row->a->name,
		.agent = row->a ? row->a->id : row->c->agent,
		.nparams = COUNT(kv),
		.params = kv};

	gate_note(gate_of(b->home), &rec, NULL);
}

static void send_alert(struct backend *b, const struct alert_rule *r, const struct where_row *row)
{
	struct event *ev = event_new(EV_ALERT);
	const char *who = row->a ? row->a->id : row->c->name;
	AUTO_STR struct str line = STR_INIT;

	if (row->line)
		text_neutralise(&line, row->line, row->nline < 200 ? row->nline : 200, false);
	ev->target = (struct target){arena_strdup(&ev->mem, b->home->model.engine),
		arena_strdup(&ev->mem, row->c ? row->c->id : ""),
		arena_strdup(&ev->mem, row->c ? row->c->name : row->a->name)};
	ev->notice = row->line ? arena_printf(&ev->mem, "%s: %s: %s", who, r->name, line.s)
			       : arena_printf(&ev->mem, "%s: %s", who, r->name);
	ev->alert_bell = r->bell;
	ev->alert_notify = r->notify;
	backend_up(b, ev);
}

bool alert_tell(struct alerts *k, struct cause *c, const struct where_row *row)
{
	const struct alert_rule *r = k->alert[c->alert].rule;

	if (k->told >= TOLD_MOST || k->nacts >= ALERT_ACTS_MAX || is_quiet_time(r))
		return false;
	k->told++;
	c->told_ms = clock_wall_ms();
	k->changed = true;
	note_alert(k->b, r, row);
	send_alert(k->b, r, row);
	if (r->command)
		alert_act(k, r, false, row);
	if (r->webhook)
		alert_act(k, r, true, row);
	return true;
}

/* ---- looking */

static void note_due(int64_t *due_ms, int64_t ms)
{
	if (*due_ms < 0 || ms < *due_ms)
		*due_ms = ms > 0 ? ms : 0;
}

static void judge_cause(
	struct alerts *k, struct cause *c, const struct where_row *row, int64_t *due_ms)
{
	const struct alert *a = &k->alert[c->alert];
	int64_t left;

	/* Another start is another cause, also where nobody saw it stand still. */
	if (row->c && c->start_ms != row->c->started_wall_ms) {
		c->start_ms = row->c->started_wall_ms;
		c->since_ns = backend_now(k->b);
		c->told_ms = 0;
	}
	left = c->told_ms ? a->rule->again_s * 1000 - (row->wall_ms - c->told_ms)
			  : where_for_ms(a->where) - (backend_now(k->b) - c->since_ns) / 1000000;
	c->seen = true;
	if (c->told_ms && !a->rule->again_s)
		return;
	if (left > 0)
		note_due(due_ms, left);
	else if (!alert_tell(k, c, row))
		note_due(due_ms, is_quiet_time(a->rule) ? QUIET_LOOK_MS : SOON_MS);
}

static void judge_row(struct alerts *k, const struct where_row *row, int64_t *due_ms)
{
	for (size_t i = 0; i < k->n; i++)
		if (where_holds(k->alert[i].where, row))
			judge_cause(k, alert_cause(k, i, row->c ? row->c->id : row->a->name), row,
				due_ms);
	if (row->c)
		alert_logs_want(k, row);
}

static const struct agent *agent_in(const struct snapshot *s, const struct container *c)
{
	if (*c->agent)
		for (size_t i = 0; i < s->nagents; i++)
			if (s->agents[i].container == c)
				return &s->agents[i];
	return NULL;
}

/* Before it was inspected its exit code is that of its last end, or 0. */
static bool is_known(const struct backend *b, const struct container *c)
{
	const struct row *r = model_find(&b->home->model, c->id);

	return r && r->inspected && !r->dirty && !r->inspecting;
}

/* Nothing can be said of it for a moment. */
static void hold_causes(struct alerts *k, const char *id)
{
	for (size_t i = 0; i < k->ncauses; i++)
		k->cause[i].seen |= !strcmp(k->cause[i].id, id);
}

static void on_alert_due(uv_timer_t *t)
{
	publish_soon(t->data);
}

void alerts_look(struct backend *b, const struct snapshot *s)
{
	struct alerts *k = b->alerts;
	int64_t due_ms = -1;

	/* Of an engine that is away nothing is known but the past. */
	if (!k || !s->listed || !b->home->watch.up || b->stopping || !take_alert_lock(k))
		return;
	k->told = 0;
	alert_logs_begin(k);
	for (size_t i = 0; i < s->ncontainers; i++) {
		const struct container *c = &s->containers[i];
		const struct where_row row = {
			.wall_ms = s->at_wall_ms, .c = c, .a = agent_in(s, c)};

		/* Another host's may have the id of one here; what it says must not be told of that. */
		if (strcmp(c->engine, b->home->model.engine) != 0)
			continue;
		if (is_known(b, c))
			judge_row(k, &row, &due_ms);
		else
			hold_causes(k, c->id);
	}
	for (size_t i = 0; i < s->nagents; i++) {
		const struct where_row row = {.wall_ms = s->at_wall_ms, .a = &s->agents[i]};

		if (!row.a->container)
			judge_row(k, &row, &due_ms);
	}
	alert_logs_end(k);
	forget_causes(k, s);
	if (k->changed)
		write_told(k);
	if (due_ms >= 0)
		timer_start(&k->due, on_alert_due, due_ms);
}

/* Nobody publishes while nothing happens: who had the lock may be gone. */
void alerts_pulse(struct backend *b)
{
	struct alerts *k = b->alerts;

	if (k && k->lock < 0 && b->home->listed && b->home->watch.up && backend_now(b) >= k->try_ns)
		publish_soon(b);
}

void alerts_open(struct backend *b, const struct backend_options *o)
{
	struct alerts *k;

	if (!o->nalerts || o->once)
		return;
	b->alerts = k = xcalloc(1, sizeof *k);
	k->b = b;
	k->lock = -1;
	k->n = o->nalerts;
	k->alert = xcalloc(k->n, sizeof *k->alert);
	k->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (size_t i = 0; i < k->n; i++)
		k->alert[i] = (struct alert){.rule = &o->alerts[i],
			.where = where_new(o->alerts[i].when, WHERE_ALERT, NULL),
			.hash = hash_rule(&o->alerts[i])};
	uv_timer_init(&b->loop, &k->due);
	k->due.data = b;
}

void alerts_stop(struct backend *b)
{
	struct alerts *k = b->alerts;

	if (!k)
		return;
	uv_timer_stop(&k->due);
	alert_logs_stop(k);
	alert_acts_stop(k);
}

void alerts_close(struct backend *b)
{
	struct alerts *k = STEAL(b->alerts);

	if (!k)
		return;
	for (size_t i = 0; i < k->ncauses; i++)
		free(k->cause[i].id);
	for (size_t i = 0; i < k->n; i++)
		where_free(k->alert[i].where);
	if (k->lock >= 0)
		close(k->lock);
	if (k->stop_fd >= 0)
		close(k->stop_fd);
	free(k->cause);
	free(k->alert);
	free(k);
}
