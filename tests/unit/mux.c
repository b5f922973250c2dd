/* mux.c - the frames of a relay: what crosses, what waits, and what a hostile end gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "lane/mux.h"

#define CLIENTS (MUX_STREAMS + 8)

struct pair { /* both ends of one relay, in one process */
	struct mux *inside, *host;
	int port, handed[CLIENTS], nhanded;
};

static void take_handed(void *ctx, int fd)
{
	struct pair *p = ctx;

	assert_true(p->nhanded < CLIENTS);
	p->handed[p->nhanded++] = fd;
}

static void open_pair(struct pair *p)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof at;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), s[2];

	*p = (struct pair){
		.inside = xcalloc(1, sizeof *p->inside), .host = xcalloc(1, sizeof *p->host)};
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(listener, 512), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	p->port = ntohs(at.sin_port);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s), 0);
	p->host->opened = take_handed;
	p->host->ctx = p;
	assert_int_equal(mux_open(p->host, s[0], s[0], NULL, 0), 0);
	assert_int_equal(mux_turn(p->host, 0), 0);
	assert_int_equal(mux_greeted(s[1]), 0);
	assert_int_equal(mux_open(p->inside, s[1], s[1], &listener, 1), 0);
}

static void close_pair(struct pair *p)
{
	close(p->inside->listener[0]);
	mux_close(p->inside);
	mux_close(p->host);
	free(p->inside);
	free(p->host);
}

static void turn_both(const struct pair *p)
{
	assert_int_equal(mux_turn(p->inside, 0), 0);
	assert_int_equal(mux_turn(p->host, 0), 0);
}

static int connect_client(const struct pair *p)
{
	const struct sockaddr_in at = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)p->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

/* Both go on until `n` have been handed over. */
static void await_handed(const struct pair *p, int n)
{
	while (p->nhanded < n)
		turn_both(p);
}

static void await_free(const struct pair *p, uint32_t left)
{
	while (p->inside->open != left || p->host->open != left)
		turn_both(p);
}

static void fill_pattern(char *at, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (char)((i * 31 + seed) >> 3);
}

/* A megabyte from `from` to `to`, to its end. */
static void move_pattern(const struct pair *p, int from, int to, unsigned seed)
{
	const size_t all = 1 << 20;
	AUTO_FREE char *sent = xmalloc(all), *got = xmalloc(all + 1);
	size_t out = 0, in = 0;

	fill_pattern(sent, all, seed);
	for (;;) {
		ssize_t n = out < all ? write(from, sent + out, all - out) : 0;

		out += n > 0 ? (size_t)n : 0;
		if (out == all && n > 0)
			shutdown(from, SHUT_WR);
		turn_both(p);
		n = read(to, got + in, all + 1 - in);
		if (!n)
			break;
		in += n > 0 ? (size_t)n : 0;
	}
	assert_int_equal(in, all);
	assert_memory_equal(sent, got, all);
}

static void test_mux_round_trip(void **state)
{
	struct pair p;
	int client;

	(void)state;
	open_pair(&p);
	client = connect_client(&p);
	await_handed(&p, 1);
	move_pattern(&p, client, p.handed[0], 1);
	/* One direction has ended, the other lives. */
	move_pattern(&p, p.handed[0], client, 2);
	close(client);
	close(p.handed[0]);
	await_free(&p, 0);
	close_pair(&p);
}

static void test_closed_at_once(void **state)
{
	struct pair p;
	struct pollfd gone;
	int client;
	char byte;

	(void)state;
	open_pair(&p);
	client = connect_client(&p);
	await_handed(&p, 1);
	/* The host closes altogether: its client is told, and the number is free though that one does nothing. */
	close(p.handed[0]);
	await_free(&p, 0);
	gone = (struct pollfd){client, POLLIN, 0};
	assert_int_equal(poll(&gone, 1, 10000), 1);
	assert_int_equal(read(client, &byte, 1), 0);
	close(client);
	close_pair(&p);
}

/* What one does not read keeps nobody else waiting, and is bounded. */
static void test_window(void **state)
{
	static char bytes[65536];
	struct pair p;
	int slow, other;

	(void)state;
	open_pair(&p);
	slow = connect_client(&p);
	await_handed(&p, 1);
	other = connect_client(&p);
	await_handed(&p, 2);
	while (p.inside->stream[0].may || p.host->stream[0].held < MUX_WINDOW / 2) {
		(void)!write(slow, bytes, sizeof bytes);
		turn_both(&p);
	}
	for (int i = 0; i < 100; i++) {
		(void)!write(slow, bytes, sizeof bytes);
		turn_both(&p);
	}
	assert_int_equal(p.inside->stream[0].may, 0);
	assert_true(p.host->stream[0].held <= MUX_WINDOW);
	move_pattern(&p, other, p.handed[1], 3);
	close(slow);
	close(other);
	close(p.handed[0]);
	close(p.handed[1]);
	await_free(&p, 0);
	close_pair(&p);
}

static void test_more_than_there_is_room_for(void **state)
{
	struct pair p;
	int client[CLIENTS];

	(void)state;
	open_pair(&p);
	for (int i = 0; i < CLIENTS; i++)
		client[i] = connect_client(&p);
	await_handed(&p, MUX_STREAMS);
	for (int i = 0; i < 100; i++)
		turn_both(&p);
	assert_int_equal(p.nhanded, MUX_STREAMS);
	for (int i = 0; i < CLIENTS - MUX_STREAMS; i++) {
		close(client[i]);
		close(p.handed[i]);
	}
	await_handed(&p, CLIENTS);
	for (int i = CLIENTS - MUX_STREAMS; i < CLIENTS; i++) {
		close(client[i]);
		close(p.handed[i]);
	}
	await_free(&p, 0);
	close_pair(&p);
}

/* The end of a connection and the next one of the same number are read at once by who was busy meanwhile. */
static void test_number_taken_again(void **state)
{
	struct pair p;
	int client[CLIENTS];

	(void)state;
	open_pair(&p);
	for (int i = 0; i < CLIENTS; i++)
		client[i] = connect_client(&p);
	await_handed(&p, MUX_STREAMS);
	for (int i = 0; i < CLIENTS - MUX_STREAMS; i++) {
		close(client[i]);
		close(p.handed[i]);
		while (p.nhanded <= MUX_STREAMS + i) {
			/* The number is free, and is that of the next one who waited. */
			for (int k = 0; k < 4; k++)
				assert_int_equal(mux_turn(p.inside, 0), 0);
			assert_int_equal(mux_turn(p.host, 0), 0);
		}
	}
	move_pattern(&p, client[CLIENTS - 1], p.handed[CLIENTS - 1], 4);
	for (int i = CLIENTS - MUX_STREAMS; i < CLIENTS; i++) {
		close(client[i]);
		close(p.handed[i]);
	}
	await_free(&p, 0);
	close_pair(&p);
}

static void test_other_end_hangs_up(void **state)
{
	struct pair p;
	int client;

	(void)state;
	open_pair(&p);
	client = connect_client(&p);
	await_handed(&p, 1);
	shutdown(p.inside->in, SHUT_RDWR);
	errno = EINVAL;
	assert_int_equal(mux_turn(p.host, 1000), -1);
	assert_int_equal(errno, 0);
	close(client);
	close(p.handed[0]);
	close_pair(&p);
}

/* -- the host against one who says anything ------------------------------------------------------------- */

struct lone { /* the host's end, and who speaks to it */
	struct mux *host;
	int speaker;
	struct pair handed;
};

static void open_lone(struct lone *l, bool engine)
{
	struct mux_frame hello;
	int s[2];

	*l = (struct lone){.host = xcalloc(1, sizeof *l->host)};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s), 0);
	l->host->opened = take_handed;
	l->host->ctx = &l->handed;
	l->host->engine = engine;
	l->speaker = s[1];
	assert_int_equal(mux_open(l->host, s[0], s[0], NULL, 0), 0);
	assert_int_equal(mux_turn(l->host, 0), 0);
	assert_int_equal(read(l->speaker, &hello, sizeof hello), sizeof hello);
}

static void close_lone(struct lone *l)
{
	for (int i = 0; i < l->handed.nhanded; i++)
		close(l->handed.handed[i]);
	mux_close(l->host);
	close(l->speaker);
	free(l->host);
}

static void say_frame(
	const struct lone *l, unsigned type, unsigned stream, uint32_t n, size_t bytes)
{
	static char data[2 * MUX_WINDOW];
	const struct mux_frame f = {(uint8_t)type, 0, (uint16_t)stream, n};

	assert_int_equal(write(l->speaker, &f, sizeof f), sizeof f);
	if (bytes)
		assert_int_equal(write(l->speaker, data, bytes), bytes);
}

/* It ends, and says that the other end is to blame. */
static void assert_broken(struct lone *l)
{
	int r;

	errno = 0;
	while (!(r = mux_turn(l->host, 0)))
		;
	assert_int_equal(r, -1);
	assert_int_equal(errno, EPROTO);
	close_lone(l);
}

static void test_wrong_frames(void **state)
{
	static const struct {
		unsigned type, stream;
		uint32_t n;
		size_t bytes;
		bool open; /* connection 3 is */
	} wrong[] = {
		{0, 0, 0, 0, false},
		{99, 3, 0, 0, true},
		{MUX_HELLO, 3, 0, 0, true},
		{MUX_OPEN, MUX_STREAMS, 0, 0, false},
		{MUX_OPEN, 65535, 0, 0, false},
		{MUX_OPEN, 3, 1, 0, false},
		{MUX_OPEN, 3, 0, 0, true}, /* again */
		{MUX_DATA, 4, 1, 1, true}, /* nobody's */
		{MUX_DATA, 3, 0, 0, true},
		{MUX_DATA, 3, MUX_PIECE + 1, 0, true},
		{MUX_DATA, 3, UINT32_MAX, 0, true},
		{MUX_TAKEN, 3, 1, 0, true}, /* of what was never sent */
		{MUX_TAKEN, 3, UINT32_MAX, 0, true},
		{MUX_END, 4, 0, 0, true},
		{MUX_CLOSE, 4, 0, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct lone l;

		open_lone(&l, false);
		if (wrong[i].open)
			say_frame(&l, MUX_OPEN, 3, 0, 0);
		say_frame(&l, wrong[i].type, wrong[i].stream, wrong[i].n, wrong[i].bytes);
		assert_broken(&l);
	}
}

static void test_more_than_granted(void **state)
{
	struct lone l;

	(void)state;
	open_lone(&l, false);
	say_frame(&l, MUX_OPEN, 0, 0, 0);
	assert_int_equal(mux_turn(l.host, 0), 0);
	/* Nobody reads what was handed over: its socket takes some, the window the rest, and no byte more. */
	for (int i = 0; i < 1 << 16; i++) {
		say_frame(&l, MUX_DATA, 0, MUX_PIECE, MUX_PIECE);
		if (mux_turn(l.host, 0)) {
			assert_int_equal(errno, EPROTO);
			assert_true(l.host->stream[0].held <= MUX_WINDOW);
			close_lone(&l);
			return;
		}
	}
	fail();
}

static void test_after_the_end(void **state)
{
	struct lone l;

	(void)state;
	open_lone(&l, false);
	say_frame(&l, MUX_OPEN, 0, 0, 0);
	say_frame(&l, MUX_END, 0, 0, 0);
	assert_int_equal(mux_turn(l.host, 0), 0);
	say_frame(&l, MUX_DATA, 0, 1, 1);
	assert_broken(&l);
	open_lone(&l, false);
	say_frame(&l, MUX_OPEN, 0, 0, 0);
	say_frame(&l, MUX_CLOSE, 0, 0, 0);
	/* Closed by both it is free, and may be opened again. */
	while (!l.handed.nhanded || l.host->open)
		assert_int_equal(mux_turn(l.host, 0), 0);
	say_frame(&l, MUX_OPEN, 0, 0, 0);
	while (l.handed.nhanded < 2)
		assert_int_equal(mux_turn(l.host, 0), 0);
	say_frame(&l, MUX_END, 0, 0, 0);
	say_frame(&l, MUX_END, 0, 0, 0);
	assert_broken(&l);
}

/* The engine's frames are cut and mixed with another output in any way. */
static void test_engine_frames(void **state)
{
	static const char noise[] = "what it says on standard error";
	const struct mux_frame said[] = {{MUX_OPEN, 0, 7, 0}, {MUX_DATA, 0, 7, 5}};
	char text[sizeof said + 5], got[8] = "";
	struct lone l;

	(void)state;
	memcpy(text, said, sizeof said);
	memcpy(text + sizeof said, "hello", 5);
	for (size_t piece = 1; piece <= sizeof text; piece++) {
		open_lone(&l, true);
		for (size_t at = 0; at < sizeof text; at += piece) {
			size_t n = sizeof text - at < piece ? sizeof text - at : piece;
			const char out[8] = {1, 0, 0, 0, 0, 0, 0, (char)n},
				   err[8] = {2, 0, 0, 0, 0, 0, 0, sizeof noise};

			assert_int_equal(write(l.speaker, err, 8), 8);
			assert_int_equal(write(l.speaker, noise, sizeof noise), sizeof noise);
			for (int i = 0; i < 8; i++) {
				assert_int_equal(write(l.speaker, out + i, 1), 1);
				assert_int_equal(mux_turn(l.host, 0), 0);
			}
			assert_int_equal(write(l.speaker, text + at, n), n);
			assert_int_equal(mux_turn(l.host, 0), 0);
		}
		assert_int_equal(l.handed.nhanded, 1);
		assert_int_equal(read(l.handed.handed[0], got, sizeof got), 5);
		assert_memory_equal(got, "hello", 5);
		close_lone(&l);
	}
}

static void test_greeting(void **state)
{
	static const struct {
		char head[8];
		struct mux_frame f;
		int errnum;
	} answers[] = {
		{{1, 0, 0, 0, 0, 0, 0, 8}, {MUX_HELLO, 0, 0, 0}, 0},
		{{1, 0, 0, 0, 0, 0, 0, 8}, {MUX_HELLO, 0, 0, EADDRINUSE}, EADDRINUSE},
		{{2, 0, 0, 0, 0, 0, 0, 8}, {MUX_HELLO, 0, 0, 0}, EPROTO},
		{{1, 0, 0, 0, 0, 0, 0, 9}, {MUX_HELLO, 0, 0, 0}, EPROTO},
		{{1, 0, 0, 0, 0, 0, 0, 8}, {MUX_OPEN, 0, 0, 0}, EPROTO},
		{{1, 0, 0, 0, 0, 0, 0, 8}, {MUX_HELLO, 0, 0, UINT32_MAX}, EPROTO},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(answers); i++) {
		int s[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s), 0);
		assert_int_equal(write(s[1], answers[i].head, 8), 8);
		assert_int_equal(
			write(s[1], &answers[i].f, sizeof answers[i].f), sizeof answers[i].f);
		errno = 0;
		assert_int_equal(mux_greet(s[0], 1000), answers[i].errnum ? -1 : 0);
		assert_int_equal(errno, answers[i].errnum);
		assert_int_equal(mux_greeted(s[1]), 0);
		close(s[1]);
		assert_int_equal(mux_greet(s[0], 1000), -1);
		close(s[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mux_round_trip),
		cmocka_unit_test(test_closed_at_once),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_more_than_there_is_room_for),
		cmocka_unit_test(test_number_taken_again),
		cmocka_unit_test(test_other_end_hangs_up),
		cmocka_unit_test(test_wrong_frames),
		cmocka_unit_test(test_more_than_granted),
		cmocka_unit_test(test_after_the_end),
		cmocka_unit_test(test_engine_frames),
		cmocka_unit_test(test_greeting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
