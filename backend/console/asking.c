/*
 * asking.c - receives the requests of agents to reach a target, and passes decisions back to their egress processes.
 *
 * An end that goes away is looked for again once a second.  Which process asked is found on a worker thread.
 */
#include "console/roster.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/egress.h>
#include <berth/mem.h>
#include <berth/port.h>
#include <berth/message.h>

#include "observe/observe.h"

#define LOOK_EVERY_NS (1000 * INT64_C(1000000))
#define VISITS_SHOWN 64

struct asked_by {
	struct egress_target to;
	uint16_t port; /* of the client, as it was looked at; 0: nobody was looked for */
	char process[16];
};

struct asking { /* of one agent */
	struct asking *next;
	struct backend *b;
	char name[64]; /* of its container */
	int fd;        /* -1: its end is away */
	bool seen, closing, looking;
	bool heard; /* the queue has come */
	uv_poll_t poll;
	struct egress_queue q;
	struct asked_by by[EGRESS_ASKED_MAX]; /* as q.asked */
	struct blocking_task look;
	struct egress_queue looked; /* the worker's while `looking` */
	struct asked_by found[EGRESS_ASKED_MAX];
};

/* ---- who it is that asks */

static void work_on_clients(struct blocking_task *x)
{
	struct asking *k = x->data;

	for (size_t i = 0; i < k->looked.n; i++)
		if (k->found[i].port != k->looked.asked[i].port) {
			k->found[i].port = k->looked.asked[i].port;
			egress_client(k->looked.usage.init, k->found[i].port, k->found[i].process);
		}
}

static const struct asked_by *find_asker(
	const struct asked_by *by, size_t n, const struct egress_target *to)
{
	for (size_t i = 0; i < n; i++)
		if (egress_same_target(&by[i].to, to))
			return &by[i];
	return NULL;
}

/* In the order of the new queue; what was found stays with its target. */
static void keep_askers(struct asking *k, const struct asked_by *was, size_t nwas)
{
	struct asked_by now[EGRESS_ASKED_MAX] = {0};

	for (size_t i = 0; i < k->q.n; i++) {
		const struct asked_by *old = find_asker(was, nwas, &k->q.asked[i].to);

		now[i] = old ? *old : (struct asked_by){.to = k->q.asked[i].to};
		/* One name is enough: an agent that asks again and again has nothing looked for. */
		if (*now[i].process)
			now[i].port = k->q.asked[i].port;
	}
	memcpy(k->by, now, k->q.n * sizeof *now);
}

static void free_asking(struct asking *k)
{
	if (!k->closing && !k->looking)
		free(k);
}

static void look_for_clients(struct asking *k);

static void on_clients(struct blocking_task *x)
{
	struct asking *k = x->data;

	k->looking = false;
	if (k->b->stopping) {
		free_asking(k);
		return;
	}
	keep_askers(k, k->found, k->looked.n);
	publish_soon(k->b);
	look_for_clients(k);
}

static void look_for_clients(struct asking *k)
{
	bool any = false;

	for (size_t i = 0; i < k->q.n; i++)
		any |= k->q.asked[i].held && k->by[i].port != k->q.asked[i].port;
	if (!any || k->looking)
		return;
	k->looked = k->q;
	memcpy(k->found, k->by, sizeof k->found);
	k->look.data = k;
	k->looking = !blocking_start(&k->b->loop, &k->look, work_on_clients, on_clients);
}

/* ---- the ends */

static void on_watch_closed(uv_handle_t *h)
{
	struct asking *k = h->data;

	k->closing = false;
	if (k->b->stopping)
		free_asking(k);
}

static void leave_end(struct asking *k)
{
	if (k->fd < 0)
		return;
	k->closing = true;
	uv_close((uv_handle_t *)&k->poll, on_watch_closed);
	close(k->fd);
	k->fd = -1;
	k->q.n = 0;
	k->q.usage.held = 0;
}

static void on_end_tells(uv_poll_t *p, int status, int events)
{
	struct asking *k = p->data;
	struct asked_by was[EGRESS_ASKED_MAX];
	size_t nwas = k->q.n;
	int r;

	(void)events;
	memcpy(was, k->by, sizeof was);
	r = status ? -1 : egress_watched(k->fd, &k->q);
	if (!r)
		return;
	if (r < 0) {
		leave_end(k);
	} else {
		k->heard = true;
		keep_askers(k, was, nwas);
		look_for_clients(k);
	}
	publish_soon(k->b);
}

static void watch_end(struct asking *k)
{
	k->fd = egress_watch(k->name, NULL);
	if (k->fd < 0)
		return;
	if (uv_poll_init(&k->b->loop, &k->poll, k->fd)) {
		cleanup_close(&k->fd);
		return;
	}
	k->poll.data = k;
	uv_poll_start(&k->poll, UV_READABLE, on_end_tells);
	publish_soon(k->b);
}

static struct asking *asking_of(const struct backend *b, const char *name)
{
	struct asking *k = b->asking;

	while (k && strcmp(k->name, name) != 0)
		k = k->next;
	return k;
}

/* ERR_NOT_FOUND says that it has no egress at all. */
static void begin_asking(struct backend *b, const char *name)
{
	struct err why = ERR_INIT;
	int fd = egress_watch(name, &why);
	struct asking *k;

	if (fd < 0 && why.kind == ERR_NOT_FOUND)
		return;
	cleanup_close(&fd);
	k = xcalloc(1, sizeof *k);
	k->b = b;
	k->fd = -1;
	snprintf(k->name, sizeof k->name, "%s", name);
	k->next = b->asking;
	b->asking = k;
	watch_end(k);
	publish_soon(b);
}

static void drop_unseen(struct backend *b)
{
	struct asking **p = &b->asking, *k;

	while ((k = *p)) {
		if (!k->seen)
			leave_end(k);
		if (k->seen || k->closing || k->looking) {
			p = &k->next;
			continue;
		}
		*p = k->next;
		free(k);
	}
}

void asking_pulse(struct backend *b)
{
	const struct survey_look *s = b->roster ? &b->roster->shown : NULL;

	if (!s || (!b->once && backend_now(b) - b->asked_ns < LOOK_EVERY_NS))
		return;
	b->asked_ns = backend_now(b);
	for (struct asking *k = b->asking; k; k = k->next)
		k->seen = false;
	for (size_t i = 0; i < s->n; i++) {
		struct asking *k = asking_of(b, s->agents[i].name);

		if (s->agents[i].state != AGENT_UP)
			continue;
		if (!k)
			begin_asking(b, s->agents[i].name);
		else if (k->fd < 0 && !k->closing)
			watch_end(k);
		k = asking_of(b, s->agents[i].name);
		if (k)
			k->seen = true;
	}
	drop_unseen(b);
	if (b->once)
		publish_soon(b);
}

void asking_stop(struct backend *b)
{
	struct asking *next;

	for (struct asking *k = b->asking; k; k = next) {
		next = k->next;
		leave_end(k);
		free_asking(k);
	}
	b->asking = NULL;
}

/* ---- into a snapshot */

static int compare_asks(const void *a, const void *b)
{
	const struct agent_ask *x = a, *y = b;
	int order = strcmp(x->container, y->container);

	if (x->first_wall_ms != y->first_wall_ms)
		return x->first_wall_ms < y->first_wall_ms ? -1 : 1;
	return order ? order : strcmp(x->host, y->host);
}

static struct agent_egress egress_now(const struct asking *k)
{
	const struct egress_usage *u = &k->q.usage;

	return (struct agent_egress){.state = k->fd < 0 ? AGENT_EGRESS_LOST : AGENT_EGRESS_ON,
		.rules = u->rules,
		.open = k->fd < 0 ? 0 : u->open,
		.held = k->fd < 0 ? 0 : u->held,
		.ask_s = k->q.ask_s,
		.relayed = u->relayed,
		.connections = u->connections,
		.refused = u->refused,
		.up_bytes = u->up,
		.down_bytes = u->down};
}

static size_t copy_asks(
	const struct asking *k, const struct agent *agent, struct agent_ask *to, struct arena *a)
{
	for (size_t i = 0; i < k->q.n; i++) {
		const struct egress_asked *x = &k->q.asked[i];

		to[i] = (struct agent_ask){.agent = agent->id,
			.container = agent->name,
			.host = copy_text(a, x->to.host),
			.port = x->to.port,
			.first_wall_ms = x->first_ms,
			.last_wall_ms = x->last_ms,
			.count = x->count,
			.held = x->held,
			.process = copy_text(a, k->by[i].process),
			.reason = copy_text(a, x->reason)};
	}
	return k->q.n;
}

/* Every end of the agents that are shown was looked for, and those that are there have told their queues. */
static bool is_settled(const struct backend *b)
{
	for (const struct asking *k = b->asking; k; k = k->next)
		if (k->fd >= 0 && !k->heard)
			return false;
	return b->roster && b->asked_ns > b->roster->shown_ns;
}

void asking_copy(struct backend *b, struct snapshot *s, struct arena *a)
{
	struct agent_ask *asks;
	size_t n = 0;

	for (struct asking *k = b->asking; k; k = k->next)
		n += k->q.n;
	asks = arena_array(a, n + 1, sizeof *asks);
	n = 0;
	for (size_t i = 0; i < s->nagents; i++) {
		struct agent *agent = (struct agent *)(uintptr_t)&s->agents[i];
		const struct asking *k = asking_of(b, agent->name);

		if (!k || agent->state != AGENT_UP || agent->egress.state)
			continue;
		agent->egress = egress_now(k);
		/* Two agents of one container have one end. */
		if (i && !strcmp(s->agents[i - 1].name, agent->name))
			continue;
		n += copy_asks(k, agent, asks + n, a);
	}
	mem_sort(asks, n, sizeof *asks, compare_asks);
	s->asks = asks;
	s->nasks = n;
	s->agents_done = s->agents_done && (!b->once || is_settled(b));
}

/* ---- rules and connections of one */

static size_t look_at_ports(struct event *ev, const char *name, struct net_line *to)
{
	struct port_row row[PORTS_MAX];
	size_t n = port_list(name, row, PORTS_MAX);

	for (size_t i = 0; i < n; i++) {
		char where[PORT_WHERE_MAX];

		port_write_where(&row[i], where);
		to[i] = (struct net_line){.what = "port",
			.target = arena_printf(&ev->mem, "%u at %s", row[i].port, where),
			.origin = "",
			.at_wall_ms = row[i].since_ms,
			.good = !row[i].lost,
			.open = row[i].open};
	}
	return n;
}

static void look_at_rules(struct event *ev, const char *name)
{
	AUTO_FREE struct egress_rule *r = xcalloc(EGRESS_RULES_MAX, sizeof *r);
	struct net_line *to;
	size_t n = 0;

	if (egress_load_rules(name, r, &n, &ev->err))
		return;
	to = arena_array(&ev->mem, n + PORTS_MAX + 1, sizeof *to);
	for (size_t i = 0; i < n; i++) {
		char text[EGRESS_RULE_MAX];

		egress_write_rule(&r[i], text);
		to[i] = (struct net_line){.what = egress_rule_verb(&r[i]),
			.target = arena_strdup(&ev->mem, text),
			.origin = egress_origin_name(r[i].origin),
			.at_wall_ms = r[i].since_s * 1000,
			.good = r[i].allow || !egress_rule_decides(&r[i])};
	}
	ev->rules = to;
	ev->nrules = n + look_at_ports(ev, name, to + n);
}

static void look_at_visits(struct event *ev, const char *name)
{
	AUTO_FREE struct egress_event *v = xcalloc(VISITS_SHOWN, sizeof *v);
	int n = egress_ask_log(name, v, VISITS_SHOWN, NULL);
	struct net_line *to = arena_array(&ev->mem, (size_t)(n > 0 ? n : 0) + 1, sizeof *to);

	for (int i = 0; i < n; i++) {
		const struct egress_event *x = &v[n - 1 - i];
		char text[EGRESS_HOST_MAX + 8] = "";

		if (x->to.port)
			egress_write_target(&x->to, text);
		to[i] = (struct net_line){.what = egress_verdict_name(x->verdict),
			.target = arena_strdup(&ev->mem, text),
			.origin = "",
			.at_wall_ms = x->at_ms,
			.up_bytes = x->up,
			.down_bytes = x->down,
			.good = x->verdict == EGRESS_ALLOWED,
			.open = x->open};
	}
	ev->visits = to;
	ev->nvisits = (size_t)(n > 0 ? n : 0);
}

static void read_rules(struct look *l)
{
	look_at_rules(l->ev, l->ev->target.name);
	look_at_visits(l->ev, l->ev->target.name);
}

void asking_rules(struct backend *b, const struct command *c)
{
	struct look *l = look_new(b, c, event_new(EV_NET));

	l->ev->target = (struct target){"", "", arena_strdup(&l->ev->mem, l->name ? l->name : "")};
	look_start(l, read_rules, "rules");
}
