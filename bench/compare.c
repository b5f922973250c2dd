/* compare.c - finds regressions; the rules are in the header. */
#include "compare.h"

#include <math.h>
#include <string.h>

#include <berth/mem.h>

#define SEED 20260101 /* the same samples give the same verdict */

const char *change_word(enum change c)
{
	static const char *const words[] = {
		"same", "faster", "SLOWER", "machine slower", "no figure before"};

	return words[c];
}

/* Of each block: the arm over the baseline arm.  What slows both leaves it as it is. */
static double *divide_by_baseline(const double *v, const double *base, size_t n)
{
	double *out = xreallocarray(NULL, n, sizeof *out);

	for (size_t i = 0; i < n; i++)
		out[i] = v[i] / base[i];
	return out;
}

void compare_samples(const double *old, size_t n_old, const double *new, size_t n_new,
	const double *base_old, const double *base_new, bool higher, double threshold,
	struct compared *ret)
{
	memset(ret, 0, sizeof *ret);
	ret->relative = ret->speed = (struct interval){NAN, NAN, NAN};
	ret->p = NAN;
	ret->old_median = ret->new_median = NAN;
	if (n_new)
		ret->new_median = median_of(new, n_new);
	if (!n_old || !n_new) {
		ret->change = CHANGE_MISSING;
		return;
	}
	ret->old_median = median_of(old, n_old);
	ret->p = mann_whitney(old, n_old, new, n_new, NULL);
	ret->speed = speed_interval(old, n_old, new, n_new, higher, SEED);
	if (base_old && base_new) {
		AUTO_FREE double *a = divide_by_baseline(old, base_old, n_old);
		AUTO_FREE double *b = divide_by_baseline(new, base_new, n_new);

		ret->relative = speed_interval(a, n_old, b, n_new, higher, SEED);
	}
	if (!(ret->p < COMPARE_P))
		return;
	if (ret->speed.low > 1 / threshold)
		ret->change = CHANGE_FASTER;
	if (ret->speed.high < threshold)
		ret->change = isnan(ret->relative.point) || ret->relative.high < threshold
			? CHANGE_SLOWER
			: CHANGE_MACHINE;
}

bool compare_judges(const struct history_case *c, size_t arm)
{
	return (int)arm != c->baseline || c->narms == 1;
}

double *arm_values(const struct history_arm *a)
{
	double *v = xreallocarray(NULL, a->n + 1, sizeof *v);

	for (size_t i = 0; i < a->n; i++)
		v[i] = a->v[i].value;
	return v;
}

static const struct history_arm *find_arm(const struct history_case *c, const char *name)
{
	for (size_t i = 0; c && i < c->narms; i++)
		if (!strcmp(c->arms[i].name, name))
			return &c->arms[i];
	return NULL;
}

void compare_arm(const struct history_case *old, const struct history_case *new, size_t arm,
	double threshold, double alert_slower, struct compared *ret)
{
	static const struct history_arm none;
	const struct history_arm *b = &new->arms[arm], *a = find_arm(old, b->name);
	const struct history_arm *base_a = NULL, *base_b = NULL;

	if (!a)
		a = &none;
	if (new->baseline >= 0 && (size_t) new->baseline != arm) {
		base_b = &new->arms[new->baseline];
		base_a = find_arm(old, base_b->name);
	}
	if (!base_a || base_a->n != a->n || base_b->n != b->n)
		base_a = base_b = NULL;
	{
		AUTO_FREE double *va = arm_values(a), *vb = arm_values(b);
		AUTO_FREE double *ba = base_a ? arm_values(base_a) : NULL;
		AUTO_FREE double *bb = base_b ? arm_values(base_b) : NULL;

		compare_samples(va, a->n, vb, b->n, ba, bb, new->higher, threshold, ret);
	}
	if (!compare_judges(new, arm) && ret->change == CHANGE_SLOWER)
		ret->change = CHANGE_MACHINE;
	ret->alert = alert_slower > 0 && ret->change == CHANGE_SLOWER &&
		ret->speed.high < 1 / (1 + alert_slower);
}
