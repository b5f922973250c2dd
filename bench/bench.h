/*
 * bench.h - the benchmark framework: cases are tables, arms are ways of doing the same work.
 *
 * A case has two or more arms.  They are run interleaved: every block runs each arm once in a
 * random order (seeded), after `warmup` unrecorded blocks.  Around each sample, outside the timed
 * part, the result is checked: all arms of a case must give the same digest, or the case fails and
 * is excluded. What cannot be a loop (a minute of idling, a whole start-up) is a measurement:
 * `measure` takes the samples itself and reports them.
 *
 * A suite is one .c file that ends in one const struct bench_suite; SUITES of <berth/bench.h> names them all.  Suites
 * run in the process `berth-bench`, single-threaded as far as the framework is concerned.
 */
#ifndef BENCH_H
#define BENCH_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <berth/err.h>

#include "statistics.h"

/* What one sample used, self and waited-for children together, where the kernel tells. */
struct usage {
	double user_s, system_s;
	uint64_t minor_faults, major_faults;
	uint64_t read_bytes, write_bytes; /* storage, /proc/self/io; 0 when not readable */
	uint64_t syscalls_rw;             /* syscr + syscw */
	uint64_t peak_bytes;              /* ru_maxrss so far */
};

struct sample {
	double seconds;     /* filled by the runner unless the arm measured it itself (set >= 0) */
	uint64_t digest;    /* of the result; must be equal over the arms of a case */
	int arm;            /* which of the case's arms this is; set by the runner */
	struct usage usage; /* filled by the runner; an arm may set peak_bytes itself */
};

struct arm {
	const char *name;
	/* Do the work once.  The runner times the call, unless it sets s->seconds itself. */
	int (*run)(void *ctx, struct sample *s, struct err *e);
};

/* What a figure should be.  `over`: ratio baseline/arm must be at least this (lower bound of the
 * interval decides); else `at_most` / `at_least` on the statistic in the case's unit.
 * ON_FLOOR: at most `at_most` times the baseline arm plus `at_least` seconds; the figure is that bar over
 * the arm, 1 and more is met.  ON_OVER: at most `at_most` seconds over the baseline arm; the figure is that difference. */
struct goal {
	const char *requirement; /* in the words of the requirements */
	const char *arm;         /* NULL: the measurement itself */
	enum { ON_RATIO, ON_MEDIAN, ON_P99, ON_MAX, ON_FLOOR, ON_OVER } on;
	double at_least, at_most; /* NAN: not asked */
};
#define NO_BOUND NAN

#define ARMS_MAX 8
#define TARGETS_MAX 6

struct bench_run;

struct bench_case {
	const char *name, *about;
	const char *unit; /* how to print: "s" (default, scaled to ms, us), "us", "MB", "%" ... */
	int samples, warmup; /* defaults when the command line says nothing */
	int smoke_samples;   /* for CI's smoke run; 0: 3 */
	/* NULL ctx on failure.  ERR_NOT_FOUND: cannot run here (named in the report as "not run").
	 */
	void *(*setup)(struct bench_run *r, struct err *e);
	void (*teardown)(void *ctx);
	int (*prepare)(void *ctx, struct err *e); /* before each sample, untimed: drop caches ... */
	int baseline;                             /* index of the arm that ratios are over */
	struct arm arms[ARMS_MAX];
	/* Instead of arms: take all samples and hand each to bench_value. */
	int (*measure)(struct bench_run *r, void *ctx, struct err *e);
	int phases; /* how often `measure` takes all samples, each time as other series; 0: once */
	struct goal targets[TARGETS_MAX];
	bool higher; /* more is better: throughput, efficiency */
	/* What raises an alert (REQUIREMENTS 8.3): sentences, NULL for none; and how much slower than the
	 * baseline version it may be: 0.20, 0 for any. */
	const char *alert_missed, *alert_failed;
	const char *alert_arm; /* alert_missed is about the targets of this arm; NULL: of all */
	double alert_slower;
	int64_t param;    /* bench_param: how many files, for cases made by a suite file */
	const void *data; /* of whoever made the case */
};

struct bench_suite {
	const char *name;
	const struct bench_case *cases; /* ends with a NULL name */
};

/* For measure: one value of series `name` (becomes an arm of that name in the report). */
void bench_value(struct bench_run *r, const char *name, double value);
int bench_samples(const struct bench_run *r);    /* how many are asked for */
bool bench_smoke(const struct bench_run *r);     /* only see whether it works */
bool bench_cancelled(const struct bench_run *r); /* somebody wants it to stop: return soon */
int64_t bench_param(const struct bench_run *r);
const struct bench_case *bench_what(const struct bench_run *r);
void bench_note(struct bench_run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
uint64_t bench_random(struct bench_run *r);

/* Allocations of this process so far; only where they are counted (not under a sanitizer). */
uint64_t bench_allocations(void);
bool bench_counts_allocations(void);

double clock_s(clockid_t clock);
double now_s(void); /* monotonic */

/* FNV-1a, to build digests with. */
uint64_t digest_bytes(uint64_t seed, const void *bytes, size_t n);

#endif
