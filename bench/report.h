/*
 * report.h - printing what was measured: one block per case, then one line per target.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "runner.h"

void report_machine(FILE *out);
void report_case(FILE *out, const struct bench_run *r);
/* The lines of this case for the table of targets at the end. */
void report_targets(FILE *out, const struct bench_run *r);
/* One JSON object on one line, schema "berth.bench.case/1". */
void report_json(FILE *out, const struct bench_run *r);

#endif
