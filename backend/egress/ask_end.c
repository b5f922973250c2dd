/* ask_end.c - sends requests of other berth processes to an agent's egress process. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "egress/egress.h"

#define QUESTION_TRIES 3
#define FIRST_START_MS 5000 /* after its rules were written for the first time */

const char *egress_verdict_name(enum egress_verdict v)
{
	static const char *const names[] = {"allowed", "denied", "no rule", "malformed",
		"no address", "unreachable", "other name", "too many", "closed", "held",
		"no answer"};

	return (size_t)v < COUNT(names) ? names[v] : "unknown";
}

static int send_question(int fd, const struct egress_question *q, const void *more)
{
	AUTO_STR struct str message = STR_INIT;
	ssize_t n;

	str_reserve(&message, sizeof *q + q->count + 1); /* no copy of it stays behind */
	str_add(&message, q, sizeof *q);
	if (more)
		str_add(&message, more, q->count);
	n = send(fd, message.s, message.len, MSG_NOSIGNAL);
	explicit_bzero(message.s, message.len); /* there may be keys in it */
	return n < 0 ? -1 : 0;
}

/* The connection.  An end waits for the question a moment only, which on a busy machine may pass before it is sent. */
static int ask_question(const char *name, bool block, const struct egress_question *q,
	const void *more, struct err *e)
{
	for (int i = 0; i < QUESTION_TRIES; i++) {
		AUTO_CLOSE int fd = egress_dial(name, EGRESS_SOCK, block, e);

		if (fd < 0)
			return -1;
		if (!send_question(fd, q, more))
			return steal_fd(&fd);
		if (errno != EPIPE && errno != ECONNRESET)
			break;
	}
	return err_sys(e, errno, "cannot ask the egress of %s", name);
}

static int say_it_is_other(const char *name, struct err *e)
{
	return err_set(
		e, ERR_PROTOCOL, "the egress of %s belongs to another berth; run berth up", name);
}

static int hear_answer(int fd, const char *name, void *out, size_t size, struct err *e)
{
	ssize_t n = recv(fd, out, size, 0);

	if (n == (ssize_t)size)
		return 1;
	if (!n)
		return 0;
	return n < 0 ? err_sys(e, errno, "the egress of %s does not answer", name)
		     : say_it_is_other(name, e);
}

int egress_ask_usage(const char *name, struct egress_usage *ret, struct err *e)
{
	const struct egress_question q = {EGRESS_ASK_USAGE, 0};
	AUTO_CLOSE int fd = ask_question(name, true, &q, NULL, e);
	int r;

	if (fd < 0)
		return -1;
	r = hear_answer(fd, name, ret, sizeof *ret, e);
	return r > 0 ? 0 : r ? -1 : err_set(e, ERR_FAILED, "the egress of %s has ended", name);
}

int egress_ask_log(const char *name, struct egress_event *out, size_t n, struct err *e)
{
	const struct egress_question q = {EGRESS_ASK_LOG, (uint32_t)n};
	AUTO_CLOSE int fd = ask_question(name, true, &q, NULL, e);
	size_t found = 0;
	int r = 0;

	if (fd < 0)
		return -1;
	while (found < n && (r = hear_answer(fd, name, &out[found], sizeof *out, e)) > 0)
		found++;
	return r < 0 ? -1 : (int)found;
}

/* The lock is made when the rules come, and kept until the agent is down. */
int64_t egress_known_since(const char *name)
{
	char rules[EGRESS_PATH_MAX], lock[EGRESS_PATH_MAX];
	struct egress_usage u;
	struct stat st;

	if (egress_place(name, ".rules", rules, NULL) || egress_place(name, ".lock", lock, NULL) ||
		stat(rules, &st))
		return 0;
	if (egress_ask_usage(name, &u, NULL))
		return clock_wall_ms();
	if (!stat(lock, &st) &&
		u.since_ms < (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000 +
				FIRST_START_MS)
		return 0;
	return u.since_ms;
}

int egress_ask_reached(const char *name, struct egress_reached *out, struct err *e)
{
	const struct egress_question q = {EGRESS_ASK_REACHED, 0};
	AUTO_CLOSE int fd = ask_question(name, true, &q, NULL, e);
	size_t found = 0;
	int r = 0;

	if (fd < 0)
		return -1;
	while (found <= EGRESS_REACHED_MAX &&
		(r = hear_answer(fd, name, &out[found], sizeof *out, e)) > 0)
		if (!out[found++].to.port)
			return (int)(found - !out[found - 1].connections);
	if (r < 0)
		return -1;
	return found ? err_set(e, ERR_FAILED,
			       "the egress of %s sent only a part of its answer; try again", name)
		     : say_it_is_other(name, e);
}

static int tell_egress(uint32_t what, const char *name, const char *text, size_t len, struct err *e)
{
	const struct egress_question q = {what, (uint32_t)len};
	AUTO_CLOSE int fd = ask_question(name, true, &q, text, e);
	struct egress_usage now;
	int r;

	if (fd < 0)
		return -1;
	r = hear_answer(fd, name, &now, sizeof now, e);
	return r > 0 ? 0
		: r  ? -1
		     : err_set(e, ERR_FAILED, "the egress of %s did not take the %s", name,
                              what == EGRESS_TELL_RULES ? "rules" : "routes");
}

int egress_tell_rules(const char *name, const char *text, size_t len, struct err *e)
{
	return tell_egress(EGRESS_TELL_RULES, name, text, len, e);
}

int egress_tell_routes(const char *name, const char *text, size_t len, struct err *e)
{
	return tell_egress(EGRESS_TELL_ROUTES, name, text, len, e);
}

/* ---- what people are asked */

const char *egress_answer_name(enum egress_answer a)
{
	static const char *const names[] = {"once", "session", "deny"};

	return names[a];
}

int egress_answer_of(const char *word)
{
	for (int a = EGRESS_ANSWER_ONCE; a <= EGRESS_ANSWER_DENY; a++)
		if (!strcmp(word, egress_answer_name((enum egress_answer)a)))
			return a;
	return -1;
}

int egress_watch(const char *name, struct err *e)
{
	const struct egress_question q = {EGRESS_WATCH, 0};
	AUTO_CLOSE int fd = -1;
	char rules[EGRESS_PATH_MAX];
	struct err why = ERR_INIT;

	if (egress_place(name, ".rules", rules, e))
		return -1;
	if (access(rules, F_OK))
		return err_set(e, ERR_NOT_FOUND, "%s has no egress", name);
	fd = ask_question(name, false, &q, NULL, &why);
	if (fd < 0 && why.kind == ERR_NOT_FOUND)
		why.kind = ERR_FAILED;
	if (fd < 0)
		return err_copy(e, &why);
	return steal_fd(&fd);
}

/* A queue is what was received, whole. */
static bool is_queue(const struct egress_queue *q, ssize_t n)
{
	return n >= (ssize_t)EGRESS_QUEUE_BYTES(0) && q->n <= EGRESS_ASKED_MAX &&
		n == (ssize_t)EGRESS_QUEUE_BYTES(q->n);
}

int egress_watched(int watch, struct egress_queue *ret)
{
	int found = 0;
	ssize_t n;

	while ((n = recv(watch, ret, sizeof *ret, MSG_DONTWAIT)) > 0) {
		if (!is_queue(ret, n))
			return -1;
		found = 1;
	}
	return !n || (errno != EAGAIN && errno != EINTR) ? -1 : found;
}

int egress_ask_queue(const char *name, struct egress_queue *ret, struct err *e)
{
	const struct egress_question q = {EGRESS_ASK_QUEUE, 0};
	AUTO_CLOSE int fd = ask_question(name, true, &q, NULL, e);

	if (fd < 0)
		return -1;
	if (is_queue(ret, recv(fd, ret, sizeof *ret, 0)))
		return 0;
	return err_set(e, ERR_PROTOCOL,
		"the egress of %s does not report its requests; run berth up", name);
}

static int tell_decision(
	const char *name, const struct egress_target *to, enum egress_answer a, struct err *e)
{
	const struct egress_question q = {EGRESS_DECIDE, sizeof(struct egress_decision)};
	const struct egress_decision d = {*to, a};
	AUTO_CLOSE int fd = ask_question(name, true, &q, &d, e);
	struct egress_said said;
	int r;

	if (fd < 0)
		return -1;
	r = hear_answer(fd, name, &said, sizeof said, e);
	if (r <= 0)
		return r ? -1 : err_set(e, ERR_FAILED, "the egress of %s has ended", name);
	if (said.verdict == EGRESS_FULL)
		return err_set(e, ERR_REFUSED, "%s already has %d rules, which is the limit", name,
			EGRESS_RULES_MAX);
	if (said.verdict != EGRESS_ALLOWED)
		return err_set(e, ERR_CONFLICT,
			"%s is no longer requested by %s: someone else or a rule has decided",
			to->host, name);
	return 0;
}

/* The end takes it first, and is the one that knows who was faster. */
int egress_decide(
	const char *name, const struct egress_target *to, enum egress_answer a, struct err *e)
{
	AUTO_FREE struct egress_rule *rules = xcalloc(EGRESS_RULES_MAX + 1, sizeof *rules);
	AUTO_CLOSE int lock = egress_lock(name, e);
	size_t n;

	if (lock < 0 || egress_load_rules(name, rules, &n, e) || tell_decision(name, to, a, e))
		return -1;
	if (a == EGRESS_ANSWER_ONCE)
		return 0;
	rules[n++] = (struct egress_rule){.at = *to,
		.allow = a == EGRESS_ANSWER_SESSION,
		.origin = EGRESS_SESSION,
		.since_s = clock_wall_ms() / 1000};
	if (!egress_save_rules(name, rules, n, e))
		return 0;
	/* What is not on record is not allowed either. */
	egress_tell_saved(name, rules, n - 1, NULL);
	return -1;
}

static const char *word_reply(const struct egress_said *s)
{
	switch (s->verdict) {
	case EGRESS_ALLOWED:
		return s->once
			? "The operator allows one connection; it must be made within a minute."
			: "A rule of this agent allows it.";
	case EGRESS_DENIED:
		return "The operator, or a rule of this agent, denies it; do not try another way.";
	case EGRESS_UNANSWERED:
		return "The operator was asked but did not answer in time; do not try another way.";
	case EGRESS_FULL:
		return "Too many requests wait for the operator already; wait for the answers.";
	default:
		return s->alone
			? "No operator is available; the request is on the operator's list. Do not try another way."
			: "No rule allows it, and this agent's definition does not allow asking a person; do not try another way.";
	}
}

/* The answer, or the end of waiting for it. */
static int wait_for_reply(int fd, const char *name, int cancel, struct err *e)
{
	struct pollfd p[] = {{fd, POLLIN, 0}, {cancel, POLLIN, 0}};
	int64_t until = clock_mono_ns() + (EGRESS_ASK_S_MAX + 10) * INT64_C(1000000000);
	int64_t left;

	while ((left = until - clock_mono_ns()) > 0) {
		poll(p, COUNT(p), (int)(left / 1000000) + 1);
		if (p[1].revents)
			return err_set(e, ERR_CANCELLED, "cancelled");
		if (p[0].revents)
			return 0;
	}
	return err_set(e, ERR_TIMEOUT, "the egress of %s does not answer", name);
}

int egress_request(const char *name, const struct egress_target *to, const char *reason, int cancel,
	struct egress_reply *ret, struct err *e)
{
	const struct egress_question q = {EGRESS_REQUEST, sizeof(struct egress_wish)};
	struct egress_wish w = {.to = *to};
	AUTO_CLOSE int fd = -1;
	struct egress_said said;
	int r;

	snprintf(w.reason, sizeof w.reason, "%s", reason);
	fd = ask_question(name, true, &q, &w, e);
	if (fd < 0 || wait_for_reply(fd, name, cancel, e))
		return -1;
	r = hear_answer(fd, name, &said, sizeof said, e);
	if (r <= 0)
		return r ? -1 : err_set(e, ERR_FAILED, "the egress of %s has ended", name);
	*ret = (struct egress_reply){
		.verdict = (enum egress_verdict)said.verdict, .once = said.once};
	snprintf(ret->why, sizeof ret->why, "%s", word_reply(&said));
	return 0;
}
