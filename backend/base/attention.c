/* attention.c - decides why an agent needs attention, in words. */
#include <stdio.h>

#include <berth/format.h>
#include <berth/snapshot.h>

#define NEAR_PERCENT 95 /* of a limit */

static int percent_of(uint64_t part, uint64_t all)
{
	return all ? (int)((double)part / (double)all * 100) : 0;
}

/* Its container does not run, though its session goes on. */
static enum attention stopped_attention(const struct container *c, char *buf, size_t cap)
{
	if (!c)
		snprintf(buf, cap, "its container is gone");
	else if (c->oom_killed)
		snprintf(buf, cap, "ended: out of memory");
	else
		snprintf(buf, cap, "stopped, exit %d", c->exit_code);
	return ATTENTION_STOPPED;
}

static enum attention container_attention(const struct container *c, char *buf, size_t cap)
{
	int memory = c->stats.memory_limited
		? percent_of(c->stats.memory_bytes, c->stats.memory_limit_bytes)
		: 0;
	int pids = percent_of(c->stats.pids, c->stats.pids_limit);

	if (c->state == CONTAINER_RESTARTING)
		return snprintf(buf, cap, "keeps restarting"), ATTENTION_RESTARTING;
	if (c->health == HEALTH_UNHEALTHY || c->own_health == HEALTH_UNHEALTHY)
		return snprintf(buf, cap, "unhealthy"), ATTENTION_UNHEALTHY;
	if (memory >= NEAR_PERCENT)
		return snprintf(buf, cap, "memory at %d %% of its limit", memory), ATTENTION_MEMORY;
	if (pids >= NEAR_PERCENT)
		return snprintf(buf, cap, "processes at %d %% of its limit", pids), ATTENTION_PIDS;
	return ATTENTION_NONE;
}

static enum attention count_attention(
	enum attention what, uint32_t n, const char *for_what, char *buf, size_t cap)
{
	snprintf(buf, cap, "%u wait%s %s", n, n == 1 ? "s" : "", for_what);
	return what;
}

/* What keeps it from working at all. */
static enum attention blocked_attention(const struct agent *a, char *buf, size_t cap)
{
	if (a->problem)
		return snprintf(buf, cap, "%s", a->problem), ATTENTION_PROBLEM;
	if (a->state == AGENT_GONE || a->state == AGENT_STOPPED)
		return stopped_attention(a->container, buf, cap);
	if (a->state != AGENT_UP)
		return ATTENTION_NONE;
	if (a->approvals)
		return count_attention(
			ATTENTION_APPROVAL, a->approvals, "for an approval", buf, cap);
	if (a->egress.held)
		return count_attention(
			ATTENTION_LET_OUT, a->egress.held, "to be let out", buf, cap);
	if (a->nwaiting)
		return snprintf(buf, cap, "%s: %s", a->terminals[0].name, a->terminals[0].reason),
		       ATTENTION_TERMINAL;
	if (a->mounts == MOUNTS_CHANGED)
		return snprintf(buf, cap, "its mounts changed"), ATTENTION_MOUNTS;
	if (a->held)
		return snprintf(buf, cap, "held: %s", a->held), ATTENTION_HELD;
	if (a->lane_lost)
		return snprintf(buf, cap, "its init does not answer"), ATTENTION_LANE;
	if (a->secrets_gone)
		return snprintf(buf, cap, "a restart lost its secrets"), ATTENTION_SECRETS;
	if (a->egress.state == AGENT_EGRESS_LOST)
		return snprintf(buf, cap, "egress lost"), ATTENTION_EGRESS;
	return ATTENTION_NONE;
}

/* It works, but not as it should. */
static enum attention working_attention(const struct agent *a, char *buf, size_t cap)
{
	char usual[FORMAT_MAX];

	if (a->budget_spent)
		return snprintf(buf, cap, "a budget is spent"), ATTENTION_BUDGET;
	if (a->restarted)
		return snprintf(buf, cap, "its engine restarted it"), ATTENTION_RESTARTED;
	if (a->last && !a->last->good && !a->nrunning)
		return snprintf(buf, cap, "last command: %s", a->last->ended), ATTENTION_FAILED;
	format_span(usual, a->usual_ms / 1000);
	if (a->pace == PACE_BUSY)
		return snprintf(buf, cap, "busy; longest so far: %s", usual), ATTENTION_BUSY;
	if (a->pace == PACE_IDLE && !a->asleep_wall_ms)
		return snprintf(buf, cap, "idle; longest so far: %s", usual), ATTENTION_IDLE;
	if (a->ndrift)
		return snprintf(buf, cap, "%zu drift from its file", a->ndrift), ATTENTION_DRIFT;
	return ATTENTION_NONE;
}

enum attention agent_attention(const struct agent *a, char *buf, size_t cap)
{
	enum attention what, of;

	*buf = '\0';
	if (a->pending)
		return ATTENTION_NONE;
	what = blocked_attention(a, buf, cap);
	if (what || a->state != AGENT_UP)
		return what;
	of = a->container ? container_attention(a->container, buf, cap) : ATTENTION_NONE;
	return of ? of : working_attention(a, buf, cap);
}

const char *agent_path(const struct agent *a)
{
	if (a->state != AGENT_UP || a->mounts == MOUNTS_CHANGED || a->mounts == MOUNTS_UNKNOWN)
		return NULL;
	if (a->lane_lost)
		return "lost";
	if (a->egress.state == AGENT_EGRESS_ON && a->egress.relayed)
		return "relay";
	return a->lane ? "lane" : "engine";
}

int snapshot_attention(const struct snapshot *s)
{
	char why[8];
	int n = 0;

	for (size_t i = 0; i < s->nagents; i++)
		n += agent_attention(&s->agents[i], why, sizeof why) > 0;
	return n;
}
