/*
 * port_link.c - copies data between a socket of this host and a socket that was made in the container.
 *
 * Whoever shares the second can let it wait (O_NONBLOCK cleared, SO_LINGER set) at any moment.  So each call on it says
 * MSG_DONTWAIT, nothing is spliced, and it is closed by another thread (port_end.c), after it was disconnected: then a close has
 * nothing to wait for either.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <berth/mem.h>

#include "egress/ports.h"

#define DIAL_MS 10000
#define IDLE_MS 3600000
#define FLUSH_MS 20
#define FLUSHES_MAX 500 /* then what the server has not read is lost */
#define ROUNDS_MAX 16   /* in one turn; others want theirs */

struct port_flow {     /* one direction */
	uint8_t *held; /* what was read and could not be sent yet */
	size_t nheld, at;
	bool ended, passed; /* nothing more comes; and the other side was told */
	uint64_t moved;
};

enum port_link_state { PORT_ASKED, PORT_DIALLED, PORT_RELAYS, PORT_FLUSHES, PORT_CLOSED };

struct port_link {
	struct port *port;
	struct port_link *next, **self;
	enum port_link_state state;
	uint32_t number;
	int client, inside; /* -1: none */
	uv_poll_t client_poll, inside_poll;
	uv_timer_t timer;
	int handles, flushes;
	struct port_flow up, down; /* from the server inside, and to it */
};

static void on_port_handle_closed(uv_handle_t *h)
{
	struct port_link *l = h->data;

	if (--l->handles)
		return;
	free(l->up.held);
	free(l->down.held);
	free(l);
}

/* Its client sees that it was cut. */
static void reset_client(int client)
{
	const struct linger at_once = {1, 0};

	setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

static void close_port_link(struct port_link *l, bool cut)
{
	if (l->state == PORT_CLOSED)
		return;
	if (l->state < PORT_RELAYS)
		l->port->figures.refused++;
	l->state = PORT_CLOSED;
	uv_poll_stop(&l->client_poll);
	uv_close((uv_handle_t *)&l->client_poll, on_port_handle_closed);
	uv_close((uv_handle_t *)&l->timer, on_port_handle_closed);
	if (l->inside >= 0) {
		uv_poll_stop(&l->inside_poll);
		uv_close((uv_handle_t *)&l->inside_poll, on_port_handle_closed);
		port_drop_inside(l->port->end, l->inside);
	}
	if (cut)
		reset_client(l->client);
	close(l->client);
	*l->self = l->next;
	if (l->next)
		l->next->self = l->self;
	l->port->figures.open--;
	l->port->end->nlinks--;
}

static void on_port_link_late(uv_timer_t *t)
{
	close_port_link(t->data, true);
}

static bool waits_for_room(int errnum)
{
	return errnum == EAGAIN || errnum == EINTR;
}

/* 1 some was sent, 0 nothing can be now, -1 broken. */
static int send_held(struct port_flow *f, int to)
{
	ssize_t n = send(to, f->held + f->at, f->nheld - f->at, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0)
		return waits_for_room(errno) ? 0 : -1;
	f->at += (size_t)n;
	f->moved += (uint64_t)n;
	if (f->at < f->nheld)
		return 1;
	free(f->held);
	f->held = NULL;
	f->nheld = f->at = 0;
	return 1;
}

/* As above, of what can be read; what cannot be sent at once is kept. */
static int read_and_send(struct port_flow *f, int from, int to, uint8_t *chunk)
{
	ssize_t n = recv(from, chunk, PORT_CHUNK, MSG_DONTWAIT), sent;

	if (n < 0)
		return waits_for_room(errno) ? 0 : -1;
	if (!n) {
		f->ended = true;
		return 1;
	}
	sent = send(to, chunk, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent < 0 && !waits_for_room(errno))
		return -1;
	sent = sent < 0 ? 0 : sent;
	f->moved += (uint64_t)sent;
	if (sent == n)
		return 1;
	f->nheld = (size_t)(n - sent);
	f->held = xmalloc(f->nheld);
	memcpy(f->held, chunk + sent, f->nheld);
	return 1;
}

static int move_flow(struct port_flow *f, int from, int to, uint8_t *chunk)
{
	for (int round = 0; round < ROUNDS_MAX && !(f->ended && !f->held); round++) {
		int r = f->held ? send_held(f, to) : read_and_send(f, from, to, chunk);

		if (r < 0)
			return -1;
		if (!r)
			break;
	}
	if (f->ended && !f->held && !f->passed) {
		shutdown(to, SHUT_WR);
		f->passed = true;
	}
	return 0;
}

/* Both have said all; what the server has still to read is waited for, but not for ever. */
static void flush_inside(uv_timer_t *t)
{
	struct port_link *l = t->data;
	int left = 0;

	if (!ioctl(l->inside, SIOCOUTQ, &left) && left && l->flushes++ < FLUSHES_MAX)
		uv_timer_start(t, flush_inside, FLUSH_MS, 0);
	else
		close_port_link(l, false);
}

static void watch_port_link(struct port_link *l);

static void move_port_link(struct port_link *l)
{
	struct port_figures *f = &l->port->figures;
	uint64_t up = l->up.moved, down = l->down.moved;
	uint8_t *chunk = l->port->end->chunk;
	bool broken = move_flow(&l->down, l->client, l->inside, chunk) ||
		move_flow(&l->up, l->inside, l->client, chunk);

	f->up += l->up.moved - up;
	f->down += l->down.moved - down;
	if (broken) {
		close_port_link(l, true);
	} else if (l->up.passed && l->down.passed) {
		l->state = PORT_FLUSHES;
		watch_port_link(l);
		flush_inside(&l->timer);
	} else {
		uv_timer_start(&l->timer, on_port_link_late, IDLE_MS, 0);
		watch_port_link(l);
	}
}

static void on_port_ready(uv_poll_t *p, int status, int events)
{
	struct port_link *l = p->data;
	int error = 0;
	socklen_t len = sizeof error;

	(void)status; /* what is wrong is found by what is tried next */
	(void)events;
	if (l->state == PORT_DIALLED) {
		if (getsockopt(l->inside, SOL_SOCKET, SO_ERROR, &error, &len) || error) {
			close_port_link(l, true);
			return;
		}
		l->state = PORT_RELAYS;
	}
	if (l->state == PORT_RELAYS)
		move_port_link(l);
}

static void watch_port_socket(uv_poll_t *p, int events)
{
	if (events)
		uv_poll_start(p, events, on_port_ready);
	else
		uv_poll_stop(p);
}

static void watch_port_link(struct port_link *l)
{
	int client = 0, inside = 0;

	if (l->state == PORT_DIALLED) {
		inside = UV_WRITABLE;
	} else if (l->state == PORT_RELAYS) {
		client = (l->up.held ? UV_WRITABLE : 0) |
			(!l->down.held && !l->down.ended ? UV_READABLE : 0);
		inside = (l->down.held ? UV_WRITABLE : 0) |
			(!l->up.held && !l->up.ended ? UV_READABLE : 0);
	}
	watch_port_socket(&l->client_poll, client);
	watch_port_socket(&l->inside_poll, inside);
}

void port_link_begin(struct port *p, int client)
{
	struct port_link *l;
	int on = 1;

	p->figures.connections++;
	if (p->end->nlinks >= p->end->links_max || lane_port_ask(p->lane, p->next)) {
		p->figures.refused++;
		reset_client(client);
		close(client);
		return;
	}
	l = xcalloc(1, sizeof *l);
	*l = (struct port_link){.port = p,
		.next = p->links,
		.self = &p->links,
		.number = p->next++,
		.client = client,
		.inside = -1,
		.handles = 2};
	if (l->next)
		l->next->self = &l->next;
	p->links = l;
	p->figures.open++;
	p->end->nlinks++;
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	uv_poll_init(&p->end->loop, &l->client_poll, client);
	uv_timer_init(&p->end->loop, &l->timer);
	l->client_poll.data = l->timer.data = l;
	uv_timer_start(&l->timer, on_port_link_late, DIAL_MS, 0);
}

void port_link_dialled(struct port *p, uint32_t number, int fd)
{
	struct port_link *l = p->links;

	while (l && (l->number != number || l->state != PORT_ASKED))
		l = l->next;
	if (!l || fd < 0 || uv_poll_init(&p->end->loop, &l->inside_poll, fd)) {
		if (fd >= 0)
			port_drop_inside(p->end, fd); /* its client has gone */
		if (l)
			close_port_link(l, true);
		return;
	}
	l->inside = fd;
	l->inside_poll.data = l;
	l->handles++;
	l->state = PORT_DIALLED;
	watch_port_link(l);
}

void port_links_end(struct port *p)
{
	while (p->links)
		close_port_link(p->links, true);
}
