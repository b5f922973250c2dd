/* alert_logs.c - reads the logs of the containers that alert rules with a log condition apply to. */
#include "console/alerts.h"

#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/mem.h>

#define REOPEN_NS (1000 * 1000000LL)

struct alert_log {
	struct alert_log *next;
	struct alerts *of;
	char *id;
	uint64_t rules; /* a bit for each */
	struct engine_call *call;
	struct log_place place;
	int64_t opened_ns, started_wall_ms; /* started_wall_ms: of the run that was read last */
	bool wanted, noted;
};

static struct alert_log *find_log(struct alerts *k, const char *id)
{
	struct alert_log *l = k->logs;

	while (l && strcmp(l->id, id) != 0)
		l = l->next;
	return l;
}

void alert_logs_begin(struct alerts *k)
{
	for (struct alert_log *l = k->logs; l; l = l->next)
		l->wanted = false;
}

void alert_logs_want(struct alerts *k, const struct where_row *row)
{
	uint64_t rules = 0;
	struct alert_log *l;

	for (size_t i = 0; i < k->n; i++)
		if (where_reads_log(k->alert[i].where) && where_may_hold(k->alert[i].where, row))
			rules |= UINT64_C(1) << i;
	if (!rules)
		return;
	l = find_log(k, row->c->id);
	if (!l) {
		l = xcalloc(1, sizeof *l);
		*l = (struct alert_log){.next = k->logs, .of = k, .id = xstrdup(row->c->id)};
		k->logs = l;
	}
	l->rules = rules;
	l->wanted = true;
}

static void judge_line(struct alert_log *l, const struct snapshot *s, const struct log_line *line)
{
	struct alerts *k = l->of;
	struct where_row row = {.wall_ms = clock_wall_ms(),
		.c = snapshot_find(s, k->b->home->model.engine, l->id),
		.line = line->text,
		.nline = line->len};

	if (!row.c)
		return;
	for (size_t i = 0; i < s->nagents && *row.c->agent; i++)
		if (s->agents[i].container == row.c)
			row.a = &s->agents[i];
	for (size_t i = 0; i < k->n; i++) {
		struct cause *c;

		if (!(l->rules >> i & 1) || !where_holds(k->alert[i].where, &row))
			continue;
		c = alert_cause(k, i, l->id);
		c->line = c->seen = true;
		if (!c->told_ms || row.wall_ms - c->told_ms >= alert_line_ms(k, c))
			alert_tell(k, c, &row);
	}
}

static void on_alert_lines(void *ctx, const struct log_line *lines, size_t n)
{
	struct alert_log *l = ctx;
	const struct snapshot *s;

	if (l->of->b->stopping || !l->wanted)
		return;
	l->of->told = 0;
	s = snapshot_take(&l->of->b->slot);
	for (size_t i = 0; i < n; i++)
		if (log_place_take(&l->place, &lines[i]))
			judge_line(l, s, &lines[i]);
	snapshot_unref(s);
}

static void free_log(struct alert_log *l)
{
	struct alert_log **p = &l->of->logs;

	while (*p != l)
		p = &(*p)->next;
	*p = l->next;
	free(l->id);
	free(l);
}

static void on_alert_log_end(void *ctx, const struct err *err)
{
	struct alert_log *l = ctx;

	(void)err; /* it is opened again while it is wanted */
	l->call = NULL;
	if (!l->wanted || l->of->b->stopping)
		free_log(l);
}

static void note_log(struct backend *b, const struct container *c)
{
	const struct target t = {c->engine, c->id, c->name};
	struct record_target of;
	const struct audit_record read = record_of_container(b->home, OP_CONTAINER_LOGS, &t, &of);

	gate_note(gate_of(b->home), &read, NULL);
}

/* A run that began and ended between two looks at it. */
static bool has_run_unread(const struct alert_log *l, const struct row *r)
{
	return r->c.started_wall_ms != l->started_wall_ms &&
		(l->noted || r->c.started_wall_ms >= l->of->held_wall_ms);
}

/* From when this process began to tell: of what starts later, the first line too. */
static void open_log(struct alert_log *l)
{
	struct backend *b = l->of->b;
	const struct row *r = model_find(&b->home->model, l->id);
	struct log_span span = {.tail = -1, .since_ns = l->of->held_wall_ms * 1000000};

	if (!r || !r->inspected || (!row_runs(r) && !has_run_unread(l, r)) ||
		backend_now(b) - l->opened_ns < REOPEN_NS || recording_may_read(b, NULL) < 0)
		return;
	if (!l->noted)
		note_log(b, &r->c);
	l->noted = true;
	if (l->place.last_ns)
		log_place_resume(&l->place,
			r->c.started_wall_ms != l->started_wall_ms ? r->c.started_wall_ms * 1000000
								   : 0,
			&span);
	l->started_wall_ms = r->c.started_wall_ms;
	l->opened_ns = backend_now(b);
	l->call = engine_logs(
		b->home->engine, l->id, r->tty, true, span, on_alert_lines, on_alert_log_end, l);
}

void alert_logs_end(struct alerts *k)
{
	struct alert_log *next;

	for (struct alert_log *l = k->logs; l; l = next) {
		next = l->next;
		if (l->wanted && !l->call)
			open_log(l);
		else if (!l->wanted && l->call)
			engine_cancel(l->call); /* on_alert_log_end frees it */
		else if (!l->wanted)
			free_log(l);
	}
}

void alert_logs_stop(struct alerts *k)
{
	struct alert_log *next;

	/* Streams end by themselves when the engine closes. */
	for (struct alert_log *l = k->logs; l; l = next) {
		next = l->next;
		l->wanted = false;
		if (!l->call)
			free_log(l);
	}
}
