/* statistics.c - computes medians, quantiles, bootstrap intervals and ranks. */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <berth/check.h>
#include <berth/mem.h>

#define RESAMPLES 2000
#define EXACT_MAX 20 /* largest sample for which U's distribution is counted out */

uint64_t prng_next(struct prng *r)
{
	uint64_t z = r->state += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

size_t prng_below(struct prng *r, size_t n)
{
	/* The bias of a plain multiply is below 2^-32 for any n that occurs here. */
	return (size_t)((unsigned __int128)prng_next(r) * n >> 64);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double *sorted_copy(const double *v, size_t n)
{
	double *s = xreallocarray(NULL, n, sizeof *s);

	memcpy(s, v, n * sizeof *s);
	mem_sort(s, n, sizeof *s, compare_doubles);
	return s;
}

double quantile_sorted(const double *sorted, size_t n, double q)
{
	double at = q * (double)(n - 1), low = floor(at);
	size_t i = (size_t)low;

	CHECK(n >= 1);
	if (i + 1 >= n)
		return sorted[n - 1];
	return sorted[i] + (at - low) * (sorted[i + 1] - sorted[i]);
}

double median_of(const double *v, size_t n)
{
	AUTO_FREE double *s = sorted_copy(v, n);

	return quantile_sorted(s, n, 0.5);
}

void quartiles(const double *v, size_t n, double *low, double *high)
{
	AUTO_FREE double *s = sorted_copy(v, n);

	*low = quantile_sorted(s, n, 0.25);
	*high = quantile_sorted(s, n, 0.75);
}

void summarise(const double *v, size_t n, struct summary *out)
{
	AUTO_FREE double *s = NULL, *dev = NULL;
	double sum = 0, squares = 0;

	memset(out, 0, sizeof *out);
	out->n = n;
	if (!n)
		return;
	s = sorted_copy(v, n);
	dev = xreallocarray(NULL, n, sizeof *dev);
	for (size_t i = 0; i < n; i++)
		sum += s[i];
	out->mean = sum / (double)n;
	out->median = quantile_sorted(s, n, 0.5);
	for (size_t i = 0; i < n; i++) {
		squares += (s[i] - out->mean) * (s[i] - out->mean);
		dev[i] = fabs(s[i] - out->median);
	}
	out->sd = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
	mem_sort(dev, n, sizeof *dev, compare_doubles);
	out->mad = quantile_sorted(dev, n, 0.5);
	out->min = s[0];
	out->max = s[n - 1];
	out->p95 = quantile_sorted(s, n, 0.95);
	out->p99 = n >= SUMMARY_P99_MIN ? quantile_sorted(s, n, 0.99) : NAN;
}

/* The k-th smallest (Hoare's find, in Wirth's form); what is before it is not larger.  The bootstrap takes
 * thousands of medians, and a whole sort for each would be most of its time. */
static double select_kth(double *v, ptrdiff_t n, ptrdiff_t k)
{
	ptrdiff_t low = 0, high = n - 1;

	while (low < high) {
		double pivot = v[k];
		ptrdiff_t i = low, j = high;

		do {
			while (v[i] < pivot)
				i++;
			while (pivot < v[j])
				j--;
			if (i <= j) {
				double t = v[i];

				v[i++] = v[j];
				v[j--] = t;
			}
		} while (i <= j);
		if (j < k)
			low = i;
		if (k < i)
			high = j;
	}
	return v[k];
}

static double median_in_place(double *v, size_t n)
{
	double upper = select_kth(v, (ptrdiff_t)n, (ptrdiff_t)(n / 2)), lower;

	if (n % 2)
		return upper;
	lower = v[0];
	for (size_t i = 1; i < n / 2; i++)
		if (v[i] > lower)
			lower = v[i];
	return lower + 0.5 * (upper - lower);
}

static double divide_medians(double a, double b)
{
	return a / b;
}

static double subtract_medians(double a, double b)
{
	return a - b;
}

static struct interval resample_medians(double (*join)(double, double), const double *a, size_t na,
	const double *b, size_t nb, int blocks, uint64_t seed)
{
	struct prng r = {seed};
	struct interval out = {NAN, NAN, NAN};
	AUTO_FREE double *x = NULL, *y = NULL, *joined = NULL;
	size_t kept = 0;

	if (!na || !nb)
		return out;
	CHECK(!blocks || na == nb);
	x = xreallocarray(NULL, na, sizeof *x);
	y = xreallocarray(NULL, nb, sizeof *y);
	joined = xreallocarray(NULL, RESAMPLES, sizeof *joined);
	out.point = join(median_of(a, na), median_of(b, nb));
	for (int k = 0; k < RESAMPLES; k++) {
		double one;

		for (size_t i = 0; i < na; i++) {
			size_t at = prng_below(&r, na);

			x[i] = a[at];
			if (blocks)
				y[i] = b[at];
		}
		for (size_t i = 0; !blocks && i < nb; i++)
			y[i] = b[prng_below(&r, nb)];
		one = join(median_in_place(x, na), median_in_place(y, nb));
		if (isfinite(one))
			joined[kept++] = one;
	}
	if (!kept)
		return out;
	mem_sort(joined, kept, sizeof *joined, compare_doubles);
	out.low = quantile_sorted(joined, kept, 0.025);
	out.high = quantile_sorted(joined, kept, 0.975);
	return out;
}

struct interval ratio_interval(
	const double *a, size_t na, const double *b, size_t nb, int blocks, uint64_t seed)
{
	return resample_medians(divide_medians, a, na, b, nb, blocks, seed);
}

struct interval speed_interval(const double *old, size_t n_old, const double *new, size_t n_new,
	bool higher, uint64_t seed)
{
	double all = higher ? 0 : INFINITY;
	struct interval i;

	if (n_old && n_new && median_of(new, n_new) == 0 && median_of(old, n_old) > 0)
		return (struct interval){all, all, all};
	i = ratio_interval(old, n_old, new, n_new, 0, seed);
	return higher ? (struct interval){1 / i.high, 1 / i.point, 1 / i.low} : i;
}

struct interval difference_interval(
	const double *a, size_t na, const double *b, size_t nb, int blocks, uint64_t seed)
{
	return resample_medians(subtract_medians, a, na, b, nb, blocks, seed);
}

/* P(U <= u) under the null by counting: ways[j] is how many ways the first sample can have U = j.
 * Recurrence of Mann & Whitney 1947, built up one element of the second sample at a time. */
static double exact_below(size_t na, size_t nb, size_t u)
{
	size_t top = na * nb, cells = (na + 1) * (top + 1);
	AUTO_FREE double *ways = xcalloc(cells, sizeof *ways);
	double total = 0, below = 0;

	/* ways[i][j] for i elements of a among the k elements seen so far; adding the k-th element
	 * of the pooled order either belongs to a (then it beats the k - i of b before it) or to b.
	 */
	ways[0] = 1;
	for (size_t k = 1; k <= na + nb; k++)
		for (size_t i = k < na ? k : na; i >= 1; i--) {
			size_t beaten = k - i;

			if (beaten > nb)
				continue;
			for (size_t j = top + 1; j-- > beaten;)
				ways[i * (top + 1) + j] += ways[(i - 1) * (top + 1) + j - beaten];
		}
	for (size_t j = 0; j <= top; j++) {
		total += ways[na * (top + 1) + j];
		if (j <= u)
			below += ways[na * (top + 1) + j];
	}
	return below / total;
}

struct ranked {
	double value;
	int first;
};

static int by_value(const void *a, const void *b)
{
	return compare_doubles(
		&((const struct ranked *)a)->value, &((const struct ranked *)b)->value);
}

double mann_whitney(const double *a, size_t na, const double *b, size_t nb, double *u)
{
	size_t n = na + nb;
	AUTO_FREE struct ranked *all = xreallocarray(NULL, n, sizeof *all);
	double rank_sum = 0, ties = 0, u1, mean, sd, z;

	if (u)
		*u = NAN;
	if (!na || !nb)
		return 1;
	for (size_t i = 0; i < n; i++)
		all[i] = (struct ranked){i < na ? a[i] : b[i - na], i < na};
	mem_sort(all, n, sizeof *all, by_value);
	for (size_t i = 0, j; i < n; i = j) {
		double rank, t;

		for (j = i + 1; j < n && all[j].value <= all[i].value; j++)
			;
		rank = (double)(i + 1 + j) / 2;
		t = (double)(j - i);
		ties += t * t * t - t;
		for (size_t k = i; k < j; k++)
			if (all[k].first)
				rank_sum += rank;
	}
	u1 = rank_sum - (double)na * (double)(na + 1) / 2;
	if (u)
		*u = u1;
	if (ties == 0 && na <= EXACT_MAX && nb <= EXACT_MAX) {
		double other = (double)(na * nb) - u1;
		double p = 2 * exact_below(na, nb, (size_t)(u1 < other ? u1 : other));

		return p < 1 ? p : 1;
	}
	mean = (double)na * (double)nb / 2;
	sd = sqrt((double)na * (double)nb / 12 *
		((double)(n + 1) - ties / ((double)n * (double)(n - 1))));
	if (sd <= 0)
		return 1;
	z = fabs(u1 - mean) - 0.5;
	return z <= 0 ? 1 : erfc(z / sd / sqrt(2));
}
