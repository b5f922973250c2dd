/* snapshot.c - the slot and the mailboxes between two threads (meant for the thread sanitizer). */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "base/mailbox.h"
#include "base/snapshot.h"

#define ROUNDS 3000

static void assert_attention(const struct agent *a, const char *want)
{
	char why[160];

	assert_int_equal(agent_attention(a, why, sizeof why) > 0, *want != '\0');
	assert_string_equal(why, want);
}

/* The gravest reason, and none where nothing is wrong or something is being done. */
static void test_attention(void **state)
{
	struct container c = {.state = CONTAINER_RUNNING,
		.stats = {.memory_limited = true,
			.memory_bytes = 940,
			.memory_limit_bytes = 1000,
			.pids = 10,
			.pids_limit = 100}};
	struct agent_command bad = {.ended = "exit 2"}, good = {.ended = "exit 0", .good = true};
	struct agent a = {.state = AGENT_UP, .container = &c, .last = &good};
	struct snapshot s = {.nagents = 1, .agents = &a};

	(void)state;
	assert_attention(&a, "");
	assert_int_equal(snapshot_attention(&s), 0);
	a.ndrift = 2;
	assert_attention(&a, "2 drift from its file");
	assert_int_equal(snapshot_attention(&s), 1);
	a.last = &bad;
	assert_attention(&a, "last command: exit 2");
	a.nrunning = 1;
	assert_attention(&a, "2 drift from its file");
	a.nrunning = 0;
	a.last = &good;
	a.pace = PACE_IDLE;
	a.usual_ms = 125000;
	assert_attention(&a, "idle; longest so far: 2m05s");
	a.pace = PACE_BUSY;
	assert_attention(&a, "busy; longest so far: 2m05s");
	a.last = &bad;
	assert_attention(&a, "last command: exit 2");
	a.restarted = true;
	assert_attention(&a, "its engine restarted it");
	c.stats.pids = 96;
	assert_attention(&a, "processes at 96 % of its limit");
	c.stats.memory_bytes = 970;
	assert_attention(&a, "memory at 97 % of its limit");
	a.budget_spent = true;
	assert_attention(&a, "memory at 97 % of its limit");
	c.stats.memory_limited = false;
	c.stats.pids = 1;
	assert_attention(&a, "a budget is spent");
	c.health = HEALTH_UNHEALTHY;
	assert_attention(&a, "unhealthy");
	a.egress.state = AGENT_EGRESS_LOST;
	assert_attention(&a, "egress lost");
	a.egress = (struct agent_egress){.state = AGENT_EGRESS_ON};
	assert_attention(&a, "unhealthy");
	a.lane_lost = true;
	assert_attention(&a, "its init does not answer");
	a.held = "its workspace holds more than its limit of 1.0G";
	assert_attention(&a, "held: its workspace holds more than its limit of 1.0G");
	a.mounts = MOUNTS_CHANGED;
	assert_attention(&a, "its mounts changed");
	a.egress.held = 2;
	assert_attention(&a, "2 wait to be let out");
	a.egress.held = 1;
	assert_attention(&a, "1 waits to be let out");
	a.approvals = 1;
	assert_attention(&a, "1 waits for an approval");
	a.state = AGENT_STOPPED;
	c.exit_code = 137;
	assert_attention(&a, "stopped, exit 137");
	c.oom_killed = true;
	assert_attention(&a, "ended: out of memory");
	a.container = NULL;
	a.state = AGENT_GONE;
	assert_attention(&a, "its container is gone");
	a.problem = "The workspace is not there.";
	assert_attention(&a, "The workspace is not there.");
	a.pending = AGENT_BRING_UP;
	assert_attention(&a, "");
	a = (struct agent){.state = AGENT_DOWN, .last = &bad};
	assert_attention(&a, "");
}

static void test_empty(void **state)
{
	struct snapshot_slot slot;
	const struct snapshot *s;

	(void)state;
	snapshot_slot_init(&slot);
	s = snapshot_take(&slot);
	assert_non_null(s);
	assert_int_equal(s->seq, 0);
	assert_false(s->listed);
	assert_string_equal(s->engine.endpoint, "");
	assert_null(s->engine.problem);
	assert_int_equal(s->images, -1);
	snapshot_slot_release(&slot);
	/* ours outlives the slot */
	assert_string_equal(s->engine.id, "");
	snapshot_unref(s);
	snapshot_unref(NULL);
}

static void *publish_snapshots(void *arg)
{
	struct snapshot_slot *slot = arg;

	for (uint64_t i = 1; i <= ROUNDS; i++) {
		struct arena *a;
		struct snapshot *s = snapshot_new(0, &a);
		struct container *c = arena_array(a, 3, sizeof *c);

		for (int k = 0; k < 3; k++) {
			c[k].engine = "e";
			c[k].id = arena_printf(a, "%d", k);
			c[k].name = arena_printf(a, "%llu", (unsigned long long)i);
		}
		s->seq = i;
		s->containers = c;
		s->ncontainers = 3;
		snapshot_publish(slot, s);
	}
	return NULL;
}

/* Whoever takes one sees it whole, and never an older one than before. */
static void test_snapshot_threads(void **state)
{
	struct snapshot_slot slot;
	pthread_t t;
	uint64_t last = 0;
	const struct snapshot *kept = NULL;

	(void)state;
	snapshot_slot_init(&slot);
	assert_int_equal(pthread_create(&t, NULL, publish_snapshots, &slot), 0);
	while (last < ROUNDS) {
		const struct snapshot *s = snapshot_take(&slot);

		assert_true(s->seq >= last);
		last = s->seq;
		for (size_t i = 0; i < s->ncontainers; i++)
			assert_int_equal(strtoull(s->containers[i].name, NULL, 10), s->seq);
		if (!kept && s->seq)
			kept = snapshot_ref(s);
		snapshot_unref(s);
	}
	pthread_join(t, NULL);
	snapshot_slot_release(&slot);
	assert_non_null(kept);
	assert_int_equal(strtoull(kept->containers[2].name, NULL, 10), kept->seq);
	snapshot_unref(kept);
}

/* A picture as large as the last one takes as much memory as the last one, for ever. */
static void test_snapshot_size(void **state)
{
	size_t used = 0, first = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct arena *a;
		struct snapshot *s = snapshot_new(used, &a);

		for (int k = 0; k < 50; k++)
			arena_alloc(a, 1000);
		used = snapshot_used(s);
		if (i == 1)
			first = arena_bytes(a);
		if (i > 1)
			assert_int_equal(arena_bytes(a), first);
		snapshot_unref(s);
	}
	assert_true(first < 60000);
}

struct note {
	struct mail mail;
	int n;
};

static atomic_int wakes;

static void count_wakes(void *ctx)
{
	(void)ctx;
	atomic_fetch_add(&wakes, 1);
}

static void *send_notes(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct note *n = xcalloc(1, sizeof *n);

		n->n = i;
		n->mail.bytes = sizeof *n;
		mailbox_put(arg, &n->mail);
	}
	return NULL;
}

static void test_mailbox_threads(void **state)
{
	struct mailbox m;
	pthread_t t;
	int got = 0;

	(void)state;
	mailbox_init(&m, count_wakes, NULL);
	assert_int_equal(pthread_create(&t, NULL, send_notes, &m), 0);
	while (got < ROUNDS) {
		struct note *n = (struct note *)mailbox_take(&m);

		if (!n)
			continue;
		assert_int_equal(n->n, got++);
		free(n);
	}
	pthread_join(t, NULL);
	assert_int_equal(mailbox_bytes(&m), 0);
	assert_true(atomic_load(&wakes) >= 1);
	mailbox_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_attention),
		cmocka_unit_test(test_snapshot_threads),
		cmocka_unit_test(test_snapshot_size),
		cmocka_unit_test(test_mailbox_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
