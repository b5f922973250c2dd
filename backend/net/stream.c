/*
 * stream.c - opens a raw stream: connected by curl, upgraded, then polled by uv.
 *
 * Why by hand: curl makes the connection, TLS too, but after a reply of 101 it has no way to go on in both directions
 * but its own WebSockets, which the engine does not speak.
 */
#include "net/http.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <berth/check.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/trace.h>

#include "net/curl.h"
#include "net/reply_head.h"

enum { READ_SIZE = 16384, READS_PER_TURN = 8, HEAD_MS = 10000 };

struct stream {
	struct http *h;
	struct driver driver;
	uv_poll_t poll;
	uv_timer_t timer; /* the deadline of the reply's head, then "say it from the loop" */
	bool polled;
	CURL *easy;
	const struct stream_events *ev;
	void *ctx;
	struct reply_head head;
	struct str out; /* not yet written: out.s[sent..] */
	size_t sent;
	struct str refusal;
	bool opened, paused, finish, finished, over, told;
	enum http_trouble trouble;
	struct err err;
	char errbuf[CURL_ERROR_SIZE];
};

static void move_stream(struct stream *s);
static void on_stream_poll(uv_poll_t *poll, int status, int events);

static void stream_gone(void *ctx)
{
	struct stream *s = ctx;

	reply_head_release(&s->head);
	str_release(&s->out);
	str_release(&s->refusal);
	http_drop(s->h);
	free(s);
}

static void on_stream_timer_gone(uv_handle_t *handle)
{
	struct stream *s = handle->data;

	driver_close(&s->driver, stream_gone);
}

static void poll_gone(uv_handle_t *handle)
{
	struct stream *s = handle->data;

	uv_close((uv_handle_t *)&s->timer, on_stream_timer_gone);
}

/* Tell the owner, then take everything down: poll first, for curl closes the socket. */
static void on_over(uv_timer_t *timer)
{
	struct stream *s = timer->data;
	bool refused = s->head.complete && s->head.status >= 400;
	struct http_reply r = {
		.status = s->head.complete ? s->head.status : 0,
		.trouble = s->trouble,
		.body = refused ? s->refusal.s : "",
		.len = refused ? s->refusal.len : 0,
		.head = s->head.text.s,
	};

	trace_answer("POST", NULL, &r, s->trouble == HTTP_OK ? NULL : &s->err);
	s->told = true;
	s->ev->end(s->ctx, &r, s->trouble == HTTP_OK ? NULL : &s->err);
	if (s->polled)
		uv_poll_stop(&s->poll);
	curl_multi_remove_handle(s->driver.multi, s->easy);
	curl_easy_cleanup(s->easy);
	if (s->polled)
		uv_close((uv_handle_t *)&s->poll, poll_gone);
	else
		uv_close((uv_handle_t *)timer, on_stream_timer_gone);
}

static void end_stream(struct stream *s)
{
	if (s->over)
		return;
	s->over = true;
	if (s->polled)
		uv_poll_stop(&s->poll);
	uv_timer_start(&s->timer, on_over, 0, 0);
}

static void fail_stream(struct stream *s, enum http_trouble t, enum err_kind kind, const char *what)
{
	if (s->over)
		return;
	s->trouble = t;
	err_set(&s->err, kind, "%s", what);
	end_stream(s);
}

static void on_reply_late(uv_timer_t *timer)
{
	fail_stream(timer->data, HTTP_SLOW, ERR_TIMEOUT, "no reply in time");
}

static void write_pending(struct stream *s)
{
	while (s->sent < s->out.len && !s->over) {
		size_t n = 0;
		CURLcode rc = curl_easy_send(s->easy, s->out.s + s->sent, s->out.len - s->sent, &n);

		if (rc == CURLE_AGAIN)
			return;
		if (rc != CURLE_OK) {
			/* The other side hung up.  What it said before is still to be read. */
			s->sent = s->out.len;
			s->finished = true;
			break;
		}
		s->sent += n;
	}
	if (s->sent == s->out.len) {
		str_clear(&s->out);
		s->sent = 0;
	}
	if (s->finish && !s->finished && s->out.len == 0) {
		curl_socket_t fd;

		s->finished = true;
		if (curl_easy_getinfo(s->easy, CURLINFO_ACTIVESOCKET, &fd) == CURLE_OK)
			shutdown(fd, SHUT_WR);
	}
}

static void take_refusal(struct stream *s, const char *bytes, size_t n)
{
	size_t room = HTTP_ERROR_MAX - s->refusal.len;

	str_add(&s->refusal, bytes, n < room ? n : room);
	if (s->refusal.len == HTTP_ERROR_MAX ||
		(s->head.length >= 0 && s->refusal.len >= (size_t)s->head.length))
		end_stream(s);
}

static void take_stream_bytes(struct stream *s, const char *bytes, size_t n)
{
	if (!s->head.complete) {
		struct err e = ERR_INIT;
		ssize_t used = reply_head_feed(&s->head, bytes, n, &e);

		if (used < 0) {
			fail_stream(s, HTTP_BROKEN, e.kind, e.msg);
			return;
		}
		if (!s->head.complete)
			return;
		bytes += used;
		n -= (size_t)used;
		if (s->head.status >= 400) {
			take_refusal(s, bytes, n);
			return;
		}
		uv_timer_stop(&s->timer);
		if (s->head.status != 101 && s->head.status != 200) {
			fail_stream(
				s, HTTP_BROKEN, ERR_PROTOCOL, "the reply is neither 101 nor 200");
			return;
		}
		if (s->head.status == 200 && (s->head.chunked || s->head.length >= 0)) {
			fail_stream(s, HTTP_BROKEN, ERR_PROTOCOL,
				"the connection was not upgraded: a proxy on the way to the engine does not support upgrades");
			return;
		}
		s->opened = true;
		trace(TRACE_ENGINE, "< %d, a stream is open", s->head.status);
		s->ev->open(s->ctx, s->head.status);
	}
	if (s->head.status >= 400)
		take_refusal(s, bytes, n);
	else if (n > 0 && !s->over)
		s->ev->data(s->ctx, bytes, n);
}

/* Returns true when more may be waiting inside the TLS library. */
static bool read_some(struct stream *s)
{
	char buf[READ_SIZE];

	for (int i = 0; i < READS_PER_TURN; i++) {
		size_t n = 0;
		CURLcode rc;

		if (s->paused || s->over)
			return false;
		rc = curl_easy_recv(s->easy, buf, sizeof buf, &n);
		if (rc == CURLE_AGAIN)
			return false;
		if (rc != CURLE_OK || n == 0) {
			if (!s->opened && !(s->head.complete && s->head.status >= 400))
				fail_stream(s, HTTP_BROKEN, ERR_UNREACHABLE,
					"the connection ended before the reply");
			end_stream(s);
			return false;
		}
		take_stream_bytes(s, buf, n);
	}
	return true;
}

static void on_more(uv_timer_t *timer)
{
	move_stream(timer->data);
}

/* Do what can be done now, and ask to be called for the rest. */
static void move_stream(struct stream *s)
{
	bool more;
	int events = 0;

	write_pending(s);
	more = read_some(s);
	if (s->over)
		return;
	if (!s->paused)
		events |= UV_READABLE;
	if (s->out.len > 0 || (s->finish && !s->finished))
		events |= UV_WRITABLE;
	if (events)
		uv_poll_start(&s->poll, events, on_stream_poll);
	else
		uv_poll_stop(&s->poll);
	if (more && s->opened)
		uv_timer_start(&s->timer, on_more, 0, 0);
}

static void on_stream_poll(uv_poll_t *poll, int status, int events)
{
	(void)status; /* an error shows itself in read or write */
	(void)events;
	move_stream(poll->data);
}

/* curl has connected (and finished the TLS handshake), or failed to. */
static void reap_connection(void *ctx)
{
	struct stream *s = ctx;
	CURLMsg *msg;
	curl_socket_t fd = CURL_SOCKET_BAD;
	int left, failed;

	while ((msg = curl_multi_info_read(s->driver.multi, &left))) {
		if (s->over || s->polled)
			continue;
		if (msg->data.result != CURLE_OK) {
			s->trouble = driver_trouble(s->easy, msg->data.result, s->errbuf, &s->err);
			end_stream(s);
			continue;
		}
		if (curl_easy_getinfo(s->easy, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK ||
			fd == CURL_SOCKET_BAD) {
			fail_stream(s, HTTP_BROKEN, ERR_UNREACHABLE,
				"the connection was closed immediately");
			continue;
		}
		failed = uv_poll_init_socket(s->driver.loop, &s->poll, fd);
		if (failed) {
			fail_stream(s, HTTP_BROKEN, ERR_UNREACHABLE, uv_strerror(failed));
			continue;
		}
		s->poll.data = s;
		s->polled = true;
		uv_timer_start(&s->timer, on_reply_late, HEAD_MS, 0);
		move_stream(s);
	}
}

struct stream *stream_open(struct http *h, const char *target, const char *body,
	const struct stream_events *ev, void *ctx)
{
	struct stream *s = xcalloc(1, sizeof *s);

	s->h = h;
	http_hold(h);
	trace_request("POST", target, NULL, body);
	s->ev = ev;
	s->ctx = ctx;
	reply_head_init(&s->head);
	str_init(&s->out);
	str_init(&s->refusal);
	CHECK(driver_init(&s->driver, http_loop(h), reap_connection, s, NULL) == 0);
	uv_timer_init(http_loop(h), &s->timer);
	s->timer.data = s;
	s->easy = driver_easy(http_where(h), "/", s->errbuf);
	curl_easy_setopt(s->easy, CURLOPT_CONNECT_ONLY, 1L);
	str_addf(&s->out,
		"POST %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: berth\r\n"
		"Content-Type: application/json\r\nContent-Length: %zu\r\n"
		"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n%s",
		target, strlen(body), body);
	CHECK(curl_multi_add_handle(s->driver.multi, s->easy) == CURLM_OK);
	return s;
}

static void poll_stream(struct stream *s)
{
	if (s->polled && !s->over)
		uv_poll_start(
			&s->poll, UV_WRITABLE | (s->paused ? 0 : UV_READABLE), on_stream_poll);
}

bool stream_write(struct stream *s, const char *bytes, size_t n)
{
	if (s->out.len - s->sent + n > STREAM_WRITE_MAX)
		return false;
	if (s->over || s->finish || s->finished)
		return true; /* nobody is there to read it */
	if (s->sent > STREAM_WRITE_MAX) {
		str_remove_front(&s->out, s->sent);
		s->sent = 0;
	}
	str_add(&s->out, bytes, n);
	poll_stream(s);
	return true;
}

void stream_finish(struct stream *s)
{
	s->finish = true;
	poll_stream(s);
}

void stream_pause(struct stream *s, bool paused)
{
	s->paused = paused;
	if (!paused && s->opened && s->polled && !s->over) {
		poll_stream(s);
		uv_timer_start(
			&s->timer, on_more, 0, 0); /* TLS may hold bytes that poll knows not */
	}
}

void stream_cancel(struct stream *s)
{
	fail_stream(s, HTTP_CANCELLED, ERR_CANCELLED, "cancelled");
}
