/*
 * session.h - the commands of `berth bench`.  Each returns the exit code, or -1 with *e.
 */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include "cli/cli.h"

int bench_run_command(const struct cli *c, struct err *e);

int bench_list(const struct cli *c, struct err *e);
int bench_compare(const struct cli *c, struct err *e);
int bench_report(const struct cli *c, struct err *e);
int bench_trend(const struct cli *c, struct err *e);
int bench_export(const struct cli *c, struct err *e);
int bench_import(const struct cli *c, struct err *e);

/* --threshold, checked; `otherwise` when it is not given. */
int bench_threshold(const struct cli *c, double otherwise, double *ret, struct err *e);
/* Say what happened to a damaged history on stderr. */
struct history *bench_history(struct err *e);

#endif
