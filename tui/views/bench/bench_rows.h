/*
 * bench_rows.h - the list of the Bench view: the person's own suites, the built-in ones, and below each
 * the cases of the run that is shown.
 *
 * Thread: main.
 */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include <berth/bench.h>

#include "views/bench/bench_live.h"
#include "widgets/widgets.h"

/* A suite, or a case of the run below its suite. */
struct bench_entry {
	const char *word; /* what `berth bench run` takes for the suite; NULL: nobody knows */
	const char *name, *about;
	bool file;                 /* it is a suite file: cases cannot be run alone */
	const struct live_case *k; /* NULL: the suite itself */
	size_t cases, done;        /* of a suite */
};

extern const struct table_column bench_columns[];
extern const size_t bench_ncolumns;

/* Fill the table; items are struct bench_entry and stay until the next call. */
void bench_rows(
	struct table *t, const struct live_run *run, const struct own_suite *own, size_t nown);

#endif
