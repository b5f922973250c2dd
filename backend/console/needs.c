/*
 * needs.c - tracks since when an agent needs a person, and why.
 *
 * Where what happened has a time of its own, that is the age; else the time at which this console saw it first.
 */
#include "console/core.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

#define RESTARTED_MS INT64_C(600000) /* "not long ago" */

struct need {
	char *name; /* of the agent's container */
	enum attention what;
	int64_t since_wall_ms;
	bool seen; /* in this snapshot */
};

static struct need *find_need(struct needs *n, const char *name)
{
	for (size_t i = 0; i < n->n; i++)
		if (!strcmp(n->need[i].name, name))
			return &n->need[i];
	n->need = mem_grow(n->need, &n->cap, n->n + 1, sizeof *n->need);
	n->need[n->n] = (struct need){.name = xstrdup(name)};
	return &n->need[n->n++];
}

static void forget_needs(struct needs *n)
{
	for (size_t i = n->n; i-- > 0;) {
		if (!n->need[i].seen) {
			free(n->need[i].name);
			n->need[i] = n->need[--n->n];
		} else {
			n->need[i].seen = false;
		}
	}
}

static int64_t first_ask_ms(const struct snapshot *s, const struct agent *a)
{
	int64_t first = 0;

	for (size_t i = 0; i < s->nasks; i++)
		if (s->asks[i].held && !strcmp(s->asks[i].container, a->name) &&
			(!first || s->asks[i].first_wall_ms < first))
			first = s->asks[i].first_wall_ms;
	return first;
}

/* Of what this agent asks; *ret_n: how many. */
static int64_t first_approval_ms(const struct snapshot *s, const struct agent *a, uint32_t *ret_n)
{
	int64_t first = 0;

	*ret_n = 0;
	for (size_t i = 0; i < s->njobs; i++) {
		const struct job_info *j = &s->jobs[i];

		if (!j->asks || strcmp(j->owner, a->id) != 0)
			continue;
		++*ret_n;
		if (!first || j->started_wall_ms < first)
			first = j->started_wall_ms;
	}
	return first;
}

static int64_t ended_ms(const struct agent_command *c)
{
	return c ? c->started_wall_ms + c->duration_ms : 0;
}

/* 0: what happened has no time of its own. */
static int64_t happened_ms(const struct snapshot *s, const struct agent *a, enum attention what)
{
	uint32_t n;

	switch (what) {
	case ATTENTION_APPROVAL: return first_approval_ms(s, a, &n);
	case ATTENTION_LET_OUT: return first_ask_ms(s, a);
	case ATTENTION_TERMINAL: return a->terminals[0].since_wall_ms;
	case ATTENTION_STOPPED: return a->container ? a->container->finished_wall_ms : 0;
	case ATTENTION_RESTARTED: return a->container->started_wall_ms;
	case ATTENTION_FAILED:
	case ATTENTION_IDLE: return ended_ms(a->last);
	case ATTENTION_BUSY: return a->ncommands ? a->commands[0].started_wall_ms : 0;
	default: return 0;
	}
}

static bool was_restarted(const struct container *c, int64_t now_ms)
{
	return c && c->restarts > 0 && c->state == CONTAINER_RUNNING && c->started_wall_ms > 0 &&
		now_ms - c->started_wall_ms < RESTARTED_MS;
}

void attention_copy(struct backend *b, struct snapshot *s)
{
	struct agent *agents = (struct agent *)(uintptr_t)s->agents;
	char why[8];

	for (size_t i = 0; i < s->nagents; i++) {
		struct agent *a = &agents[i];
		enum attention what;
		struct need *n;

		first_approval_ms(s, a, &a->approvals);
		a->restarted = was_restarted(a->container, s->at_wall_ms);
		what = agent_attention(a, why, sizeof why);
		if (!what)
			continue;
		n = find_need(&b->needs, a->name);
		if (n->what != what)
			n->since_wall_ms = s->at_wall_ms;
		n->what = what;
		n->seen = true;
		a->need_wall_ms = happened_ms(s, a, what);
		if (a->need_wall_ms <= 0)
			a->need_wall_ms = n->since_wall_ms;
	}
	forget_needs(&b->needs);
}

void attention_close(struct backend *b)
{
	forget_needs(&b->needs);
	forget_needs(&b->needs);
	free(b->needs.need);
}
