/* sync.c - makes blocking engine requests by running a loop until the answer arrives. */
#include "engine/sync.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <berth/check.h>
#include <berth/clock.h>
#include <berth/container_id.h>
#include <berth/mem.h>
#include <berth/runtime.h>

enum { BEAT_MS = 100, CREATE_MS = 60000 };
#define GRACE_NS INT64_C(500000000)
#define GRACE_TAKING_BACK_NS INT64_C(5000000000)

struct engine_sync {
	uv_loop_t loop;
	struct engine *en;
	struct arena mem; /* what sync_hello gave out */
	uv_async_t wake;  /* by sync_interrupt */
	atomic_bool interrupted;
	uv_timer_t beat; /* runs while an answer is awaited */
	uv_prepare_t prepare;
	uint64_t due; /* in uv_now's ms, when the first timer of this turn is */
	int64_t asked_ns, stopped_ns;
	bool told, given_up;
	bool silent; /* it let somebody down who wanted to stop */
	bool takes_back;
	bool (*stop)(void *ctx);
	void *stop_ctx;
	char *url;
};

struct answer {
	bool done;
	int result;
	struct err *e;
	struct str *reply;
	struct engine_sync *s;
	struct engine_info *info;
};

static void on_sync_wake(uv_async_t *wake)
{
	(void)wake; /* wait_for looks */
}

static void on_sync_beat(uv_timer_t *beat)
{
	struct engine_sync *s = beat->data;
	int64_t now = clock_mono_ns();

	if (!s->told && now - s->asked_ns >= RUNTIME_LATE_MS * INT64_C(1000000)) {
		s->told = true;
		runtime_waits(s->url);
	}
	if (!s->stop || !s->stop(s->stop_ctx))
		return;
	if (!s->stopped_ns)
		s->stopped_ns = now;
	if (now - s->stopped_ns >= (s->takes_back ? GRACE_TAKING_BACK_NS : GRACE_NS))
		s->given_up = s->silent = true;
}

/* Timers have run, and the wait for everything else comes next. */
static void on_prepare(uv_prepare_t *prepare)
{
	struct engine_sync *s = prepare->data;

	if (uv_now(&s->loop) >= s->due)
		uv_stop(&s->loop);
}

static void release_sync(struct engine_sync *s)
{
	uv_close((uv_handle_t *)&s->prepare, NULL);
	uv_close((uv_handle_t *)&s->wake, NULL);
	uv_close((uv_handle_t *)&s->beat, NULL);
	uv_run(&s->loop, UV_RUN_DEFAULT);
	CHECK(!uv_loop_close(&s->loop));
	arena_release(&s->mem);
	free(s->url);
	free(s);
}

struct engine_sync *sync_open(const struct endpoint *ep, struct err *e)
{
	struct engine_sync *s = xcalloc(1, sizeof *s);

	int rc = uv_loop_init(&s->loop);

	if (rc || (rc = uv_async_init(&s->loop, &s->wake, on_sync_wake))) {
		free(s); /* of a process without descriptors left; the loop's own go with it */
		return err_null(err_sys(e, -rc, "Cannot wait for the engine"));
	}
	/* Alone it must not keep the loop waiting: an answer may come before the loop polls. */
	uv_unref((uv_handle_t *)&s->wake);
	CHECK(!uv_timer_init(&s->loop, &s->beat));
	s->beat.data = s;
	uv_unref((uv_handle_t *)&s->beat);
	CHECK(!uv_prepare_init(&s->loop, &s->prepare));
	s->prepare.data = s;
	uv_prepare_start(&s->prepare, on_prepare);
	uv_unref((uv_handle_t *)&s->prepare);
	s->url = xstrdup(ep->url ? ep->url : "");
	arena_init(&s->mem, 1024);
	s->en = engine_open(&s->loop, ep, e);
	if (s->en)
		return s;
	release_sync(s);
	return NULL;
}

void sync_close(struct engine_sync *s)
{
	if (!s)
		return;
	engine_close(s->en, NULL, NULL);
	release_sync(s);
}

struct engine *sync_engine(struct engine_sync *s)
{
	return s->en;
}

uv_loop_t *sync_loop(struct engine_sync *s)
{
	return &s->loop;
}

/* UV_RUN_ONCE of libuv before 1.45 runs the timers that are due and then waits for what comes next, whatever
 * they did: for ever, where they were what was waited for. */
bool sync_turn(struct engine_sync *s)
{
	int ms = uv_backend_timeout(&s->loop);

	s->due = ms < 0 ? UINT64_MAX : uv_now(&s->loop) + (uint64_t)ms;
	return uv_run(&s->loop, UV_RUN_ONCE);
}

static int wait_for_answer(struct engine_sync *s, struct engine_call *call, struct answer *a)
{
	s->asked_ns = clock_mono_ns();
	s->stopped_ns = 0;
	s->told = false;
	s->given_up = s->silent && s->stop(s->stop_ctx);
	uv_timer_start(&s->beat, on_sync_beat, BEAT_MS, BEAT_MS);
	while (!a->done && !atomic_load(&s->interrupted) && !s->given_up)
		CHECK(sync_turn(s) || a->done);
	uv_timer_stop(&s->beat);
	if (!a->done)
		engine_cancel(call);
	while (!a->done)
		CHECK(sync_turn(s) || a->done);
	return a->result;
}

void sync_heed(struct engine_sync *s, bool (*stop)(void *ctx), void *ctx)
{
	s->stop = stop;
	s->stop_ctx = ctx;
}

void sync_take_back(struct engine_sync *s, bool on)
{
	s->takes_back = on;
	s->silent = false;
}

void sync_interrupt(struct engine_sync *s)
{
	atomic_store(&s->interrupted, true);
	uv_async_send(&s->wake);
}

static void settle_answer(struct answer *a, const struct err *err)
{
	a->done = true;
	a->result = err ? err_copy(a->e, err) : 0;
}

static void keep_runtimes(struct engine_info *info, struct arena *mem)
{
	struct key_value *kv = arena_array(mem, info->nruntimes + 1, sizeof *kv);

	for (size_t i = 0; i < info->nruntimes; i++)
		kv[i] = (struct key_value){arena_strdup(mem, info->runtimes[i].key),
			arena_strdup(mem, info->runtimes[i].value), false};
	info->runtimes = kv;
}

static void on_sync_hello(void *ctx, const struct engine_info *info, const struct err *err)
{
	struct answer *a = ctx;

	settle_answer(a, err);
	if (err)
		return;
	*a->info = *info;
#define KEEP(field) a->info->field = arena_strdup(&a->s->mem, info->field)
	KEEP(id);
	KEEP(name);
	KEEP(version);
	KEEP(api);
	KEEP(product);
	KEEP(os);
	KEEP(kernel);
	KEEP(arch);
	KEEP(root_dir);
	KEEP(storage);
	KEEP(cgroup);
	KEEP(default_runtime);
#undef KEEP
	keep_runtimes(a->info, &a->s->mem);
}

int sync_hello(struct engine_sync *s, struct engine_info *ret, struct err *e)
{
	struct answer a = {.e = e, .s = s, .info = ret};

	return wait_for_answer(s, engine_hello(s->en, on_sync_hello, &a), &a);
}

static void on_sync_reply(void *ctx, const char *body, size_t len, const struct err *err)
{
	struct answer *a = ctx;

	settle_answer(a, err);
	if (!err && a->reply)
		str_add(a->reply, body, len);
}

int sync_ask(struct engine_sync *s, const char *what, const char *subject, const char *method,
	const char *target, const char *body, int timeout_ms, struct str *reply, struct err *e)
{
	struct answer a = {.e = e, .reply = reply};

	return wait_for_answer(s,
		engine_ask(
			s->en, what, subject, method, target, body, timeout_ms, on_sync_reply, &a),
		&a);
}

cJSON *sync_json(struct engine_sync *s, const char *what, const char *subject, const char *method,
	const char *target, const char *body, int timeout_ms, struct err *e)
{
	AUTO_STR struct str reply = STR_INIT;

	if (sync_ask(s, what, subject, method, target, body, timeout_ms, &reply, e))
		return NULL;
	return ejson_parse(reply.s, reply.len, e);
}

cJSON *sync_inspect(
	struct engine_sync *s, const char *what, const char *kind, const char *name, struct err *e)
{
	AUTO_STR struct str target = STR_INIT;

	str_addf(&target, "/%s/", kind);
	url_escape(&target, name);
	if (!strcmp(kind, "containers"))
		str_adds(&target, "/json");
	return sync_json(s, what, name, "GET", target.s, NULL, 0, e);
}

int sync_create(
	struct engine_sync *s, const char *name, const char *body, char id[65], struct err *e)
{
	AUTO_STR struct str target = STR_INIT;
	AUTO_JSON cJSON *root = NULL;

	str_adds(&target, "/containers/create?name=");
	url_escape(&target, name);
	root = sync_json(s, "create the container %s", name, "POST", target.s, body, CREATE_MS, e);
	if (!root)
		return -1;
	if (!id_is_whole(ejson_string(root, "Id")))
		return err_set(
			e, ERR_PROTOCOL, "the engine created %s without returning its id", name);
	memcpy(id, ejson_string(root, "Id"), 65);
	return 0;
}

int sync_image(
	struct engine_sync *s, const char *reference, int timeout_ms, cJSON **ret, struct err *e)
{
	AUTO_STR struct str target = STR_INIT, reply = STR_INIT;
	AUTO_JSON cJSON *root = NULL;
	struct err asked = ERR_INIT;

	*ret = NULL;
	url_image(&target, reference, "/json");
	if (sync_ask(s, "look for the image %s", reference, "GET", target.s, NULL, timeout_ms,
		    &reply, &asked))
		return asked.kind == ERR_NOT_FOUND ? 0 : err_copy(e, &asked);
	root = ejson_parse(reply.s, reply.len, e);
	if (!root)
		return err_wrap(e, "cannot look for the image %s", reference);
	if (!id_is_image(ejson_string(root, "Id")))
		return err_set(e, ERR_PROTOCOL,
			"the engine knows the image %s, but not its full id.", reference);
	*ret = root;
	root = NULL;
	return 1;
}

static void on_sync_done(void *ctx, const struct err *err)
{
	settle_answer(ctx, err);
}

int sync_act(struct engine_sync *s, enum act act, const char *id, bool force, bool volumes,
	int timeout_s, struct err *e)
{
	struct answer a = {.e = e};

	return wait_for_answer(
		s, engine_act(s->en, act, id, force, volumes, timeout_s, on_sync_done, &a), &a);
}

struct looking_at_path {
	struct answer answer;
	struct arena *mem;
	struct engine_path *ret;
};

static void on_sync_path(void *ctx, const struct engine_path *found, const struct err *err)
{
	struct looking_at_path *x = ctx;

	settle_answer(&x->answer, err);
	if (err)
		return;
	*x->ret = *found;
	x->ret->target = arena_strdup(x->mem, found->target);
}

int sync_path(struct engine_sync *s, const char *id, const char *path, struct arena *mem,
	struct engine_path *ret, struct err *e)
{
	struct looking_at_path x = {.answer = {.e = e}, .mem = mem, .ret = ret};

	return wait_for_answer(s, engine_path(s->en, id, path, on_sync_path, &x), &x.answer);
}

struct fetching {
	struct answer answer;
	engine_take_fn take;
	void *ctx;
};

static int on_sync_bytes(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct fetching *x = ctx;
	int rc = x->take(x->ctx, bytes, n, e);

	x->answer.s->asked_ns = clock_mono_ns(); /* late is only what does not come at all */
	return rc;
}

static void on_sync_fetched(void *ctx, const struct err *err)
{
	struct fetching *x = ctx;

	settle_answer(&x->answer, err);
}

int sync_fetch(struct engine_sync *s, const char *id, const char *path, engine_take_fn take,
	void *ctx, struct err *e)
{
	struct fetching x = {.answer = {.e = e, .s = s}, .take = take, .ctx = ctx};

	return wait_for_answer(
		s, engine_fetch(s->en, id, path, on_sync_bytes, on_sync_fetched, &x), &x.answer);
}

struct transferring {
	struct answer answer;
	struct engine_call *call;
	uv_timer_t timer;
	bool (*stop)(void *ctx);
	const struct engine_transfer *t;
	void *ctx;
};

static void look_for_stop(uv_timer_t *timer)
{
	struct transferring *x = timer->data;

	if (x->call && x->stop(x->ctx))
		engine_cancel(x->call);
}

static void on_said(void *ctx, const struct engine_said *said)
{
	struct transferring *x = ctx;

	x->t->said(x->ctx, said);
}

static void on_sent(void *ctx, uint64_t sent, uint64_t total)
{
	struct transferring *x = ctx;

	x->t->progress(x->ctx, sent, total);
}

static void on_transferred(void *ctx, const struct err *err)
{
	struct transferring *x = ctx;

	x->call = NULL;
	settle_answer(&x->answer, err);
}

static void on_timer_closed(uv_handle_t *timer)
{
	*(bool *)timer->data = true;
}

int sync_transfer(struct engine_sync *s, const char *subject, const struct engine_transfer *t,
	bool (*stop)(void *ctx), void *ctx, struct err *e)
{
	struct engine_transfer own = *t;
	struct transferring x = {.answer = {.e = e}, .stop = stop, .t = t, .ctx = ctx};
	bool closed = false;

	own.said = t->said ? on_said : NULL;
	own.progress = t->progress ? on_sent : NULL;
	CHECK(!uv_timer_init(&s->loop, &x.timer));
	x.timer.data = &x;
	uv_timer_start(&x.timer, look_for_stop, 100, 100);
	x.call = engine_transfer(s->en, subject, &own, on_transferred, &x);
	wait_for_answer(s, x.call, &x.answer);
	x.timer.data = &closed;
	uv_close((uv_handle_t *)&x.timer, on_timer_closed);
	while (!closed)
		sync_turn(s);
	return x.answer.result;
}
