/* ask.c - sends one request and returns its raw answer. */
#include <stdlib.h>

#include <berth/mem.h>

#include "engine/call.h"

struct ask {
	struct engine_call call;
	struct call_ops ops; /* with the caller's words */
	char *what, *method, *target, *body;
	int timeout_ms;
	engine_ask_fn fn;
	void *ctx;
};

static void ask_start(struct engine_call *c)
{
	struct ask *a = (struct ask *)c;

	call_send(c, a->method, a->target, a->body, HTTP_LANE_SLOW, a->timeout_ms);
}

static void ask_reply(struct engine_call *c, const struct http_reply *r)
{
	struct ask *a = (struct ask *)c;

	a->fn(a->ctx, r->body, r->len, NULL);
	call_free(c);
}

static void ask_failed(struct engine_call *c, const struct err *err)
{
	struct ask *a = (struct ask *)c;

	a->fn(a->ctx, NULL, 0, err);
}

static void ask_release(struct engine_call *c)
{
	struct ask *a = (struct ask *)c;

	free(a->what);
	free(a->method);
	free(a->target);
	free(a->body);
}

struct engine_call *engine_ask(struct engine *en, const char *what, const char *subject,
	const char *method, const char *target, const char *body, int timeout_ms, engine_ask_fn fn,
	void *ctx)
{
	static const struct call_ops ops = {.start = ask_start,
		.reply = ask_reply,
		.failed = ask_failed,
		.release = ask_release};
	struct ask *a = call_new(en, &ops, sizeof *a, subject);

	a->what = xstrdup(what);
	a->ops = ops;
	a->ops.what = a->what;
	a->call.ops = &a->ops;
	a->method = xstrdup(method);
	a->target = xstrdup(target);
	a->body = xstrdup(body);
	a->timeout_ms = timeout_ms;
	a->fn = fn;
	a->ctx = ctx;
	return &a->call;
}
