/*
 * history.h - benchmark results over time, in one SQLite file below the state directory.
 *
 * A run has cases, a case has arms, an arm has samples with what each used.  A case is written in one
 * transaction when it is complete, so a run that is cancelled or killed leaves whole cases and a run
 * that says how it ended ("running" of a process that is gone reads as "interrupted").
 *
 * Rollback journal, not WAL: writes are one small transaction a case, minutes apart; the history stays
 * one file that can be copied or sent, also from a file system without shared memory (NFS, 9p), and
 * nothing is lost when only that file is kept.
 *
 * The schema has a version (PRAGMA user_version) and every older one is brought up to date when the
 * file is opened; one that is newer than this program is refused and left as it is.  A file that is
 * damaged is renamed to NAME.damaged-TIME, which `notice` says, and a new one is begun.
 *
 * Limits: names 127 bytes, 100,000 samples an arm, 8 arms a case, lines of an import 16 MiB.
 * Thread: one owner at a time; it blocks, so never the backend thread.
 */
#ifndef BERTH_HISTORY_H
#define BERTH_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <berth/err.h>
#include <berth/str.h>

#define HISTORY_VERSION 2
#define HISTORY_NAME_MAX 128
#define HISTORY_ARMS_MAX 8
#define HISTORY_SAMPLES_MAX 100000

struct history_run {
	int64_t id;                   /* in this file */
	char uuid[40];                /* everywhere: an import of the same run changes nothing */
	int64_t started_ms, ended_ms; /* Unix time; ended 0: it did not */
	int32_t pid;
	char state[16]; /* running done cancelled failed; interrupted (never stored) */
	char version[HISTORY_NAME_MAX]; /* of berth */
	char commit[HISTORY_NAME_MAX];  /* of what is measured; "+" at its end: changed since */
	char release[HISTORY_NAME_MAX]; /* "": none */
	uint64_t seed;
	/* The machine.  `machine` is equal for machines whose figures may be compared. */
	char machine[HISTORY_NAME_MAX], cpu[HISTORY_NAME_MAX], kernel[HISTORY_NAME_MAX];
	char fs[HISTORY_NAME_MAX], engine[HISTORY_NAME_MAX];
	char versions[512]; /* of the programs compared with */
	int64_t cores, memory_bytes;
	double load_start, load_end;               /* one minute's load average */
	double steal_percent, others_percent;      /* of all cores, while it ran */
	double noise_low, noise_point, noise_high; /* ratio of two equal arms; NAN: not measured */
};

struct history_sample {
	double value; /* in the unit of the case */
	double user_s, system_s;
	uint64_t minor_faults, major_faults, read_bytes, write_bytes, syscalls_rw, peak_bytes;
};

struct history_arm {
	char name[HISTORY_NAME_MAX];
	struct history_sample *v;
	size_t n;
};

struct history_case {
	char suite[HISTORY_NAME_MAX], name[HISTORY_NAME_MAX], unit[16];
	char state[16]; /* ok failed not_run */
	char error[512], notes[512];
	int baseline; /* index of the arm that ratios are over; -1: none */
	bool higher;  /* more is better */
	struct history_arm arms[HISTORY_ARMS_MAX];
	size_t narms;
};
void history_case_release(struct history_case *c);

struct history;

/* path NULL: bench/history.db below the state directory.  `notice` gets a sentence when a damaged file
 * was set aside. */
struct history *history_open(const char *path, struct str *notice, struct err *e);
void history_close(struct history *h); /* NULL is fine */

int history_begin(struct history *h, struct history_run *r, struct err *e); /* sets id and uuid */
int history_add_case(struct history *h, int64_t run, const struct history_case *c, struct err *e);
int history_end(struct history *h, const struct history_run *r, struct err *e);

/* Newest first, at most `max`; the caller frees *ret. */
int history_runs(struct history *h, size_t max, struct history_run **ret, size_t *n, struct err *e);

/* What a person calls a run: "last", "previous" (the one before that, or before `before`), "#12", a
 * release or version with or without a leading v, "!RELEASE" (the newest release that is another one), a
 * commit (4 digits or more of it), a day YYYY-MM-DD (the newest of that day).  Runs of other machines are left out unless machine is NULL; `before` (a run's id; 0: all)
 * leaves out that run and those after it.  ERR_NOT_FOUND says what there is. */
int history_find(struct history *h, const char *word, const char *machine, int64_t before,
	struct history_run *ret, struct err *e);

/* One case of a run with all its samples; ERR_NOT_FOUND. */
int history_case(struct history *h, int64_t run, const char *suite, const char *name,
	struct history_case *ret, struct err *e);
/* All cases of a run, in the order they ran; history_case_release each, then free. */
int history_cases(
	struct history *h, int64_t run, struct history_case **ret, size_t *n, struct err *e);

/* JSON Lines: a line "berth.bench.run/1" for each run, then one "berth.bench.case/1" for each of its
 * cases. */
int history_export(struct history *h, FILE *out, struct err *e);
struct history_imported {
	size_t runs, cases, known; /* known: runs that were here already */
};
/* All of it or nothing. */
int history_import(
	struct history *h, FILE *in, const char *name, struct history_imported *ret, struct err *e);

#endif
