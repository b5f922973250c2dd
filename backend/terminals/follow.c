/* follow.c - from one look at a terminal to the next: since when it does what it does, and whether that is news. */
#include <berth/terminal_status.h>

#define SAME_WAIT_MS \
	10000 /* it waits again so soon, and nobody has answered: it is the same question */
#define TYPING_MS 2000 /* after a key: the answer is still being typed */

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static bool asks_the_same(const struct terminal_followed *was, int64_t answered_ms, int64_t now_ms)
{
	if (was->judged.does == TERMINAL_WAITING)
		return true;
	if (!was->question || now_ms - was->waited_ms >= SAME_WAIT_MS)
		return false;
	return answered_ms <= was->asked_ms || now_ms - answered_ms < TYPING_MS;
}

void terminal_follow(const struct terminal_followed *was, const struct terminal_screen *s,
	int64_t now_ms, uint64_t *questions, struct terminal_followed *now)
{
	struct terminal_judged *j = &now->judged;
	bool waits = j->does == TERMINAL_WAITING;

	now->started_ms = s->started_ms;
	now->looked_ms = now_ms;
	if (was && was->started_ms != s->started_ms)
		was = NULL;
	if (was) {
		now->waited_ms = was->waited_ms;
		now->asked_ms = was->asked_ms;
		now->question = was->question;
		/* It was seen to do something else at that time, or when it began to do this. */
		if (was->judged.does == j->does)
			j->since_ms = was->judged.since_ms;
		else
			j->since_ms = later(j->since_ms > 0 ? j->since_ms : now_ms, was->looked_ms);
	}
	if (!waits)
		return;
	if (!was || !asks_the_same(was, s->answered_ms, now_ms)) {
		now->asked_ms = j->since_ms;
		now->question = ++*questions;
	}
	now->waited_ms = now_ms;
	j->since_ms = later(now->asked_ms, s->answered_ms);
}
