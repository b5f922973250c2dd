/* rates.c - percentages, rates and history from hand-made counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "observe/observe.h"

#define S 1000000000LL
#define GIB ((uint64_t)1 << 30)

static struct counters make_counters(int64_t ns, uint64_t cpu_ns)
{
	struct counters c;

	memset(&c, 0, sizeof c);
	c.at_ns = ns;
	c.cpu_ns = cpu_ns;
	c.memory_bytes = 100;
	return c;
}

static void expect_near(double a, double b)
{
	assert_true(a - b < 1e-6 && b - a < 1e-6);
}

static void test_cgroup(void **state)
{
	struct rates r = {0};
	struct container_stats s = {0};
	struct counters c = make_counters(10 * S, 5 * S);

	(void)state;
	c.net_rx = 1000;
	c.block_write = 50;
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	assert_false(s.rates);
	assert_int_equal(s.source, STATS_CGROUP);
	assert_int_equal(s.memory_bytes, 100);
	assert_int_equal(s.memory_limit_bytes, GIB);
	assert_false(s.memory_limited);

	/* 3 s of CPU in 2 s: 150 %; a limit below the host's memory is one */
	c = make_counters(12 * S, 8 * S);
	c.net_rx = 3000;
	c.block_write = 50 + 4096;
	c.memory_limit = GIB / 2;
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	assert_true(s.rates);
	expect_near(s.cpu_percent, 150);
	expect_near(s.net_rx_bytes_per_s, 1000);
	expect_near(s.block_write_bytes_per_s, 2048);
	assert_true(s.memory_limited);
	assert_int_equal(s.memory_limit_bytes, GIB / 2);
	assert_int_equal(s.spark_len, 1);
	assert_int_equal(s.spark[0], 1500);

	/* the hypervisor took half of the time: what was there was used twice as well */
	c = make_counters(13 * S, 8 * S + S / 2);
	c.net_rx = 3000;
	c.block_write = 50 + 4096;
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0.5, &s);
	expect_near(s.cpu_percent, 100);
	rates_clear(&r);
	assert_null(r.history);
}

static void test_throttled(void **state)
{
	struct rates r = {0};
	struct container_stats s = {0};
	struct counters c = make_counters(10 * S, 5 * S);

	(void)state;
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	assert_false(s.throttles);
	c = make_counters(11 * S, 6 * S);
	c.periods = 1000;
	c.throttled = 900;
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	c = make_counters(12 * S, 7 * S);
	c.periods = 1010;
	c.throttled = 904;
	c.pressed = true;
	c.pressure_io = 7;
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	assert_true(s.throttles && s.pressed);
	expect_near(s.throttled_percent, 40);
	expect_near(s.pressure_io, 7);
	/* It slept: no period, and not stopped. */
	c.at_ns = 13 * S;
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	expect_near(s.throttled_percent, 0);
	rates_clear(&r);
}

static void test_engine(void **state)
{
	struct rates r = {0};
	struct container_stats s = {0};
	struct counters c = make_counters(1 * S, 0);

	(void)state;
	c.system_ns = 100 * S;
	c.online_cpus = 2;
	rates_sample(&r, &c, STATS_ENGINE, GIB, 0, &s);
	c = make_counters(2 * S, S / 2);
	c.system_ns = 102 * S; /* two cores for a second */
	c.online_cpus = 2;
	rates_sample(&r, &c, STATS_ENGINE, GIB, 0, &s);
	expect_near(s.cpu_percent, 50);
	/* the host's time stood still: the last figure stays */
	c = make_counters(3 * S, S);
	c.system_ns = 102 * S;
	c.online_cpus = 2;
	rates_sample(&r, &c, STATS_ENGINE, GIB, 0, &s);
	expect_near(s.cpu_percent, 50);
	assert_int_equal(s.at_ns, 3 * S);
	rates_clear(&r);
}

static void test_restart(void **state)
{
	struct rates r = {0};
	struct container_stats s = {0};
	struct counters c = make_counters(1 * S, 9 * S);

	(void)state;
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	c = make_counters(2 * S, 10 * S);
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	expect_near(s.cpu_percent, 100);
	/* counters went back: a new life, no rate, and no huge one either */
	c = make_counters(3 * S, 1);
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	assert_false(s.rates);
	expect_near(s.cpu_percent, 0);
	c = make_counters(4 * S, 1 + S / 4);
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	assert_true(s.rates);
	expect_near(s.cpu_percent, 25);
	assert_int_equal(r.history->len, 2);
	/* told of the restart beforehand */
	rates_restart(&r);
	c = make_counters(5 * S, 100 * S);
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	assert_false(s.rates);
	/* from another source: its clock differs */
	c = make_counters(6 * S, 101 * S);
	rates_sample(&r, &c, STATS_ENGINE, GIB, 0, &s);
	assert_false(s.rates);
	rates_clear(&r);
}

/* Stopped for a minute: one sample, with the mean. */
static void test_sleep(void **state)
{
	struct rates r = {0};
	struct container_stats s = {0};
	struct counters c = make_counters(1 * S, 0);

	(void)state;
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	c = make_counters(61 * S, 6 * S);
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	expect_near(s.cpu_percent, 10);
	assert_int_equal(r.history->len, 1);
	/* twice within a breath, or the clock stepped back: no rate from that */
	c = make_counters(61 * S + 1000, 7 * S);
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	expect_near(s.cpu_percent, 10);
	c = make_counters(60 * S, 7 * S);
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	expect_near(s.cpu_percent, 10);
	c = make_counters(62 * S, 6 * S + S / 2);
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	expect_near(s.cpu_percent, 50);
	rates_clear(&r);
}

static void test_history(void **state)
{
	struct rates r = {0};
	struct container_stats s = {0};
	struct series series;
	uint64_t cpu = 0;

	(void)state;
	for (int i = 0; i <= SERIES_LEN + 20; i++) {
		struct counters c;

		cpu += (uint64_t)(i % 100) * S / 100;
		c = make_counters((1 + i) * S, cpu);
		rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	}
	assert_int_equal(r.history->len, SERIES_LEN);
	expect_near(r.history->interval_s, 1);
	history_get(r.history, SERIES_CPU, &series);
	assert_int_equal(series.len, SERIES_LEN);
	for (int i = 0; i < SERIES_LEN; i++)
		assert_true(series.v[i] - (float)((21 + i) % 100) < 0.01f &&
			(float)((21 + i) % 100) - series.v[i] < 0.01f);
	assert_int_equal(s.spark_len, SPARK_LEN);
	assert_int_equal(s.spark[SPARK_LEN - 1], (SERIES_LEN + 20) % 100 * 10);
	history_get(NULL, SERIES_CPU, &series);
	assert_int_equal(series.len, 0);
	rates_clear(&r);
}

static void test_saturation(void **state)
{
	struct rates r = {0};
	struct container_stats s = {0};
	struct counters c = make_counters(1 * S, 0);

	(void)state;
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	c = make_counters(2 * S, UINT64_MAX);
	rates_sample(&r, &c, STATS_CGROUP, GIB, 0, &s);
	assert_int_equal(s.spark[0], UINT16_MAX);
	rates_clear(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cgroup),
		cmocka_unit_test(test_throttled),
		cmocka_unit_test(test_engine),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_sleep),
		cmocka_unit_test(test_history),
		cmocka_unit_test(test_saturation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
