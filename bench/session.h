/* session.h - shared by the commands of `berth bench`. */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include "cli/commands.h"

/* --threshold, checked; `otherwise` when it is not given. */
int bench_threshold(const struct cli *c, double otherwise, double *ret, struct err *e);
/* Say what happened to a damaged history on stderr. */
struct history *bench_history(struct err *e);

#endif
