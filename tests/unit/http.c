/* http.c - requests and hijacked streams against a server that answers whatever a test wants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/str.h>

#include "net/http.h"

/* The server: one thread; each connection gets `answer`, in pieces of `piece`, after its head. */
static struct {
	pthread_t thread;
	int fd;
	char path[64];
	const char *_Atomic answer;
	_Atomic size_t piece;
	atomic_bool hang, echo;
	atomic_bool early; /* answers before it has read the body, hangs up and tells `ended` */
	int ended[2];
} server;

/* What the server answers from now on.  It may still be sending the last one when the client has
 * seen enough: copies live until it has ended. */
static char **kept;
static size_t nkept, kept_cap;

static void answer_with(const char *answer)
{
	kept = mem_grow(kept, &kept_cap, nkept + 1, sizeof *kept);
	server.answer = kept[nkept++] = xstrdup(answer);
}

static bool read_request_head(int fd)
{
	char buf[4096];
	size_t have = 0;
	ssize_t n;

	while (have < sizeof buf - 1 && (n = read(fd, buf + have, sizeof buf - 1 - have)) > 0) {
		have += (size_t)n;
		buf[have] = '\0';
		if (strstr(buf, "\r\n\r\n"))
			return true;
	}
	return false;
}

static void answer_one(int fd)
{
	const char *answer = server.answer;
	size_t n = strlen(answer), piece = server.piece, step = piece ? piece : n;
	char buf[4096];
	ssize_t got;

	if (!read_request_head(fd))
		return;
	if (server.early) { /* with something unread */
		struct pollfd p = {.fd = fd, .events = POLLIN};

		poll(&p, 1, -1);
	}
	for (size_t i = 0; i < n; i += step)
		if (send(fd, answer + i, n - i < step ? n - i : step, MSG_NOSIGNAL) < 0)
			return;
	while (server.echo && (got = read(fd, buf, sizeof buf)) > 0)
		if (send(fd, buf, (size_t)got, MSG_NOSIGNAL) < 0)
			return;
	while (server.hang && read(fd, buf, sizeof buf) > 0)
		;
}

static void *serve_answers(void *arg)
{
	int fd;

	(void)arg;
	while ((fd = accept(server.fd, NULL, NULL)) >= 0) {
		answer_one(fd);
		close(fd);
		if (server.early && write(server.ended[1], "x", 1) != 1)
			abort();
	}
	return NULL;
}

static uv_loop_t loop;
static uv_timer_t beat;
static struct http *h;

static struct {
	int done, closed, head, order;
	struct http_reply reply;
	struct str body, data;
	char header[32];
	struct err err;
} got;

static void wake_loop(uv_timer_t *timer)
{
	(void)timer;
}

static void run_http_until(const int *what, int n)
{
	for (int turns = 0; *what < n; turns++) {
		assert_true(turns < 20000);
		uv_run(&loop, UV_RUN_ONCE);
	}
}

static int wait_ms; /* for an answer that comes: long, for the machine may be busy */

static int setup(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct http_server where = {.unix_path = server.path};

	(void)state;
	memset(&got, 0, sizeof got);
	wait_ms = 60000;
	str_init(&got.body);
	str_init(&got.data);
	memset(&server, 0, sizeof server);
	snprintf(server.path, sizeof server.path, "/tmp/http-unit.%d", (int)getpid());
	unlink(server.path);
	server.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	strcpy(address.sun_path, server.path);
	assert_int_equal(bind(server.fd, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(server.fd, 64), 0);
	assert_int_equal(pthread_create(&server.thread, NULL, serve_answers, NULL), 0);
	uv_loop_init(&loop);
	uv_timer_init(&loop, &beat);
	uv_timer_start(&beat, wake_loop, 2, 2);
	h = http_open(&loop, &where, NULL);
	assert_non_null(h);
	return 0;
}

static void on_http_closed(void *ctx)
{
	(void)ctx;
	got.closed++;
}

static int teardown(void **state)
{
	(void)state;
	http_close(h, on_http_closed, NULL);
	run_http_until(&got.closed, 1);
	uv_close((uv_handle_t *)&beat, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	shutdown(server.fd, SHUT_RDWR);
	close(server.fd);
	pthread_join(server.thread, NULL);
	while (nkept > 0)
		free(kept[--nkept]);
	free(STEAL(kept));
	kept_cap = 0;
	unlink(server.path);
	str_release(&got.body);
	str_release(&got.data);
	return 0;
}

static void on_http_head(void *ctx, int status)
{
	(void)ctx;
	(void)status;
	assert_int_equal(got.data.len, 0);
	got.head++;
}

static void on_http_data(void *ctx, const char *bytes, size_t n)
{
	(void)ctx;
	assert_int_equal(got.head, 1);
	str_add(&got.data, bytes, n);
}

static void on_http_done(void *ctx, const struct http_reply *r, const struct err *err)
{
	(void)ctx;
	got.done++;
	got.reply = *r;
	got.err = err ? *err : (struct err)ERR_INIT;
	str_clear(&got.body);
	str_add(&got.body, r->body, r->len);
	http_header(r, "x-test", got.header, sizeof got.header);
}

static struct http_call *ask_server(const char *answer, enum http_lane lane)
{
	struct http_request rq = {.method = "GET",
		.target = "/x",
		.lane = lane,
		.reply_max = 100,
		.timeout_ms = lane == HTTP_LANE_STREAM ? 0 : wait_ms,
		.head = on_http_head,
		.data = on_http_data,
		.done = on_http_done};

	answer_with(answer);
	return http_send(h, &rq);
}

static void expect_reply(
	const char *answer, enum http_trouble trouble, int status, const char *body)
{
	got.done = 0;
	ask_server(answer, HTTP_LANE_SHORT);
	assert_int_equal(got.done, 0);
	run_http_until(&got.done, 1);
	if (got.reply.trouble != trouble)
		fail_msg("%s: trouble %d: %s", answer, got.reply.trouble, got.err.msg);
	assert_int_equal(got.reply.status, status);
	assert_string_equal(got.body.s, body);
	assert_int_equal(got.err.kind != ERR_NONE, trouble != HTTP_OK);
}

#define OK "HTTP/1.1 200 OK\r\n"

static void test_replies(void **state)
{
	char *head = xmalloc(70000);

	(void)state;
	for (server.piece = 0; server.piece < 4; server.piece++) {
		expect_reply(
			OK "X-Test:  value \r\nContent-Length: 2\r\n\r\nab", HTTP_OK, 200, "ab");
		assert_string_equal(got.header, "value ");
		expect_reply(OK "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
			HTTP_OK, 200, "abc");
		expect_reply("HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nnot", HTTP_OK, 404,
			"not");
		expect_reply("HTTP/1.1 304 Not Modified\r\n\r\n", HTTP_OK, 304, "");
		expect_reply(OK "Connection: close\r\n\r\nall", HTTP_OK, 200, "all");
		expect_reply(OK "Content-Length: 5\r\n\r\nab", HTTP_BROKEN, 200, "ab");
		expect_reply("SSH-2.0-OpenSSH\r\n", HTTP_BROKEN, 0, "");
		expect_reply("", HTTP_BROKEN, 0, "");
	}
	memset(head, 'a', 70000);
	memcpy(head, OK "Content-Length: 0\r\nX: ", strlen(OK) + 22);
	strcpy(head + 69990, "\r\n\r\n");
	expect_reply(head, HTTP_BROKEN, 0, "");
	free(head);
}

static int pulled;

/* The body up to a point; what follows is still being made. */
static ssize_t pull_start(void *ctx, char *buf, size_t n)
{
	(void)ctx;
	if (pulled++)
		return HTTP_PULL_WAIT;
	memset(buf, 'x', n);
	return (ssize_t)n;
}

/* An engine that refuses what is sent to it says why and hangs up, with our bytes unread: the
 * socket then has an error and an answer, and the answer counts.  Longer than one look at it takes. */
static void test_early_answer(void **state)
{
	struct http_request rq = {.method = "POST",
		.target = "/x",
		.lane = HTTP_LANE_SLOW,
		.reply_max = 200000,
		.upload = 900000,
		.pull = pull_start,
		.done = on_http_done};
	AUTO_STR struct str answer = STR_INIT;
	char byte;

	(void)state;
	str_adds(&answer, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 60000\r\n\r\n");
	for (int i = 0; i < 60000; i++)
		str_addc(&answer, (char)('a' + i % 26));
	assert_int_equal(pipe(server.ended), 0);
	answer_with(answer.s);
	server.early = true;
	pulled = 0;
	http_send(h, &rq);
	run_http_until(&pulled, 1);
	assert_int_equal(read(server.ended[0], &byte, 1), 1);
	run_http_until(&got.done, 1);
	if (got.reply.trouble != HTTP_OK)
		fail_msg("trouble %d: %s", got.reply.trouble, got.err.msg);
	assert_int_equal(got.body.len, 60000);
	close(server.ended[0]);
	close(server.ended[1]);
}

static void test_reply_bounds(void **state)
{
	struct str big = STR_INIT;

	(void)state;
	str_adds(&big, OK "Connection: close\r\n\r\n");
	for (int i = 0; i < 101; i++)
		str_addc(&big, 'x');
	got.done = 0;
	ask_server(big.s, HTTP_LANE_SHORT);
	run_http_until(&got.done, 1);
	assert_int_equal(got.reply.trouble, HTTP_TOO_LONG);
	assert_int_equal(got.err.kind, ERR_PROTOCOL);
	str_release(&big);
	server.hang = true;
	got.done = 0;
	wait_ms = 50;
	ask_server("", HTTP_LANE_SHORT); /* never answers */
	run_http_until(&got.done, 1);
	assert_int_equal(got.reply.trouble, HTTP_SLOW);
	assert_int_equal(got.err.kind, ERR_TIMEOUT);
}

static void test_stream(void **state)
{
	struct str answer = STR_INIT;
	struct http_call *c;

	(void)state;
	str_adds(&answer, OK "Connection: close\r\n\r\n");
	for (int i = 0; i < 300000; i++)
		str_addf(&answer, "%d,", i % 10);
	c = ask_server(answer.s, HTTP_LANE_STREAM);
	http_pause(c, true); /* before anything: the head comes, no data, no end */
	run_http_until(&got.head, 1);
	for (int i = 0; i < 50; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(got.data.len, 0);
	assert_int_equal(got.done, 0);
	http_pause(c, false);
	run_http_until(&got.done, 1);
	assert_int_equal(got.reply.trouble, HTTP_OK);
	assert_int_equal(got.data.len, 600000);
	assert_string_equal(got.data.s, strstr(answer.s, "\r\n\r\n") + 4);
	str_release(&answer);
}

static void test_http_cancel(void **state)
{
	struct http_call *calls[40];

	(void)state;
	server.hang = true;
	for (size_t i = 0; i < COUNT(calls); i++)
		calls[i] = ask_server("", i % 2 ? HTTP_LANE_SHORT : HTTP_LANE_STREAM);
	for (int i = 0; i < 5; i++)
		uv_run(&loop, UV_RUN_ONCE);
	got.done = 0;
	for (size_t i = 0; i < COUNT(calls); i++) {
		http_cancel(calls[i]);
		http_cancel(calls[i]);
	}
	assert_int_equal(got.done, 0);
	run_http_until(&got.done, COUNT(calls));
	assert_int_equal(got.reply.trouble, HTTP_CANCELLED);
	assert_int_equal(got.err.kind, ERR_CANCELLED);
	ask_server("", HTTP_LANE_STREAM); /* the teardown closes with one in flight */
}

/* hijacked */

static int opened;

static void on_stream_open(void *ctx, int status)
{
	(void)ctx;
	opened = status;
}

static void on_bytes(void *ctx, const char *bytes, size_t n)
{
	(void)ctx;
	str_add(&got.data, bytes, n);
}

static const struct stream_events events = {on_stream_open, on_bytes, on_http_done};

static struct stream *hijack_stream(const char *answer)
{
	opened = got.done = 0;
	str_clear(&got.data);
	answer_with(answer);
	return stream_open(h, "/exec", "{}", &events, NULL);
}

static void refuse_hijack(
	const char *answer, enum http_trouble trouble, int status, const char *body)
{
	hijack_stream(answer);
	run_http_until(&got.done, 1);
	if (got.reply.trouble != trouble)
		fail_msg("%s: trouble %d: %s", answer, got.reply.trouble, got.err.msg);
	assert_int_equal(got.reply.status, status);
	assert_string_equal(got.body.s, body);
	assert_int_equal(opened, 0);
}

static void test_hijack(void **state)
{
	static const char up[] = "HTTP/1.1 101 UPGRADED\r\nUpgrade: tcp\r\n\r\n";
	struct stream *s;
	struct str sent = STR_INIT;

	(void)state;
	for (server.piece = 0; server.piece < 3; server.piece++) {
		hijack_stream("HTTP/1.1 101 UPGRADED\r\n\r\nearly bytes");
		run_http_until(&got.done, 1);
		assert_int_equal(opened, 101);
		assert_string_equal(got.data.s, "early bytes");
		assert_int_equal(got.reply.trouble, HTTP_OK);
		hijack_stream("HTTP/1.1 200 OK\r\n\r\nraw");
		run_http_until(&got.done, 1);
		assert_int_equal(opened, 200);
		assert_string_equal(got.data.s, "raw");
		refuse_hijack("HTTP/1.1 409 Conflict\r\nContent-Length: 4\r\n\r\nbusy", HTTP_OK,
			409, "busy");
		refuse_hijack("HTTP/1.1 500 No\r\n\r\nall of it", HTTP_OK, 500, "all of it");
		refuse_hijack(OK "Content-Length: 4\r\n\r\nbusy", HTTP_BROKEN, 200, "");
		refuse_hijack("HTTP/1.1 204 x\r\n\r\n", HTTP_BROKEN, 204, "");
		refuse_hijack("nonsense\r\n\r\n", HTTP_BROKEN, 0, "");
		refuse_hijack("", HTTP_BROKEN, 0, "");
	}
	/* 100,000 bytes there and back, then half-close */
	server.piece = 0;
	server.echo = true;
	s = hijack_stream(up);
	run_http_until(&opened, 101);
	while (sent.len < 100000)
		str_addf(&sent, "%zu,", sent.len);
	assert_true(stream_write(s, sent.s, sent.len));
	stream_pause(s, true);
	for (int i = 0; i < 10; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(got.data.len, 0);
	stream_pause(s, false);
	stream_finish(s);
	run_http_until(&got.done, 1);
	assert_string_equal(got.data.s, sent.s);
	str_release(&sent);
	s = hijack_stream(up);
	stream_cancel(s);
	assert_int_equal(got.done, 0);
	run_http_until(&got.done, 1);
	assert_int_equal(got.err.kind, ERR_CANCELLED);
}

static atomic_bool resolver_waits, resolver_may_go;
static pthread_mutex_t resolver_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t resolver_changed = PTHREAD_COND_INITIALIZER;

/* In place of libc's, for libcurl: a resolver whose server does not answer. */
int getaddrinfo(const char *restrict node, const char *restrict service,
	const struct addrinfo *restrict hints, struct addrinfo **restrict ret)
{
	(void)node;
	(void)service;
	(void)hints;
	(void)ret;
	pthread_mutex_lock(&resolver_lock);
	resolver_waits = true;
	while (!resolver_may_go)
		pthread_cond_wait(&resolver_changed, &resolver_lock);
	resolver_waits = false;
	pthread_cond_broadcast(&resolver_changed);
	pthread_mutex_unlock(&resolver_lock);
	return EAI_AGAIN;
}

/* What waits for a name is given up without waiting for it: the loop serves other hosts, too. */
static void test_lookup_that_hangs(void **state)
{
	const struct http_server where = {.host = "far.example", .port = 2375};
	const struct http_request rq = {.method = "GET", .target = "/x", .done = on_http_done};
	struct http *far = http_open(&loop, &where, NULL);
	struct http_call *c;

	(void)state;
	assert_non_null(far);
	c = http_send(far, &rq);
	for (int turns = 0; !resolver_waits; turns++) {
		assert_true(turns < 20000);
		uv_run(&loop, UV_RUN_ONCE);
	}
	http_cancel(c);
	run_http_until(&got.done, 1);
	assert_int_equal(got.err.kind, ERR_CANCELLED);
	assert_true(resolver_waits);
	got.closed = 0;
	http_close(far, on_http_closed, NULL);
	run_http_until(&got.closed, 1);
	assert_true(resolver_waits);
	got.closed = 0;
	pthread_mutex_lock(&resolver_lock);
	resolver_may_go = true;
	pthread_cond_broadcast(&resolver_changed);
	while (resolver_waits)
		pthread_cond_wait(&resolver_changed, &resolver_lock);
	pthread_mutex_unlock(&resolver_lock);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {CASE(test_replies), CASE(test_early_answer),
		CASE(test_reply_bounds), CASE(test_stream), CASE(test_http_cancel),
		CASE(test_hijack), CASE(test_lookup_that_hangs)};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
