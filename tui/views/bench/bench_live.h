/*
 * bench_live.h - a run of benchmarks as `berth bench run --follow` reports it (bench/live.h); bench_start.c reads the
 * file.
 *
 * The file is another process's: lines are bounded, numbers checked, texts neutralised on the canvas; what
 * does not fit the form is skipped.
 *
 * Thread: main.
 */
#ifndef BENCH_LIVE_H
#define BENCH_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIVE_CASES_MAX 1024
#define LIVE_ARMS_MAX 8
#define LIVE_TARGETS_MAX 6
#define LIVE_TREND_MAX 30
#define LIVE_VALUES_MAX 20000 /* of an arm; further ones are not drawn */
#define LIVE_TEXT_MAX 160
#define LIVE_FILES_MAX 64

struct live_interval {
	double low, point, high;
	bool known;
};

struct live_trend {
	char label[32];
	double low, median, high;
};

struct live_arm {
	char name[64], change_word[40];
	bool baseline;
	double *v;
	size_t n, cap;
	struct live_interval ratio, change;
	struct live_trend trend[LIVE_TREND_MAX];
	size_t ntrend;
};

struct live_target {
	char verdict[12], figure[64], requirement[LIVE_TEXT_MAX];
};

enum live_state { LIVE_WAITS, LIVE_RUNS, LIVE_OK, LIVE_FAILED, LIVE_NOT_RUN };

struct live_case {
	char name[128], about[LIVE_TEXT_MAX], unit[16], text[LIVE_TEXT_MAX], alert[LIVE_TEXT_MAX];
	char id[24];      /* of its row */
	const char *file; /* of its suite; "": a built-in one */
	long samples, done;
	enum live_state state;
	struct live_arm arm[LIVE_ARMS_MAX];
	size_t narms;
	struct live_target target[LIVE_TARGETS_MAX];
	size_t ntargets;
};

struct live_run {
	char part[4096]; /* of a line that is not complete yet */
	size_t npart;
	bool skipping; /* a line too long */
	int pid;
	char label[64], commit[64], baseline[64], said[LIVE_TEXT_MAX];
	char ended[16], ended_text[LIVE_TEXT_MAX]; /* "": it runs */
	double threshold, own_percent, others_percent, steal_percent;
	long samples, done;
	char *files[LIVE_FILES_MAX]; /* each once */
	size_t nfiles;
	struct live_case *cases;
	size_t ncases, current; /* current: SIZE_MAX before the first */
};

void live_release(struct live_run *r);
/* What was written since. */
void live_take(struct live_run *r, const char *bytes, size_t n);
/* The run has ended: what it did not come to, or was at, was not run. */
void live_end_cases(struct live_run *r);

/* A value in the unit of its case. */
const char *live_value(char *buf, size_t cap, const char *unit, double v);
double live_median(const struct live_arm *a); /* NaN: none */

#endif
