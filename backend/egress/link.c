/* link.c - serves one connection of an agent: request, answer and data. */
#include "egress/link.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "egress/routes.h"
#include "egress/upstream.h"

#define IDLE_MS 600000
#define LINGER_MS 2000 /* for a refusal to be read */
#define RATE_MS 20     /* what waits for its rate is read again */
#define SOCKS_REFUSED 2
#define SOCKS_NO_HOST 4

static void drive_link(struct link *l);

static void wipe_via(struct link *l)
{
	if (l->via.len)
		explicit_bzero(l->via.s, l->via.len);
	str_release(&l->via);
	str_release(&l->reply);
}

void link_give_back(struct link *l)
{
	if (l->handles || l->looking_up)
		return;
	str_release(&l->ask.head);
	wipe_via(l);
	free(l->in);
	free(l->out);
	free(l);
}

static void on_handle_closed(uv_handle_t *h)
{
	struct link *l = h->data;

	l->handles--;
	link_give_back(l);
}

static void on_server_closed(uv_handle_t *h)
{
	free(h);
}

void link_drop_server(struct link *l)
{
	if (l->server < 0)
		return;
	uv_poll_stop(l->server_poll);
	uv_close((uv_handle_t *)l->server_poll, on_server_closed);
	close(l->server);
	l->server_poll = NULL;
	l->server = -1;
}

static void count_bytes(struct link *l)
{
	struct egress_event *e = end_event(l->end, l->id);
	struct egress_usage *u = &l->end->usage;
	uint64_t up = l->up.moved + l->sent, down = l->down.moved;

	u->up += up - l->counted_up;
	u->down += down - l->counted_down;
	reached_count(l->reached, up - l->counted_up, down - l->counted_down);
	l->counted_up = up;
	l->counted_down = down;
	if (!e)
		return;
	e->up = up;
	e->down = down;
}

void link_close(struct link *l)
{
	struct egress_event *e = end_event(l->end, l->id);

	if (l->state == LINK_CLOSED)
		return;
	if (l->state == LINK_HELD)
		asked_left(l->end, &l->ask.to);
	count_bytes(l);
	if (e)
		e->open = 0;
	l->state = LINK_CLOSED;
	relay_release(&l->up, &l->end->pipes);
	relay_release(&l->down, &l->end->pipes);
	link_drop_server(l);
	uv_poll_stop(&l->client_poll);
	uv_close((uv_handle_t *)&l->client_poll, on_handle_closed);
	uv_close((uv_handle_t *)&l->timer, on_handle_closed);
	close(l->client);
	*l->self = l->next;
	if (l->next)
		l->next->self = l->self;
	l->end->usage.open--;
	if (l->looking_up)
		uv_cancel((uv_req_t *)&l->lookup);
}

static void on_link_late(uv_timer_t *t)
{
	link_close(t->data);
}

void link_wait(struct link *l, uint64_t ms)
{
	uv_timer_start(&l->timer, on_link_late, ms, 0);
}

static void on_ready(uv_poll_t *p, int status, int events)
{
	(void)status; /* what is wrong is found by what is tried next */
	(void)events;
	drive_link(p->data);
}

static void watch_socket(uv_poll_t *p, int events)
{
	if (events)
		uv_poll_start(p, events, on_ready);
	else
		uv_poll_stop(p);
}

/* What each socket is watched for follows from what can be done next. */
void link_watch(struct link *l)
{
	int client = 0, server = 0;

	switch (l->state) {
	case LINK_GREETING:
	case LINK_HEAD:
	case LINK_SOCKS:
	case LINK_HELLO:
	case LINK_LINGER: client = UV_READABLE; break;
	case LINK_LOOKUP:
		break; /* a client that goes is found out later: half closed looks the same */
	case LINK_HELD: client = UV_DISCONNECT; break;
	case LINK_DIAL: server = UV_WRITABLE; break;
	case LINK_UPSTREAM: server = UV_READABLE; break;
	case LINK_RELAY:
		server |= (l->sent < l->nout && !l->up.starved) || relay_wants_write(&l->up)
			? UV_WRITABLE
			: 0;
		server |= relay_wants_read(&l->down) ? UV_READABLE : 0;
		client |= relay_wants_write(&l->down) ? UV_WRITABLE : 0;
		client |= l->sent == l->nout && relay_wants_read(&l->up) ? UV_READABLE : 0;
		break;
	case LINK_CLOSED: return;
	}
	watch_socket(&l->client_poll, client);
	if (l->server >= 0)
		watch_socket(l->server_poll, server);
}

void link_note(struct link *l, enum egress_verdict v)
{
	struct egress_event *e = end_event(l->end, l->id);

	if (v != EGRESS_ALLOWED)
		l->end->usage.refused++;
	if (!e)
		return;
	if (l->asked)
		e->to = l->ask.to;
	e->verdict = (uint8_t)v;
	e->took_us = (clock_mono_ns() - l->begun_ns) / 1000;
}

/* Said to the client; what it has still to send is read until it has seen it. */
void link_refuse(struct link *l, enum egress_verdict v, const char *why)
{
	static const char *const status[] = {[EGRESS_MALFORMED] = "400 Bad Request",
		[EGRESS_UNREACHABLE] = "502 Bad Gateway",
		[EGRESS_NO_ADDRESS] = "502 Bad Gateway"};
	AUTO_STR struct str body = STR_INIT, head = STR_INIT;
	const char *line = v < COUNT(status) && status[v] ? status[v] : "403 Forbidden";

	if (l->state == LINK_HELD)
		asked_left(l->end, &l->ask.to);
	link_note(l, v);
	link_drop_server(l);
	if (l->ask.kind == FRONT_SOCKS && l->state != LINK_HELLO) {
		const uint8_t no[10] = {SOCKS_VERSION,
			v == EGRESS_UNREACHABLE || v == EGRESS_NO_ADDRESS ? SOCKS_NO_HOST
									  : SOCKS_REFUSED,
			0, 1};

		send(l->client, no, sizeof no, MSG_NOSIGNAL | MSG_DONTWAIT);
	} else if (l->state != LINK_HELLO) {
		str_addf(&body, "berth: %s\n", why);
		str_addf(&head,
			"HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: "
			"%zu\r\nConnection: close\r\n\r\n%s",
			line, body.len, body.s);
		send(l->client, head.s, head.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	shutdown(l->client, SHUT_WR);
	l->state = LINK_LINGER;
	link_wait(l, LINGER_MS);
}

void link_refuse_target(struct link *l, enum egress_verdict v, const char *fmt)
{
	char target[EGRESS_HOST_MAX + 8];
	AUTO_STR struct str why = STR_INIT;

	egress_write_target(&l->ask.to, target);
	str_addf(&why, fmt, target);
	link_refuse(l, v, why.s);
}

/* Everything that a connection needs is there: say so to the client, and let bytes pass. */
static void open_link(struct link *l)
{
	struct egress_event *e = end_event(l->end, l->id);
	const uint8_t yes[10] = {SOCKS_VERSION, 0, 0, 1};
	static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	ssize_t n = 1;

	if (l->ask.kind == FRONT_SOCKS)
		n = send(l->client, yes, sizeof yes, MSG_NOSIGNAL | MSG_DONTWAIT);
	else if (l->ask.kind == FRONT_CONNECT)
		n = send(l->client, established, sizeof established - 1,
			MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n <= 0) {
		link_close(l);
		return;
	}
	link_note(l, EGRESS_ALLOWED);
	if (e)
		e->open = 1;
	relay_init(&l->up, l->client, l->server, RELAY_ALL, &l->end->rate[END_UP]);
	relay_init(&l->down, l->server, l->client, RELAY_ALL, &l->end->rate[END_DOWN]);
	if (link_wants_tls(l)) {
		l->state = LINK_HELLO;
		link_wait(l, LINK_HEAD_MS);
		return;
	}
	l->state = LINK_RELAY;
	link_wait(l, IDLE_MS);
}

/* What is to be sent before bytes are relayed, and how much of the client's may follow. */
static void pass_begun(struct link *l)
{
	size_t rest = l->nin - l->ask.used;
	AUTO_STR struct str out = STR_INIT;

	l->reached = reached_add(l->end, &l->ask.to, false);
	if (l->ask.kind == FRONT_FORWARD) {
		rest = rest < l->ask.body ? rest : (size_t)l->ask.body;
		str_add(&out, l->ask.head.s, l->ask.head.len);
		relay_init(&l->up, l->client, l->server, l->ask.body - rest, &l->end->rate[END_UP]);
	}
	str_add(&out, l->in + l->ask.used, rest);
	l->nout = out.len;
	l->out = str_detach(&out);
	free(l->in);
	l->in = NULL;
	l->nin = 0;
}

static void hear_hello(struct link *l);

/* Its server is there: the client is told, and bytes pass. */
static void begin_passing(struct link *l)
{
	open_link(l);
	if (l->state == LINK_HELLO)
		hear_hello(l);
	else if (l->state == LINK_RELAY)
		pass_begun(l);
}

static void ask_proxy(struct link *l)
{
	size_t len = l->via.len;
	ssize_t n = send(l->server, l->via.s, len, MSG_NOSIGNAL | MSG_DONTWAIT);

	wipe_via(l);
	l->state = LINK_UPSTREAM;
	link_wait(l, LINK_HEAD_MS);
	/* It is less than any socket holds that nothing was sent on. */
	if (n != (ssize_t)len)
		link_refuse_target(
			l, EGRESS_UNREACHABLE, "the upstream proxy for %s closed the connection");
}

static void refuse_by_proxy(struct link *l, int status)
{
	AUTO_STR struct str why = STR_INIT;
	char target[EGRESS_HOST_MAX + 8];

	egress_write_target(&l->ask.to, target);
	if (status == 407)
		str_addf(&why,
			"the upstream proxy for %s rejected the login (407); the operator can fix it",
			target);
	else
		str_addf(&why, "the upstream proxy refused %s (%d); do not try another way", target,
			status);
	link_refuse(l, EGRESS_UNREACHABLE, why.s);
}

static void hear_proxy(struct link *l)
{
	int status, r = upstream_hear(l->server, &l->reply, &status);

	if (!r)
		return;
	if (!status)
		link_refuse_target(
			l, EGRESS_UNREACHABLE, "the upstream proxy for %s sent an invalid answer");
	else if (status < 200 || status > 299)
		refuse_by_proxy(l, status);
	else
		begin_passing(l);
}

static void on_dialled(struct link *l)
{
	int error = 0;
	socklen_t len = sizeof error;

	if (getsockopt(l->server, SOL_SOCKET, SO_ERROR, &error, &len) || error) {
		link_drop_server(l);
		link_dial_next(l);
		return;
	}
	if (l->by_proxy)
		ask_proxy(l);
	else
		begin_passing(l);
}

/* More of what the client says.  -1: it has gone, or says too much. */
static int read_client(struct link *l)
{
	ssize_t n;

	if (!l->in)
		l->in = xmalloc(FRONT_HEAD_MAX);
	if (l->nin == FRONT_HEAD_MAX)
		return 0;
	n = recv(l->client, l->in + l->nin, FRONT_HEAD_MAX - l->nin, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	l->nin += (size_t)n;
	return 0;
}

static void forget_read(struct link *l, size_t used)
{
	memmove(l->in, l->in + used, l->nin - used);
	l->nin -= used;
}

static void hear_greeting(struct link *l)
{
	const uint8_t no_password[2] = {SOCKS_VERSION, 0}, none[2] = {SOCKS_VERSION, 0xff};
	size_t used;
	int r;

	if (!l->nin)
		return;
	if (*l->in != SOCKS_VERSION) {
		l->state = LINK_HEAD;
		return;
	}
	r = front_read_greeting(l->in, l->nin, &used);
	if (!r)
		return;
	if (send(l->client, r > 0 ? no_password : none, 2, MSG_NOSIGNAL | MSG_DONTWAIT) != 2 ||
		r < 0) {
		link_close(l);
		return;
	}
	forget_read(l, used);
	l->state = LINK_SOCKS;
	l->ask.kind = FRONT_SOCKS;
}

/* A request for a route goes on without us; its socket is one that only the host holds. */
static bool pass_to_routes(struct link *l)
{
	uint64_t id = l->id;
	int client;

	if (l->state != LINK_HEAD || !route_asks((const char *)l->in, l->nin))
		return false;
	client = fcntl(l->client, F_DUPFD_CLOEXEC, 0);
	if (client < 0) {
		link_close(l);
		return true;
	}
	link_close(l);
	route_begin(l->end, client, STEAL(l->in), l->nin, id);
	return true;
}

static void hear_request(struct link *l)
{
	struct err why = ERR_INIT;
	uint8_t reply;
	int r;

	if (pass_to_routes(l))
		return;
	r = l->state == LINK_SOCKS ? front_read_socks(l->in, l->nin, &l->ask, &reply, &why)
				   : front_read_http((const char *)l->in, l->nin, &l->ask, &why);
	if (r > 0)
		link_judge(l);
	else if (r < 0)
		link_refuse(l, EGRESS_MALFORMED, why.msg);
}

static void hear_hello(struct link *l)
{
	char name[EGRESS_HOST_MAX];
	int r = egress_hello_name(l->in + l->ask.used, l->nin - l->ask.used, name);

	if (!r && l->nin < FRONT_HEAD_MAX)
		return;
	if (r <= 0 || strcmp(name, l->ask.to.host) != 0) {
		link_refuse(l, EGRESS_OTHER_NAME, "");
		return;
	}
	pass_begun(l);
	l->named = true;
	l->state = LINK_RELAY;
	link_wait(l, IDLE_MS);
}

/* What was read before its rate was asked: whole, but nothing while others' is still to be made up for. */
static bool may_send_begun(struct link *l)
{
	struct relay_rate *rate = &l->end->rate[END_UP];

	if (!l->paid) {
		l->paid = !rate->owed && relay_rate_take_whole(rate, l->nout);
		l->up.starved = !l->paid;
	}
	return l->paid;
}

static int send_begun(struct link *l)
{
	if (!may_send_begun(l))
		return 0;
	while (l->sent < l->nout) {
		ssize_t n = send(l->server, l->out + l->sent, l->nout - l->sent,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		l->sent += (size_t)n;
	}
	free(l->out);
	l->out = NULL;
	return 0;
}

static void move_bytes(struct link *l);

static void on_rate(uv_timer_t *t)
{
	struct end *end = t->data;
	struct link *next;
	unsigned waiting[END_WAYS] = {0};

	uv_timer_stop(t);
	for (const struct link *l = end->links; l; l = l->next) {
		waiting[END_UP] += l->up.starved;
		waiting[END_DOWN] += l->down.starved;
	}
	route_count_waiting(end, waiting);
	for (int way = 0; way < END_WAYS; way++)
		relay_rate_go_on(&end->rate[way], waiting[way]);
	for (struct link *l = end->links; l; l = next) {
		next = l->next;
		if (l->state != LINK_RELAY || !(l->up.starved || l->down.starved))
			continue;
		move_bytes(l);
		link_watch(l);
	}
	route_rate_go_on(end);
}

/* Ready for end_await_rate, which knows nothing of links. */
void link_open_rate(struct end *end)
{
	uv_timer_init(&end->loop, &end->rate_timer);
	end->rate_timer.data = end;
	uv_timer_start(&end->rate_timer, on_rate, RATE_MS, RATE_MS);
	uv_timer_stop(&end->rate_timer);
	link_set_rate(end);
}

void link_set_rate(struct end *end)
{
	for (int way = 0; way < END_WAYS; way++) {
		end->rate[way].a_second = egress_rate(end->rules, end->nrules);
		relay_rate_go_on(&end->rate[way], 0);
	}
}

static void move_bytes(struct link *l)
{
	if (send_begun(l) || (l->sent == l->nout && relay_move(&l->up, &l->end->pipes)) ||
		relay_move(&l->down, &l->end->pipes)) {
		link_close(l);
		return;
	}
	if (l->up.starved || l->down.starved)
		end_await_rate(l->end);
	/* A request of known length is over with its answer. */
	if (l->down.passed && (l->up.passed || l->ask.kind == FRONT_FORWARD)) {
		link_close(l);
		return;
	}
	uv_timer_start(&l->timer, on_link_late, IDLE_MS, 0);
	asked_traffic(l->end);
}

static void drain_client(struct link *l)
{
	char bin[4096];
	ssize_t n;

	do
		n = recv(l->client, bin, sizeof bin, MSG_DONTWAIT);
	while (n > 0);
	if (!n || (errno != EAGAIN && errno != EINTR))
		link_close(l);
}

/* Something may have become possible. */
static void drive_link(struct link *l)
{
	switch (l->state) {
	case LINK_GREETING:
	case LINK_HEAD:
	case LINK_SOCKS:
	case LINK_HELLO:
		if (read_client(l)) {
			link_close(l);
			break;
		}
		if (l->state == LINK_GREETING)
			hear_greeting(l);
		if (l->state == LINK_HELLO)
			hear_hello(l);
		else if (l->state == LINK_HEAD || l->state == LINK_SOCKS)
			hear_request(l);
		break;
	case LINK_HELD: link_close(l); break; /* nobody waits for the answer any more */
	case LINK_LOOKUP: break;
	case LINK_DIAL: on_dialled(l); break;
	case LINK_UPSTREAM: hear_proxy(l); break;
	case LINK_RELAY: move_bytes(l); break;
	case LINK_LINGER: drain_client(l); break;
	case LINK_CLOSED: return;
	}
	link_watch(l);
}

void link_begin(struct end *end, int client)
{
	struct link *l;
	int on = 1;

	end->usage.connections++;
	if (end->usage.open >= end->links_max) {
		end->usage.refused++;
		close(client);
		return;
	}
	l = xcalloc(1, sizeof *l);
	*l = (struct link){.end = end,
		.next = end->links,
		.self = &end->links,
		.client = client,
		.server = -1,
		.handles = 2,
		.id = ++end->last_id,
		.begun_ns = clock_mono_ns()};
	str_init(&l->ask.head);
	str_init(&l->via);
	str_init(&l->reply);
	relay_init(&l->up, client, -1, 0, NULL);
	relay_init(&l->down, -1, client, 0, NULL);
	if (l->next)
		l->next->self = &l->next;
	end->links = l;
	end->usage.open++;
	asked_traffic(end);
	end->event[l->id % EGRESS_EVENTS_MAX] = (struct egress_event){
		.id = l->id, .at_ms = clock_wall_ms(), .verdict = EGRESS_MALFORMED};
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	uv_poll_init(&end->loop, &l->client_poll, client);
	uv_timer_init(&end->loop, &l->timer);
	l->client_poll.data = l->timer.data = l;
	link_wait(l, LINK_HEAD_MS);
	drive_link(l);
}

void link_count(struct end *end)
{
	for (struct link *l = end->links; l; l = l->next)
		count_bytes(l);
}
