/*
 * plan.h - which cases are to run: by name, or as a suite file in YAML asks.
 *
 *   benchmarks:
 *     file_operations:                       a group of tests; or a suite of `berth bench list`
 *       - test: read_files_parallel          a test of that group; or a case of that suite
 *         file_count: [10, 50, 100]          where the test has such a number: one case for each
 *         repetitions: 10
 *     my_tools:                              any other name: comparisons of commands
 *       - test: command
 *         name: count
 *         arms: {grep: [grep, -c, x, big], rg: rg -c x big}
 *         baseline: grep                     the arm that ratios are over (default: the first)
 *         check: output                      all arms print the same (default); exit: only the code
 *         exit: 0
 *         timeout: 60                        seconds
 *         directory: DIR                     of the suite file, where it is relative
 *         prepare: rm -f out                 before each sample, untimed
 *         at_least: {rg: 1.5}                how often faster than the baseline an arm should be
 *   report: {format: markdown, compare_to: v0.1.14, threshold: 0.95}
 *
 * A file that names commands must belong to the user or root, and nobody else may write to it.
 */
#ifndef BENCH_PLAN_H
#define BENCH_PLAN_H

#include <berth/arena.h>
#include <berth/config.h>

#include "bench.h"

#define REPETITIONS_MAX 100000

enum report_format { FORMAT_MARKDOWN = 1, FORMAT_JSON = 2, FORMAT_HTML = 4 };

struct planned {
	const struct bench_suite *suite;
	const struct bench_case *what;
	int repetitions;  /* 0: the case's own */
	const char *file; /* the suite file that asked for it, as an absolute path; NULL: none */
};

struct plan {
	struct arena mem;
	struct planned *items;
	size_t n, cap;
	const char *file; /* the suite file that is being read */
	/* What suite files say about the report. */
	unsigned formats;
	const char *compare_to; /* NULL: nothing */
	double threshold;       /* 0: not said */
	/* For checking: each test that is in error, not only the first.  NULL: that one ends it. */
	void (*found)(void *ctx, const struct err *e);
	void *found_ctx;
};

void plan_init(struct plan *p);
void plan_release(struct plan *p);

/* SUITE, SUITE/CASE, the path of a suite file or the name of one in the person's folder
 * (berth/bench.h). */
int plan_add(struct plan *p, const char *word, struct err *e);
void plan_all(struct plan *p);

/* The built-in suites, and tests of suite files. */
extern const struct bench_suite *const bench_suites[];
extern const size_t bench_nsuites;
const struct bench_case *bench_find(const char *suite, const char *name);

struct bench_test {
	const char *group, *name, *about;
	const char *cases; /* fnmatch pattern on SUITE/CASE of built-in ones; NULL */
	const char *param; /* key of a list of numbers, for each of which cases are made; NULL */
	int64_t least, most;
	int64_t usual[4];                          /* when the file does not say; ends with 0 */
	const struct bench_case *const *templates; /* ends with NULL; may be NULL */
};
extern const struct bench_test bench_tests[]; /* ends with a NULL name */

int parse_formats(const char *word, unsigned *ret, struct err *e);

/* own.c: one comparison of commands. */
int own_case(struct plan *p, const struct config *c, const struct node *test,
	const struct bench_suite *suite, struct err *e);
void plan_push(struct plan *p, const struct bench_suite *s, const struct bench_case *c, int reps);

#endif
