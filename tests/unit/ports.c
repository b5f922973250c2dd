/*
 * ports.c - a port's words, and the process that has ports open, with a container at its other end that shares every socket
 * it hands over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/port.h>

#include "egress/ports.h"
#include "lane/wire_io.h"

#define PATIENCE_S 30
#define LINGER_S 3600

static void parse_ports(void **state)
{
	static const char *const bad[] = {"", "0", "65536", "3000:", "3000:65536", ":3000", "1:2:3",
		"+1", " 1", "1 ", "1x", "-1", "000001", "03000", "1:00", "99999999999999999999",
		"1:x"};
	struct port_spec s;

	(void)state;
	assert_int_equal(port_parse("3000", &s, NULL), 0);
	assert_int_equal(s.port, 3000);
	assert_int_equal(s.host_port, 3000);
	assert_int_equal(s.at.v4.s_addr, htonl(INADDR_LOOPBACK));
	assert_int_equal(port_parse("65535:1", &s, NULL), 0);
	assert_int_equal(s.host_port, 1);
	assert_int_equal(port_parse("80:0", &s, NULL), 0);
	assert_int_equal(s.host_port, 0);
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct err e = ERR_INIT;

		if (!port_parse(bad[i], &s, &e))
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(e.kind, ERR_USAGE);
	}
}

static void loopback_unless_said(void **state)
{
	static const char *const loops[] = {"127.0.0.1", "127.255.0.9", "::1"},
				 *const others[] = {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1",
					 "::ffff:127.0.0.1", "fe80::1", "126.255.255.255"};
	struct port_row r = {.host_port = 80};
	char where[PORT_WHERE_MAX];
	struct port_spec s;

	(void)state;
	assert_int_equal(port_parse("80", &s, NULL), 0);
	for (size_t i = 0; i < COUNT(loops); i++)
		assert_int_equal(port_set_address(&s, loops[i], false, NULL), 0);
	r.at = s.at;
	port_write_where(&r, where);
	assert_string_equal(where, "[::1]:80");
	for (size_t i = 0; i < COUNT(others); i++) {
		struct err e = ERR_INIT;

		assert_int_equal(port_set_address(&s, others[i], false, &e), -1);
		assert_int_equal(e.kind, ERR_REFUSED);
		assert_int_equal(port_set_address(&s, others[i], true, NULL), 0);
	}
	assert_int_equal(port_set_address(&s, "localhost", true, NULL), -1);
	assert_int_equal(port_set_address(&s, "127.1", true, NULL), -1);
}

/* ---- the process */

static struct sockaddr_un control_at = {.sun_family = AF_UNIX};
static pid_t ports_pid;

static void be_patient(int fd)
{
	const struct timeval patience = {PATIENCE_S, 0};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

static int start_ports_process(void **state)
{
	int control = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0),
	    self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	(void)state;
	snprintf(control_at.sun_path, sizeof control_at.sun_path, "%s/ports.%d",
		getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", getpid());
	assert_int_equal(bind(control, (struct sockaddr *)&control_at, sizeof control_at), 0);
	assert_int_equal(listen(control, 16), 0);
	ports_pid = fork();
	if (!ports_pid) {
		int high[PORTS_FDS];

		high[PORTS_FD_CONTROL] = fcntl(control, F_DUPFD, 20);
		high[PORTS_FD_GUEST] = fcntl(self, F_DUPFD, 20);
		for (int i = PORTS_FD_CONTROL; i < PORTS_FDS; i++)
			dup2(high[i], i);
		syscall(SYS_close_range, PORTS_FDS, ~0U, 0);
		_exit(port_main(NULL) ? 1 : 0);
	}
	close(control);
	close(self);
	return 0;
}

static int end_ports_process(void **state)
{
	(void)state;
	if (ports_pid) {
		kill(ports_pid, SIGKILL);
		waitpid(ports_pid, NULL, 0);
	}
	unlink(control_at.sun_path);
	return 0;
}

static int ask_process(const struct port_question *q, const int *fds, int n, void *out, size_t size)
{
	int conn = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	be_patient(conn);
	assert_int_equal(connect(conn, (struct sockaddr *)&control_at, sizeof control_at), 0);
	assert_int_equal(egress_say(conn, q, sizeof *q, fds, n), 0);
	assert_int_equal(recv(conn, out, size, 0), size);
	return conn;
}

static int tell_process(uint32_t what, uint16_t port, const int *fds, int n)
{
	const struct port_question q = {what, port};
	struct port_said said;

	close(ask_process(&q, fds, n, &said, sizeof said));
	return said.error;
}

static struct port_figures figures_of(uint16_t port)
{
	const struct port_question q = {.what = PORTS_ASK};
	struct {
		struct port_said said;
		struct port_figures figures[PORTS_MAX];
	} all;

	close(ask_process(&q, NULL, 0, &all, sizeof all));
	for (size_t i = 0; i < all.said.n; i++)
		if (all.figures[i].port == port)
			return all.figures[i];
	return (struct port_figures){0};
}

static int listen_somewhere(struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), small = 4096;
	socklen_t len = sizeof *at;

	*at = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
	assert_int_equal(bind(fd, (struct sockaddr *)at, sizeof *at), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)at, &len), 0);
	be_patient(fd);
	return fd;
}

static int dial_address(const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)at, sizeof *at), 0);
	be_patient(fd);
	return fd;
}

struct opened {
	uint16_t port;
	struct sockaddr_in at; /* where clients go */
	int lane;              /* the container's end of it */
};

static void open_one(struct opened *o, uint16_t port)
{
	int lane[2], listener = listen_somewhere(&o->at), fds[PORTS_FDS_TOLD];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lane), 0);
	o->port = port;
	o->lane = lane[0];
	be_patient(o->lane);
	fds[PORTS_LISTENER] = listener;
	fds[PORTS_LANE] = lane[1];
	assert_int_equal(tell_process(PORTS_OPEN, port, fds, 2), 0);
	close(listener);
	close(lane[1]);
}

/* What the container's init does when it is asked, with the socket that the test wants. */
static void hand_over(const struct opened *o, int fd)
{
	static char body[LANE_MSG_MAX];
	struct lane_dialled said = {0};
	int got[LANE_FDS_MAX], n;
	struct lane_msg head;

	assert_int_equal(wire_recv(o->lane, &head, body, got, &n), 1);
	assert_int_equal(head.type, LANE_DIAL);
	memcpy(&said.number, body, sizeof said.number);
	assert_int_equal(wire_send_fds(o->lane, LANE_DIAL, &said, sizeof said, &fd, 1), 0);
}

/* A connection through it; *inside is what was handed over, *server the other end of that. */
static int connect_through(const struct opened *o, int *inside, int *server)
{
	struct sockaddr_in at;
	int client, listener = listen_somewhere(&at);

	client = dial_address(&o->at);
	*inside = dial_address(&at);
	*server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	be_patient(*server);
	close(listener);
	hand_over(o, *inside);
	return client;
}

static void expect_answer(int client, int server)
{
	char c = 'x';

	assert_int_equal(send(client, &c, 1, MSG_NOSIGNAL), 1);
	assert_int_equal(recv(server, &c, 1, 0), 1);
	c = 'y';
	assert_int_equal(send(server, &c, 1, MSG_NOSIGNAL), 1);
	assert_int_equal(recv(client, &c, 1, 0), 1);
	assert_int_equal(c, 'y');
}

static void flood_socket(int fd)
{
	static char much[65536];

	while (send(fd, much, sizeof much, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		;
}

/* Until what the process keeps does not change any more it has tried to send into what is full. */
static void wait_for_full(const struct opened *o, int client)
{
	uint64_t before;

	do {
		before = figures_of(o->port).down;
		flood_socket(client);
	} while (figures_of(o->port).down != before);
}

static void shared_sockets_hold_up_nobody(void **state)
{
	const struct linger hours = {1, LINGER_S};
	struct opened good, bad;
	int good_inside, good_server, bad_inside, bad_server, good_client, bad_client, cut_client,
		cut_inside, cut_server;

	(void)state;
	open_one(&good, 1000);
	open_one(&bad, 1001);
	good_client = connect_through(&good, &good_inside, &good_server);
	bad_client = connect_through(&bad, &bad_inside, &bad_server);
	cut_client = connect_through(&bad, &cut_inside, &cut_server);
	expect_answer(good_client, good_server);
	expect_answer(bad_client, bad_server);
	expect_answer(cut_client, cut_server);
	/* Who shares them lets them wait, and reads nothing. */
	for (int i = 0; i < 2; i++) {
		int fd = i ? cut_inside : bad_inside;

		assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK), 0);
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hours, sizeof hours), 0);
	}
	wait_for_full(&bad, bad_client);
	wait_for_full(&bad, cut_client);
	expect_answer(good_client, good_server);
	/* And leaves the last close to the process. */
	close(cut_inside);
	close(bad_inside);
	close(cut_client);
	expect_answer(good_client, good_server);
	assert_int_equal(tell_process(PORTS_CLOSE, 1001, NULL, 0), 0);
	expect_answer(good_client, good_server);
	assert_int_equal(figures_of(1001).port, 0);
	assert_int_equal(figures_of(1000).open, 1);
	assert_int_equal(figures_of(1000).up, 4);
	close(bad_client);
	close(bad_server);
	close(cut_server);
	close(good_client);
	close(good_inside);
	close(good_server);
	close(good.lane);
	close(bad.lane);
}

static int make_unix(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int make_udp(void)
{
	return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int make_zero_file(void)
{
	return open("/dev/zero", O_RDWR | O_CLOEXEC);
}

static int make_listener(void)
{
	struct sockaddr_in at;

	return listen_somewhere(&at);
}

static void only_sockets_of_tcp_are_taken(void **state)
{
	static int (*const make[])(void) = {make_unix, make_udp, make_zero_file, make_listener};
	struct opened good;

	(void)state;
	open_one(&good, 1100);
	for (size_t i = 0; i < COUNT(make); i++) {
		struct opened bad;
		int fd = make[i](), client;
		char none;

		open_one(&bad, 1101);
		client = dial_address(&bad.at);
		hand_over(&bad, fd);
		assert_int_equal(recv(client, &none, 1, 0), -1);
		assert_int_equal(errno, ECONNRESET);
		assert_int_equal(figures_of(1101).port, 0);
		close(client);
		close(fd);
		close(bad.lane);
	}
	assert_int_equal(figures_of(1100).port, 1100);
	close(good.lane);
}

static void questions_of_no_use(void **state)
{
	struct opened o;
	int fds[2];

	(void)state;
	open_one(&o, 1200);
	fds[0] = fds[1] = o.lane;
	assert_int_equal(tell_process(PORTS_OPEN, 1200, fds, 2), EEXIST);
	assert_int_equal(tell_process(PORTS_OPEN, 1201, fds, 1), EPROTO);
	assert_int_equal(tell_process(PORTS_CLOSE, 1202, NULL, 0), ENOENT);
	assert_int_equal(figures_of(1200).port, 1200);
	close(o.lane);
}

static void the_last_one_ends_it(void **state)
{
	const struct port_question q = {PORTS_CLOSE, 1300};
	struct port_said said;
	struct opened o;
	int conn, status;
	char none;

	(void)state;
	open_one(&o, 1300);
	conn = ask_process(&q, NULL, 0, &said, sizeof said);
	assert_int_equal(said.error, 0);
	assert_int_equal(recv(conn, &none, 1, 0), 0);
	assert_int_equal(waitpid(ports_pid, &status, 0), ports_pid);
	assert_int_equal(status, 0);
	ports_pid = 0;
	close(conn);
	close(o.lane);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_ports),
		cmocka_unit_test(loopback_unless_said),
		cmocka_unit_test_setup_teardown(
			shared_sockets_hold_up_nobody, start_ports_process, end_ports_process),
		cmocka_unit_test_setup_teardown(
			only_sockets_of_tcp_are_taken, start_ports_process, end_ports_process),
		cmocka_unit_test_setup_teardown(
			questions_of_no_use, start_ports_process, end_ports_process),
		cmocka_unit_test_setup_teardown(
			the_last_one_ends_it, start_ports_process, end_ports_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
