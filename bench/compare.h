/*
 * compare.h - is this version slower than that one?  Judged on intervals, never on points.
 *
 * "Speed" is old median / new median (new / old where more is better): 1 is equal, 0.9 is slower by a
 * tenth.  An arm is a regression when all of these hold:
 *   - the upper end of the 95 % interval of its speed is below the threshold (0.95),
 *   - Mann-Whitney says that the two sets of samples differ (p < 0.01),
 *   - where the case has a baseline arm (another program, a plain loop), the speed relative to that arm
 *     has fallen as well: if not, it is the machine that is slower, and that is said instead.
 * So equal versions are flagged in at most 1 % of comparisons whatever the threshold is.  The baseline
 * arm itself is not judged.
 *
 * Thread: pure functions.
 */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include <stdbool.h>

#include "history/history.h"
#include "statistics.h"

#define THRESHOLD 0.95
#define COMPARE_P 0.01

enum change {
	CHANGE_NONE, /* within noise, or within the threshold */
	CHANGE_FASTER,
	CHANGE_SLOWER,  /* a regression */
	CHANGE_MACHINE, /* slower, and so is the baseline arm */
	CHANGE_MISSING, /* the baseline version has no figure for it */
};
const char *change_word(enum change c);

struct compared {
	enum change change;
	bool alert; /* slower than its alert allows */
	double old_median, new_median, p;
	struct interval speed, relative; /* relative: to the baseline arm; NaN without one */
};

/* Two sets of samples; base_* (may be NULL) are those of the baseline arm, of the same counts. */
void compare_samples(const double *old, size_t n_old, const double *new, size_t n_new,
	const double *base_old, const double *base_new, bool higher, double threshold,
	struct compared *ret);

/* Arm `arm` of `new` with the arm of the same name of `old`.  alert_slower: 0.20; 0 for none. */
void compare_arm(const struct history_case *old, const struct history_case *new, size_t arm,
	double threshold, double alert_slower, struct compared *ret);

/* Is that arm judged at all?  The baseline is not. */
bool compare_judges(const struct history_case *c, size_t arm);

/* The samples of an arm, a copy. */
double *arm_values(const struct history_arm *a);

#endif
