/* kept_idle.c - pauses agents that have been idle for long enough. */
#include "keeper/kept_idle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/journal.h>
#include <berth/mem.h>

#include "lane/lane.h"

#define BOXES_MAX 256
#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS 1000000
#define LOOK_LEAST_NS NS_PER_S
#define LOOK_MOST_NS (15 * NS_PER_S)
#define LOOKS 10        /* while it is idle for long enough */
#define BUSY_NS 1500000 /* of CPU time between two looks: a command began */

struct idle_box {
	struct lane_idle rule;
	uint64_t cpu_ns;
	int64_t since_ns; /* idle; monotonic */
	bool asleep, here;
};

void kept_idle_open(struct kept_idle *k, struct recorder *by)
{
	*k = (struct kept_idle){.by = by, .box = xcalloc(BOXES_MAX, sizeof *k->box)};
}

void kept_idle_close(struct kept_idle *k)
{
	free(k->box);
	*k = (struct kept_idle){0};
}

bool kept_idle_any(const struct kept_idle *k)
{
	return k->n > 0;
}

/* -- which ----------------------------------------------------------------------------------------------- */

static void meet_rule(struct kept_idle *k, const struct lane_idle *rule, int64_t now)
{
	size_t i = 0;

	while (i < k->n &&
		(strcmp(k->box[i].rule.id, rule->id) != 0 || k->box[i].rule.init != rule->init))
		i++;
	if (i == k->n && k->n == BOXES_MAX)
		return;
	if (i == k->n)
		k->box[k->n++] = (struct idle_box){.since_ns = now};
	k->box[i].rule = *rule;
	k->box[i].here = true;
}

/* Those whose start is gone have no rule: the next `up` gives one. */
static void find_rules(struct kept_idle *k, int64_t now)
{
	AUTO_FREE struct lane_idle *rules = xcalloc(BOXES_MAX, sizeof *rules);
	size_t n = lane_idle_list(rules, BOXES_MAX), left = 0;

	for (size_t i = 0; i < k->n; i++)
		k->box[i].here = false;
	for (size_t i = 0; i < n; i++)
		if (lane_cpu_ns(rules[i].init, rules[i].id))
			meet_rule(k, &rules[i], now);
	for (size_t i = 0; i < k->n; i++)
		if (k->box[i].here)
			k->box[left++] = k->box[i];
	k->n = left;
}

/* -- what is done ---------------------------------------------------------------------------------------- */

static int do_pause_idle(void *ctx, struct audit_record *r, struct err *e)
{
	(void)r;
	return lane_idle_pause(ctx, e);
}

static int note_woken(void *ctx, struct audit_record *r, struct err *e)
{
	(void)ctx;
	(void)r;
	(void)e;
	return 0;
}

/* false: it was not done. */
static bool record_idle(struct kept_idle *k, struct idle_box *b, enum operation operation)
{
	char after[32];
	struct lane_about about = {0};
	const struct key_value kv[] = {{"rule", "idle", false}, {"after_s", after, false}};
	struct audit_record r = {.operation = operation,
		.target_type = "container",
		.target = b->rule.id,
		.name = b->rule.name,
		.nparams = COUNT(kv),
		.params = kv};
	struct err why = ERR_INIT;
	bool done;

	snprintf(after, sizeof after, "%" PRId64, b->rule.after_s);
	if (!lane_find(b->rule.name, &about, NULL)) {
		r.agent = about.agent;
		r.session = about.session;
		r.engine = about.engine;
	}
	done = !record_act(k->by, &r, NULL,
		operation == OP_CONTAINER_PAUSE ? do_pause_idle : note_woken, &b->rule, &why);
	if (!done && why.kind != ERR_CONFLICT)
		fprintf(stderr, "berth: %s\n", why.msg);
	recorder_settle_on(k->by);
	return done;
}

/* Woken by a command, or by somebody else; who looks paused to us and is not, is theirs. */
static void look_at_sleeper(struct kept_idle *k, struct idle_box *b, int64_t now)
{
	if (lane_asleep(b->rule.id, NULL, NULL)) {
		if (lane_frozen(b->rule.init, b->rule.id))
			return;
		lane_asleep_forget(b->rule.id);
	}
	b->asleep = false;
	b->since_ns = now;
	record_idle(k, b, OP_CONTAINER_UNPAUSE);
}

/* Its journal says when one of berth's ran last, however short it was. */
static void heed_journal(struct idle_box *b, int64_t now)
{
	struct journal_command last;
	int64_t ago_ms;

	if (!journal_list(b->rule.name, &last, 1) || last.lost)
		return;
	ago_ms = clock_wall_ms() - last.started_wall_ms - (int64_t)last.duration_ms;
	if (last.running || ago_ms < 0)
		b->since_ns = now;
	else if (ago_ms < INT32_MAX && now - ago_ms * NS_PER_MS > b->since_ns)
		b->since_ns = now - ago_ms * NS_PER_MS;
}

static bool is_busy_box(struct idle_box *b)
{
	uint64_t cpu = lane_cpu_ns(b->rule.init, b->rule.id), was = b->cpu_ns;
	pid_t some[1];

	b->cpu_ns = cpu;
	return cpu - was > BUSY_NS || lane_commands(b->rule.init, b->rule.id, some, 1) ||
		lane_frozen(b->rule.init, b->rule.id);
}

static void look_at_idle_box(struct kept_idle *k, struct idle_box *b, int64_t now)
{
	if (!b->asleep && lane_asleep(b->rule.id, NULL, NULL))
		b->asleep = true; /* by a keeper before this one */
	if (b->asleep) {
		look_at_sleeper(k, b, now);
		return;
	}
	heed_journal(b, now);
	if (is_busy_box(b)) {
		b->since_ns = now;
		return;
	}
	if (now - b->since_ns < b->rule.after_s * NS_PER_S)
		return;
	b->asleep = record_idle(k, b, OP_CONTAINER_PAUSE);
	b->since_ns = now;
}

/* -- when ------------------------------------------------------------------------------------------------ */

static int64_t next_look_ns(const struct kept_idle *k)
{
	int64_t least = LOOK_MOST_NS;

	for (size_t i = 0; i < k->n; i++) {
		int64_t each = k->box[i].asleep ? LOOK_LEAST_NS
						: k->box[i].rule.after_s * NS_PER_S / LOOKS;

		if (each < least)
			least = each;
	}
	return least < LOOK_LEAST_NS ? LOOK_LEAST_NS : least;
}

void kept_idle_go_on(struct kept_idle *k)
{
	int64_t now = clock_mono_ns();

	if (now < k->next_ns)
		return;
	find_rules(k, now);
	for (size_t i = 0; i < k->n; i++)
		look_at_idle_box(k, &k->box[i], clock_mono_ns());
	k->next_ns = clock_mono_ns() + next_look_ns(k);
}

int kept_idle_wait_ms(const struct kept_idle *k)
{
	int64_t left = (k->next_ns - clock_mono_ns()) / NS_PER_MS + 1;

	return left < 0 ? 0 : (int)left;
}
