/*
 * port_end.c - runs the process that keeps a container's ports open on this machine.
 *
 * One loop, one container.  It is handed listening sockets and a lane for each, makes none itself, and has neither the rules nor
 * the keys of the agent's egress.  It ends with the container's init, or with the last port that is closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <berth/mem.h>

#include "egress/end.h"
#include "egress/ports.h"

#define ACCEPTS_AT_ONCE 64
#define ANSWERS_AT_ONCE 64

/* Closes what a container may hold as well: should that wait, nothing else does. */
static void *close_given(void *pipe_end)
{
	int from = (int)(intptr_t)pipe_end, fd;

	while (read(from, &fd, sizeof fd) == (ssize_t)sizeof fd)
		close(fd);
	return NULL;
}

static int start_closer(struct ports_end *end, struct err *e)
{
	int ends[2], why;
	pthread_t thread;

	if (pipe2(ends, O_CLOEXEC))
		return err_sys(e, errno, "cannot make a pipe");
	end->closer = ends[1];
	why = pthread_create(&thread, NULL, close_given, (void *)(intptr_t)ends[0]);
	return why ? err_sys(e, why, "cannot start a thread") : 0;
}

void port_drop_inside(struct ports_end *end, int fd)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};

	/* With nothing left to be sent a close has nothing to linger for. */
	if (connect(fd, &none, sizeof none))
		shutdown(fd, SHUT_RDWR);
	/* So few numbers fit a pipe at any time (PORT_LINKS_MAX, and what is being answered). */
	if (write(end->closer, &fd, sizeof fd) != (ssize_t)sizeof fd)
		abort();
}

static void on_port_poll_closed(uv_handle_t *h)
{
	struct port *p = h->data;

	if (!--p->handles)
		free(p);
}

void port_end(struct port *p)
{
	struct ports_end *end = p->end;
	size_t i = 0;

	port_links_end(p);
	uv_poll_stop(&p->listener_poll);
	uv_poll_stop(&p->lane_poll);
	uv_close((uv_handle_t *)&p->listener_poll, on_port_poll_closed);
	uv_close((uv_handle_t *)&p->lane_poll, on_port_poll_closed);
	close(p->listener);
	close(p->lane);
	while (end->port[i] != p)
		i++;
	end->port[i] = end->port[--end->nports];
}

static void on_port_client(uv_poll_t *poll, int status, int events)
{
	struct port *p = poll->data;

	(void)status;
	(void)events;
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int client = accept4(p->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (client < 0)
			return;
		port_link_begin(p, client);
	}
}

static void on_port_lane(uv_poll_t *poll, int status, int events)
{
	struct port *p = poll->data;

	(void)status;
	(void)events;
	for (int i = 0; i < ANSWERS_AT_ONCE; i++) {
		uint32_t number;
		int fd, error, r = lane_port_answer(p->lane, &number, &fd, &error);

		if (r < 0)
			port_end(p); /* whoever asks finds it lost */
		if (r <= 0)
			return;
		port_link_dialled(p, number, fd);
	}
}

void port_begin(struct ports_end *end, uint16_t port, int listener, int lane)
{
	struct port *p = xcalloc(1, sizeof *p);

	*p = (struct port){
		.end = end, .listener = listener, .lane = lane, .handles = 2, .figures.port = port};
	/* They are sockets, which a loop takes; it makes them not to wait. */
	uv_poll_init(&end->loop, &p->listener_poll, listener);
	uv_poll_init(&end->loop, &p->lane_poll, lane);
	p->listener_poll.data = p->lane_poll.data = p;
	uv_poll_start(&p->listener_poll, UV_READABLE, on_port_client);
	uv_poll_start(&p->lane_poll, UV_READABLE, on_port_lane);
	end->port[end->nports++] = p;
}

static struct port *find_port(const struct ports_end *end, uint16_t port)
{
	for (size_t i = 0; i < end->nports; i++)
		if (end->port[i]->figures.port == port)
			return end->port[i];
	return NULL;
}

static void say_done(int conn, int error)
{
	const struct port_said said = {.error = error};

	send(conn, &said, sizeof said, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void say_figures(const struct ports_end *end, int conn)
{
	struct {
		struct port_said said;
		struct port_figures figures[PORTS_MAX];
	} answer = {.said.n = (uint32_t)end->nports};

	for (size_t i = 0; i < end->nports; i++)
		answer.figures[i] = end->port[i]->figures;
	send(conn, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* True: the descriptors are kept. */
static bool take_port(struct ports_end *end, int conn, uint16_t port, const int *fds, int n)
{
	int error = n != PORTS_FDS_TOLD    ? EPROTO
		: find_port(end, port)     ? EEXIST
		: end->nports == PORTS_MAX ? EMFILE
					   : 0;

	if (!error)
		port_begin(end, port, fds[PORTS_LISTENER], fds[PORTS_LANE]);
	say_done(conn, error);
	return !error;
}

/* True: the connection is kept, and our end tells that we have ended. */
static bool drop_port(struct ports_end *end, int conn, uint16_t port)
{
	struct port *p = find_port(end, port);

	if (p)
		port_end(p);
	say_done(conn, p ? 0 : ENOENT);
	if (end->nports)
		return false;
	uv_stop(&end->loop);
	return true;
}

static bool is_owner(int conn, uid_t owner)
{
	struct ucred peer;
	socklen_t len = sizeof peer;

	return !getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
		(peer.uid == owner || !peer.uid);
}

/* True: the connection is kept. */
static bool answer_question(struct ports_end *end, int conn)
{
	const struct timeval soon = {0, 200000};
	int fds[PORTS_FDS_TOLD], n = 0;
	struct port_question q;
	bool kept = false, taken = false;

	setsockopt(conn, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
	if (!is_owner(conn, end->owner) || egress_hear(conn, &q, sizeof q, fds, &n))
		return false;
	if (q.what == PORTS_ASK)
		say_figures(end, conn);
	else if (q.what == PORTS_OPEN)
		taken = take_port(end, conn, q.port, fds, n);
	else if (q.what == PORTS_CLOSE)
		kept = drop_port(end, conn, q.port);
	for (int i = 0; i < n && !taken; i++)
		close(fds[i]);
	return kept;
}

static void on_question(uv_poll_t *poll, int status, int events)
{
	int conn = accept4(PORTS_FD_CONTROL, NULL, NULL, SOCK_CLOEXEC);

	(void)status;
	(void)events;
	if (conn >= 0 && !answer_question(poll->data, conn))
		close(conn);
}

static void on_init_gone(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	uv_stop(poll->loop);
}

static int watch_told(struct ports_end *end, uv_poll_t *p, int fd, uv_poll_cb fn)
{
	p->data = end;
	return uv_poll_init(&end->loop, p, fd) || uv_poll_start(p, UV_READABLE, fn) ? -1 : 0;
}

int port_main(struct err *e)
{
	AUTO_FREE struct ports_end *end = xcalloc(1, sizeof *end);

	end->owner = geteuid();
	if (end_confine(e) || start_closer(end, e))
		return -1;
	end->links_max = end_room_for(PORT_LINKS_MAX, 2);
	if (uv_loop_init(&end->loop) ||
		watch_told(end, &end->control, PORTS_FD_CONTROL, on_question) ||
		watch_told(end, &end->guest, PORTS_FD_GUEST, on_init_gone))
		return err_set(
			e, ERR_FAILED, "berth-egress is started by berth port open, not by hand");
	uv_run(&end->loop, UV_RUN_DEFAULT);
	return 0; /* what is open ends with this process; a close that waits does not hold it up */
}
