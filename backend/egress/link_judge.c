/* link_judge.c - decides on a connection by rules or a person, and again when these change. */
#include "egress/link.h"

#include <sys/socket.h>

#include "egress/routes.h"

static uint16_t client_port(const struct link *l)
{
	struct sockaddr_in6 at = {0}; /* the port is where it is in sockaddr_in */
	socklen_t len = sizeof at;

	return getpeername(l->client, (struct sockaddr *)&at, &len) ? 0 : ntohs(at.sin6_port);
}

static void on_unanswered(uv_timer_t *t)
{
	struct link *l = t->data;

	link_refuse_target(l, EGRESS_UNANSWERED,
		"no rule allows %s, and the operator did not answer in time; do not try another way");
	link_watch(l);
}

bool link_wants_tls(const struct link *l)
{
	return egress_wants_tls(
		egress_judge(l->end->rules, l->end->nrules, &l->ask.to), &l->ask.to);
}

/* No rule decides. */
static void ask_for_link(struct link *l)
{
	struct egress_event *e = end_event(l->end, l->id);

	switch (asked_join(l->end, &l->ask.to, client_port(l))) {
	case ASKED_GRANTED:
		l->granted = true;
		link_locate(l);
		break;
	case ASKED_HELD:
		l->state = LINK_HELD;
		if (e) {
			e->to = l->ask.to;
			e->verdict = EGRESS_HELD;
		}
		uv_timer_start(&l->timer, on_unanswered,
			1000u * egress_asks(l->end->rules, l->end->nrules), 0);
		break;
	case ASKED_ALONE:
		link_refuse_target(l, EGRESS_NO_RULE,
			"no rule allows %s, and no operator is available; the request is on the operator's list (berth net ask). Do not try another way");
		break;
	case ASKED_FULL:
		link_refuse_target(l, EGRESS_NO_RULE,
			"no rule allows %s, and too many requests wait for the operator already; wait for the answers");
		break;
	case ASKED_REFUSE:
		link_refuse_target(l, EGRESS_NO_RULE,
			"no rule allows %s; the operator can allow it (berth net allow). Do not try another way");
		break;
	}
}

void link_refuse_denied(struct link *l, const struct egress_rule *r)
{
	char target[EGRESS_HOST_MAX + 8], rule[EGRESS_RULE_MAX];
	AUTO_STR struct str why = STR_INIT;

	egress_write_target(&l->ask.to, target);
	egress_write_rule(r, rule);
	str_addf(&why,
		"%s is denied by a rule of this agent (deny %s); only the operator can change it. Other ways to it are denied, too",
		target, rule);
	link_refuse(l, EGRESS_DENIED, why.s);
}

void link_judge(struct link *l)
{
	const struct egress_rule *r = egress_judge(l->end->rules, l->end->nrules, &l->ask.to);

	l->asked = true;
	if (r && r->allow)
		link_locate(l);
	else if (r)
		link_refuse_denied(l, r);
	else
		ask_for_link(l);
}

/* It waits no longer, and may go on. */
static void release_held(struct link *l, bool once)
{
	asked_left(l->end, &l->ask.to);
	l->granted = once;
	l->state = LINK_HEAD;
	link_locate(l);
	link_watch(l);
}

static void judge_held(struct link *l, const struct egress_rule *r)
{
	if (r && r->allow) {
		release_held(l, false);
		return;
	}
	if (!r && egress_asks(l->end->rules, l->end->nrules))
		return;
	link_refuse_target(l, EGRESS_DENIED,
		"the operator was asked and denied %s; other ways to it are denied, too");
	link_watch(l);
}

/* It passes bytes that nobody looked at, where a rule asks for that by now. */
static bool breaks_tls_rule(const struct link *l, const struct egress_rule *r)
{
	return l->state == LINK_RELAY && !l->named && egress_wants_tls(r, &l->ask.to);
}

void link_judge_again(struct end *end)
{
	struct link *next;

	route_judge_again(end, false);
	for (struct link *l = end->links; l; l = next) {
		const struct egress_rule *r =
			l->asked ? egress_judge(end->rules, end->nrules, &l->ask.to) : NULL;

		next = l->next;
		if (l->state == LINK_HELD) {
			judge_held(l, r);
			continue;
		}
		if (!l->asked || l->state == LINK_LINGER)
			continue;
		if ((r ? r->allow : l->granted) && !breaks_tls_rule(l, r) && link_may_stay(l))
			continue;
		link_note(l, EGRESS_CLOSED);
		link_close(l);
	}
}

void link_allow_held(struct end *end, const struct egress_target *to)
{
	struct link *next;

	for (struct link *l = end->links; l; l = next) {
		next = l->next;
		if (l->state == LINK_HELD && egress_same_target(&l->ask.to, to))
			release_held(l, true);
	}
}

void link_refuse_held(struct end *end, enum egress_verdict v)
{
	struct link *next;

	for (struct link *l = end->links; l; l = next) {
		next = l->next;
		if (l->state != LINK_HELD)
			continue;
		link_refuse_target(l, v,
			"no rule allows %s, and the operator left without an answer; do not try another way");
		link_watch(l);
	}
}
