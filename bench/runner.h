/* runner.h - runs cases and keeps their results. See bench.h for the rules. */
#ifndef BENCH_RUNNER_H
#define BENCH_RUNNER_H

#include <berth/str.h>

#include "bench.h"

struct series_of {
	char name[64];
	double *v;
	struct usage *used; /* of each sample; zeros where a measurement took it itself */
	size_t n, cap, used_cap;
};

enum verdict { NOT_RUN, MET, MISSED, FAILED, NO_TARGET };

struct run_options;

struct bench_run {
	const struct bench_suite *suite;
	const struct bench_case *what;
	int samples;
	bool smoke;
	uint64_t seed;
	struct prng random;
	struct series_of series[ARMS_MAX];
	size_t nseries;
	struct err err; /* why it was not run or failed */
	bool failed;    /* a wrong result: FAILED; else err means NOT_RUN */
	bool cancelled; /* stopped before it was complete: its samples count for nothing */
	struct str notes;
	const struct run_options *options;
};

struct run_options {
	int samples; /* 0: the case's own */
	bool smoke;
	uint64_t seed;
	/* A value was taken for that series; may be NULL. */
	void (*sampled)(void *ctx, const struct bench_run *r, size_t series, double value);
	bool (*cancelled)(void *ctx); /* asked before each sample; may be NULL */
	void *ctx;
};

void bench_case_run(const struct bench_suite *s, const struct bench_case *c,
	const struct run_options *o, struct bench_run *ret);
void bench_run_release(struct bench_run *r);

struct series_of *bench_series(struct bench_run *r, const char *name); /* NULL: no such arm */

/* Figure of a target and whether it is met. */
enum verdict target_judge(
	const struct bench_run *r, const struct goal *t, double *figure, struct interval *ratio);
const char *verdict_word(enum verdict v);

/* How many samples a case with these options is going to take, all arms together. */
int case_samples(const struct bench_case *c, const struct run_options *o);
size_t case_arms(const struct bench_case *c);

#endif
