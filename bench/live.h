/*
 * live.h - reports a run line by line while it is in progress, for the console (tui/views/bench/bench.c).
 *
 * A text file, one event a line, fields separated by tabs; texts are neutralised, so no field holds a
 * tab or newline.  Numbers are as printf %.9g prints them; "-" is none.
 *
 *   berth-bench-live 1
 *   run      PID LABEL COMMIT BASELINE THRESHOLD CASES SAMPLES
 *   case     INDEX SUITE/NAME ABOUT UNIT SAMPLES FILE    SAMPLES: over all arms; FILE: of the suite
 *   begin    INDEX
 *   arm      INDEX ARM NAME baseline|-
 *   v        INDEX ARM VALUE DONE                    DONE: samples of the case that count so far
 *   ratio    INDEX ARM LOW POINT HIGH                baseline arm's time / this arm's
 *   target   INDEX VERDICT FIGURE REQUIREMENT
 *   change   INDEX ARM LOW POINT HIGH WORD           speed against the baseline version
 *   trend    INDEX ARM LABEL LOW MEDIAN HIGH
 *   alert    INDEX TEXT
 *   state    INDEX ok|failed|not_run TEXT
 *   load     OWN OTHERS STEAL                        percent of all cores
 *   say      TEXT
 *   end      done|cancelled|failed TEXT
 */
#ifndef BENCH_LIVE_H
#define BENCH_LIVE_H

#include <stdio.h>

#include "machine.h"
#include "plan.h"
#include "result.h"

struct live {
	FILE *f; /* NULL: nobody watches */
	size_t arms_told;
};

int live_open(struct live *l, const char *path, struct err *e);
void live_plan(
	struct live *l, const struct results *r, const struct plan *p, const struct run_options *o);
void live_begin(struct live *l, size_t index);
void live_sample(struct live *l, size_t index, const struct bench_run *r, size_t arm, double value,
	uint64_t done);
void live_result(struct live *l, size_t index, const struct result *x);
void live_load(struct live *l, const struct load *load);
void live_say(struct live *l, const char *text);
void live_end(struct live *l, const char *state, const char *text);

#endif
