/*
 * engine.c - opens and closes an engine, and manages its calls.
 *
 * Calls that come before the version is known wait for one /_ping, which the first of them sets
 * off. Everything is told from the loop (http_later), never from inside a call.
 */
#include "engine/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/check.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "engine/json.h"
#include "engine/ssh.h"

enum { SERIAL_MS = 60000, SHORT_MS = 10000, SLOW_MS = 130000 };

static void link_call(struct engine_call *c)
{
	c->next = c->en->calls;
	if (c->next)
		c->next->prev = c;
	c->en->calls = c;
}

static void http_gone(void *ctx)
{
	struct engine *en = ctx;
	void (*closed)(void *) = en->closed;
	void *closed_ctx = en->closed_ctx;

	endpoint_release(&en->ep);
	log_batch_release(&en->batch);
	free(en);
	if (closed)
		closed(closed_ctx);
}

void engine_maybe_closed(struct engine *en)
{
	if (en->closing && !en->calls && !en->ttys && en->http)
		http_close(STEAL(en->http), http_gone, en);
}

void call_free(struct engine_call *c)
{
	struct engine *en = c->en;

	CHECK(!c->http && !c->waiting && !c->later.fn);
	*(c->prev ? &c->prev->next : &en->calls) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	if (c->ops->release)
		c->ops->release(c);
	free(c->subject);
	free(c);
	engine_maybe_closed(en);
}

void call_fail(struct engine_call *c, const struct err *err)
{
	c->ops->failed(c, err);
	call_free(c);
}

static void fail_cancelled(struct engine_call *c)
{
	struct err e = ERR_INIT;

	err_set(&e, ERR_CANCELLED, "cancelled");
	call_fail(c, &e);
}

/* The one ping that waiting calls wait for. */

struct ping {
	struct engine_call call;
};

static void release_waiting(struct engine *en, const struct err *err)
{
	struct engine_call *c = en->calls;

	en->pinging = false;
	while (c) {
		/* cancelled ones end by themselves; NOLINTNEXTLINE(clang-analyzer-unix.Malloc): c is fresh */
		if (!c->waiting || c->later.fn) {
			c = c->next;
			continue;
		}
		c->waiting = false;
		if (err)
			call_fail(c, err);
		else
			c->ops->start(c);
		c = en->calls; /* the list may have changed */
	}
}

static void ping_start(struct engine_call *c)
{
	call_send(c, "HEAD", "/_ping", NULL, HTTP_LANE_SHORT, 0);
}

static bool ping_again(struct engine_call *c)
{
	if (c->step++ > 0)
		return false;
	call_send(c, "GET", "/_ping", NULL, HTTP_LANE_SHORT, 0);
	return true;
}

static void ping_reply(struct engine_call *c, const struct http_reply *r)
{
	struct engine *en = c->en;
	struct err e = ERR_INIT;
	char version[32];

	if (!*http_header(r, "Api-Version", version, sizeof version) && ping_again(c))
		return;
	if (version_negotiate(en, r, &e)) {
		call_fail(c, &e);
		return;
	}
	release_waiting(en, NULL);
	call_free(c);
}

static bool ping_refused(struct engine_call *c, const struct http_reply *r)
{
	(void)r;
	return ping_again(c);
}

static void ping_failed(struct engine_call *c, const struct err *err)
{
	release_waiting(c->en, err);
}

static const struct call_ops ping_ops = {
	.what = "ask the engine for its version",
	.start = ping_start,
	.reply = ping_reply,
	.refused = ping_refused,
	.failed = ping_failed,
};

/* Life of a call. */

static void begin_call(void *ctx)
{
	struct engine_call *c = ctx;

	c->later.fn = NULL;
	if (c->cancelled) {
		c->waiting = false;
		fail_cancelled(c);
	} else if (c->bare || c->en->minor) {
		c->ops->start(c);
	} else {
		c->waiting = true;
		if (!c->en->pinging) {
			c->en->pinging = true;
			call_new_bare(c->en, &ping_ops, sizeof(struct ping));
		}
	}
}

static void begin_later(struct engine_call *c)
{
	if (c->later.fn)
		return;
	c->later = (struct http_later){.fn = begin_call, .ctx = c};
	http_later(c->en->http, &c->later);
}

static void *new_call(struct engine *en, const struct call_ops *ops, size_t size, bool bare)
{
	struct engine_call *c = xcalloc(1, size);

	c->en = en;
	c->ops = ops;
	c->bare = bare;
	c->cancelled = en->closing;
	link_call(c);
	begin_later(c);
	return c;
}

void *call_new(struct engine *en, const struct call_ops *ops, size_t size, const char *subject)
{
	struct engine_call *c = new_call(en, ops, size, false);

	c->subject = xstrdup(subject);
	return c;
}

void *call_new_bare(struct engine *en, const struct call_ops *ops, size_t size)
{
	return new_call(en, ops, size, true);
}

void engine_cancel(struct engine_call *c)
{
	if (!c || c->cancelled)
		return;
	c->cancelled = true;
	if (c->http)
		http_cancel(c->http);
	else if (c->waiting)
		begin_later(c);
	/* else it has not begun yet, or the verb looks at `cancelled` at its next step */
}

void engine_pause(struct engine_call *c, bool paused)
{
	if (!c)
		return;
	c->paused = paused;
	if (c->http)
		http_pause(c->http, paused);
}

int call_refusal(struct engine_call *c, const struct http_reply *r, struct err *e)
{
	AUTO_JSON cJSON *root = ejson_parse(r->body, r->len, NULL);
	const char *said = ejson_string(root, "message");
	char clean[ERR_MSG_MAX / 2], name[65], what[128];
	enum err_kind kind = ERR_FAILED;

	if (!*said)
		said = r->body;
	text_clean(clean, sizeof clean, said);
	if (r->status == 404)
		kind = ERR_NOT_FOUND;
	else if (r->status == 409)
		kind = ERR_CONFLICT;
	snprintf(what, sizeof what, c->ops->what, short_id(c->subject ? c->subject : "", name));
	err_set(e, kind, "cannot %s: the engine answered %d%s%s", what, r->status,
		*clean ? ": " : "", clean);
	if (e)
		e->sys = r->status;
	return -1;
}

static void on_call_head(void *ctx, int status)
{
	struct engine_call *c = ctx;

	(void)status;
	if (c->ops->head && !c->cancelled)
		c->ops->head(c);
}

static void on_call_data(void *ctx, const char *bytes, size_t n)
{
	struct engine_call *c = ctx;

	if (!c->cancelled)
		c->ops->data(c, bytes, n);
}

static void on_call_done(void *ctx, const struct http_reply *r, const struct err *err)
{
	struct engine_call *c = ctx;
	struct err e = ERR_INIT;

	c->http = NULL;
	if (c->err.kind) { /* the verb found the stream wrong and cancelled it */
		e = c->err;
		call_fail(c, &e);
	} else if (c->cancelled) {
		fail_cancelled(c);
	} else if (err) {
		reach_explain(&c->en->ep, r, err, &e);
		call_fail(c, &e);
	} else if (r->status >= 400) {
		if (c->ops->refused && c->ops->refused(c, r))
			return;
		call_refusal(c, r, &e);
		call_fail(c, &e);
	} else if (c->ops->reply) {
		c->ops->reply(c, r);
	} else {
		c->ops->eof(c);
	}
}

void call_send_request(struct engine_call *c, struct http_request *rq)
{
	AUTO_FREE char *target = NULL;

	if (strcmp(rq->target, "/_ping") != 0) {
		target = xasprintf("/v1.%d%s", c->en->minor, rq->target);
		rq->target = target;
	}
	if (!rq->timeout_ms && rq->lane != HTTP_LANE_STREAM)
		rq->timeout_ms = rq->lane == HTTP_LANE_SLOW ? SLOW_MS
			: c->en->product->serial            ? SERIAL_MS
							    : SHORT_MS;
	rq->reply_max = ENGINE_REPLY_MAX;
	rq->head = on_call_head;
	rq->data = on_call_data;
	rq->done = on_call_done;
	rq->ctx = c;
	c->http = http_send(c->en->http, rq);
	if (c->cancelled)
		http_cancel(c->http);
	else if (c->paused)
		http_pause(c->http, true);
}

void call_send(struct engine_call *c, const char *method, const char *target, const char *body,
	enum http_lane lane, int timeout_ms)
{
	struct http_request rq = {.method = method,
		.target = target,
		.body = body,
		.lane = lane,
		.timeout_ms = timeout_ms};

	call_send_request(c, &rq);
}

void call_send_to(struct engine_call *c, const char *method, const char *after, enum http_lane lane,
	int timeout_ms)
{
	AUTO_STR struct str target = STR_INIT;

	str_adds(&target, "/containers/");
	url_escape(&target, c->subject);
	str_adds(&target, after);
	call_send(c, method, target.s, NULL, lane, timeout_ms);
}

struct cJSON *call_json(struct engine_call *c, const struct http_reply *r)
{
	struct err e = ERR_INIT;
	cJSON *root = ejson_parse(r->body, r->len, &e);
	char name[65], what[128];

	if (root)
		return root;
	snprintf(what, sizeof what, c->ops->what, short_id(c->subject ? c->subject : "", name));
	err_wrap(&e, "cannot %s: the engine's answer is invalid", what);
	call_fail(c, &e);
	return NULL;
}

#define URL_SAFE "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

static void escape_but(struct str *out, const char *safe, const char *s)
{
	for (; *s; s++) {
		if (strchr(safe, *s))
			str_addc(out, *s);
		else
			str_addf(out, "%%%02X", (unsigned char)*s);
	}
}

void url_escape(struct str *out, const char *s)
{
	escape_but(out, URL_SAFE, s);
}

void url_image(struct str *out, const char *reference, const char *after)
{
	str_adds(out, "/images/");
	escape_but(out, URL_SAFE "/:@", reference);
	str_adds(out, after);
}

const char *short_id(const char *id, char buf[65])
{
	size_t hex = strspn(id, "0123456789abcdef");

	text_clean(buf, 65, id);
	if (hex == 64 && !id[hex])
		buf[12] = '\0';
	return buf;
}

struct engine *engine_open(uv_loop_t *loop, const struct endpoint *ep, struct err *e)
{
	struct http_server server = {
		.unix_path = ep->path,
		.host = ep->host,
		.port = ep->port,
		.tls = ep->transport == TRANSPORT_TLS,
		.tls_verify = ep->tls_verify,
		.ca = ep->ca,
		.cert = ep->cert,
		.key = ep->key,
		.channels = ep->transport == TRANSPORT_SSH ? SSH_CHANNELS : 0,
	};
	struct engine *en = xcalloc(1, sizeof *en);

	en->product = product_named("docker"); /* until it says more */

	str_init(&en->batch.text);
	en->loop = loop;
	en->http = http_open(loop, &server, e);
	if (!en->http) {
		free(en);
		return NULL;
	}
	endpoint_copy(ep, &en->ep);
	return en;
}

static void close_later(void *ctx)
{
	engine_maybe_closed(ctx);
}

void engine_close(struct engine *en, void (*closed)(void *ctx), void *ctx)
{
	en->closing = true;
	en->closed = closed;
	en->closed_ctx = ctx;
	for (struct engine_call *c = en->calls; c; c = c->next)
		engine_cancel(c);
	engine_ttys_abandon(en);
	en->later = (struct http_later){.fn = close_later, .ctx = en};
	http_later(en->http, &en->later);
}
