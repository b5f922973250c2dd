/*
 * log_streams.c - merges the logs of several containers, each read over its own stream.
 *
 * A stream that is followed is opened again when its container runs again or has run meanwhile, and when the engine is
 * back, from the last line seen (log_place.c).  What arrives goes up in batches; when nobody reads them the streams are
 * paused, which the engine feels, and no line is lost.  The same holds for those whose lines wait for older ones of others.
 */
#include "console/core.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/message.h>

/* A stream that ended although its container runs is opened again, but not in a circle. */
#define REOPEN_NS (1000 * 1000000LL)

#define ANSWER_NS (10000 * 1000000LL) /* an engine that has not answered by then is silent */
#define SILENT_NS (60000 * 1000000LL) /* likewise, in the middle of what it has */
#define GONE_NS (5000 * 1000000LL)    /* likewise, of a container that was removed */
#define RESTART_NS \
	(2000 * 1000000LL) /* `docker restart` takes so long from the end to the new start */

/* Of a source of which so much waits for others no more is taken. */
#define HELD_MAX ((size_t)256 << 10)
#define MERGED_LINES 256

struct held {
	struct held *next;
	struct event *ev;
	size_t at; /* its next line */
};

struct source {
	struct subscription *sub;
	struct site *at; /* NULL: ended at once */
	uint16_t index;
	const char *engine, *id, *name;
	struct engine_call *call, *look;
	struct log_place place;
	int64_t opened_ns, heard_ns, closed_ns;
	int64_t started_wall_ms; /* of the run that was read last */
	bool opened;             /* once; from then on the place counts */
	bool alive;              /* it was not at its end when it was opened last */
	bool answered;           /* the engine, what was asked last */
	bool ended;              /* nothing more will come */
	bool slowed;             /* enough of it waits */
	bool gone;               /* the container; what its stream still holds is to be read */
	struct held *first, *last;
	size_t held_bytes;
	struct err why;
};

struct subscription {
	struct subscription *next;
	struct backend *b;
	uint64_t id;
	bool follow, until_ended, by_time, closing;
	struct log_span span;
	size_t n, live; /* sources; calls whose callback is still to come */
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

static void drop_held(struct source *src)
{
	struct held *h = src->first;

	src->first = h->next;
	if (!src->first)
		src->last = NULL;
	src->held_bytes -= arena_bytes(&h->ev->mem);
	event_free(h->ev);
	free(h);
}

static void free_sub(struct subscription *s)
{
	for (size_t i = 0; i < s->n; i++)
		while (s->source[i].first)
			drop_held(&s->source[i]);
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

/* An event for so many lines with so much text, each with a NUL; the text goes where *ret_text is. */
static struct event *new_lines(
	const struct subscription *s, size_t n, size_t bytes, char **ret_text)
{
	struct event *ev = event_new(EV_LOG_LINES);

	arena_release(&ev->mem);
	arena_init(&ev->mem, n * sizeof *ev->lines + bytes + 64);
	ev->id = s->id;
	ev->lines = arena_array(&ev->mem, n, sizeof *ev->lines);
	*ret_text = arena_alloc(&ev->mem, bytes);
	return ev;
}

static void add_line(struct event *ev, const struct log_line *line, char **text)
{
	struct log_line *to = &ev->lines[ev->nlines++];

	*to = *line;
	to->text = *text;
	memcpy(*text, line->text, line->len);
	*text += line->len + 1;
}

/* The oldest of what waits; NULL: there is none, or an older one may come. */
static struct source *oldest_held(const struct subscription *s)
{
	struct source *oldest = NULL;
	int64_t ns = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct source *src = &s->source[i];
		const struct held *h = src->first;

		if (!h && !src->ended)
			return NULL;
		if (!h || (oldest && h->ev->lines[h->at].wall_ns >= ns))
			continue;
		oldest = src;
		ns = h->ev->lines[h->at].wall_ns;
	}
	return oldest;
}

/* As many of those that wait as are known to be next, in one batch.  false: there is none. */
static bool send_oldest(struct subscription *s)
{
	const struct log_line *line[MERGED_LINES];
	struct source *from[MERGED_LINES], *src;
	size_t n = 0, bytes = 0;
	struct event *ev;
	char *text;

	while (n < MERGED_LINES && (src = oldest_held(s))) {
		line[n] = &src->first->ev->lines[src->first->at];
		bytes += line[n]->len + 1;
		from[n++] = src;
		/* The last one of its batch is dropped with it, when it was copied. */
		if (++src->first->at == src->first->ev->nlines)
			break;
	}
	if (!n)
		return false;
	ev = new_lines(s, n, bytes, &text);
	for (size_t i = 0; i < n; i++)
		add_line(ev, line[i], &text);
	backend_up(s->b, ev);
	src = from[n - 1];
	if (src->first->at == src->first->ev->nlines)
		drop_held(src);
	if (src->slowed && src->held_bytes < HELD_MAX / 2) {
		src->slowed = false;
		src->heard_ns = backend_now(s->b);
		engine_pause(src->call, s->b->paused);
	}
	return true;
}

static void merge_held(struct subscription *s)
{
	while (s->by_time && !s->closing && send_oldest(s))
		;
}

static void hold_lines(struct source *src, struct event *ev)
{
	struct held *h = xcalloc(1, sizeof *h);

	h->ev = ev;
	if (src->last)
		src->last->next = h;
	else
		src->first = h;
	src->last = h;
	src->held_bytes += arena_bytes(&ev->mem);
	merge_held(src->sub);
	if (src->held_bytes > HELD_MAX && !src->slowed && src->call) {
		src->slowed = true;
		engine_pause(src->call, true);
	}
}

static void on_lines(void *ctx, const struct log_line *lines, size_t n)
{
	struct source *src = ctx;
	struct subscription *s = src->sub;
	struct event *ev;
	size_t bytes = 0;
	char *text;

	if (s->closing || s->b->stopping)
		return;
	src->answered = true;
	src->heard_ns = src->at->watch.heard_ns = backend_now(s->b);
	for (size_t i = 0; i < n; i++)
		bytes += lines[i].len + 1;
	if (!n)
		return;
	ev = new_lines(s, n, bytes, &text);
	for (size_t i = 0; i < n; i++) {
		struct log_line line = lines[i];

		line.source = src->index;
		if (log_place_take(&src->place, &line))
			add_line(ev, &line, &text);
	}
	if (!ev->nlines)
		event_free(ev);
	else if (s->by_time)
		hold_lines(src, ev);
	else
		backend_up(s->b, ev);
}

/* The engine went away, or the container is just being removed (a conflict, says the engine; the
 * removal will be told by itself): not the end of what there is to read. */
static bool is_passing(const struct err *err)
{
	return err->kind == ERR_UNREACHABLE || err->kind == ERR_CANCELLED ||
		err->kind == ERR_CONFLICT;
}

static void end_source(struct source *src, const struct err *why)
{
	if (src->ended)
		return;
	src->ended = true;
	if (why)
		src->why = *why;
	engine_cancel(src->call);
	engine_cancel(src->look);
	merge_held(src->sub);
}

static void end_unreadable(struct source *src, const char *sentence)
{
	struct err e = ERR_INIT;

	err_set(&e, ERR_NOT_FOUND, "%s %s", src->name, sentence);
	end_source(src, &e);
}

/* Its container was removed and its stream is at its end.  Where that was to be followed it has told all, as docker says. */
static void end_gone(struct source *src)
{
	if (src->sub->until_ended && src->opened)
		end_source(src, NULL);
	else
		end_unreadable(src, "was removed.");
}

/* The engine tells a removal over another connection, often before the last lines. */
static void note_gone(struct source *src)
{
	src->gone = true;
	src->heard_ns = backend_now(src->sub->b);
	if (!src->call)
		end_gone(src);
}

static void on_source_end(void *ctx, const struct err *err)
{
	struct source *src = ctx;
	struct subscription *s = src->sub;

	src->call = NULL;
	src->slowed = false;
	src->closed_ns = backend_now(s->b);
	s->live--;
	if (s->closing || s->b->stopping) {
		end_subscription(s);
		return;
	}
	/* As docker does: one that is gone has told all. */
	if (s->until_ended && src->alive && err &&
		(err->kind == ERR_NOT_FOUND || err->kind == ERR_CONFLICT))
		end_source(src, NULL);
	else if (!s->follow || (err && (s->until_ended || !is_passing(err))) ||
		(s->until_ended && !src->alive))
		end_source(src, err);
	else if (src->gone)
		end_gone(src);
	/* Else it stopped, or the engine went away: logs_row or logs_pulse opens it again. */
	end_subscription(s);
}

static void open_source(struct source *src, bool tty, int64_t started_wall_ms, bool alive)
{
	struct subscription *s = src->sub;
	struct log_span span = s->span;
	bool anew = src->opened && started_wall_ms != src->started_wall_ms;

	if (src->call || src->ended)
		return;
	span.started_ns = started_wall_ms * 1000000;
	if (src->place.last_ns) {
		log_place_resume(&src->place, anew ? started_wall_ms * 1000000 : 0, &span);
	} else if (anew) {
		/* There was no line, or none was asked for; all of the new start are meant. */
		if (span.tail == 0)
			span.since_ns = started_wall_ms * 1000000;
		span.tail = -1;
	}
	src->opened = true;
	src->alive = alive;
	src->answered = false;
	src->started_wall_ms = started_wall_ms;
	src->opened_ns = src->heard_ns = backend_now(s->b);
	src->call = engine_logs(
		src->at->engine, src->id, tty, s->follow, span, on_lines, on_source_end, src);
	s->live++;
	if (s->b->paused)
		engine_pause(src->call, true);
}

/* ---- what has become of a container, asked for by itself: no row tells it, or none does for sure */

/* Its stream ended: is it at its end, or does it go on? */
static void judge_source(struct source *src, const struct engine_container *c)
{
	int64_t now = backend_now(src->sub->b);
	bool anew = c->started_wall_ms != src->started_wall_ms;

	if (c->state == CONTAINER_RESTARTING && !anew)
		src->closed_ns = now;
	else if (anew || (container_is_up(c->state) && now - src->opened_ns > REOPEN_NS))
		open_source(src, c->tty, c->started_wall_ms, true);
	else if (!container_is_up(c->state) && now - src->closed_ns > RESTART_NS)
		end_source(src, NULL);
}

static void on_source_look(void *ctx, const struct engine_container *c, const char *json, size_t n,
	const struct err *err)
{
	struct source *src = ctx;
	struct subscription *s = src->sub;

	(void)json;
	(void)n;
	src->look = NULL;
	s->live--;
	if (s->closing || s->b->stopping || src->ended || src->call)
		;
	else if (err && err->kind == ERR_NOT_FOUND && src->opened && s->until_ended)
		end_source(src, NULL);
	else if (err && (!s->follow || s->until_ended || !is_passing(err)))
		end_source(src, err);
	else if (!err && !src->opened)
		open_source(src, c->tty, c->started_wall_ms, container_is_up(c->state));
	else if (!err)
		judge_source(src, c);
	end_subscription(s);
}

static void ask_of_source(struct source *src)
{
	if (src->look || src->call || src->ended || !src->at->engine)
		return;
	src->look = engine_inspect(src->at->engine, src->id, on_source_look, src);
	src->sub->live++;
}

void logs_row(struct site *at, const struct row *r)
{
	for (struct subscription *s = at->b->logs; s; s = s->next) {
		for (size_t i = 0; i < s->n && !s->closing; i++) {
			struct source *src = &s->source[i];

			if (src->at != at || strcmp(src->id, r->c.id) != 0 ||
				(src->opened && s->until_ended))
				continue;
			/* What a stopped one has to tell it tells once, each run. */
			if (!src->opened || row_runs(r) ||
				r->c.started_wall_ms != src->started_wall_ms)
				open_source(src, r->tty, r->c.started_wall_ms,
					container_is_up(r->c.state));
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

/* It said nothing for too long of what is there to be read.  Where streams are followed the connection is watched. */
static bool is_silent(const struct source *src, int64_t now)
{
	const struct subscription *s = src->sub;

	if (!src->call || s->b->paused || src->slowed)
		return false;
	if (src->gone && now - src->heard_ns > GONE_NS)
		return true;
	if (s->follow && !s->until_ended)
		return false;
	return now - src->heard_ns > (src->answered ? SILENT_NS : ANSWER_NS) &&
		!(src->answered && s->follow);
}

static void end_silent(struct source *src)
{
	struct err e = ERR_INIT;

	if (src->gone) {
		end_gone(src);
		return;
	}
	err_set(&e, ERR_FAILED, "the engine does not answer when asked for the log of %s.",
		src->name);
	end_source(src, &e);
}

static void pulse_source(struct source *src, int64_t now)
{
	const struct subscription *s = src->sub;
	const struct row *r;

	if (is_silent(src, now)) {
		end_silent(src);
	} else if (s->until_ended && src->opened) {
		ask_of_source(src);
	} else if (!src->call && !src->ended && src->opened_ns <= now - REOPEN_NS &&
		src->at->watch.up) {
		/* One that ran meanwhile may have done so while the stream of the run before was still open. */
		r = model_find(&src->at->model, src->id);
		if (r &&
			(row_runs(r) ||
				(r->inspected && src->opened &&
					r->c.started_wall_ms != src->started_wall_ms)))
			open_source(src, r->tty, r->c.started_wall_ms, row_runs(r));
	}
}

void logs_pulse(struct backend *b)
{
	int64_t now = backend_now(b);
	struct subscription *next;

	for (struct subscription *s = b->logs; s; s = next) {
		next = s->next;
		for (size_t i = 0; i < s->n && !s->closing; i++)
			pulse_source(&s->source[i], now);
		end_subscription(s);
	}
}

void logs_gone(struct site *at, const char *id)
{
	struct subscription *s = at->b->logs, *next;

	for (; s; s = next) {
		next = s->next;
		for (size_t i = 0; i < s->n; i++)
			if (s->source[i].at == at && !s->source[i].ended &&
				strcmp(s->source[i].id, id) == 0)
				note_gone(&s->source[i]);
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
				end_gone(src);
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
	s->until_ended = c->logs.until_ended;
	s->by_time = c->logs.by_time && !c->logs.follow;
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
		read = record_of_container(at ? at : b->home, OP_CONTAINER_LOGS, t, &of);
		gate_note(gate_of(at ? at : b->home), &read, NULL);
		if (!r)
			end_unreadable(src, "no longer exists.");
		else if (recording_may_read(b, NULL) < 0)
			end_unreadable(src, "is not read, because that cannot be recorded.");
		else if (r->inspected)
			open_source(src, r->tty, r->c.started_wall_ms, container_is_up(r->c.state));
		else
			ask_of_source(src);
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
	for (size_t i = 0; i < s->n; i++) {
		engine_cancel(s->source[i].call);
		engine_cancel(s->source[i].look);
	}
	end_subscription(s);
}

void logs_pause(struct backend *b, bool paused)
{
	for (struct subscription *s = b->logs; s; s = s->next)
		for (size_t i = 0; i < s->n; i++) {
			s->source[i].heard_ns = backend_now(b);
			engine_pause(s->source[i].call, paused || s->source[i].slowed);
		}
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
