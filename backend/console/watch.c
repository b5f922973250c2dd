/*
 * watch.c - the connection's life: hello, events, list, inspections; loss and return.
 *
 * Events are opened before the list is asked for, so that nothing falls between; an event only
 * marks a row to be inspected (again), so that a storm of them costs a flag each.  The list is
 * repeated every minute and after every connection, because engines drop events silently.
 */
#include "console/core.h"

#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/message.h>
#include "container/container.h"

#include "observe/observe.h"

#define NS_PER_MS 1000000LL
#define HELLO_NS (5000 * NS_PER_MS)
#define QUIET_NS (10000 * NS_PER_MS) /* nothing heard for so long: ask */
#define ANSWER_NS (5000 * NS_PER_MS) /* and expect an answer within */
#define RESYNC_NS (60000 * NS_PER_MS)
#define LIST_GAP_NS (200 * NS_PER_MS)
#define COUNT_GAP_NS (5000 * NS_PER_MS)
#define BACKOFF_MIN_MS 250
#define BACKOFF_MAX_MS 2000
#define OPENING_MS 300 /* some engines send no headers before the first event */
#define HISTORY_NS (600 * 1000 * NS_PER_MS) /* events of the past shown at the start */
#define INSPECT_AT_ONCE 8

static void connect_engine(struct backend *b);
static void ask_list(struct backend *b);

static void set_engine_problem(struct backend *b, const char *sentence)
{
	free(b->problem_text);
	b->problem_text = xstrdup(sentence);
	b->state.problem = b->problem_text;
}

static void set_phase(struct backend *b, enum engine_phase phase)
{
	if (b->state.phase != phase)
		b->state.since_ns = backend_now(b);
	b->state.phase = phase;
}

static void note_heard(struct backend *b)
{
	b->watch.heard_ns = backend_now(b);
}

/* ---- loss and return */

static void on_retry(uv_timer_t *t)
{
	connect_engine(t->data);
}

static void lose_engine(struct backend *b, const struct err *err)
{
	struct watch *w = &b->watch;

	if (b->stopping)
		return;
	w->up = false;
	uv_timer_stop(&w->opening);
	engine_cancel(w->events);
	engine_cancel(w->early);
	engine_cancel(w->list);
	engine_cancel(w->counts);
	b->listener->lost(b);
	if (b->state.phase == ENGINE_UP)
		set_phase(b, ENGINE_LOST);
	set_engine_problem(b, err->msg);
	b->state.retry_at_ns = 0;
	if (b->once) {
		struct event *ev = event_new(EV_NOTICE);

		ev->err = *err;
		ev->notice = arena_strdup(&ev->mem, err->msg);
		backend_up(b, ev);
	} else if (!uv_is_active((uv_handle_t *)&w->retry)) {
		b->state.retry_at_ns = backend_now(b) + w->backoff_ms * NS_PER_MS;
		timer_start(&w->retry, on_retry, w->backoff_ms);
		w->backoff_ms =
			w->backoff_ms * 2 < BACKOFF_MAX_MS ? w->backoff_ms * 2 : BACKOFF_MAX_MS;
	}
	publish_soon(b);
}

void watch_trouble(struct backend *b, const struct err *err)
{
	if (err->kind == ERR_UNREACHABLE && b->watch.up)
		lose_engine(b, err);
}

/* ---- inspections */

struct inspection {
	struct backend *b;
	char id[]; /* the row may go while the question is under way */
};

static enum mounts_state mounts_of(const struct row *r)
{
	struct start start;

	return r->c.pid && *r->c.agent ? checked_look(r->c.id, r->c.pid, &start, NULL)
				       : MOUNTS_STRANGER;
}

static void on_row_inspected(void *ctx, const struct engine_container *c, const char *json,
	size_t json_len, const struct err *err)
{
	struct inspection *q = ctx;
	struct backend *b = q->b;
	struct row *r;

	(void)json;
	(void)json_len;
	b->watch.inspecting--;
	if (b->stopping)
		goto out;
	r = model_find(&b->model, q->id);
	if (r)
		r->inspecting = false;
	if (!err && r && strcmp(c->id, q->id) == 0) {
		note_heard(b);
		r = model_take_inspection(&b->model, c, backend_now(b));
		/* Otherwise the roster looks, on a thread of its own. */
		if (b->once)
			r->c.mounts = mounts_of(r);
		b->listener->row(b, r);
		publish_soon(b);
	} else if (err && err->kind == ERR_NOT_FOUND) {
		note_heard(b);
		ask_list(b);
	} else if (err && r &&
		(err->kind == ERR_CANCELLED || err->kind == ERR_UNREACHABLE ||
			err->kind == ERR_TIMEOUT)) {
		r->dirty = true;
		watch_trouble(b, err);
	} else if (err && r) {
		r->retry = true;
	}
	watch_inspect(b);
out:
	free(q);
}

static struct row *next_dirty(struct backend *b)
{
	struct row *found = NULL;

	for (size_t i = 0; i < b->model.n; i++) {
		struct row *r = b->model.row[i];

		if (!r->dirty || r->inspecting)
			continue;
		if (r->visible)
			return r;
		if (!found)
			found = r;
	}
	return found;
}

void watch_inspect(struct backend *b)
{
	struct row *r;

	while (b->watch.up && b->watch.inspecting < INSPECT_AT_ONCE && (r = next_dirty(b))) {
		size_t len = strlen(r->c.id) + 1;
		struct inspection *q = xmalloc(sizeof *q + len);

		q->b = b;
		memcpy(q->id, r->c.id, len);
		r->dirty = false;
		r->inspecting = true;
		b->watch.inspecting++;
		engine_inspect(b->engine, q->id, on_row_inspected, q);
	}
}

/* ---- the list */

static void on_container_list(
	void *ctx, const struct engine_summary *rows, size_t n, const struct err *err)
{
	struct backend *b = ctx;
	struct watch *w = &b->watch;

	w->list = NULL;
	if (b->stopping || (err && err->kind == ERR_CANCELLED))
		return;
	w->listed_ns = backend_now(b);
	if (err) {
		/* Anything but silence is an answer; say it, and try again with the next resync. */
		if (err->kind == ERR_UNREACHABLE || err->kind == ERR_TIMEOUT || b->once)
			lose_engine(b, err);
		else
			set_engine_problem(b, err->msg);
		publish_soon(b);
		return;
	}
	note_heard(b);
	set_engine_problem(b, NULL);
	model_take_list(&b->model, rows, n, w->listed_ns);
	b->listener->listed(b);
	watch_inspect(b);
	if (b->listed) {
		publish_soon(b);
	} else {
		/* The picture that the person waits for. */
		b->listed = true;
		publish_now(b);
	}
}

/*
 * A list asked for together with the first hello, for the first picture only: it came before the events
 * were open, so the one after them is asked for all the same.
 */
static void on_early_list(
	void *ctx, const struct engine_summary *rows, size_t n, const struct err *err)
{
	struct backend *b = ctx;

	b->watch.early = NULL;
	if (b->stopping || err || b->listed)
		return;
	model_take_list(&b->model, rows, n, backend_now(b));
	b->listed = true;
	if (b->watch.up) {
		watch_inspect(b);
		publish_now(b);
	}
}

static void ask_list(struct backend *b)
{
	struct watch *w = &b->watch;

	if (!w->up)
		return;
	if (w->list || backend_now(b) - w->listed_ns < LIST_GAP_NS) {
		w->list_again = true; /* at the next pulse */
		return;
	}
	w->list_again = false;
	w->listing = true;
	w->list = engine_list(b->engine, on_container_list, b);
}

static void on_object_counts(
	void *ctx, int images, int networks, int volumes, const struct err *err)
{
	struct backend *b = ctx;

	b->watch.counts = NULL;
	if (b->stopping || err)
		return;
	note_heard(b);
	b->images = images;
	b->networks = networks;
	b->volumes = volumes;
	publish_soon(b);
}

void watch_refresh(struct backend *b)
{
	for (size_t i = 0; i < b->model.n; i++)
		b->model.row[i]->dirty = true;
	b->watch.listed_ns = backend_now(b) - LIST_GAP_NS;
	ask_list(b);
	watch_inspect(b);
}

/* ---- events */

static void remove_row(struct backend *b, const char *id)
{
	struct row *r = model_find(&b->model, id);

	/* A list under way may still have it. */
	if (b->watch.list)
		b->watch.list_again = true;
	if (!r)
		return;
	model_remove(&b->model, r);
	b->listener->gone(b, id);
	publish_soon(b);
}

/* Health checks and shells make exec_* and top events without end; they change no row. */
static bool changes_row(const char *action)
{
	static const char *const idle[] = {"exec_create", "exec_start", "exec_die", "exec_detach",
		"top", "resize", "attach", "detach", "copy", "archive-path", "extract-to-dir",
		"export", "commit", "prune"};

	for (size_t i = 0; i < COUNT(idle); i++)
		if (strncmp(action, idle[i], strlen(idle[i])) == 0)
			return false;
	return true;
}

static void container_event(struct backend *b, const struct engine_event *ev)
{
	struct row *r = model_find(&b->model, ev->id);

	/* What comes before the list of this connection, the list will tell. */
	if (!b->watch.listing || !ev->id[0])
		return;
	if (strcmp(ev->action, "destroy") == 0 || strcmp(ev->action, "remove") == 0) {
		remove_row(b, ev->id);
	} else if (changes_row(ev->action)) {
		if (r)
			r->dirty = true;
		else
			ask_list(b);
		watch_inspect(b);
	}
}

static void on_engine_event(void *ctx, const struct engine_event *ev)
{
	struct backend *b = ctx;
	struct event *up;

	if (b->stopping)
		return;
	note_heard(b);
	if (strcmp(ev->type, "container") == 0)
		container_event(b, ev);
	else
		b->watch.recount = true;
	/* Streams reopened with `since` tell the last one again.  Others may have older stamps: clocks step. */
	if (ev->wall_ns <= b->watch.told_wall_ns)
		return;
	b->watch.last_event_wall_ns = ev->wall_ns;
	up = event_new(EV_ENGINE);
	up->engine_event = (struct engine_event){ev->wall_ns, arena_strdup(&up->mem, ev->type),
		arena_strdup(&up->mem, ev->action), arena_strdup(&up->mem, ev->id),
		arena_strdup(&up->mem, ev->name), arena_strdup(&up->mem, ev->more)};
	backend_up(b, up);
}

static void on_events_end(void *ctx, const struct err *err)
{
	struct backend *b = ctx;
	struct err e = ERR_INIT;

	b->watch.events = NULL;
	if (b->stopping || !b->watch.up || (err && err->kind == ERR_CANCELLED))
		return;
	err_set(&e, ERR_UNREACHABLE, "The engine at %s closed the connection.", b->state.endpoint);
	lose_engine(b, err ? err : &e);
}

static void first_list(struct backend *b)
{
	uv_timer_stop(&b->watch.opening);
	if (b->watch.up && !b->watch.listing) {
		b->watch.listed_ns = backend_now(b) - LIST_GAP_NS;
		ask_list(b);
	}
}

static void on_opening(uv_timer_t *t)
{
	first_list(t->data);
}

static void on_events_open(void *ctx)
{
	struct backend *b = ctx;

	b->watch.opened = true;
	if (!b->stopping)
		first_list(b);
}

/* ---- hello */

static void take_info(struct backend *b, const struct engine_info *i)
{
	struct engine_state *s = &b->state;
	struct arena *a = &b->state_mem;
	char *problem = b->problem_text;
	const char *unrecorded = b->state.unrecorded;

	arena_reset(a);
	/* podman makes up a new id for every answer: its host and store identify it. */
	s->id = strcmp(i->product, "podman") == 0
		? arena_printf(a, "podman:%s:%s", i->name, i->root_dir)
		: copy_text(a, i->id);
	s->name = copy_text(a, i->name);
	s->version = copy_text(a, i->version);
	s->api = copy_text(a, i->api);
	s->product = copy_text(a, i->product);
	s->os = copy_text(a, i->os);
	s->kernel = copy_text(a, i->kernel);
	s->arch = copy_text(a, i->arch);
	s->root_dir = copy_text(a, i->root_dir);
	s->storage = copy_text(a, i->storage);
	s->cgroup = copy_text(a, i->cgroup);
	s->cpus = i->cpus;
	s->memory_bytes = i->memory_bytes;
	s->apparmor = i->apparmor;
	s->problem = problem;
	s->unrecorded = unrecorded;
	b->sweep.host_memory = i->memory_bytes;
	if (b->images < 0)
		b->images = i->images;
}

static void open_events(struct backend *b)
{
	struct watch *w = &b->watch;
	int64_t since = w->last_event_wall_ns ? w->last_event_wall_ns
					      : clock_wall_ms() * NS_PER_MS - HISTORY_NS;

	w->opened = false;
	w->told_wall_ns = w->last_event_wall_ns;
	w->events =
		engine_events(b->engine, since, on_events_open, on_engine_event, on_events_end, b);
	if (w->events && b->paused)
		engine_pause(w->events, true);
}

static void on_engine_hello(void *ctx, const struct engine_info *info, const struct err *err)
{
	struct backend *b = ctx;
	struct watch *w = &b->watch;

	w->hello = NULL;
	if (b->stopping)
		return;
	if (err) {
		struct err e = *err;

		if (e.kind == ERR_CANCELLED) /* by us, when it took too long */
			err_set(&e, ERR_UNREACHABLE,
				"The engine at %s (from %s) accepts connections but "
				"does not answer: it is starting or hung; wait, "
				"restart it, or name another with --host or "
				"DOCKER_HOST.",
				b->state.endpoint, b->state.source);
		lose_engine(b, &e);
		return;
	}
	note_heard(b);
	take_info(b, info);
	if (!*b->model.engine) {
		model_name(&b->model, b->state.id);
	} else if (strcmp(b->model.engine, b->state.id) != 0) {
		/* Another engine: nothing known applies to it. */
		model_clear(&b->model, b->state.id);
		w->last_event_wall_ns = w->told_wall_ns = 0;
		b->listed = false;
		b->sweep.local = false;
	}
	for (size_t i = 0; i < b->model.n; i++)
		b->model.row[i]->dirty = true;
	w->up = true;
	w->list_again = false;
	w->backoff_ms = BACKOFF_MIN_MS;
	w->recount = true;
	w->counted_ns = backend_now(b); /* not in the way of the first picture */
	b->state.retry_at_ns = 0;
	set_phase(b, ENGINE_UP);
	set_engine_problem(b, NULL);
	watch_inspect(b);
	publish_now(b);
	if (!b->once && !w->events)
		open_events(b);
	if (b->once || w->opened)
		first_list(b);
	else
		timer_start(&w->opening, on_opening, OPENING_MS);
}

static void connect_engine(struct backend *b)
{
	struct watch *w = &b->watch;

	if (b->stopping || w->hello || w->up)
		return;
	b->state.retry_at_ns = 0;
	w->hello_at_ns = backend_now(b);
	w->listing = false;
	w->hello = engine_hello(b->engine, on_engine_hello, b);
	if (!*b->model.engine && !b->listed)
		w->early = engine_list(b->engine, on_early_list, b);
	/* On its way meanwhile: the version is all that it waits for. */
	if (!b->once && !w->events)
		open_events(b);
}

void watch_start(struct backend *b)
{
	b->watch.backoff_ms = BACKOFF_MIN_MS;
	connect_engine(b);
}

void watch_pulse(struct backend *b)
{
	struct watch *w = &b->watch;
	int64_t now = backend_now(b), late = w->pulse_ns ? now - w->pulse_ns : 0;
	struct err e = ERR_INIT;

	w->pulse_ns = now;
	if (late > 1000 * NS_PER_MS) {
		/* We were stopped: the engine is not to blame for that time. */
		w->hello_at_ns += late;
		w->heard_ns += late;
	}
	if (w->hello && now - w->hello_at_ns > HELLO_NS)
		engine_cancel(w->hello);
	if (!w->up || b->once)
		return;
	if (now - w->heard_ns > QUIET_NS + ANSWER_NS) {
		err_set(&e, ERR_UNREACHABLE, "The engine at %s has stopped answering.",
			b->state.endpoint);
		lose_engine(b, &e);
		return;
	}
	if (w->list_again || now - w->listed_ns > RESYNC_NS || now - w->heard_ns > QUIET_NS)
		ask_list(b);
	if (w->recount && !w->counts && now - w->counted_ns > COUNT_GAP_NS) {
		w->recount = false;
		w->counted_ns = now;
		w->counts = engine_counts(b->engine, on_object_counts, b);
	}
}

void watch_stop(struct backend *b)
{
	b->watch.up = false;
	uv_timer_stop(&b->watch.retry);
	uv_timer_stop(&b->watch.opening);
}
