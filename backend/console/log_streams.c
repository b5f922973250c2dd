/*
 * log_streams.c - log subscriptions: several containers merged, each over a stream of its own.
 *
 * A stream that is followed is opened again when its container runs again and when the engine is
 * back, from one nanosecond after the last line seen.  What arrives goes up in batches; when nobody
 * reads them the streams are paused, which the engine feels, and no line is lost.
 */
#include "console/core.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/message.h>

/* A stream that ended although its container runs is opened again, but not in a circle. */
#define REOPEN_NS (1000 * 1000000LL)

struct source {
	struct subscription *sub;
	struct site *at; /* NULL: ended at once */
	uint16_t index;
	const char *engine, *id, *name;
	struct engine_call *call;
	int64_t last_wall_ns; /* of the newest line; 0: none yet */
	int64_t opened_ns;
	bool ended; /* nothing more will come */
	struct err why;
};

struct subscription {
	struct subscription *next;
	struct backend *b;
	uint64_t id;
	bool follow, closing;
	struct log_span span;
	size_t n, live; /* sources; streams whose callback is still to come */
	struct source *source;
	struct arena mem;
};

static void unlink_sub(struct subscription *s)
{
	struct subscription **p = &s->b->logs;

	while (*p != s)
		p = &(*p)->next;
	*p = s->next;
}

static void free_sub(struct subscription *s)
{
	unlink_sub(s);
	arena_release(&s->mem);
	free(s);
}

/* Every source ended: say so; the first reason that is one counts. */
static void end_subscription(struct subscription *s)
{
	const struct err *why = NULL;
	struct event *ev;

	if (s->live)
		return;
	for (size_t i = 0; i < s->n && !s->closing; i++) {
		if (!s->source[i].ended)
			return;
		if (!why && s->source[i].why.kind)
			why = &s->source[i].why;
	}
	if (!s->closing) {
		ev = event_new(EV_LOG_END);
		ev->id = s->id;
		if (why)
			ev->err = *why;
		backend_up(s->b, ev);
	}
	free_sub(s);
}

static void on_lines(void *ctx, const struct log_line *lines, size_t n)
{
	struct source *src = ctx;
	struct subscription *s = src->sub;
	struct event *ev;
	size_t bytes = 0;
	char *text;

	if (s->closing || s->b->stopping || !n)
		return;
	src->at->watch.heard_ns = backend_now(s->b);
	for (size_t i = 0; i < n; i++)
		bytes += lines[i].len + 1;
	ev = event_new(EV_LOG_LINES);
	arena_release(&ev->mem);
	arena_init(&ev->mem, n * sizeof *lines + bytes + 64);
	ev->id = s->id;
	ev->nlines = n;
	ev->lines = arena_array(&ev->mem, n, sizeof *lines);
	text = arena_alloc(&ev->mem, bytes);
	for (size_t i = 0; i < n; i++) {
		ev->lines[i] = lines[i];
		ev->lines[i].source = src->index;
		ev->lines[i].text = text;
		memcpy(text, lines[i].text, lines[i].len);
		text += lines[i].len + 1;
		if (lines[i].wall_ns > src->last_wall_ns)
			src->last_wall_ns = lines[i].wall_ns;
	}
	backend_up(s->b, ev);
}

/* The engine went away, or the container is just being removed (a conflict, says the engine; the
 * removal will be told by itself): not the end of what there is to read. */
static bool is_passing(const struct err *err)
{
	return err->kind == ERR_UNREACHABLE || err->kind == ERR_CANCELLED ||
		err->kind == ERR_CONFLICT;
}

static void on_source_end(void *ctx, const struct err *err)
{
	struct source *src = ctx;
	struct subscription *s = src->sub;

	src->call = NULL;
	s->live--;
	if (s->closing || s->b->stopping) {
		end_subscription(s);
		return;
	}
	if (!s->follow || (err && !is_passing(err))) {
		src->ended = true;
		if (err)
			src->why = *err;
	}
	/* Else it stopped, or the engine went away: logs_row opens it again. */
	end_subscription(s);
}

static void open_source(struct source *src, bool tty)
{
	struct subscription *s = src->sub;
	struct log_span span = s->span;

	if (src->call || src->ended)
		return;
	if (src->last_wall_ns) {
		span.since_ns = src->last_wall_ns + 1;
		span.tail = -1;
	}
	src->call = engine_logs(
		src->at->engine, src->id, tty, s->follow, span, on_lines, on_source_end, src);
	if (!src->call)
		return;
	src->opened_ns = backend_now(s->b);
	s->live++;
	if (s->b->paused)
		engine_pause(src->call, true);
}

void logs_row(struct site *at, const struct row *r)
{
	for (struct subscription *s = at->b->logs; s; s = s->next) {
		for (size_t i = 0; i < s->n && !s->closing; i++) {
			struct source *src = &s->source[i];

			if (src->at != at || strcmp(src->id, r->c.id) != 0)
				continue;
			/* A stopped one has only its past to tell, and that once. */
			if (row_runs(r) || !src->last_wall_ns)
				open_source(src, r->tty);
		}
	}
}

void logs_lost(struct site *at)
{
	for (struct subscription *s = at->b->logs; s; s = s->next)
		for (size_t i = 0; i < s->n; i++)
			if (s->source[i].at == at)
				engine_cancel(s->source[i].call);
}

void logs_pulse(struct backend *b)
{
	int64_t old = backend_now(b) - REOPEN_NS;

	for (struct subscription *s = b->logs; s; s = s->next) {
		for (size_t i = 0; i < s->n && !s->closing; i++) {
			struct source *src = &s->source[i];
			const struct row *r;

			if (src->call || src->ended || src->opened_ns > old || !src->at->watch.up)
				continue;
			r = model_find(&src->at->model, src->id);
			if (r && row_runs(r))
				open_source(src, r->tty);
		}
	}
}

static void end_source(struct source *src, const char *sentence)
{
	src->ended = true;
	err_set(&src->why, ERR_NOT_FOUND, "%s %s", src->name, sentence);
	engine_cancel(src->call);
}

void logs_gone(struct site *at, const char *id)
{
	struct subscription *s = at->b->logs, *next;

	for (; s; s = next) {
		next = s->next;
		for (size_t i = 0; i < s->n; i++)
			if (s->source[i].at == at && !s->source[i].ended &&
				strcmp(s->source[i].id, id) == 0)
				end_source(&s->source[i], "was removed.");
		end_subscription(s);
	}
}

void logs_listed(struct site *at)
{
	struct subscription *s = at->b->logs, *next;

	for (; s; s = next) {
		next = s->next;
		for (size_t i = 0; i < s->n; i++) {
			struct source *src = &s->source[i];

			if (src->at == at && !src->ended && !src->call &&
				!model_find(&at->model, src->id))
				end_source(src, "was removed.");
		}
		end_subscription(s);
	}
}

void logs_subscribe(struct backend *b, const struct command *c)
{
	struct subscription *s = xcalloc(1, sizeof *s);

	arena_init(&s->mem, 1024);
	s->b = b;
	s->id = c->id;
	s->follow = c->logs.follow;
	s->span = c->logs.span;
	s->n = c->ntargets < UINT16_MAX ? c->ntargets : UINT16_MAX;
	s->source = arena_array(&s->mem, s->n + 1, sizeof *s->source);
	s->next = b->logs;
	b->logs = s;
	for (size_t i = 0; i < s->n; i++) {
		const struct target *t = &c->targets[i];
		struct source *src = &s->source[i];
		struct site *at = site_of(b, t->engine);
		const struct row *r = at ? model_find(&at->model, t->id) : NULL;
		struct record_target of;
		struct audit_record read;

		src->sub = s;
		src->at = at;
		src->index = (uint16_t)i;
		src->engine = arena_strdup(&s->mem, t->engine);
		src->id = arena_strdup(&s->mem, t->id);
		src->name = arena_strdup(&s->mem, t->name);
		read = record_of_container(at ? at : b->home, DEED_CONTAINER_LOGS, t, &of);
		gate_note(gate_of(at ? at : b->home), &read, NULL);
		if (!r)
			end_source(src, "no longer exists.");
		else if (recording_may_read(b, NULL) < 0)
			end_source(src, "is not read, because that cannot be recorded.");
		else if (r->inspected)
			open_source(src, r->tty);
	}
	end_subscription(s);
}

void logs_close(struct backend *b, uint64_t ref)
{
	struct subscription *s = b->logs;

	while (s && s->id != ref)
		s = s->next;
	if (!s)
		return;
	s->closing = true;
	for (size_t i = 0; i < s->n; i++)
		engine_cancel(s->source[i].call);
	end_subscription(s);
}

void logs_pause(struct backend *b, bool paused)
{
	for (struct subscription *s = b->logs; s; s = s->next)
		for (size_t i = 0; i < s->n; i++)
			if (s->source[i].call)
				engine_pause(s->source[i].call, paused);
}

void logs_stop(struct backend *b)
{
	struct subscription *s = b->logs, *next;

	/* Streams end by themselves when the engine closes; those without one end here. */
	for (; s; s = next) {
		next = s->next;
		s->closing = true;
		end_subscription(s);
	}
}
