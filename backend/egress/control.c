/* control.c - answers control requests of the user. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <berth/mem.h>

#include "egress/end.h"
#include "egress/routes.h"

static void answer_usage(struct end *end, int conn)
{
	link_count(end);
	end->usage.rules = (uint32_t)end->nrules;
	send(conn, &end->usage, sizeof end->usage, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void answer_log(struct end *end, int conn, uint64_t n)
{
	uint64_t last = end->last_id, first;

	link_count(end);
	n = n < EGRESS_EVENTS_MAX ? n : EGRESS_EVENTS_MAX;
	first = last > n ? last - n + 1 : 1;
	for (uint64_t id = first; id <= last; id++) {
		const struct egress_event *e = end_event(end, id);

		if (e && send(conn, e, sizeof *e, MSG_NOSIGNAL) < 0)
			return;
	}
}

/* The place of all others comes last, also where nothing is in it: by that a whole answer is known. */
static void answer_reached(struct end *end, int conn)
{
	link_count(end);
	for (size_t i = 0; i <= end->nreached; i++)
		if (send(conn, &end->reached[i < end->nreached ? i : EGRESS_REACHED_MAX],
			    sizeof *end->reached, MSG_NOSIGNAL) < 0)
			return;
}

static void take_rules(struct end *end, int conn, const char *text, size_t len)
{
	AUTO_FREE struct egress_rule *rules = xcalloc(EGRESS_RULES_MAX, sizeof *rules);
	size_t n;

	if (egress_read_rules(text, len, rules, &n, NULL))
		return;
	memcpy(end->rules, rules, n * sizeof *rules);
	end->nrules = n;
	link_set_rate(end);
	asked_settle(end);
	link_judge_again(end);
	answer_usage(end, conn);
}

static void take_routes(struct end *end, int conn, const char *text, size_t len)
{
	if (!routes_told(end, text, len, NULL))
		answer_usage(end, conn);
}

static void take_decision(struct end *end, int conn, const char *bytes)
{
	struct egress_said said = {0};
	struct egress_decision d;

	memcpy(&d, bytes, sizeof d);
	d.to.host[EGRESS_HOST_MAX - 1] = '\0';
	said.verdict = asked_decide(end, &d);
	send(conn, &said, sizeof said, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool take_wish(struct end *end, int conn, const char *bytes)
{
	struct egress_wish w;

	memcpy(&w, bytes, sizeof w);
	w.to.host[EGRESS_HOST_MAX - 1] = w.reason[EGRESS_REASON_MAX - 1] = '\0';
	return asked_wish(end, conn, &w);
}

/* What has bytes of a known size behind it. */
static bool answer_more(
	struct end *end, int conn, const struct egress_question *q, const char *bytes, size_t len)
{
	if (q->what == EGRESS_TELL_RULES && q->count == len)
		take_rules(end, conn, bytes, len);
	else if (q->what == EGRESS_TELL_ROUTES && q->count == len)
		take_routes(end, conn, bytes, len);
	else if (q->what == EGRESS_DECIDE && len == sizeof(struct egress_decision))
		take_decision(end, conn, bytes);
	else if (q->what == EGRESS_REQUEST && len == sizeof(struct egress_wish))
		return take_wish(end, conn, bytes);
	return false;
}

bool control_answer(struct end *end, int conn, uid_t owner)
{
	/* Whoever asks may stop in the middle; the agent's connections wait no longer than this. */
	const struct timeval soon = {0, 200000};
	AUTO_FREE char *message = xmalloc(EGRESS_MESSAGE_MAX);
	struct egress_question q;
	struct ucred peer;
	socklen_t len = sizeof peer;
	bool kept = false;
	ssize_t n;

	setsockopt(conn, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
	setsockopt(conn, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
	if (getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &peer, &len) ||
		(peer.uid != owner && peer.uid != 0))
		return false;
	n = recv(conn, message, EGRESS_MESSAGE_MAX, 0);
	if (n < (ssize_t)sizeof q)
		return false;
	memcpy(&q, message, sizeof q);
	if (q.what == EGRESS_ASK_USAGE)
		answer_usage(end, conn);
	else if (q.what == EGRESS_ASK_LOG)
		answer_log(end, conn, q.count);
	else if (q.what == EGRESS_ASK_REACHED)
		answer_reached(end, conn);
	else if (q.what == EGRESS_ASK_QUEUE)
		asked_tell_queue(end, conn);
	else if (q.what == EGRESS_WATCH)
		kept = asked_watch(end, conn);
	else
		kept = answer_more(end, conn, &q, message + sizeof q, (size_t)n - sizeof q);
	explicit_bzero(message, (size_t)n); /* there may be keys in it */
	return kept;
}
