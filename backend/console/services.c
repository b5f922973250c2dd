/*
 * services.c - services for all parts of the backend thread: time, timers, messages to the main thread, the job board, and requesting a snapshot.
 *
 * Where something has to be told upwards it goes to b->listener, which backend.c fills.
 */
#include "console/core.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/trace.h>

#define UP_FULL ((size_t)4 << 20) /* weight of unread events at which streams are paused */
#define COALESCE_MS 50

int64_t backend_now(const struct backend *b)
{
	(void)b;
	return clock_mono_ns();
}

void timer_init(struct backend *b, uv_timer_t *t, void *data)
{
	uv_timer_init(&b->loop, t);
	t->data = data;
}

void timer_start(uv_timer_t *t, uv_timer_cb fn, int64_t ms)
{
	/* The loop's idea of now may be old after a long callback. */
	uv_update_time(t->loop);
	uv_timer_start(t, fn, ms > 0 ? (uint64_t)ms : 0, 0);
}

/* ---- to the main thread */

static void write_wake(struct backend *b)
{
	uint64_t one = 1;
	ssize_t n;

	do
		n = write(b->wake_fd, &one, sizeof one);
	while (n < 0 && errno == EINTR);
}

void services_wake_main(void *ctx)
{
	write_wake(ctx);
}

void backend_tell_main(struct backend *b)
{
	if (!atomic_exchange(&b->fresh, true))
		write_wake(b);
}

static void set_paused(struct backend *b, bool paused)
{
	if (b->paused == paused)
		return;
	b->paused = paused;
	b->listener->paused(b, paused);
}

void services_drained(struct backend *b)
{
	if (!b->paused || mailbox_bytes(&b->up) >= UP_LOW)
		return;
	atomic_store(&b->crowded, false);
	set_paused(b, false);
}

static void trace_event(const struct event *ev)
{
	const struct engine_event *en = &ev->engine_event;

	if (ev->kind == EV_ENGINE)
		trace(TRACE_EVENTS, "engine %s %s of %s", en->type, en->action, en->name);
	else
		trace(TRACE_EVENTS, "%s %llu of %s: %zu bytes, %zu lines; %s%s",
			event_kind_name(ev->kind), (unsigned long long)ev->id,
			ev->target.name ? ev->target.name : "none", ev->nbytes, ev->nlines,
			ev->notice ? ev->notice : "", ev->err.msg);
}

void backend_up(struct backend *b, struct event *ev)
{
	struct envelope *l = xcalloc(1, sizeof *l);

	trace_event(ev);
	l->event = ev;
	l->mail.bytes = sizeof *l + sizeof *ev + arena_bytes(&ev->mem);
	mailbox_put(&b->up, &l->mail);
	if (!b->paused && mailbox_bytes(&b->up) > UP_FULL) {
		atomic_store(&b->crowded, true);
		set_paused(b, true);
		/* Main may have drained it before it could see that. */
		if (mailbox_bytes(&b->up) < UP_LOW)
			uv_async_send(&b->wake);
	}
}

void backend_result(struct backend *b, uint64_t id, const struct err *err)
{
	struct event *ev = event_new(EV_RESULT);

	ev->id = id;
	if (err)
		ev->err = *err;
	backend_up(b, ev);
}

void backend_notice(struct backend *b, const char *fmt, ...)
{
	struct event *ev = event_new(EV_NOTICE);
	char text[ERR_MSG_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	ev->notice = arena_strdup(&ev->mem, text);
	backend_up(b, ev);
}

struct board *backend_board(struct backend *b)
{
	struct err e = ERR_INIT;

	if (!b->board) {
		b->board = board_open(b->program, &e);
		if (!b->board)
			backend_notice(b, "Other berth processes cannot see this job. %s", e.msg);
	}
	return b->board;
}

struct site *site_of(struct backend *b, const char *engine)
{
	for (size_t i = 0; i < b->nsites; i++)
		if (strcmp(b->site[i].model.engine, engine) == 0)
			return &b->site[i];
	return NULL;
}

int site_may_change(const struct site *at, const char *what, struct err *e)
{
	if (!at->watch.up)
		return err_set(e, ERR_UNREACHABLE,
			"The engine at %s does not answer: could not %s.", at->state.endpoint,
			what);
	return 0;
}

/* ---- snapshots: made by whoever listens */

void publish_now(struct backend *b)
{
	if (b->stopping)
		return;
	uv_timer_stop(&b->publish);
	b->listener->publish(b);
}

static void on_publish(uv_timer_t *t)
{
	publish_now(t->data);
}

void publish_soon(struct backend *b)
{
	int64_t ago_ms = (backend_now(b) - b->published_ns) / 1000000;

	if (b->stopping || uv_is_active((uv_handle_t *)&b->publish))
		return;
	timer_start(&b->publish, on_publish, ago_ms < COALESCE_MS ? COALESCE_MS - ago_ms : 0);
}
