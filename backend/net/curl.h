/* curl.h - a curl multi handle driven by the uv loop, shared by http.c and stream.c. */
#ifndef BERTH_NET_CURL_H
#define BERTH_NET_CURL_H

#include <curl/curl.h>
#include <uv.h>

#include "net/http.h"

/* A multi handle whose sockets and timer are the loop's.  `reap` runs after curl was driven: take
 * finished transfers with curl_multi_info_read there, never inside curl's callbacks. */
struct driver {
	uv_loop_t *loop;
	CURLM *multi;
	uv_timer_t timer;
	unsigned handles; /* uv handles not yet closed */
	void (*reap)(void *ctx);
	void (*closed)(void *ctx);
	void *ctx;
};

int driver_init(
	struct driver *d, uv_loop_t *loop, void (*reap)(void *ctx), void *ctx, struct err *e);
/* No easy handle may be left in it.  d must stay until `closed`. */
void driver_close(struct driver *d, void (*closed)(void *ctx));

/* Server, transport and safety options of an easy handle; errbuf is CURL_ERROR_SIZE bytes. */
CURL *driver_easy(const struct http_server *s, const char *target, char *errbuf);
/* Sort a curl failure: trouble, and err kind, errno and text. */
enum http_trouble driver_trouble(CURL *easy, CURLcode code, const char *errbuf, struct err *e);

/* Deep copy of where a server is. */
void server_copy(struct http_server *to, const struct http_server *from);
void server_release(struct http_server *s);
const struct http_server *http_where(const struct http *h);
uv_loop_t *http_loop(const struct http *h);
void http_hold(struct http *h); /* http_close waits until all holds are dropped */
void http_drop(struct http *h);

/* For BERTH_LOG (trace.h); all but method and reply may be NULL. */
void trace_request(const char *method, const char *target, const char *header, const char *body);
void trace_answer(
	const char *method, const char *target, const struct http_reply *r, const struct err *err);

#endif
