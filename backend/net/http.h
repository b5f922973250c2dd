/*
 * http.h - HTTP/1.1 requests to one server, and raw streams to it, on a uv loop.
 *
 * Callbacks of a request never run from inside a call into this module, nor inside curl: data is
 * buffered in curl's callbacks and handed over afterwards, so a callback may start, cancel, pause
 * or resume any request.  `done` runs exactly once, last, and the http_call is gone after it.
 *
 * Limits: HTTP_SHORT_MAX and HTTP_SLOW_MAX requests at once in their lanes, fewer where the server has channels, the
 * others wait their turn; a short body is bounded by reply_max; a stream holds at most about HTTP_STREAM_BUFFER bytes
 * that its reader has not taken, then the server feels it.
 *
 * Thread: the loop's.
 */
#ifndef BERTH_HTTP_H
#define BERTH_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include <berth/err.h>

#define HTTP_SHORT_MAX 8
#define HTTP_SLOW_MAX 16
#define HTTP_STREAM_BUFFER ((size_t)64 << 10)
#define HTTP_HEAD_MAX ((size_t)32 << 10)
#define HTTP_ERROR_MAX ((size_t)64 << 10) /* of an error's body, the rest is dropped */
#define HTTP_CONNECT_MS 5000

struct http;
struct http_call;

struct http_server {
	const char *unix_path; /* or NULL, and then: */
	const char *host;      /* name, IPv4 or IPv6 address */
	uint16_t port;
	bool tls, tls_verify;
	const char *ca, *cert, *key; /* files, NULL when absent */
	unsigned
		channels; /* at most so many requests and connections at once, each open stream one more; 0: as the lanes */
};

/* Why no reply came; the sentence about it is made by who knows where the server's name is from. */
enum http_trouble {
	HTTP_OK,
	HTTP_NO_CONNECTION, /* err.sys: errno */
	HTTP_NO_SUCH_HOST,
	HTTP_TLS,       /* err.msg: what the TLS library says */
	HTTP_TLS_FILES, /* a certificate or key that cannot be used */
	HTTP_SLOW,      /* no connection, or no reply, in time */
	HTTP_BROKEN,    /* the connection ended early, or this is not HTTP */
	HTTP_TOO_LONG,  /* the body exceeds reply_max */
	HTTP_CANCELLED,
	HTTP_SOURCE, /* `pull` gave up */
};

struct http_reply {
	int status; /* 0 when none came */
	enum http_trouble trouble;
	const char *body; /* NUL-terminated; of a stream only when status >= 400 */
	size_t len;
	const char *head; /* all header lines, for http_header */
};

enum http_lane {
	HTTP_LANE_SHORT,
	HTTP_LANE_SLOW,   /* answers may take long: stop, remove */
	HTTP_LANE_STREAM, /* unbounded body, handed over as it comes; no limit in number */
};

#define HTTP_PULL_WAIT ((ssize_t)-1) /* nothing now; http_more() when there is */
#define HTTP_PULL_FAIL ((ssize_t)-2)

struct http_request {
	const char *method; /* "GET"; strings are copied */
	const char *target; /* "/v1.41/info" */
	const char *body;   /* JSON, or NULL */
	const char *header; /* one more header line, or NULL */
	enum http_lane lane;
	size_t reply_max; /* 0: 1 MiB */
	int timeout_ms;   /* for all of it, from leaving the queue; 0 none */
	/* Body from elsewhere (`upload` bytes of application/x-tar): fill buf, return how much.
	 * Runs inside curl: may only copy. */
	ssize_t (*pull)(void *ctx, char *buf, size_t n);
	uint64_t upload;
	void (*head)(void *ctx, int status);                  /* streams, status < 400; or NULL */
	void (*data)(void *ctx, const char *bytes, size_t n); /* streams */
	void (*done)(void *ctx, const struct http_reply *r, const struct err *err);
	void *ctx;
};

struct http *http_open(uv_loop_t *loop, const struct http_server *server, struct err *e);
/* Cancels what is left; `closed` runs when the last handle is gone and the memory is freed. */
void http_close(struct http *h, void (*closed)(void *ctx), void *ctx);

struct http_call *http_send(struct http *h, const struct http_request *rq);
void http_cancel(struct http_call *c); /* done runs later with ERR_CANCELLED; NULL is fine */
void http_pause(struct http_call *c, bool paused);
void http_more(struct http_call *c); /* `pull` has something again */

/* The value of a header in r->head, copied into buf; "" when absent. */
const char *http_header(const struct http_reply *r, const char *name, char *buf, size_t cap);

/* Run fn(ctx) soon, from the loop; the node must stay until then. */
struct http_later {
	struct http_later *next;
	void (*fn)(void *ctx);
	void *ctx;
};
void http_later(struct http *h, struct http_later *node);

/*
 * --- hijacked connections: a POST after which both sides talk raw bytes ---
 *
 * The connection is made by curl (CONNECT_ONLY), so unix, tcp and TLS are one path, and it belongs
 * to a multi handle of its own: curl can neither reuse it nor find it dead while unread bytes wait.
 * Callbacks never run from inside a call; `end` runs exactly once, last, and the stream is gone.
 *
 * Limit: STREAM_WRITE_MAX bytes wait for a server that does not read.
 */
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

/* A POST of JSON to an http:// or https:// address, on a thread of its own: it blocks, for 10 s at most, and ends early when
 * stop_fd is readable.  No redirection is followed, and the answer's body is dropped. */
int http_post(const char *url, const char *body, size_t n, int stop_fd, struct err *e);

#endif
