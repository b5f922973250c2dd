/*
 * asked.c - queues the targets that no rule decides until a person answers.
 *
 * A target is listed once, however often it is asked for, and waits only while somebody is there to answer.  The agent
 * chooses names and how many: all of it is bounded, and what is full refuses, so that nothing listed is pushed out.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "egress/end.h"

#define PUSH_MS 10      /* what a person waits for; more at once is told at once */
#define TRAFFIC_MS 1000 /* figures */
#define AGAIN_MS 200    /* somebody did not read */
#define STALE_MS 60000  /* nobody waits for it: it gives way to a new one after that */
#define GRANT_NS (60 * INT64_C(1000000000))

struct wish { /* a request by words; its connection waits */
	struct end *end;
	struct wish *next, **self;
	struct egress_target to;
	uv_poll_t poll;
	uv_timer_t timer;
	int conn, handles;
};

/* ---- those who can be asked */

static void write_queue(struct end *end, struct egress_queue *q)
{
	link_count(end);
	end->usage.rules = (uint32_t)end->nrules;
	q->usage = end->usage;
	q->ask_s = egress_asks(end->rules, end->nrules);
	q->n = (uint32_t)end->asking.n;
	memcpy(q->asked, end->asking.at, end->asking.n * sizeof *q->asked);
}

void asked_tell_queue(struct end *end, int conn)
{
	AUTO_FREE struct egress_queue *q = xcalloc(1, sizeof *q);

	write_queue(end, q);
	send(conn, q, EGRESS_QUEUE_BYTES(q->n), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void on_push(uv_timer_t *t)
{
	struct end *end = t->data;
	struct asking *k = &end->asking;
	AUTO_FREE struct egress_queue *q = xcalloc(1, sizeof *q);
	bool behind = false;

	write_queue(end, q);
	for (size_t i = 0; i < END_WATCHERS; i++) {
		struct watcher *w = &k->watcher[i];

		if (w->conn < 0)
			continue;
		w->behind =
			send(w->conn, q, EGRESS_QUEUE_BYTES(q->n), MSG_NOSIGNAL | MSG_DONTWAIT) < 0;
		behind |= w->behind;
	}
	if (behind)
		uv_timer_start(t, on_push, AGAIN_MS, 0);
}

static void push_within(struct end *end, uint64_t ms)
{
	uv_timer_t *t = &end->asking.push;

	if (end->asking.watchers &&
		(!uv_is_active((uv_handle_t *)t) || uv_timer_get_due_in(t) > ms))
		uv_timer_start(t, on_push, ms, 0);
}

void asked_traffic(struct end *end)
{
	if (!uv_is_active((uv_handle_t *)&end->asking.push))
		push_within(end, TRAFFIC_MS);
}

static void end_wish(struct wish *w, enum egress_verdict v, bool once);

static void on_watcher_closed(uv_handle_t *h)
{
	struct watcher *w = h->data;

	w->used = false;
}

static void on_watcher(uv_poll_t *p, int status, int events)
{
	struct watcher *w = p->data;
	char bin[64];

	(void)events;
	if (!status && recv(w->conn, bin, sizeof bin, MSG_DONTWAIT) > 0)
		return;
	uv_close((uv_handle_t *)p, on_watcher_closed);
	close(w->conn);
	w->conn = -1;
	if (--w->end->asking.watchers)
		return;
	link_refuse_held(w->end, EGRESS_UNANSWERED);
	while (w->end->asking.wishes)
		end_wish(w->end->asking.wishes, EGRESS_UNANSWERED, false);
}

bool asked_watch(struct end *end, int conn)
{
	struct asking *k = &end->asking;
	size_t i = 0;

	while (i < END_WATCHERS && k->watcher[i].used)
		i++;
	if (i == END_WATCHERS || uv_poll_init(&end->loop, &k->watcher[i].poll, conn))
		return false;
	k->watcher[i].poll.data = &k->watcher[i];
	k->watcher[i].end = end;
	k->watcher[i].conn = conn;
	k->watcher[i].used = true;
	k->watchers++;
	uv_poll_start(&k->watcher[i].poll, UV_READABLE, on_watcher);
	asked_tell_queue(end, conn);
	return true;
}

void asked_open(struct end *end)
{
	uv_timer_init(&end->loop, &end->asking.push);
	end->asking.push.data = end;
	for (size_t i = 0; i < END_WATCHERS; i++)
		end->asking.watcher[i].conn = -1;
}

/* ---- the list */

static struct egress_asked *find_asked(struct asking *k, const struct egress_target *to)
{
	for (size_t i = 0; i < k->n; i++)
		if (egress_same_target(&k->at[i].to, to))
			return &k->at[i];
	return NULL;
}

static void remove_asked(struct asking *k, struct egress_asked *a)
{
	size_t i = (size_t)(a - k->at);

	memmove(a, a + 1, (--k->n - i) * sizeof *a);
}

static struct egress_asked *list_asked(struct asking *k, const struct egress_target *to)
{
	struct egress_asked *a = find_asked(k, to);
	int64_t now = clock_wall_ms();

	for (size_t i = 0; !a && k->n == EGRESS_ASKED_MAX && i < k->n; i++)
		if (!k->at[i].held && now - k->at[i].last_ms > STALE_MS)
			remove_asked(k, &k->at[i]);
	if (!a && k->n == EGRESS_ASKED_MAX)
		return NULL;
	if (!a) {
		a = &k->at[k->n++];
		*a = (struct egress_asked){.to = *to, .first_ms = now};
	}
	a->last_ms = now;
	a->count++;
	return a;
}

static void add_grant(struct asking *k, const struct egress_target *to)
{
	if (k->ngrants == END_GRANTS)
		memmove(&k->grant[0], &k->grant[1], --k->ngrants * sizeof k->grant[0]);
	k->grant[k->ngrants].to = *to;
	k->grant[k->ngrants++].until_ns = clock_mono_ns() + GRANT_NS;
}

/* Some are the target's and good for one connection; it is used up. */
static bool take_grant(struct asking *k, const struct egress_target *to)
{
	for (size_t i = 0; i < k->ngrants; i++) {
		bool good = k->grant[i].until_ns > clock_mono_ns();

		if (!egress_same_target(&k->grant[i].to, to))
			continue;
		k->grant[i] = k->grant[--k->ngrants];
		if (good)
			return true;
		i--;
	}
	return false;
}

enum asked asked_join(struct end *end, const struct egress_target *to, uint16_t port)
{
	struct asking *k = &end->asking;
	struct egress_asked *a;

	if (!egress_asks(end->rules, end->nrules))
		return ASKED_REFUSE;
	if (take_grant(k, to))
		return ASKED_GRANTED;
	a = list_asked(k, to);
	if (!a)
		return ASKED_FULL;
	a->port = port;
	push_within(end, PUSH_MS);
	if (!k->watchers)
		return ASKED_ALONE;
	if (end->usage.held >= EGRESS_HELD_MAX)
		return ASKED_FULL;
	a->held++;
	end->usage.held++;
	return ASKED_HELD;
}

void asked_left(struct end *end, const struct egress_target *to)
{
	struct egress_asked *a = find_asked(&end->asking, to);

	end->usage.held--;
	if (a)
		a->held--;
	push_within(end, PUSH_MS);
}

/* ---- requests by words */

static void say_verdict(int conn, struct egress_said said)
{
	send(conn, &said, sizeof said, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void on_wish_closed(uv_handle_t *h)
{
	struct wish *w = h->data;

	if (!--w->handles)
		free(w);
}

static void end_wish(struct wish *w, enum egress_verdict v, bool once)
{
	asked_left(w->end, &w->to);
	say_verdict(w->conn, (struct egress_said){.verdict = v, .once = once});
	*w->self = w->next;
	if (w->next)
		w->next->self = w->self;
	uv_close((uv_handle_t *)&w->poll, on_wish_closed);
	uv_close((uv_handle_t *)&w->timer, on_wish_closed);
	close(w->conn);
}

static void on_wish_late(uv_timer_t *t)
{
	end_wish(t->data, EGRESS_UNANSWERED, false);
}

static void on_wish_gone(uv_poll_t *p, int status, int events)
{
	(void)status;
	(void)events;
	end_wish(p->data, EGRESS_UNANSWERED, false);
}

static void begin_wish(struct end *end, int conn, const struct egress_wish *wanted)
{
	struct wish *w = xcalloc(1, sizeof *w);

	*w = (struct wish){.end = end,
		.next = end->asking.wishes,
		.self = &end->asking.wishes,
		.to = wanted->to,
		.conn = conn,
		.handles = 2};
	if (w->next)
		w->next->self = &w->next;
	end->asking.wishes = w;
	uv_poll_init(&end->loop, &w->poll, conn);
	uv_timer_init(&end->loop, &w->timer);
	w->poll.data = w->timer.data = w;
	uv_poll_start(&w->poll, UV_READABLE | UV_DISCONNECT, on_wish_gone);
	uv_timer_start(&w->timer, on_wish_late, 1000u * egress_asks(end->rules, end->nrules), 0);
}

bool asked_wish(struct end *end, int conn, const struct egress_wish *wanted)
{
	const struct egress_rule *r = egress_judge(end->rules, end->nrules, &wanted->to);
	struct egress_said said = {0};
	struct egress_asked *a;
	enum asked how;

	if (r) {
		said.verdict = r->allow ? EGRESS_ALLOWED : EGRESS_DENIED;
		say_verdict(conn, said);
		return false;
	}
	how = asked_join(end, &wanted->to, 0);
	a = find_asked(&end->asking, &wanted->to);
	if (a && *wanted->reason)
		memcpy(a->reason, wanted->reason, sizeof a->reason);
	if (how == ASKED_HELD) {
		begin_wish(end, conn, wanted);
		return true;
	}
	if (how == ASKED_GRANTED)
		add_grant(&end->asking, &wanted->to);
	said.verdict = how == ASKED_GRANTED ? EGRESS_ALLOWED
		: how == ASKED_FULL         ? EGRESS_FULL
					    : EGRESS_NO_RULE;
	said.alone = how == ASKED_ALONE;
	said.once = how == ASKED_GRANTED;
	say_verdict(conn, said);
	return false;
}

/* ---- what was said */

void asked_settle(struct end *end)
{
	struct asking *k = &end->asking;
	bool asks = egress_asks(end->rules, end->nrules) > 0;
	struct wish *next;

	for (struct wish *w = k->wishes; w; w = next) {
		const struct egress_rule *r = egress_judge(end->rules, end->nrules, &w->to);

		next = w->next;
		if (r || !asks)
			end_wish(w, r && r->allow ? EGRESS_ALLOWED : EGRESS_DENIED, false);
	}
	for (size_t i = k->n; i-- > 0;)
		if (!asks || egress_judge(end->rules, end->nrules, &k->at[i].to))
			remove_asked(k, &k->at[i]);
	push_within(end, PUSH_MS);
}

static void allow_once(struct end *end, const struct egress_target *to, bool waited)
{
	struct wish *next;

	link_allow_held(end, to);
	for (struct wish *w = end->asking.wishes; w; w = next) {
		next = w->next;
		if (!egress_same_target(&w->to, to))
			continue;
		add_grant(&end->asking, to);
		end_wish(w, EGRESS_ALLOWED, true);
	}
	if (!waited)
		add_grant(&end->asking, to);
	push_within(end, PUSH_MS);
}

enum egress_verdict asked_decide(struct end *end, const struct egress_decision *d)
{
	struct egress_asked *a = find_asked(&end->asking, &d->to);
	bool waited = a && a->held;

	if (!a)
		return EGRESS_CLOSED;
	if (d->answer != EGRESS_ANSWER_ONCE && end->nrules == EGRESS_RULES_MAX)
		return EGRESS_FULL;
	remove_asked(&end->asking, a);
	if (d->answer == EGRESS_ANSWER_ONCE) {
		allow_once(end, &d->to, waited);
		return EGRESS_ALLOWED;
	}
	end->rules[end->nrules++] = (struct egress_rule){.at = d->to,
		.allow = d->answer == EGRESS_ANSWER_SESSION,
		.origin = EGRESS_SESSION,
		.since_s = clock_wall_ms() / 1000};
	asked_settle(end);
	link_judge_again(end);
	return EGRESS_ALLOWED;
}
