/* attention.c - since when an agent needs a person, and what it does against what it did before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "agents/pace.h"
#include "console/core.h"

#define NOW INT64_C(1700000000000)
#define MINUTE INT64_C(60000)

/* Ten commands of 20 s with pauses of 100 s before `last_end`, newest first. */
static size_t make_commands(struct journal_command list[12], int64_t last_end)
{
	memset(list, 0, 12 * sizeof *list);
	for (size_t i = 0; i < 10; i++) {
		list[i].duration_ms = 20000;
		list[i].started_wall_ms = last_end - (int64_t)i * 120000 - 20000;
	}
	return 10;
}

static void test_idle(void **state)
{
	struct journal_command list[12];
	int64_t usual = 0;
	size_t n = make_commands(list, NOW - 9 * MINUTE);

	(void)state;
	assert_int_equal(pace_of(list, n, NOW, &usual), PACE_USUAL);
	n = make_commands(list, NOW - 11 * MINUTE);
	assert_int_equal(pace_of(list, n, NOW, &usual), PACE_IDLE);
	assert_int_equal(usual, 100000);
	/* Too few to know what is usual; and none at all. */
	assert_int_equal(pace_of(list, 7, NOW, &usual), PACE_USUAL);
	assert_int_equal(pace_of(list, 0, NOW, &usual), PACE_USUAL);
	/* It once paused for 8 minutes: eleven are no surprise. */
	list[9].started_wall_ms -= 8 * MINUTE;
	assert_int_equal(pace_of(list, n, NOW, &usual), PACE_USUAL);
}

static void test_busy(void **state)
{
	struct journal_command list[12];
	int64_t usual = 0;
	size_t n = make_commands(list, NOW - 3 * MINUTE);

	(void)state;
	memmove(&list[1], &list[0], n * sizeof *list);
	list[0] = (struct journal_command){.running = true, .started_wall_ms = NOW - 59000};
	assert_int_equal(pace_of(list, n + 1, NOW, &usual), PACE_USUAL);
	list[0].started_wall_ms = NOW - 62000;
	assert_int_equal(pace_of(list, n + 1, NOW, &usual), PACE_BUSY);
	assert_int_equal(usual, 20000);
	list[1].duration_ms = 21000;
	assert_int_equal(pace_of(list, n + 1, NOW, &usual), PACE_USUAL);
	/* A person's terminal may stay open. */
	list[1].duration_ms = 20000;
	list[0].terminal = true;
	assert_int_equal(pace_of(list, n + 1, NOW, &usual), PACE_USUAL);
}

struct scene {
	struct backend *b;
	struct snapshot s;
	struct agent a;
	struct container c;
};

static void look_at_scene(struct scene *x, int64_t wall_ms)
{
	x->s.at_wall_ms = wall_ms;
	attention_copy(x->b, &x->s);
}

static void set_scene(struct scene *x)
{
	*x = (struct scene){.b = xcalloc(1, sizeof *x->b),
		.c = {.state = CONTAINER_RUNNING, .started_wall_ms = NOW - MINUTE}};
	x->a = (struct agent){.id = "a", .name = "berth-a", .state = AGENT_UP, .container = &x->c};
	x->s.nagents = 1;
	x->s.agents = &x->a;
}

static void strike_scene(struct scene *x)
{
	attention_close(x->b);
	free(x->b);
}

/* What has no time of its own is as old as when it was seen first, and begins anew when it comes again. */
static void test_age_as_seen(void **state)
{
	struct scene x;

	(void)state;
	set_scene(&x);
	look_at_scene(&x, NOW);
	assert_int_equal(x.a.need_wall_ms, 0);
	x.c.health = HEALTH_UNHEALTHY;
	look_at_scene(&x, NOW + 1000);
	look_at_scene(&x, NOW + 2000);
	assert_int_equal(x.a.need_wall_ms, NOW + 1000);
	x.a.lane_lost = true;
	look_at_scene(&x, NOW + 3000);
	assert_int_equal(x.a.need_wall_ms, NOW + 3000);
	x.a.lane_lost = false;
	x.c.health = HEALTH_HEALTHY;
	x.a.need_wall_ms = 0;
	look_at_scene(&x, NOW + 4000);
	assert_int_equal(x.a.need_wall_ms, 0);
	assert_int_equal(x.b->needs.n, 0);
	x.c.health = HEALTH_UNHEALTHY;
	look_at_scene(&x, NOW + 5000);
	assert_int_equal(x.a.need_wall_ms, NOW + 5000);
	strike_scene(&x);
}

static void test_age_of_its_own(void **state)
{
	struct agent_command last = {
		.started_wall_ms = NOW - 9000, .duration_ms = 2000, .ended = "exit 1"};
	struct job_info jobs[] = {
		{.asks = true, .owner = "a", .started_wall_ms = NOW - 3000},
		{.asks = true, .owner = "a", .started_wall_ms = NOW - 5000},
		{.asks = true, .owner = "b", .started_wall_ms = NOW - 8000},
		{.asks = false, .owner = "a", .started_wall_ms = NOW - 9000},
	};
	struct agent_ask asks[] = {
		{.container = "berth-a", .held = 1, .first_wall_ms = NOW - 700},
		{.container = "berth-a", .held = 0, .first_wall_ms = NOW - 900},
	};
	char why[80];
	struct scene x;

	(void)state;
	set_scene(&x);
	x.a.last = &last;
	look_at_scene(&x, NOW);
	assert_int_equal(x.a.need_wall_ms, NOW - 7000);
	/* The engine restarted it a minute ago; after ten that is no news. */
	x.c.restarts = 1;
	look_at_scene(&x, NOW);
	assert_int_equal(agent_attention(&x.a, why, sizeof why), ATTENTION_RESTARTED);
	assert_int_equal(x.a.need_wall_ms, NOW - MINUTE);
	look_at_scene(&x, NOW + 10 * MINUTE);
	assert_int_equal(agent_attention(&x.a, why, sizeof why), ATTENTION_FAILED);
	x.s.asks = asks;
	x.s.nasks = COUNT(asks);
	x.a.egress.held = 1;
	look_at_scene(&x, NOW);
	assert_int_equal(x.a.need_wall_ms, NOW - 700);
	x.s.jobs = jobs;
	x.s.njobs = COUNT(jobs);
	look_at_scene(&x, NOW);
	assert_int_equal(x.a.approvals, 2);
	assert_int_equal(x.a.need_wall_ms, NOW - 5000);
	agent_attention(&x.a, why, sizeof why);
	assert_string_equal(why, "2 wait for an approval");
	x.a.state = AGENT_STOPPED;
	x.c.state = CONTAINER_EXITED;
	x.c.finished_wall_ms = NOW - 11;
	look_at_scene(&x, NOW);
	assert_int_equal(x.a.need_wall_ms, NOW - 11);
	strike_scene(&x);
}

static void test_path(void **state)
{
	struct agent a = {.state = AGENT_UP, .lane = true};

	(void)state;
	assert_string_equal(agent_path(&a), "lane");
	a.egress = (struct agent_egress){.state = AGENT_EGRESS_ON};
	assert_string_equal(agent_path(&a), "lane");
	a.egress.relayed = true;
	assert_string_equal(agent_path(&a), "relay");
	a.lane = false;
	a.no_lane = true;
	assert_string_equal(agent_path(&a), "relay");
	a.egress.state = AGENT_EGRESS_LOST;
	assert_string_equal(agent_path(&a), "engine");
	a.lane_lost = true;
	assert_string_equal(agent_path(&a), "lost");
	a.mounts = MOUNTS_CHANGED;
	assert_null(agent_path(&a));
	a = (struct agent){.state = AGENT_STOPPED, .lane = true};
	assert_null(agent_path(&a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_age_as_seen),
		cmocka_unit_test(test_age_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
