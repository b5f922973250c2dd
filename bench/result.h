/*
 * result.h - the results of a run, for any report: cases, targets, comparison, trend.
 *
 * Thread: plain data, one owner.
 */
#ifndef BENCH_RESULT_H
#define BENCH_RESULT_H

#include "compare.h"
#include "history/history.h"
#include "runner.h"

#define TREND_MAX 30

struct target_result {
	const char *requirement, *arm; /* arm "": the case's first */
	enum verdict verdict;
	bool on_ratio, on_difference; /* from the baseline arm; neither: a figure by itself */
	double figure;
	struct interval interval; /* of the ratio or difference, else of the figure's median */
	size_t n;
};

struct trend_point {
	int64_t run, started_ms;
	char label[64];           /* release, else commit, else #run */
	double low, median, high; /* quartiles */
	size_t n;
};

struct result {
	struct history_case c;
	const struct bench_case *what; /* NULL: not one of this program's */
	struct target_result targets[TARGETS_MAX];
	size_t ntargets;
	bool compared; /* changes[] is filled for the arms that are judged */
	struct compared changes[HISTORY_ARMS_MAX];
	bool unconfirmed;  /* flagged, but a second measurement did not show it */
	char alert[256];   /* "": none */
	bool alert_slower; /* ... and it is that of being slower than allowed */
	struct trend_point *trend[HISTORY_ARMS_MAX];
	size_t ntrend[HISTORY_ARMS_MAX];
};

struct results {
	struct history_run run;
	struct history_run baseline; /* id 0: compared with nothing */
	char baseline_word[HISTORY_NAME_MAX];
	double threshold;
	struct result *v;
	size_t n, cap;
};

void results_init(struct results *r);
void results_release(struct results *r);

/* A case as the history keeps it; and back, to judge its targets (samples are copied). */
void case_of_run(const struct bench_run *r, struct history_case *ret);
void run_of_case(const struct history_case *c, const struct bench_case *what,
	const struct bench_suite *suite, struct bench_run *ret);

/* Takes c over; targets and alerts are judged.  Stays valid until the next is added. */
struct result *results_add(
	struct results *r, struct history_case *c, const struct bench_case *what);
/* With the baseline's case of the same name (NULL: it has none). */
void result_compare(struct results *r, struct result *x, const struct history_case *old);
bool result_slower(const struct result *x);
/* How each arm did in the last TREND_MAX runs of this machine, oldest first. */
int result_trend(struct result *x, struct history *h, const char *machine, struct err *e);
/* All cases of `run`, judged and, where `baseline` is not NULL, compared. */
int results_load(struct results *r, struct history *h, const struct history_run *run,
	const struct history_run *baseline, double threshold, bool trends, struct err *e);

struct tally {
	size_t ok, failed, not_run, met, missed, slower, faster, alerts;
};
struct tally results_tally(const struct results *r);
/* 0, or 1 when a case failed, a regression or an alert was found. */
int results_exit(const struct results *r);

const char *run_label(const struct history_run *r, char *buf, size_t cap);

#endif
