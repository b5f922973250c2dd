/*
 * http.c - requests and streams over curl's multi interface.
 *
 * A call is QUEUED (its lane is full), RUNNING (curl has it), then ENDED.  Whatever must be told to
 * its owner puts it on the ready list; dispatch_ready() tells, always from the top of the loop.
 */
#include "net/http.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <berth/check.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "net/curl.h"

/* Of what a stream's bytes were in it keeps so much when its reader has taken them. */
#define STREAM_KEPT ((size_t)4 << 10)

enum phase { QUEUED, RUNNING, ENDED };
enum { LANES = 3 };

struct http_call {
	struct http *h;
	struct http_call *prev, *next; /* all calls */
	struct http_call *next_queued;
	struct http_call *next_ready;
	bool on_ready;
	enum phase phase;
	struct http_request rq; /* strings owned until the call leaves the queue */
	CURL *easy;
	struct curl_slist *headers;
	struct str in; /* body; of a stream, what was not yet handed over */
	struct str head;
	int status;
	bool head_complete, head_told;
	bool paused;  /* by the owner */
	bool held;    /* curl was told to stop reading */
	bool starved; /* curl was told that there is nothing to send */
	enum http_trouble trouble;
	struct err err;
	char errbuf[CURL_ERROR_SIZE];
};

struct http {
	struct driver driver;
	struct http_server server;
	uv_timer_t soon; /* fires at once, outside of every call */
	struct http_call *calls;
	struct {
		struct http_call *head, **tail;
		unsigned running, max;
	} lanes[LANES];
	struct http_call *ready, **ready_tail;
	struct http_later *later, **later_tail;
	unsigned holds;
	bool dispatching, closing;
	void (*closed)(void *ctx);
	void *closed_ctx;
};

static void dispatch_ready(struct http *h);

static void on_soon(uv_timer_t *timer)
{
	dispatch_ready(timer->data);
}

static void schedule_soon(struct http *h)
{
	if (!uv_is_active((uv_handle_t *)&h->soon))
		uv_timer_start(&h->soon, on_soon, 0, 0);
}

static void make_ready(struct http_call *c)
{
	struct http *h = c->h;

	if (c->on_ready)
		return;
	c->on_ready = true;
	c->next_ready = NULL;
	*h->ready_tail = c;
	h->ready_tail = &c->next_ready;
	schedule_soon(h);
}

void http_later(struct http *h, struct http_later *node)
{
	node->next = NULL;
	*h->later_tail = node;
	h->later_tail = &node->next;
	schedule_soon(h);
}

static bool is_streaming(const struct http_call *c)
{
	return c->rq.lane == HTTP_LANE_STREAM && c->status < 400;
}

/* Inside curl from here on: only copy and mark. */

static size_t on_header(char *bytes, size_t size, size_t n, void *ctx)
{
	struct http_call *c = ctx;

	n *= size;
	if (n >= 5 && memcmp(bytes, "HTTP/", 5) == 0) {
		str_clear(&c->head);
		c->head_complete = false;
	}
	if (c->head.len + n > HTTP_HEAD_MAX)
		return 0;
	str_add(&c->head, bytes, n);
	if (n <= 2 && !c->head_complete) {
		long status = 0;

		curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
		if (status >= 200) {
			c->status = (int)status;
			c->head_complete = true;
			if (is_streaming(c))
				make_ready(c);
		}
	}
	return n;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *ctx)
{
	struct http_call *c = ctx;

	n *= size;
	if (is_streaming(c)) {
		if (c->in.len >= HTTP_STREAM_BUFFER) {
			c->held = true;
			return CURL_WRITEFUNC_PAUSE;
		}
		str_add(&c->in, bytes, n);
		make_ready(c);
		return n;
	}
	if (c->rq.lane == HTTP_LANE_STREAM) { /* an error's text */
		size_t room = HTTP_ERROR_MAX - c->in.len;

		str_add(&c->in, bytes, n < room ? n : room);
		return n;
	}
	if (c->in.len + n > c->rq.reply_max) {
		c->trouble = HTTP_TOO_LONG;
		return CURL_WRITEFUNC_ERROR;
	}
	str_add(&c->in, bytes, n);
	return n;
}

static size_t on_pull(char *buf, size_t size, size_t n, void *ctx)
{
	struct http_call *c = ctx;
	ssize_t got = c->rq.pull(c->rq.ctx, buf, size * n);

	if (got == HTTP_PULL_WAIT) {
		c->starved = true;
		return CURL_READFUNC_PAUSE;
	}
	return got == HTTP_PULL_FAIL ? CURL_READFUNC_ABORT : (size_t)got;
}

/* Outside of curl again. */

static void set_flow(struct http_call *c)
{
	curl_easy_pause(
		c->easy, (c->held ? CURLPAUSE_RECV : 0) | (c->starved ? CURLPAUSE_SEND : 0));
}

static void set_body(struct http_call *c)
{
	const struct http_request *rq = &c->rq;

	if (rq->pull) {
		curl_easy_setopt(c->easy, CURLOPT_POST, 1L);
		curl_easy_setopt(c->easy, CURLOPT_READFUNCTION, on_pull);
		curl_easy_setopt(c->easy, CURLOPT_READDATA, c);
		curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)rq->upload);
		c->headers = curl_slist_append(c->headers, "Content-Type: application/x-tar");
	} else if (rq->body || strcmp(rq->method, "POST") == 0) {
		const char *body = rq->body ? rq->body : "";

		curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
		curl_easy_setopt(c->easy, CURLOPT_COPYPOSTFIELDS, body);
		c->headers = curl_slist_append(
			c->headers, rq->body ? "Content-Type: application/json" : "Content-Type:");
	} else if (strcmp(rq->method, "HEAD") == 0) {
		curl_easy_setopt(c->easy, CURLOPT_NOBODY, 1L);
		return;
	}
	if (strcmp(rq->method, "GET") == 0)
		return;
	curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, rq->method);
	/* On a connection that was used before libcurl asks again by itself when no answer comes, though the
	 * engine may have done it. */
	curl_easy_setopt(c->easy, CURLOPT_FRESH_CONNECT, 1L);
}

/* Idle connections count: one of them goes where another is needed. */
static void bound_connections(struct http *h)
{
	if (h->server.channels)
		curl_multi_setopt(h->driver.multi, CURLMOPT_MAX_TOTAL_CONNECTIONS,
			(long)(h->server.channels + h->lanes[HTTP_LANE_STREAM].running));
}

static void start_http_call(struct http_call *c)
{
	struct http *h = c->h;
	CURLMcode rc;

	trace_request(c->rq.method, c->rq.target, c->rq.header, c->rq.body);
	c->phase = RUNNING;
	h->lanes[c->rq.lane].running++;
	bound_connections(h);
	c->easy = driver_easy(&h->server, c->rq.target, c->errbuf);
	c->headers = curl_slist_append(NULL, "Expect:");
	set_body(c);
	if (c->rq.header)
		c->headers = curl_slist_append(c->headers, c->rq.header);
	curl_easy_setopt(c->easy, CURLOPT_PRIVATE, c);
	curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
	curl_easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(c->easy, CURLOPT_HEADERDATA, c);
	curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
	if (c->rq.timeout_ms)
		curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, (long)c->rq.timeout_ms);
	rc = curl_multi_add_handle(h->driver.multi, c->easy);
	CHECK(rc == CURLM_OK);
}

static bool has_room(const struct http *h, int lane)
{
	unsigned all = h->lanes[HTTP_LANE_SHORT].running + h->lanes[HTTP_LANE_SLOW].running;

	if (lane != HTTP_LANE_STREAM && h->server.channels && all >= h->server.channels)
		return false;
	return h->lanes[lane].running < h->lanes[lane].max;
}

/* Fill the lanes from their queues. */
static void fill_lanes(struct http *h)
{
	for (int i = 0; i < LANES; i++) {
		while (h->lanes[i].head && has_room(h, i)) {
			struct http_call *c = h->lanes[i].head;

			h->lanes[i].head = c->next_queued;
			if (!h->lanes[i].head)
				h->lanes[i].tail = &h->lanes[i].head;
			start_http_call(c);
		}
	}
}

static void unqueue_call(struct http_call *c)
{
	struct http *h = c->h;
	struct http_call **p = &h->lanes[c->rq.lane].head;

	while (*p != c)
		p = &(*p)->next_queued;
	*p = c->next_queued;
	if (!*p)
		h->lanes[c->rq.lane].tail = p;
}

static void end_call(struct http_call *c)
{
	struct http *h = c->h;

	if (c->phase == QUEUED)
		unqueue_call(c);
	else {
		curl_multi_remove_handle(h->driver.multi, c->easy);
		curl_easy_cleanup(c->easy);
		curl_slist_free_all(c->headers);
		c->easy = NULL;
		c->headers = NULL;
		h->lanes[c->rq.lane].running--;
		bound_connections(h);
	}
	c->phase = ENDED;
	make_ready(c);
}

static void reap_calls(void *ctx)
{
	struct http *h = ctx;
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(h->driver.multi, &left))) {
		CURLcode code = msg->data.result;
		struct http_call *c;

		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&c);
		if (code != CURLE_OK && c->trouble == HTTP_OK)
			c->trouble = driver_trouble(c->easy, code, c->errbuf, &c->err);
		else if (c->trouble == HTTP_TOO_LONG)
			err_set(&c->err, ERR_PROTOCOL,
				"the answer is longer than the limit of %zu bytes",
				c->rq.reply_max);
		end_call(c);
	}
	dispatch_ready(h);
}

static void free_http_call(struct http_call *c)
{
	struct http *h = c->h;

	*(c->prev ? &c->prev->next : &h->calls) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	free((char *)c->rq.method);
	free((char *)c->rq.target);
	free((char *)c->rq.body);
	free((char *)c->rq.header);
	str_release(&c->in);
	str_release(&c->head);
	free(c);
}

static void tell_data(struct http_call *c)
{
	struct str bytes = c->in; /* theirs for the moment: resuming may refill c->in meanwhile */

	str_init(&c->in);
	c->rq.data(c->rq.ctx, bytes.s, bytes.len);
	/* One that had much to say may say little from now on: hundreds of streams would each hold their largest piece. */
	if (c->in.cap == 0 && bytes.cap <= STREAM_KEPT) {
		c->in = bytes;
		str_clear(&c->in);
	} else {
		str_release(&bytes);
	}
	if (c->held && !c->paused && c->phase == RUNNING) {
		c->held = false;
		set_flow(c);
	}
}

static void tell_caller(struct http_call *c)
{
	struct http_reply r;

	if (is_streaming(c) && c->trouble != HTTP_CANCELLED) {
		if (c->head_complete && !c->head_told) {
			c->head_told = true;
			if (c->rq.head)
				c->rq.head(c->rq.ctx, c->status);
		}
		/* the callback may have paused or cancelled: look again */
		if (c->trouble != HTTP_CANCELLED && !c->paused && c->in.len > 0)
			tell_data(c);
		if (c->paused && c->in.len > 0 && c->trouble != HTTP_CANCELLED)
			return; /* the end waits behind the data */
	}
	if (c->phase != ENDED || c->on_ready)
		return;
	r = (struct http_reply){.status = c->status,
		.trouble = c->trouble,
		.head = c->head.s,
		.body = "",
		.len = 0};
	if (!is_streaming(c)) {
		r.body = c->in.s;
		r.len = c->in.len;
	}
	trace_answer(c->rq.method, c->rq.target, &r, c->trouble == HTTP_OK ? NULL : &c->err);
	c->rq.done(c->rq.ctx, &r, c->trouble == HTTP_OK ? NULL : &c->err);
	free_http_call(c);
}

static void driver_gone(void *ctx)
{
	struct http *h = ctx;
	void (*closed)(void *) = h->closed;
	void *closed_ctx = h->closed_ctx;

	server_release(&h->server);
	free(h);
	if (closed)
		closed(closed_ctx);
}

static void soon_gone(uv_handle_t *handle)
{
	struct http *h = handle->data;

	driver_close(&h->driver, driver_gone);
}

/* Tell what is ready now; what gets ready meanwhile waits for the next turn of the loop. */
static void dispatch_ready(struct http *h)
{
	struct http_call *c = h->ready;
	struct http_later *node = h->later;

	if (h->dispatching)
		return;
	h->dispatching = true;
	h->ready = NULL;
	h->ready_tail = &h->ready;
	h->later = NULL;
	h->later_tail = &h->later;
	while (c) {
		struct http_call *next = c->next_ready;

		c->on_ready = false;
		tell_caller(c);
		c = next;
	}
	while (node) {
		struct http_later *next = node->next;

		node->fn(node->ctx);
		node = next;
	}
	fill_lanes(h);
	h->dispatching = false;
	if (!h->ready && !h->later)
		uv_timer_stop(&h->soon);
	if (h->closing && !h->calls && !h->later && !h->holds &&
		!uv_is_closing((uv_handle_t *)&h->soon))
		uv_close((uv_handle_t *)&h->soon, soon_gone);
}

struct http *http_open(uv_loop_t *loop, const struct http_server *server, struct err *e)
{
	static const unsigned max[LANES] = {HTTP_SHORT_MAX, HTTP_SLOW_MAX, ~0u};
	struct http *h = xcalloc(1, sizeof *h);

	if (driver_init(&h->driver, loop, reap_calls, h, e)) {
		free(h);
		return NULL;
	}
	server_copy(&h->server, server);
	uv_timer_init(loop, &h->soon);
	h->soon.data = h;
	h->ready_tail = &h->ready;
	h->later_tail = &h->later;
	for (int i = 0; i < LANES; i++) {
		h->lanes[i].tail = &h->lanes[i].head;
		h->lanes[i].max = max[i];
	}
	/* What takes long leaves two to the others. */
	if (server->channels)
		h->lanes[HTTP_LANE_SLOW].max = server->channels > 2 ? server->channels - 2 : 1;
	return h;
}

void http_close(struct http *h, void (*closed)(void *ctx), void *ctx)
{
	h->closing = true;
	h->closed = closed;
	h->closed_ctx = ctx;
	for (struct http_call *c = h->calls; c; c = c->next)
		http_cancel(c);
	schedule_soon(h);
}

struct http_call *http_send(struct http *h, const struct http_request *rq)
{
	struct http_call *c = xcalloc(1, sizeof *c);

	CHECK(!h->closing);
	c->h = h;
	c->rq = *rq;
	c->rq.method = xstrdup(rq->method);
	c->rq.target = xstrdup(rq->target);
	c->rq.body = xstrdup(rq->body);
	c->rq.header = xstrdup(rq->header);
	if (!rq->reply_max)
		c->rq.reply_max = (size_t)1 << 20;
	str_init(&c->in);
	str_init(&c->head);
	c->next = h->calls;
	if (c->next)
		c->next->prev = c;
	h->calls = c;
	*h->lanes[rq->lane].tail = c;
	h->lanes[rq->lane].tail = &c->next_queued;
	schedule_soon(h);
	return c;
}

void http_cancel(struct http_call *c)
{
	if (!c || c->trouble == HTTP_CANCELLED)
		return;
	c->trouble = HTTP_CANCELLED;
	err_set(&c->err, ERR_CANCELLED, "cancelled");
	if (c->phase != ENDED)
		end_call(c);
	else
		make_ready(c);
}

void http_pause(struct http_call *c, bool paused)
{
	c->paused = paused;
	if (paused)
		return;
	make_ready(c);
	if (c->held && c->phase == RUNNING && c->in.len == 0) {
		c->held = false;
		set_flow(c);
	}
}

void http_more(struct http_call *c)
{
	if (!c->starved || c->phase != RUNNING)
		return;
	c->starved = false;
	set_flow(c);
}

const char *http_header(const struct http_reply *r, const char *name, char *buf, size_t cap)
{
	size_t len = strlen(name);

	buf[0] = '\0';
	for (const char *p = r->head; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		size_t n;

		if (strncasecmp(p, name, len) != 0 || p[len] != ':')
			continue;
		p += len + 1;
		p += strspn(p, " \t");
		n = strcspn(p, "\r\n");
		if (n >= cap)
			n = cap - 1;
		memcpy(buf, p, n);
		buf[n] = '\0';
		break;
	}
	return buf;
}

const struct http_server *http_where(const struct http *h)
{
	return &h->server;
}

uv_loop_t *http_loop(const struct http *h)
{
	return h->driver.loop;
}

void http_hold(struct http *h)
{
	h->holds++;
}

void http_drop(struct http *h)
{
	h->holds--;
	schedule_soon(h);
}
