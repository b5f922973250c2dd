/* compare.c - what is called a regression: proven on seeded samples, with noise as machines have it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compare.h"

#define N 30

static double draw_uniform(struct prng *r)
{
	return ((double)(prng_next(r) >> 11) + 0.5) / 9007199254740992.0;
}

static double draw_normal(struct prng *r)
{
	return sqrt(-2 * log(draw_uniform(r))) * cos(6.283185307179586 * draw_uniform(r));
}

/* A time around `middle`; one sample in twenty is an outlier, as an interrupted process gives. */
static double draw_timing(struct prng *r, double middle, double noise)
{
	double v = middle * (1 + noise * draw_normal(r));

	return draw_uniform(r) < 0.05 ? v * (1 + draw_uniform(r)) : v;
}

static void fill_timings(struct prng *r, double *v, double middle, double noise)
{
	for (int i = 0; i < N; i++)
		v[i] = draw_timing(r, middle, noise);
}

static enum change change_of(const double *old, const double *new, double threshold)
{
	struct compared k;

	compare_samples(old, N, new, N, NULL, NULL, false, threshold, &k);
	return k.change;
}

/* 2,000 comparisons of equal versions, at the strictest threshold there is: at most 1.5 %. */
static void test_equal_is_not_flagged(void **state)
{
	static const double noises[] = {0.01, 0.03, 0.10, 0.30};
	struct prng r = {20261121};
	int flagged = 0, at_default = 0;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct compared k;
		double a[N], b[N];

		fill_timings(&r, a, 0.01, noises[i % 4]);
		fill_timings(&r, b, 0.01, noises[i % 4]);
		/* What Mann-Whitney does not tell apart is never flagged; the bootstrap is slow. */
		if (mann_whitney(a, N, b, N, NULL) >= COMPARE_P)
			continue;
		compare_samples(a, N, b, N, NULL, NULL, false, 1, &k);
		flagged += k.change == CHANGE_SLOWER;
		at_default += k.change == CHANGE_SLOWER && k.speed.high < THRESHOLD;
	}
	printf("flagged of 2,000 equal ones: %d at threshold 1, %d at %.2f\n", flagged, at_default,
		THRESHOLD);
	assert_true(flagged <= 30);
	assert_true(at_default <= flagged);
}

/* A tenth slower, 3 % noise, n = 30: caught in at least 95 %. */
static void test_a_tenth_is_caught(void **state)
{
	struct prng r = {10};
	int caught = 0, total = 200;

	(void)state;
	for (int i = 0; i < total; i++) {
		double a[N], b[N];

		fill_timings(&r, a, 0.01, 0.03);
		fill_timings(&r, b, 0.011, 0.03);
		caught += change_of(a, b, THRESHOLD) == CHANGE_SLOWER;
	}
	printf("caught: %d of %d\n", caught, total);
	assert_true(caught >= total * 95 / 100);
}

/* The interval is judged, not the point: slower by 7 % with 30 % noise proves nothing. */
static void test_noise_is_no_proof(void **state)
{
	struct prng r = {3};
	double a[N], b[N];

	(void)state;
	fill_timings(&r, a, 1, 0.3);
	memcpy(b, a, sizeof b);
	for (int i = 0; i < N; i++)
		b[i] *= 1.07;
	assert_int_equal(change_of(a, b, THRESHOLD), CHANGE_NONE);
}

static void test_machine_and_direction(void **state)
{
	struct prng r = {4};
	double old[N], new[N], base[N], slow_base[N];
	struct compared k;

	(void)state;
	fill_timings(&r, old, 1, 0.02);
	fill_timings(&r, new, 1.3, 0.02);
	fill_timings(&r, base, 5, 0.02);
	fill_timings(&r, slow_base, 6.5, 0.02);
	/* The baseline arm slowed as much: it is the machine. */
	compare_samples(old, N, new, N, base, slow_base, false, THRESHOLD, &k);
	assert_int_equal(k.change, CHANGE_MACHINE);
	compare_samples(old, N, new, N, base, base, false, THRESHOLD, &k);
	assert_int_equal(k.change, CHANGE_SLOWER);
	assert_true(k.speed.low < 1 / 1.3 && k.speed.high > 1 / 1.3);
	compare_samples(new, N, old, N, NULL, NULL, false, THRESHOLD, &k);
	assert_int_equal(k.change, CHANGE_FASTER);
	/* Throughput: less is worse. */
	compare_samples(new, N, old, N, NULL, NULL, true, THRESHOLD, &k);
	assert_int_equal(k.change, CHANGE_SLOWER);
	compare_samples(NULL, 0, old, N, NULL, NULL, false, THRESHOLD, &k);
	assert_int_equal(k.change, CHANGE_MISSING);
}

/* More than 20 % slower raises the alert; a tenth does not. */
static void test_alert(void **state)
{
	static const double slower[] = {1.10, 1.35};
	struct prng r = {6};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct history_sample old[N] = {{0}}, new[N] = {{0}};
		struct history_case a = {.baseline = -1, .narms = 1}, b = a;
		struct compared k;

		strcpy(a.arms[0].name, "create");
		strcpy(b.arms[0].name, "create");
		for (int s = 0; s < N; s++) {
			old[s].value = draw_timing(&r, 1, 0.02);
			new[s].value = draw_timing(&r, slower[i], 0.02);
		}
		a.arms[0].v = old;
		b.arms[0].v = new;
		a.arms[0].n = b.arms[0].n = N;
		compare_arm(&a, &b, 0, THRESHOLD, 0.20, &k);
		assert_int_equal(k.change, CHANGE_SLOWER);
		assert_int_equal(k.alert, i == 1);
	}
}

/* Everything got slower, the peer that is the baseline too: the machine, and no alert of either arm. */
static void test_baseline_raises_no_alert(void **state)
{
	struct prng r = {8};
	struct history_sample old[2][N] = {{{0}}}, new[2][N] = {{{0}}};
	struct history_case a = {.baseline = 0, .narms = 2}, b;
	struct compared k;

	(void)state;
	strcpy(a.arms[0].name, "peer");
	strcpy(a.arms[1].name, "create");
	b = a;
	for (int arm = 0; arm < 2; arm++) {
		for (int s = 0; s < N; s++) {
			old[arm][s].value = draw_timing(&r, 1, 0.02);
			new[arm][s].value = draw_timing(&r, 1.35, 0.02);
		}
		a.arms[arm].v = old[arm];
		b.arms[arm].v = new[arm];
		a.arms[arm].n = b.arms[arm].n = N;
	}
	for (size_t arm = 0; arm < 2; arm++) {
		compare_arm(&a, &b, arm, THRESHOLD, 0.20, &k);
		assert_int_equal(k.change, CHANGE_MACHINE);
		assert_false(k.alert);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_is_not_flagged),
		cmocka_unit_test(test_a_tenth_is_caught),
		cmocka_unit_test(test_noise_is_no_proof),
		cmocka_unit_test(test_machine_and_direction),
		cmocka_unit_test(test_alert),
		cmocka_unit_test(test_baseline_raises_no_alert),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
