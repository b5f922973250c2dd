/* pace.c - compares an agent's current command with its earlier ones. */
#include "agents/pace.h"

#define TIMES 3
#define KNOWN_LEAST 8 /* ended commands */
#define BUSY_LEAST_MS INT64_C(60000)
#define IDLE_LEAST_MS INT64_C(600000)

/* A terminal is a person's, and of one that was lost nobody knows how long it took. */
static bool counts_for_pace(const struct journal_command *c)
{
	return !c->terminal && !c->lost;
}

struct pace {
	int64_t longest_ms, pause_ms; /* of what ended */
	int64_t running_ms;           /* the oldest that runs; -1: none does */
	int64_t idle_ms;
	size_t ended;
};

/* From the oldest on, so that a pause is what lies between the end of all before and a start. */
static struct pace measure_pace(const struct journal_command *list, size_t n, int64_t now)
{
	struct pace p = {.running_ms = -1};
	int64_t until = 0;

	for (size_t i = n; i-- > 0;) {
		const struct journal_command *c = &list[i];
		int64_t took = c->running ? now - c->started_wall_ms : (int64_t)c->duration_ms;

		if (!counts_for_pace(c))
			continue;
		if (until && c->started_wall_ms - until > p.pause_ms)
			p.pause_ms = c->started_wall_ms - until;
		if (c->started_wall_ms + took > until)
			until = c->started_wall_ms + took;
		if (c->running && took > p.running_ms)
			p.running_ms = took;
		if (!c->running && took > p.longest_ms)
			p.longest_ms = took;
		p.ended += !c->running;
	}
	p.idle_ms = now - until;
	return p;
}

enum agent_pace pace_of(
	const struct journal_command *list, size_t n, int64_t now_wall_ms, int64_t *ret_usual_ms)
{
	struct pace p = measure_pace(list, n, now_wall_ms);

	if (p.ended < KNOWN_LEAST)
		return PACE_USUAL;
	if (p.running_ms > BUSY_LEAST_MS && p.running_ms > TIMES * p.longest_ms) {
		*ret_usual_ms = p.longest_ms;
		return PACE_BUSY;
	}
	if (p.running_ms < 0 && p.idle_ms > IDLE_LEAST_MS && p.idle_ms > TIMES * p.pause_ms) {
		*ret_usual_ms = p.pause_ms;
		return PACE_IDLE;
	}
	return PACE_USUAL;
}
