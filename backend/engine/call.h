/*
 * call.h - shared by all requests: one after the other, then the owner's callback, once.
 *
 * A verb embeds struct engine_call first and brings one table of functions.  call_new waits for the
 * version to be known, then runs start().  A verb ends by call_done or call_fail, from a callback.
 */
#ifndef BERTH_ENGINE_CALL_H
#define BERTH_ENGINE_CALL_H

#include <berth/str.h>

#include "engine/engine.h"
#include "net/http.h"

struct call_ops {
	const char *what; /* "list the containers", "%s" is what it is done to */
	void (*start)(struct engine_call *c); /* never when cancelled before */
	/* The reply of the request last sent, status < 400.  NULL: a stream. */
	void (*reply)(struct engine_call *c, const struct http_reply *r);
	/* A refusal may be no failure for this verb: true when it was dealt with.  May be NULL. */
	bool (*refused)(struct engine_call *c, const struct http_reply *r);
	void (*head)(struct engine_call *c);
	void (*data)(struct engine_call *c, const char *bytes, size_t n);
	void (*eof)(struct engine_call *c); /* a stream ended well: must end the call */
	void (*failed)(struct engine_call *c, const struct err *err); /* the owner's callback */
	void (*release)(struct engine_call *c);
};

struct engine_call {
	struct engine *en;
	struct engine_call *prev, *next;
	const struct call_ops *ops;
	char *subject; /* container id or name, NULL when none */
	struct http_call *http;
	bool waiting, cancelled, paused, bare; /* bare: needs no version */
	struct http_later later;
	struct err err;
	int step; /* for the verb's own use */
};

/* A verb's object of `size` bytes, zeroed; `subject` is copied. */
void *call_new(struct engine *en, const struct call_ops *ops, size_t size, const char *subject);
/* The same for a verb that works before the version is known; start() runs all the same later. */
void *call_new_bare(struct engine *en, const struct call_ops *ops, size_t size);

/* Send the next request.  `target` without the version; timeout 0: the default of the lane. */
void call_send(struct engine_call *c, const char *method, const char *target, const char *body,
	enum http_lane lane, int timeout_ms);
/* To /containers/ + the call's subject, escaped + after; no body. */
void call_send_to(struct engine_call *c, const char *method, const char *after, enum http_lane lane,
	int timeout_ms);
/* As above with all of http's choices; head, data, done and ctx are set here. */
void call_send_request(struct engine_call *c, struct http_request *rq);

void call_free(struct engine_call *c);                        /* after the owner was told */
void call_fail(struct engine_call *c, const struct err *err); /* tell and free */

/* The JSON of a reply, or NULL after call_fail. */
struct cJSON *call_json(struct engine_call *c, const struct http_reply *r);
/* A refusal as a sentence about this call. */
int call_refusal(struct engine_call *c, const struct http_reply *r, struct err *e);

/* The lines of one read of a log: texts one after the other, whose places are known when all are in. */
struct log_batch {
	struct log_line *line;
	size_t n, cap;
	struct str text;
};
void log_batch_release(struct log_batch *b); /* logs.c */

/* engine.c */
struct engine {
	uv_loop_t *loop;
	struct endpoint ep;
	struct http *http;
	struct engine_call *calls;
	struct engine_tty *ttys;
	int minor; /* of the negotiated version, 0 before that */
	const struct product *product;
	bool pinging, closing;
	struct log_batch batch;  /* of the log whose bytes are being read: one for all */
	struct http_later later; /* of engine_close */
	void (*closed)(void *ctx);
	void *closed_ctx;
};
void engine_ttys_abandon(struct engine *en); /* exec.c: the engine closes */
void engine_maybe_closed(struct engine *en);

/* version.c: the answer to /_ping.  0, or -1 when the versions do not meet. */
int version_negotiate(struct engine *en, const struct http_reply *r, struct err *e);

/* reach.c: why no reply came, as a sentence that names the endpoint, its source and a remedy. */
int reach_explain(const struct endpoint *ep, const struct http_reply *r, const struct err *from,
	struct err *e);

const char *short_id(const char *id, char buf[65]); /* 12 digits of an id, or the name */

#endif
