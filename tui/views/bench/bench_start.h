/*
 * bench_start.h - work of the Bench view for a worker (view_work.h): start `berth bench run`, read its progress file,
 * find suite files.
 *
 * Thread: main, but for what is away.
 */
#ifndef BENCH_START_H
#define BENCH_START_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <berth/bench.h>
#include <berth/err.h>
#include <berth/view_work.h>

#define BENCH_WORDS_MAX 64

struct bench_process {
	pid_t pid;                           /* 0: none of ours runs */
	char live[PATH_MAX], says[PATH_MAX]; /* what it tells; its standard error */
};

/* What is to be done on the next way; moved there with what it owns. */
struct bench_wish {
	bool find;                   /* the newest file that any console's run left or writes */
	bool suites;                 /* the suite files of the person's folder */
	bool says;                   /* the last sentence on the standard error of the process */
	char *word[BENCH_WORDS_MAX]; /* a run of these, words of `berth bench run`; none: no run */
	size_t nwords;
	char *engine;                 /* of that run, or NULL */
	char *file;                   /* a suite file that the person named */
	char *others[OWN_SUITES_MAX]; /* suite files that a run named */
	size_t nothers;
};
void bench_wish_clear(struct bench_wish *w);

struct bench_trip {
	struct view_work work;
	struct bench_wish wish;
	struct bench_process process;
	int fd; /* of the file that is followed; -1: none yet */
	/* what came of it */
	bool started, found;
	struct err start_err, file_err;
	char *bytes; /* written to the file since; full: there may be more */
	size_t nbytes;
	bool full;
	char sentence[256];
	/* The folder's, when they were asked for; the others; the one that was named. */
	struct own_suite *suite;
	size_t nsuites, nfolder, cap;
};
struct bench_trip *bench_trip_new(void);
void bench_trip_clear(struct bench_trip *t); /* what came of it, but for file and process */

/* It ends as if somebody had pressed C-c in it. */
void bench_stop(struct bench_process *p);
/* Has it ended?  true is returned once, with its exit code. */
bool bench_ended(struct bench_process *p, int *code);

#endif
