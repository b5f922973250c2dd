/*
 * watch.c - follows an engine: hello, events, list, inspections; loss and return of the connection.
 *
 * Events are opened before the list is asked for, so that nothing falls between; an event only
 * marks a row to be inspected (again), so that a storm of them costs a flag each.  The list is
 * repeated every minute and after every connection, because engines drop events silently.
 */
#include "console/core.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/str.h>

#include "container/container.h"

#include "observe/observe.h"

#define NS_PER_MS 1000000LL
#define HELLO_NS (5000 * NS_PER_MS)       /* then a console says so, and asks again */
#define ONCE_HELLO_NS (10000 * NS_PER_MS) /* a command asks once */
#define QUIET_NS (10000 * NS_PER_MS)      /* nothing heard for so long: ask */
#define ANSWER_NS (5000 * NS_PER_MS)      /* and expect an answer within */
#define RESYNC_NS (60000 * NS_PER_MS)
#define LIST_GAP_NS (200 * NS_PER_MS)
#define COUNT_GAP_NS (5000 * NS_PER_MS)
#define BACKOFF_MIN_MS 250
#define BACKOFF_MAX_MS 2000   /* in the first minute, and */
#define BACKOFF_SLOW_MS 30000 /* after it */
#define BACKOFF_SOON_NS (60000 * NS_PER_MS)
#define PING_NS (1000 * NS_PER_MS)  /* of several: nothing heard for so long */
#define ALIVE_NS (2500 * NS_PER_MS) /* of several: then it is taken for lost */
#define OPENING_MS 300              /* some engines send no headers before the first event */
#define HISTORY_NS (600 * 1000 * NS_PER_MS) /* events of the past shown at the start */
#define INSPECT_AT_ONCE 8

static void connect_engine(struct site *at);
static void ask_list(struct site *at);

static void set_engine_problem(struct site *at, const char *sentence)
{
	free(at->problem_text);
	at->problem_text = xstrdup(sentence);
	at->state.problem = at->problem_text;
}

static void set_phase(struct site *at, enum engine_phase phase)
{
	if (at->state.phase != phase)
		at->state.since_ns = backend_now(at->b);
	at->state.phase = phase;
}

static void note_heard(struct site *at)
{
	at->watch.heard_ns = backend_now(at->b);
}

/* ---- loss and return */

static void on_retry(uv_timer_t *t)
{
	connect_engine(t->data);
}

/* Those that were lost together do not come back together: up to a quarter is added. */
static int64_t add_jitter(int64_t ms)
{
	uint32_t number = 0;

	if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
		number = (uint32_t)clock_mono_ns();
	return ms + number % (ms / 4 + 1);
}

/* Soon at first, for most are back soon; then less and less often. */
static void retry_later(struct site *at)
{
	struct watch *w = &at->watch;
	int64_t now = backend_now(at->b), ms = add_jitter(w->backoff_ms), longest;

	if (!w->lost_ns)
		w->lost_ns = now;
	longest = now - w->lost_ns < BACKOFF_SOON_NS ? BACKOFF_MAX_MS : BACKOFF_SLOW_MS;
	at->state.retry_at_ns = now + ms * NS_PER_MS;
	timer_start(&w->retry, on_retry, ms);
	w->backoff_ms = w->backoff_ms * 2 < longest ? w->backoff_ms * 2 : longest;
}

void watch_hurry(struct site *at)
{
	struct watch *w = &at->watch;

	if (!at->engine || !uv_is_active((uv_handle_t *)&w->retry))
		return;
	uv_timer_stop(&w->retry);
	w->backoff_ms = BACKOFF_MIN_MS;
	w->lost_ns = 0;
	connect_engine(at);
	publish_soon(at->b);
}

static void lose_engine(struct site *at, const struct err *err)
{
	struct watch *w = &at->watch;

	if (at->b->stopping)
		return;
	w->up = false;
	uv_timer_stop(&w->opening);
	engine_cancel(w->events);
	engine_cancel(w->early);
	engine_cancel(w->list);
	engine_cancel(w->counts);
	engine_cancel(w->ping);
	at->b->listener->lost(at);
	if (at->state.phase == ENGINE_UP)
		set_phase(at, ENGINE_LOST);
	set_engine_problem(at, err->msg);
	at->state.retry_at_ns = 0;
	w->ended = at->b->once;
	if (at->b->once && at->b->many) {
		publish_now(at->b);
	} else if (at->b->once) {
		struct event *ev = event_new(EV_NOTICE);

		ev->err = *err;
		ev->notice = arena_strdup(&ev->mem, err->msg);
		backend_up(at->b, ev);
	} else if (!uv_is_active((uv_handle_t *)&w->retry)) {
		retry_later(at);
	}
	publish_soon(at->b);
}

void watch_trouble(struct site *at, const struct err *err)
{
	if (err->kind == ERR_UNREACHABLE && at->watch.up)
		lose_engine(at, err);
}

/* ---- inspections */

struct inspection {
	struct site *at;
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
	struct site *at = q->at;
	struct row *r;

	(void)json;
	(void)json_len;
	at->watch.inspecting--;
	if (at->b->stopping)
		goto out;
	r = model_find(&at->model, q->id);
	if (r)
		r->inspecting = false;
	if (!err && r && strcmp(c->id, q->id) == 0) {
		note_heard(at);
		r = model_take_inspection(&at->model, c, backend_now(at->b));
		/* Otherwise the roster looks, on a thread of its own. */
		if (at->b->once && !*at->prefix)
			r->c.mounts = mounts_of(r);
		at->b->listener->row(at, r);
		publish_soon(at->b);
	} else if (err && err->kind == ERR_NOT_FOUND) {
		note_heard(at);
		ask_list(at);
	} else if (err && r &&
		(err->kind == ERR_CANCELLED || err->kind == ERR_UNREACHABLE ||
			err->kind == ERR_TIMEOUT)) {
		r->dirty = true;
		watch_trouble(at, err);
	} else if (err && r) {
		r->retry = true;
	}
	watch_inspect(at);
out:
	free(q);
}

static struct row *next_dirty(struct site *at)
{
	struct row *found = NULL;

	for (size_t i = 0; i < at->model.n; i++) {
		struct row *r = at->model.row[i];

		if (!r->dirty || r->inspecting)
			continue;
		if (r->visible)
			return r;
		if (!found)
			found = r;
	}
	return found;
}

void watch_inspect(struct site *at)
{
	struct row *r;

	while (at->watch.up && at->watch.inspecting < INSPECT_AT_ONCE && (r = next_dirty(at))) {
		size_t len = strlen(r->c.id) + 1;
		struct inspection *q = xmalloc(sizeof *q + len);

		q->at = at;
		memcpy(q->id, r->c.id, len);
		r->dirty = false;
		r->inspecting = true;
		at->watch.inspecting++;
		engine_inspect(at->engine, q->id, on_row_inspected, q);
	}
}

/* ---- the list */

static void on_container_list(
	void *ctx, const struct engine_summary *rows, size_t n, const struct err *err)
{
	struct site *at = ctx;
	struct watch *w = &at->watch;

	w->list = NULL;
	if (at->b->stopping || (err && err->kind == ERR_CANCELLED))
		return;
	w->listed_ns = backend_now(at->b);
	if (err) {
		/* Anything but silence is an answer; say it, and try again with the next resync. */
		if (err->kind == ERR_UNREACHABLE || err->kind == ERR_TIMEOUT || at->b->once)
			lose_engine(at, err);
		else
			set_engine_problem(at, err->msg);
		publish_soon(at->b);
		return;
	}
	note_heard(at);
	set_engine_problem(at, NULL);
	model_take_list(&at->model, rows, n, w->listed_ns);
	at->b->listener->listed(at);
	watch_inspect(at);
	if (at->listed) {
		publish_soon(at->b);
	} else {
		/* The picture that the person waits for. */
		at->listed = true;
		publish_now(at->b);
	}
}

/*
 * A list asked for together with the first hello, for the first picture only: it came before the events
 * were open, so the one after them is asked for all the same.
 */
static void on_early_list(
	void *ctx, const struct engine_summary *rows, size_t n, const struct err *err)
{
	struct site *at = ctx;

	at->watch.early = NULL;
	if (at->b->stopping || err || at->listed)
		return;
	model_take_list(&at->model, rows, n, backend_now(at->b));
	at->listed = true;
	if (at->watch.up) {
		watch_inspect(at);
		publish_now(at->b);
	}
}

static void ask_list(struct site *at)
{
	struct watch *w = &at->watch;

	if (!w->up)
		return;
	if (w->list || backend_now(at->b) - w->listed_ns < LIST_GAP_NS) {
		w->list_again = true; /* at the next pulse */
		return;
	}
	w->list_again = false;
	w->listing = true;
	w->list = engine_list(at->engine, on_container_list, at);
}

static void on_object_counts(
	void *ctx, int images, int networks, int volumes, const struct err *err)
{
	struct site *at = ctx;

	at->watch.counts = NULL;
	if (at->b->stopping || err)
		return;
	note_heard(at);
	at->images = images;
	at->networks = networks;
	at->volumes = volumes;
	publish_soon(at->b);
}

void watch_refresh(struct site *at)
{
	for (size_t i = 0; i < at->model.n; i++)
		at->model.row[i]->dirty = true;
	at->watch.listed_ns = backend_now(at->b) - LIST_GAP_NS;
	ask_list(at);
	watch_inspect(at);
}

/* ---- events */

static void remove_row(struct site *at, const char *id)
{
	struct row *r = model_find(&at->model, id);

	/* A list under way may still have it. */
	if (at->watch.list)
		at->watch.list_again = true;
	if (!r)
		return;
	model_remove(&at->model, r);
	at->b->listener->gone(at, id);
	publish_soon(at->b);
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

static void container_event(struct site *at, const struct engine_event *ev)
{
	struct row *r = model_find(&at->model, ev->id);

	/* What comes before the list of this connection, the list will tell. */
	if (!at->watch.listing || !ev->id[0])
		return;
	if (strcmp(ev->action, "destroy") == 0 || strcmp(ev->action, "remove") == 0) {
		remove_row(at, ev->id);
	} else if (changes_row(ev->action)) {
		if (r)
			r->dirty = true;
		else
			ask_list(at);
		watch_inspect(at);
	}
}

/* Of several it is said which one it was. */
static const char *tell_more(struct arena *a, const struct site *at, const char *more)
{
	if (!at->b->many)
		return arena_strdup(a, more);
	return arena_printf(a, "%s%son %s", more, *more ? ", " : "", at->name);
}

static void on_engine_event(void *ctx, const struct engine_event *ev)
{
	struct site *at = ctx;
	struct event *up;

	if (at->b->stopping)
		return;
	note_heard(at);
	if (strcmp(ev->type, "container") == 0)
		container_event(at, ev);
	else
		at->watch.recount = true;
	/* Streams reopened with `since` tell the last one again.  Others may have older stamps: clocks step. */
	if (ev->wall_ns <= at->watch.told_wall_ns)
		return;
	at->watch.last_event_wall_ns = ev->wall_ns;
	if (strcmp(ev->type, "container") == 0)
		at->b->listener->happened(at, ev);
	up = event_new(EV_ENGINE);
	up->engine_event = (struct engine_event){ev->wall_ns, arena_strdup(&up->mem, ev->type),
		arena_strdup(&up->mem, ev->action), arena_strdup(&up->mem, ev->id),
		arena_strdup(&up->mem, ev->name), tell_more(&up->mem, at, ev->more)};
	backend_up(at->b, up);
}

static void first_list(struct site *at)
{
	uv_timer_stop(&at->watch.opening);
	if (at->watch.up && !at->watch.listing) {
		at->watch.listed_ns = backend_now(at->b) - LIST_GAP_NS;
		ask_list(at);
	}
}

static void end_of_events(struct site *at)
{
	struct event *up = event_new(EV_ENGINE);

	first_list(at);
	up->engine_event = (struct engine_event){at->b->until_ns, "", "", "", "", ""};
	backend_up(at->b, up);
}

static void on_events_end(void *ctx, const struct err *err)
{
	struct site *at = ctx;
	struct err e = ERR_INIT;

	at->watch.events = NULL;
	if (at->b->stopping || (err && err->kind == ERR_CANCELLED))
		return;
	if (!err && at->b->until_ns && clock_wall_ms() * NS_PER_MS >= at->b->until_ns) {
		at->watch.events_done = true;
		if (at->watch.up)
			end_of_events(at);
		return;
	}
	if (!at->watch.up)
		return;
	err_set(&e, ERR_UNREACHABLE, "The engine at %s closed the connection.", at->state.endpoint);
	lose_engine(at, err ? err : &e);
}

static void on_opening(uv_timer_t *t)
{
	first_list(t->data);
}

static void on_events_open(void *ctx)
{
	struct site *at = ctx;

	at->watch.opened = true;
	if (!at->b->stopping)
		first_list(at);
}

/* ---- hello */

/* The default one first, and what each is where that matters. */
static const char *name_runtimes(const struct engine_info *i, struct arena *a)
{
	AUTO_STR struct str all = STR_INIT;

	for (int others = 0; others < 2; others++)
		for (size_t k = 0; k < i->nruntimes; k++) {
			const char *name = i->runtimes[k].key;

			if ((strcmp(name, i->default_runtime) == 0) == (others == 1))
				continue;
			str_addf(&all, "%s%.64s%s", all.len ? ", " : "", name,
				sandbox_runtime(i, name) ? " (gVisor)" : "");
		}
	return arena_strdup(a, all.len ? all.s : "");
}

static void take_info(struct site *at, const struct engine_info *i)
{
	struct engine_state *s = &at->state;
	struct arena *a = &at->state_mem;
	char *problem = at->problem_text;
	const char *unrecorded = at->state.unrecorded;

	arena_reset(a);
	s->id = arena_printf(a, "%s%s", at->prefix, i->id + strspn(i->id, SITE_PREFIX));
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
	s->runtimes = name_runtimes(i, a);
	s->apparmor = i->apparmor;
	s->lacks = i->lacks;
	s->problem = problem;
	s->unrecorded = unrecorded;
	at->sweep.host_memory = i->memory_bytes;
	if (at->images < 0)
		at->images = i->images;
}

static void open_events(struct site *at)
{
	struct watch *w = &at->watch;
	int64_t until = at->b->until_ns, now = clock_wall_ms() * NS_PER_MS;
	int64_t since = w->last_event_wall_ns ? w->last_event_wall_ns
		: at->b->since_ns             ? at->b->since_ns
					      : (until && until < now ? until : now) - HISTORY_NS;

	w->opened = false;
	w->told_wall_ns = w->last_event_wall_ns;
	w->events = engine_events(at->engine, since, at->b->until_ns, on_events_open,
		on_engine_event, on_events_end, at);
	if (w->events && at->b->paused)
		engine_pause(w->events, true);
}

static void on_engine_hello(void *ctx, const struct engine_info *info, const struct err *err)
{
	struct site *at = ctx;
	struct watch *w = &at->watch;

	w->hello = NULL;
	if (at->b->stopping)
		return;
	if (err) {
		struct err e = *err;

		if (e.kind == ERR_CANCELLED) /* by us, when it took too long */
			err_set(&e, ERR_UNREACHABLE,
				"The engine at %s (from %s) accepts connections but "
				"does not answer: it is starting or hung; wait, "
				"restart it, or name another with --host or "
				"DOCKER_HOST.",
				at->state.endpoint, at->state.source);
		lose_engine(at, &e);
		return;
	}
	note_heard(at);
	w->latency_us = (backend_now(at->b) - w->hello_at_ns) / 1000;
	take_info(at, info);
	if (strcmp(at->model.engine, at->prefix) == 0) {
		model_name(&at->model, at->state.id);
	} else if (strcmp(at->model.engine, at->state.id) != 0) {
		/* Another engine: nothing known applies to it. */
		model_clear(&at->model, at->state.id);
		w->last_event_wall_ns = w->told_wall_ns = 0;
		at->listed = false;
		at->sweep.local = false;
	}
	for (size_t i = 0; i < at->model.n; i++)
		at->model.row[i]->dirty = true;
	w->up = true;
	w->list_again = false;
	w->backoff_ms = BACKOFF_MIN_MS;
	w->lost_ns = 0;
	w->recount = true;
	w->counted_ns = backend_now(at->b); /* not in the way of the first picture */
	at->state.retry_at_ns = 0;
	set_phase(at, ENGINE_UP);
	set_engine_problem(at, NULL);
	watch_inspect(at);
	publish_now(at->b);
	if (!at->b->once && !w->events && !w->events_done)
		open_events(at);
	if (w->events_done)
		end_of_events(at);
	else if (at->b->once || w->opened)
		first_list(at);
	else
		timer_start(&w->opening, on_opening, OPENING_MS);
}

static void begin_hello(struct site *at)
{
	struct watch *w = &at->watch;

	w->hello_at_ns = backend_now(at->b);
	w->listing = false;
	w->hello = engine_hello(at->engine, on_engine_hello, at);
	if (strcmp(at->model.engine, at->prefix) == 0 && !at->listed)
		w->early = engine_list(at->engine, on_early_list, at);
	/* On its way meanwhile: the version is all that it waits for. */
	if (!at->b->once && !w->events && !w->events_done)
		open_events(at);
}

/* ---- the way to it, where that takes a program (ssh) */

static bool must_leave_way(void *ctx)
{
	struct site *at = ctx;

	return at->watch.way_stop;
}

static void find_way(struct blocking_task *x)
{
	struct site *at = x->data;
	const struct endpoint_reach how = {.stop = must_leave_way, .ctx = at};

	at->watch.way_err = (struct err)ERR_INIT;
	endpoint_reach(&at->endpoint, &how, &at->watch.way_err);
}

static void on_way(struct blocking_task *x)
{
	struct site *at = x->data;

	at->watch.on_way = false;
	if (at->b->stopping)
		return;
	if (at->watch.way_err.kind)
		lose_engine(at, &at->watch.way_err);
	else
		begin_hello(at);
}

static void connect_engine(struct site *at)
{
	struct watch *w = &at->watch;

	if (at->b->stopping || w->hello || w->up || w->on_way)
		return;
	at->state.retry_at_ns = 0;
	if (at->endpoint.transport != TRANSPORT_SSH) {
		begin_hello(at);
		return;
	}
	w->way_stop = false;
	w->way.data = at;
	/* A host that does not answer must not keep the threads that all work is done on. */
	w->on_way = blocking_start_apart(&at->b->loop, &w->way, find_way, on_way) == 0;
	if (!w->on_way)
		timer_start(&w->retry, on_retry, BACKOFF_MAX_MS);
}

void watch_start(struct site *at)
{
	if (!at->engine)
		return;
	at->watch.backoff_ms = BACKOFF_MIN_MS;
	connect_engine(at);
}

/* ---- several: is it there? */

static void on_ping(void *ctx, const char *body, size_t len, const struct err *err)
{
	struct site *at = ctx;
	struct watch *w = &at->watch;

	(void)body;
	(void)len;
	w->ping = NULL;
	if (at->b->stopping || !w->up || (err && err->kind == ERR_CANCELLED))
		return;
	if (err && (err->kind == ERR_UNREACHABLE || err->kind == ERR_TIMEOUT)) {
		lose_engine(at, err);
		return;
	}
	note_heard(at);
	w->latency_us = (backend_now(at->b) - w->ping_ns) / 1000;
}

/* How long nothing may be heard of it. */
static int64_t patience_of(const struct site *at)
{
	return at->b->many ? ALIVE_NS : QUIET_NS + ANSWER_NS;
}

static void ping_quiet(struct site *at, int64_t now)
{
	struct watch *w = &at->watch;

	if (!at->b->many || w->ping || now - w->ping_ns < PING_NS)
		return;
	w->ping_ns = now;
	w->ping =
		engine_ask(at->engine, "ping", "the engine", "GET", "/_ping", NULL, 0, on_ping, at);
}

void watch_pulse(struct site *at)
{
	struct watch *w = &at->watch;
	int64_t now = backend_now(at->b), late = w->pulse_ns ? now - w->pulse_ns : 0;
	struct err e = ERR_INIT;

	w->pulse_ns = now;
	if (late > 1000 * NS_PER_MS) {
		/* We were stopped: the engine is not to blame for that time. */
		w->hello_at_ns += late;
		w->heard_ns += late;
		w->ping_ns += late;
	}
	if (w->hello && now - w->hello_at_ns > (at->b->once ? ONCE_HELLO_NS : HELLO_NS))
		engine_cancel(w->hello);
	if (!w->up || at->b->once)
		return;
	if (now - w->heard_ns > patience_of(at)) {
		err_set(&e, ERR_UNREACHABLE, "The engine at %s has stopped answering.",
			at->state.endpoint);
		lose_engine(at, &e);
		return;
	}
	ping_quiet(at, now);
	if (w->list_again || now - w->listed_ns > RESYNC_NS || now - w->heard_ns > QUIET_NS)
		ask_list(at);
	if (w->recount && !w->counts && now - w->counted_ns > COUNT_GAP_NS) {
		w->recount = false;
		w->counted_ns = now;
		w->counts = engine_counts(at->engine, on_object_counts, at);
	}
}

void watch_stop(struct site *at)
{
	at->watch.up = false;
	at->watch.way_stop = true;
	uv_timer_stop(&at->watch.retry);
	uv_timer_stop(&at->watch.opening);
}
