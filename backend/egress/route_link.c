/*
 * route_link.c - serves one request through a route: reads and checks it, adds the key, streams the answer.
 *
 * One request a connection: nothing that follows could be taken for another.  The key is in the request that the host
 * makes and nowhere else; what comes back goes through a mask.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "egress/routes.h"

#define HEAD_LATE_MS 10000
#define QUIET_MS 600000
#define FLUSH_MS 60000
#define OUT_MAX 262144 /* not yet taken by the agent; the server waits */
#define ANSWER_HEAD_MAX 65536

enum passing { PASS_HEAD, PASS_LOOKUP, PASS_RUN, PASS_FLUSH, PASS_LINGER, PASS_CLOSED };

struct route_link {
	struct end *end;
	struct route_link *next, **self;
	enum passing state;
	int client, handles;
	uv_poll_t poll;
	uv_timer_t timer;
	uv_getaddrinfo_t lookup;
	uint8_t *in;
	size_t nin;
	struct route_ask ask;
	struct route *route;            /* NULL: not known yet */
	struct egress_reached *reached; /* NULL: not yet */
	struct route_body body;
	struct route_answer answer;
	struct transfer transfer;
	struct mask mask;
	struct token_scan scan;
	struct str out, piece;
	size_t sent;
	bool starved,
		blocked; /* the server was told to wait for the agent's body; for the agent to read */
	bool slow[END_WAYS];          /* for the rate of its agent */
	bool told, chunked, bodyless; /* the answer's head is in `out`; how its body is sent */
	bool lost;                    /* the agent has gone */
	bool charged;                 /* what it cost was added, if anything */
	bool dialled, barred;         /* an address of its server was; another may not be */
	struct egress_address at;     /* that it leads to; family 0: not known yet, or not here */
	const char *why;              /* what we did not like of the answer or the body */
	uint64_t id, up, down;
};

static void drive_route(struct route_link *l);

static void give_route_back(struct route_link *l)
{
	if (--l->handles)
		return;
	route_ask_release(&l->ask);
	str_release(&l->answer.lines);
	str_release(&l->out);
	str_release(&l->piece);
	free(l->in);
	free(l);
}

static void on_route_handle_closed(uv_handle_t *h)
{
	give_route_back(h->data);
}

/* Its server takes a body, or answers. */
static void note_route_reached(struct route_link *l)
{
	if (!l->reached)
		l->reached = reached_add(l->end, &l->route->to.at, true);
}

static void note_route_bytes(struct route_link *l, size_t up, size_t down)
{
	struct egress_event *v = end_event(l->end, l->id);

	l->up += up;
	l->down += down;
	l->end->usage.up += up;
	l->end->usage.down += down;
	note_route_reached(l);
	reached_count(l->reached, up, down);
	l->route->bytes += up + down;
	l->route->figures->up += up;
	l->route->figures->down += down;
	if (v) {
		v->up = l->up;
		v->down = l->down;
	}
}

static void charge_route(struct route_link *l, bool whole)
{
	if (l->told && !l->charged && l->answer.status < 300)
		routes_charge(l->end->routes, l->route, &l->scan, l->up, l->down, whole);
	l->charged = true;
}

static void close_route(struct route_link *l)
{
	struct egress_event *v = end_event(l->end, l->id);

	if (l->state == PASS_CLOSED)
		return;
	charge_route(l, false);
	l->state = PASS_CLOSED;
	if (v)
		v->open = 0;
	transfer_end(&l->transfer);
	uv_close((uv_handle_t *)&l->poll, on_route_handle_closed);
	uv_close((uv_handle_t *)&l->timer, on_route_handle_closed);
	close(l->client);
	*l->self = l->next;
	if (l->next)
		l->next->self = l->self;
	l->end->usage.open--;
	l->end->routes->nlinks--;
}

static void on_route_late(uv_timer_t *t)
{
	close_route(t->data);
}

static void on_route_ready(uv_poll_t *p, int status, int events)
{
	(void)status; /* found by what is tried next */
	(void)events;
	drive_route(p->data);
}

static void watch_route(struct route_link *l)
{
	int events = l->sent < l->out.len ? UV_WRITABLE : 0;

	if (l->state == PASS_CLOSED)
		return;
	if (l->state == PASS_HEAD || l->state == PASS_LINGER ||
		(l->state == PASS_RUN && l->body.state != BODY_DONE && l->nin < FRONT_HEAD_MAX))
		events |= UV_READABLE;
	if (events)
		uv_poll_start(&l->poll, events, on_route_ready);
	else
		uv_poll_stop(&l->poll);
}

static void send_out(struct route_link *l)
{
	while (l->sent < l->out.len && !l->lost) {
		ssize_t n = send(l->client, l->out.s + l->sent, l->out.len - l->sent,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		l->lost = n <= 0;
		l->sent += n > 0 ? (size_t)n : 0;
	}
	str_clear(&l->out);
	l->sent = 0;
}

static void finish_route(struct route_link *l)
{
	transfer_end(&l->transfer);
	l->state = PASS_FLUSH;
	uv_timer_start(&l->timer, on_route_late, FLUSH_MS, 0);
	drive_route(l);
}

static void note_route_verdict(struct route_link *l, enum egress_verdict v)
{
	struct egress_event *event = end_event(l->end, l->id);

	l->end->usage.refused += v != EGRESS_ALLOWED;
	if (l->route)
		l->route->figures->refused += v != EGRESS_ALLOWED;
	if (!event)
		return;
	if (l->route)
		event->to = l->route->to.at;
	event->verdict = (uint8_t)v;
	event->open = v == EGRESS_ALLOWED;
	event->took_us = (clock_wall_ms() - event->at_ms) * 1000;
}

static void refuse_route(
	struct route_link *l, enum egress_verdict v, const char *status, const char *why)
{
	AUTO_STR struct str body = STR_INIT;

	note_route_verdict(l, v);
	str_addf(&body, "berth: %s\n", why);
	str_addf(&l->out,
		"HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\nConnection: "
		"close\r\n\r\n%s",
		status, body.len, body.s);
	finish_route(l);
}

/* --- called by libcurl --- */

static size_t wait_for_rate(struct route_link *l, int way)
{
	l->slow[way] = true;
	end_await_rate(l->end);
	return TRANSFER_LATER;
}

static size_t give_body(void *ctx, char *out, size_t cap)
{
	struct route_link *l = ctx;
	struct relay_rate *rate = &l->end->rate[END_UP];
	size_t used, may = relay_rate_take(rate, l->nin < cap ? l->nin : cap);
	ssize_t n;

	if (l->nin && !may)
		return wait_for_rate(l, END_UP);
	n = route_body_take(&l->body, (const char *)l->in, l->nin, out, l->nin ? may : cap, &used);
	if (rate->a_second)
		rate->left += may - (n > 0 ? (size_t)n : 0);
	if (n < 0) {
		l->why = "the chunks of the request's body are malformed";
		return TRANSFER_FAIL;
	}
	memmove(l->in, l->in + used, l->nin - used);
	l->nin -= used;
	note_route_bytes(l, (size_t)n, 0);
	l->starved = !n && l->body.state != BODY_DONE;
	watch_route(l);
	return l->starved ? TRANSFER_LATER : (size_t)n;
}

/* What the route names as an address or as this machine was written down by a person; a name is judged as those of rules. */
static bool may_dial_route(
	const struct end *end, const struct route *r, const struct egress_address *a)
{
	const struct egress_target *to = &r->to.at;

	if (address_denial(end, a, to->port))
		return false;
	if (to->literal.family)
		return egress_same_address(a, &to->literal);
	return route_reaches_host(to) ? egress_loopback(a)
				      : address_may_be_dialled(end, a, to->port);
}

static void note_route_address(struct route_link *l, const struct egress_address *a)
{
	struct egress_event *v = end_event(l->end, l->id);

	l->at = *a;
	if (v)
		uv_inet_ntop(a->family, &a->v6, v->address, sizeof v->address);
}

static bool may_reach(void *ctx, const struct egress_address *a, bool connected)
{
	struct route_link *l = ctx;

	if (!may_dial_route(l->end, l->route, a)) {
		l->barred = true;
		l->dialled &= !connected; /* it was, before the rules changed */
		return false;
	}
	l->dialled = true;
	if (connected)
		note_route_address(l, a);
	return true;
}

static void tell_answer_head(struct route_link *l)
{
	AUTO_STR struct str head = STR_INIT;
	struct mask mask = l->mask;
	int64_t length = transfer_length(&l->transfer);
	const struct route_answer *a = &l->answer;

	l->told = true;
	l->scan.events = a->events;
	l->bodyless = a->status == 204 || a->status == 304 || !strcmp(l->ask.method, "HEAD");
	l->chunked = !l->bodyless && length < 0;
	str_addf(&head, "HTTP/1.1 %d %s\r\n%s", a->status, a->reason,
		a->lines.len ? a->lines.s : "");
	if (l->chunked)
		str_adds(&head, "Transfer-Encoding: chunked\r\n");
	else if (length >= 0 && a->status != 204)
		str_addf(&head, "Content-Length: %lld\r\n", (long long)length);
	str_adds(&head, "Connection: close\r\n\r\n");
	mask_add(&mask, head.s, head.len, &l->out);
	mask_end(&mask, &l->out);
	send_out(l);
}

static int hear_answer_line(void *ctx, const char *line, size_t n)
{
	struct route_link *l = ctx;

	if (l->told)
		return 0; /* a trailer */
	note_route_reached(l);
	answer_line(&l->answer, line, n);
	if (l->answer.lines.len > ANSWER_HEAD_MAX)
		l->why = "the head of the server's answer is too long";
	if (n > 2 || l->answer.status < 200)
		return l->why ? -1 : 0;
	/* In pieces that an agent chooses, or packed, a key is not found. */
	if (l->answer.encoded || l->answer.status == 206)
		l->why =
			"the server's answer is compressed or partial, so a key in it could not be masked";
	if (!l->why)
		tell_answer_head(l);
	watch_route(l);
	return l->why ? -1 : 0;
}

static void add_answer_piece(struct route_link *l)
{
	if (l->piece.len && l->chunked)
		str_addf(&l->out, "%zx\r\n", l->piece.len);
	str_add(&l->out, l->piece.s, l->piece.len);
	if (l->piece.len && l->chunked)
		str_adds(&l->out, "\r\n");
	str_clear(&l->piece);
}

static size_t hear_answer_body(void *ctx, const char *bytes, size_t n)
{
	struct route_link *l = ctx;

	if (l->out.len - l->sent > OUT_MAX) {
		l->blocked = true;
		return TRANSFER_LATER;
	}
	if (!relay_rate_take_whole(&l->end->rate[END_DOWN], n))
		return wait_for_rate(l, END_DOWN);
	note_route_bytes(l, 0, n);
	token_scan_add(&l->scan, bytes, n);
	mask_add(&l->mask, bytes, n, &l->piece);
	add_answer_piece(l);
	send_out(l);
	uv_timer_start(&l->timer, on_route_late, QUIET_MS, 0);
	watch_route(l);
	return l->lost ? TRANSFER_FAIL : n;
}

/* --- and what it says in the end, outside of it --- */

static void refuse_address(struct route_link *l, const char *why_not)
{
	AUTO_STR struct str why = STR_INIT;
	char target[EGRESS_HOST_MAX + 8];

	egress_write_target(&l->route->to.at, target);
	str_addf(&why, "the route %s: %s %s", l->route->name, target, why_not);
	refuse_route(l, EGRESS_NO_ADDRESS, "502 Bad Gateway", why.s);
}

static void refuse_private(struct route_link *l)
{
	refuse_address(l, "resolves only to private or local addresses, and no rule allows them");
}

static void refuse_unanswered(struct route_link *l, const char *trouble)
{
	AUTO_STR struct str why = STR_INIT;

	if (l->barred && !l->dialled) {
		refuse_private(l);
		return;
	}
	str_addf(&why, "the route %s: %s", l->route->name,
		l->why            ? l->why
			: trouble ? trouble
				  : "no answer");
	refuse_route(l, EGRESS_UNREACHABLE, "502 Bad Gateway", why.s);
}

static void on_answered(void *ctx, const char *trouble)
{
	struct route_link *l = ctx;

	charge_route(l, !l->lost && !trouble);
	if (l->lost || (l->told && trouble)) {
		close_route(l); /* without its end, as the server's had none */
		return;
	}
	if (!l->told) {
		refuse_unanswered(l, trouble);
		return;
	}
	mask_end(&l->mask, &l->piece);
	add_answer_piece(l);
	if (l->chunked)
		str_adds(&l->out, "0\r\n\r\n");
	finish_route(l);
}

static bool is_route_denied(const struct end *end, const struct route *r)
{
	const struct egress_rule *rule = egress_judge(end->rules, end->nrules, &r->to.at);

	return rule && !rule->allow;
}

/* Its host is not denied, and where it leads to not taken since, as by a network of the engine. */
static bool may_route_stay(const struct route_link *l)
{
	return !is_route_denied(l->end, l->route) &&
		(!l->at.family || may_dial_route(l->end, l->route, &l->at));
}

/* 402, 429, 503 */
static void refuse_for_now(struct route_link *l, int status, const char *why)
{
	refuse_route(l, EGRESS_DENIED,
		status == 402           ? "402 Payment Required"
			: status == 429 ? "429 Too Many Requests\r\nRetry-After: 60"
					: "503 Service Unavailable",
		why);
}

/* Does a route lead there, and may it be asked that now? */
static bool judge_route(struct route_link *l)
{
	struct routes *r = l->end->routes;
	AUTO_STR struct str why = STR_INIT;
	int status;

	l->route = routes_find(r, l->ask.name);
	if (!l->route) {
		str_addf(&why,
			"route \"%s\" not found; if the team file has it, the operator must run berth up",
			l->ask.name);
		refuse_route(l, EGRESS_NO_RULE, r->n ? "404 Not Found" : "503 Service Unavailable",
			why.s);
		return false;
	}
	if (is_route_denied(l->end, l->route) ||
		!route_permits(l->route->permit, l->route->npermits, l->ask.method,
			strlen(l->ask.method), l->ask.target.s, l->ask.path)) {
		str_addf(&why,
			"the route %s does not allow %s %.*s; the operator can add it to its allow: in the team file",
			l->route->name, l->ask.method, (int)(l->ask.path < 200 ? l->ask.path : 200),
			l->ask.target.s);
		refuse_route(l, EGRESS_NO_RULE, "403 Forbidden", why.s);
		return false;
	}
	status = routes_refuse(l->route, clock_mono_ns() / 1000000, &why);
	if (status)
		refuse_for_now(l, status, why.s);
	return !status;
}

/* By a proxy, which is asked for `at` in the name's place; NULL: for the name. */
static void begin_request(
	struct route_link *l, const struct egress_rule *proxy, const struct egress_address *at)
{
	struct err why = ERR_INIT;

	l->state = PASS_RUN;
	l->transfer = (struct transfer){.ctx = l,
		.give = give_body,
		.head = hear_answer_line,
		.body = hear_answer_body,
		.done = on_answered,
		.reach = may_reach,
		.curl = l->end->routes->curl,
		.proxy = proxy,
		.at = at ? *at : (struct egress_address){0},
		.rate = egress_rate(l->end->rules, l->end->nrules),
		.login = l->end->routes->login.s};
	if (transfer_begin(&l->transfer, l->route, &l->ask, &why)) {
		refuse_route(l, EGRESS_UNREACHABLE, "502 Bad Gateway", why.msg);
		return;
	}
	note_route_verdict(l, EGRESS_ALLOWED);
	relay_rate_owe(&l->end->rate[END_UP], l->ask.used);
	l->route->requests++;
	l->route->figures->requests++;
	uv_timer_start(&l->timer, on_route_late, QUIET_MS, 0);
}

/* For a proxy, which must be trusted to be given a name that is not known here.  `at`, NULL: none, may be dialled. */
static void begin_by_proxy(struct route_link *l, bool known, const struct egress_address *at)
{
	const struct egress_rule *proxy = address_upstream(l->end, at);
	bool trusted = proxy && proxy->upstream & EGRESS_UPSTREAM_TRUSTED;

	if (at)
		note_route_address(l, at);
	if (known && !at)
		refuse_private(l);
	else if (!known && !trusted)
		refuse_address(l,
			"cannot be resolved here, and the upstream proxy is not trusted to resolve it; the "
			"operator can allow that (upstream: {trusted: true})");
	else
		begin_request(l, proxy, trusted ? NULL : at);
}

static void on_route_looked_up(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
	struct route_link *l = req->data;
	struct egress_address a = {0};
	const struct addrinfo *i;

	if (l->state == PASS_LOOKUP) {
		for (i = found; i; i = i->ai_next) {
			a = address_read(i->ai_addr);
			if (may_dial_route(l->end, l->route, &a))
				break;
		}
		begin_by_proxy(l, !status, i ? &a : NULL);
		watch_route(l);
	}
	uv_freeaddrinfo(found);
	give_route_back(l);
}

static void look_up_route(struct route_link *l)
{
	const struct addrinfo want = {.ai_socktype = SOCK_STREAM};

	l->state = PASS_LOOKUP;
	l->lookup.data = l;
	if (uv_getaddrinfo(&l->end->loop, &l->lookup, on_route_looked_up, l->route->to.at.host,
		    NULL, &want))
		refuse_address(l, "cannot be resolved now");
	else
		l->handles++;
}

static void start_request(struct route_link *l)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	const struct egress_target *to;

	l->nin -= l->ask.used;
	memmove(l->in, l->in + l->ask.used, l->nin);
	if (!judge_route(l))
		return;
	l->mask = (struct mask){l->route->key, l->route->back, l->route->nkey, 0};
	route_body_init(&l->body, &l->ask);
	if (l->ask.expects && l->body.state != BODY_DONE)
		str_adds(&l->out, go_on);
	to = &l->route->to.at;
	/* From here each address is judged when it is dialled, and none is looked up for a connection that there is. */
	if (route_reaches_host(to) || !egress_upstream(l->end->rules, l->end->nrules))
		begin_request(l, NULL, NULL);
	else if (!to->literal.family)
		look_up_route(l);
	else
		begin_by_proxy(l, true,
			may_dial_route(l->end, l->route, &to->literal) ? &to->literal : NULL);
}

static void hear_route_head(struct route_link *l)
{
	struct err why = ERR_INIT;
	int r = route_read_request((const char *)l->in, l->nin, &l->ask, &why);

	if (r > 0)
		start_request(l);
	else if (r < 0)
		refuse_route(l, EGRESS_MALFORMED, "400 Bad Request", why.msg);
}

/* Only while some of the request is to come. */
static int read_agent_more(struct route_link *l)
{
	ssize_t n;

	if (l->nin == FRONT_HEAD_MAX)
		return 0;
	n = recv(l->client, l->in + l->nin, FRONT_HEAD_MAX - l->nin, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	l->nin += n > 0 ? (size_t)n : 0;
	return n > 0 ? 0 : -1;
}

static void run_route(struct route_link *l)
{
	bool gone = l->body.state != BODY_DONE && read_agent_more(l);
	bool fed, freed;

	send_out(l);
	if (gone || l->lost) {
		close_route(l);
		return;
	}
	fed = l->starved && l->nin;
	freed = l->blocked && l->out.len - l->sent <= OUT_MAX / 2;
	l->starved &= !fed;
	l->blocked &= !freed;
	if (fed || freed)
		transfer_go_on(&l->transfer);
	uv_timer_start(&l->timer, on_route_late, QUIET_MS, 0);
}

void route_count_waiting(const struct end *end, unsigned waiting[END_WAYS])
{
	for (const struct route_link *l = end->routes->links; l; l = l->next)
		for (int way = 0; way < END_WAYS; way++)
			waiting[way] += l->slow[way];
}

void route_rate_go_on(struct end *end)
{
	for (struct route_link *l = end->routes->links; l; l = l->next) {
		if (l->state != PASS_RUN || !(l->slow[END_UP] || l->slow[END_DOWN]))
			continue;
		l->slow[END_UP] = l->slow[END_DOWN] = false;
		transfer_go_on(&l->transfer);
		watch_route(l);
	}
}

static void drain_agent(struct route_link *l)
{
	char bin[4096];
	ssize_t n;

	do
		n = recv(l->client, bin, sizeof bin, MSG_DONTWAIT);
	while (n > 0);
	if (!n || (errno != EAGAIN && errno != EINTR))
		close_route(l);
}

static void drive_route(struct route_link *l)
{
	switch (l->state) {
	case PASS_HEAD:
		if (read_agent_more(l))
			close_route(l);
		else
			hear_route_head(l);
		break;
	case PASS_LOOKUP: send_out(l); break;
	case PASS_RUN: run_route(l); break;
	case PASS_FLUSH:
		send_out(l);
		if (l->lost) {
			close_route(l);
		} else if (!l->out.len) {
			shutdown(l->client, SHUT_WR);
			l->state = PASS_LINGER;
			uv_timer_start(&l->timer, on_route_late, 2000, 0);
		}
		break;
	case PASS_LINGER: drain_agent(l); break;
	case PASS_CLOSED: return;
	}
	watch_route(l);
}

void route_begin(struct end *end, int client, uint8_t *in, size_t nin, uint64_t id)
{
	struct routes *r = end->routes;
	struct route_link *l = xcalloc(1, sizeof *l);

	*l = (struct route_link){.end = end,
		.next = r->links,
		.self = &r->links,
		.client = client,
		.in = in,
		.nin = nin,
		.handles = 2,
		.id = id};
	str_init(&l->ask.target);
	str_init(&l->ask.headers);
	str_init(&l->answer.lines);
	str_init(&l->out);
	str_init(&l->piece);
	if (l->next)
		l->next->self = &l->next;
	r->links = l;
	r->nlinks++;
	end->usage.open++;
	uv_poll_init(&end->loop, &l->poll, client);
	uv_timer_init(&end->loop, &l->timer);
	l->poll.data = l->timer.data = l;
	uv_timer_start(&l->timer, on_route_late, HEAD_LATE_MS, 0);
	if (r->nlinks > ROUTE_LINKS_MAX)
		refuse_route(
			l, EGRESS_FULL, "503 Service Unavailable", "too many requests at once");
	else
		hear_route_head(l);
	watch_route(l);
}

void route_judge_again(struct end *end, bool all)
{
	struct route_link *next;

	for (struct route_link *l = end->routes->links; l; l = next) {
		next = l->next;
		if ((l->state != PASS_RUN && l->state != PASS_LOOKUP) ||
			(!all && may_route_stay(l)))
			continue;
		note_route_verdict(l, EGRESS_CLOSED);
		close_route(l);
	}
}

/* A route that goes while an answer is still being sent is not looked at any more: what is sent is masked already. */
int routes_told(struct end *end, const char *text, size_t len, struct err *e)
{
	struct routes *r = end->routes;

	if (r->told.len == len && (!len || !memcmp(r->told.s, text, len)))
		return 0;
	/* A login of the upstream proxy needs no library. */
	if (!r->curl && memmem(text, len, "route ", 6) &&
		!(r->curl = route_curl_load(&end->loop, e)))
		return -1;
	route_judge_again(end, true);
	return routes_read(r, text, len, e);
}
