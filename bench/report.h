/*
 * report.h - one set of results, as text, Markdown, JSON or a page with pictures.
 *
 * Thread: none of its own; all write to the FILE or string they are given.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include <berth/str.h>

#include "result.h"

#define VALUE_MAX 32

/* A value in the unit of its case; seconds are scaled. */
const char *report_value(char buf[VALUE_MAX], const char *unit, double v);
/* "10.2x [9.8 .. 10.6]" or "1.2 ms [1.1 .. 1.3]"; "-" for none. */
const char *target_figure(char *buf, size_t cap, const struct target_result *t, const char *unit);
/* Baseline arm / arm (the other way round where more is better), paired; NaN for the baseline. */
struct interval arm_ratio(const struct history_case *c, size_t arm);
void arm_summary(const struct history_arm *a, struct summary *ret);

void report_machine(FILE *out, const struct history_run *r);
void report_case(FILE *out, const struct results *r, const struct result *x);
void report_targets(FILE *out, const struct results *r); /* the whole table, and the tally */

void report_markdown(FILE *out, const struct results *r);
void report_json(FILE *out, const struct results *r, const char *schema);
void report_html(FILE *out, const struct results *r);

#endif
