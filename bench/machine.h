/* machine.h - the machine on which a run was measured, and its load during the run. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include "history/history.h"

/* Processor time of the whole machine and of this process with its children, in clock ticks. */
struct load_mark {
	uint64_t all, busy, steal;
	double own_s;
};
struct load {
	double own_percent, others_percent, steal_percent; /* of all cores together */
};
void load_begin(struct load_mark *m);
/* Since the mark, which is moved here. */
struct load load_since(struct load_mark *m);

double load_average(void); /* of the last minute */

/* CPU, cores, memory, kernel, file system of the scratch directory, load; commit of the working
 * directory where it is a git tree ("+": with changes). */
void machine_fill(struct history_run *r);
/* The versions of the programs that are compared with. */
void machine_versions(char *buf, size_t cap);

#endif
