/*
 * statistics.h - the statistics of a benchmark, with confidence intervals.
 *
 * Benchmark samples are skewed and have outliers, so the headline is the median with its MAD,
 * ratios carry a bootstrap interval, and comparisons with history use ranks (Mann-Whitney), never a
 * mean and a t-test.  Quantiles are type 7 of Hyndman & Fan 1996 (the default of R and NumPy).
 *
 * Thread: pure functions.
 */
#ifndef BENCH_STATISTICS_H
#define BENCH_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct summary {
	size_t n;
	double mean, sd, median, mad, min, max, p95, p99; /* sd: n - 1; mad: raw, not scaled */
};

/* p99 is NaN below this many samples: fewer cannot show it. */
#define SUMMARY_P99_MIN 200

void summarise(const double *v, size_t n, struct summary *out);

double quantile_sorted(const double *sorted, size_t n, double q); /* 0 <= q <= 1, n >= 1 */
double median_of(const double *v, size_t n);
void quartiles(const double *v, size_t n, double *low, double *high); /* n >= 1 */

struct interval {
	double low, point, high;
};

/* Ratio of medians a/b with its 95 % percentile bootstrap interval.  `blocks`: sample i of a and of
 * b were taken in the same block (interleaved), so both are resampled by one block index (na ==
 * nb). */
struct interval ratio_interval(
	const double *a, size_t na, const double *b, size_t nb, int blocks, uint64_t seed);
/* How many times as fast the new figures are, of which more is better (`higher`) or less.  Where their median is 0 and the
 * old one is not: 0 times, or infinitely many. */
struct interval speed_interval(const double *old, size_t n_old, const double *new, size_t n_new,
	bool higher, uint64_t seed);
/* The same of the difference a - b. */
struct interval difference_interval(
	const double *a, size_t na, const double *b, size_t nb, int blocks, uint64_t seed);

/* Two-sided p-value of the Mann-Whitney U test: exact for small samples without ties, else the
 * normal approximation with tie and continuity correction.  *u (may be NULL) is U of the first
 * sample. */
double mann_whitney(const double *a, size_t na, const double *b, size_t nb, double *u);

/* splitmix64: small, seedable, good enough to shuffle and resample. */
struct prng {
	uint64_t state;
};
uint64_t prng_next(struct prng *r);
size_t prng_below(struct prng *r, size_t n); /* uniform in [0, n), n >= 1 */

#endif
