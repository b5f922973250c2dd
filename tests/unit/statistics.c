/* statistics.c - the benchmark's statistics against published values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "runner.h"
#include "statistics.h"

#define NEAR(a, b, eps) assert_true(fabs((a) - (b)) <= (eps))
#define N(a) (sizeof(a) / sizeof((a)[0]))

/* en.wikipedia.org/wiki/Median_absolute_deviation and /Standard_deviation, basic examples. */
static void test_summary(void **state)
{
	const double mad[] = {1, 1, 2, 2, 4, 6, 9}, sd[] = {2, 4, 4, 4, 5, 5, 7, 9};
	struct summary s;

	(void)state;
	summarise(mad, N(mad), &s);
	NEAR(s.median, 2, 0);
	NEAR(s.mad, 1, 0);
	summarise(sd, N(sd), &s);
	NEAR(s.mean, 5, 0);
	NEAR(s.sd, 2.138089935, 1e-9);
	NEAR(s.median, 4.5, 0);
	assert_true(isnan(s.p99));
	NEAR(s.min, 2, 0);
	NEAR(s.max, 9, 0);
	summarise(NULL, 0, &s);
	assert_int_equal(s.n, 0);
}

/* R: quantile(c(15, 20, 35, 40, 50), c(.05, .3, .4, .95), type = 7). */
static void test_quantiles(void **state)
{
	const double v[] = {15, 20, 35, 40, 50};
	double many[200];
	struct summary s;

	(void)state;
	NEAR(quantile_sorted(v, 5, 0.05), 16, 1e-12);
	NEAR(quantile_sorted(v, 5, 0.30), 23, 1e-12);
	NEAR(quantile_sorted(v, 5, 0.40), 29, 1e-12);
	NEAR(quantile_sorted(v, 5, 0.95), 48, 1e-12);
	NEAR(quantile_sorted(v, 5, 1.0), 50, 0);
	NEAR(quantile_sorted(v, 1, 0.5), 15, 0);
	for (int i = 0; i < 200; i++)
		many[i] = 199 - i;
	summarise(many, 200, &s);
	NEAR(s.p99, 197.01, 1e-9);
}

/* Exact: the males and females of SciPy's mannwhitneyu page; and Hollander & Wolfe 1973, table 4.1
 * (permeability), on R's wilcox.test page: W = 35, one-sided p = 0.1272. */
static void test_mann_whitney(void **state)
{
	const double males[] = {19, 22, 16, 29, 24}, females[] = {20, 11, 17, 12};
	const double x[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
	const double y[] = {1.15, 0.88, 0.90, 0.74, 1.21};
	const double tied_a[] = {1, 2, 2, 3}, tied_b[] = {2, 3, 4, 5};
	const double same[] = {1, 1, 1};
	double u;

	(void)state;
	NEAR(mann_whitney(males, 5, females, 4, &u), 0.1111111, 1e-6);
	NEAR(u, 17, 0);
	NEAR(mann_whitney(x, 10, y, 5, &u), 2 * 0.1272, 1e-4);
	NEAR(u, 35, 0);
	/* By hand: U = 2.5, tie term 30, z = 5 / 3.359422 = 1.488351. */
	NEAR(mann_whitney(tied_a, 4, tied_b, 4, &u), 0.13666, 1e-4);
	NEAR(u, 2.5, 0);
	NEAR(mann_whitney(same, 3, same, 3, NULL), 1, 0);
	NEAR(mann_whitney(same, 0, same, 3, NULL), 1, 0);
}

static double draw_noise(struct prng *r)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += (double)(prng_next(r) >> 11) / 9007199254740992.0;
	return sum - 6; /* Irwin-Hall: near enough to a standard normal */
}

/* The interval must hold the true ratio about 95 times in 100, and not be uselessly wide. */
static void test_bootstrap(void **state)
{
	struct prng r = {7};
	int covered = 0, apart = 0, rounds = 200;
	double width = 0;

	(void)state;
	for (int k = 0; k < rounds; k++) {
		double a[30], b[30];
		struct interval q;

		for (int i = 0; i < 30; i++) {
			a[i] = 2 * (1 + 0.03 * draw_noise(&r));
			b[i] = 1 + 0.03 * draw_noise(&r);
		}
		q = ratio_interval(a, 30, b, 30, 0, (uint64_t)k);
		assert_true(q.low <= q.point && q.point <= q.high);
		covered += q.low <= 2 && 2 <= q.high;
		width += (q.high - q.low) / rounds;
		q = difference_interval(a, 30, b, 30, 0, (uint64_t)k);
		assert_true(q.low <= q.point && q.point <= q.high);
		apart += q.low <= 1 && 1 <= q.high;
	}
	assert_true(covered >= rounds * 90 / 100);
	assert_true(apart >= rounds * 90 / 100);
	assert_true(width < 0.12);
}

static void test_prng(void **state)
{
	struct prng r = {0};
	size_t seen[5] = {0};

	(void)state;
	/* First outputs of splitmix64 from seed 0 (Vigna's reference, as in Rosetta Code). */
	assert_true(prng_next(&r) == 0xE220A8397B1DCDAFu);
	assert_true(prng_next(&r) == 0x6E789E6AA1B965F4u);
	for (int i = 0; i < 5000; i++)
		seen[prng_below(&r, 5)]++;
	for (int i = 0; i < 5; i++)
		assert_in_range(seen[i], 900, 1100);
}

static int spend_once(void *ctx, struct sample *s, struct err *e)
{
	(void)ctx;
	(void)e;
	s->seconds = 1e-3;
	s->digest = 5;
	return 0;
}

static int spend_twice(void *ctx, struct sample *s, struct err *e)
{
	(void)ctx;
	(void)e;
	s->seconds = 2e-3;
	s->digest = 5;
	return 0;
}

static int spend_wrongly(void *ctx, struct sample *s, struct err *e)
{
	(void)ctx;
	(void)e;
	s->digest = 6;
	return 0;
}

static void test_runner(void **state)
{
	static const struct bench_suite suite = {"unit", NULL};
	const struct bench_case good = {.name = "good",
		.samples = 10,
		.arms = {{"slow", spend_twice}, {"fast", spend_once}},
		.targets = {{"twice as fast", "fast", ON_RATIO, 1.9, NO_BOUND},
			{"three times", "fast", ON_RATIO, 3, NO_BOUND}}};
	const struct bench_case bad = {
		.name = "bad", .samples = 4, .arms = {{"a", spend_once}, {"b", spend_wrongly}}};
	struct run_options o = {.seed = 1};
	struct bench_run r;
	struct interval q;
	double figure;

	(void)state;
	bench_case_run(&suite, &good, &o, &r);
	assert_int_equal(r.err.kind, ERR_NONE);
	assert_int_equal(r.nseries, 2);
	assert_string_equal(r.series[0].name, "slow");
	assert_int_equal(r.series[1].n, 10);
	assert_int_equal(target_judge(&r, &good.targets[0], &figure, &q), MET);
	NEAR(figure, 2, 1e-9);
	assert_int_equal(target_judge(&r, &good.targets[1], &figure, &q), MISSED);
	bench_run_release(&r);

	bench_case_run(&suite, &bad, &o, &r);
	assert_true(r.failed);
	assert_int_equal(r.series[0].n, 0);
	bench_run_release(&r);
}

/* A median of 0 on either side: what is left of it is known, whichever way it went. */
static void test_speed_of_zeros(void **state)
{
	static const double some[] = {5, 6, 5, 7, 6, 5, 6, 7}, none[8] = {0},
			    hardly[] = {0, 0, 0, 0, 0, 5, 0, 0};
	static const struct {
		const double *old, *new;
		bool higher;
		double want;
	} cases[] = {
		{some, none, true, 0},
		{some, hardly, true, 0},
		{none, some, true, INFINITY},
		{some, none, false, INFINITY},
		{some, hardly, false, INFINITY},
		{none, some, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < N(cases); i++) {
		struct interval got =
			speed_interval(cases[i].old, 8, cases[i].new, 8, cases[i].higher, 1);

		if (got.low != cases[i].want || got.high != cases[i].want)
			fail_msg("case %zu: %g to %g", i, got.low, got.high);
	}
	assert_true(isnan(speed_interval(none, 8, none, 8, true, 1).low));
	assert_true(speed_interval(some, 8, some, 8, true, 1).point == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_mann_whitney),
		cmocka_unit_test(test_bootstrap),
		cmocka_unit_test(test_prng),
		cmocka_unit_test(test_speed_of_zeros),
		cmocka_unit_test(test_runner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
