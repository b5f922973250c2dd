/*
 * stream.h - hijacked connections: a POST after which both sides talk raw bytes.
 *
 * The connection is made by curl (CONNECT_ONLY), so unix, tcp and TLS are one path, and it belongs
 * to a multi handle of its own: curl can neither reuse it nor find it dead while unread bytes wait.
 * Callbacks never run from inside a call; `end` runs exactly once, last, and the stream is gone.
 *
 * Limit: STREAM_WRITE_MAX bytes wait for a server that does not read.  Thread: the loop's.
 */
#ifndef BERTH_STREAM_H
#define BERTH_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include <berth/err.h>

#include "net/http.h"

#define STREAM_WRITE_MAX ((size_t)256 << 10)

struct stream;

struct stream_events {
	void (*open)(void *ctx, int status); /* 101, or a raw 200 */
	void (*data)(void *ctx, const char *bytes, size_t n);
	/* r as in http: status >= 400 with the body of the refusal, or trouble, or neither at EOF.
	 */
	void (*end)(void *ctx, const struct http_reply *r, const struct err *err);
};

/* POST target with a JSON body and Upgrade: tcp, to the server of h. */
struct stream *stream_open(struct http *h, const char *target, const char *body,
	const struct stream_events *ev, void *ctx);
/* False when too much waits already: nothing was taken. */
bool stream_write(struct stream *s, const char *bytes, size_t n);
void stream_finish(struct stream *s); /* no more input: half-close once all is written */
void stream_pause(struct stream *s, bool paused);
void stream_cancel(struct stream *s); /* hang up; end runs later with ERR_CANCELLED */

#endif
