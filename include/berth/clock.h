/*
 * clock.h - the two clocks, and a way to stop them for tests.
 *
 * Monotonic time measures; wall time is only shown.  Thread: any.
 */
#ifndef BERTH_CLOCK_H
#define BERTH_CLOCK_H

#include <stdint.h>

int64_t clock_mono_ns(void); /* CLOCK_MONOTONIC, nanoseconds */
int64_t clock_wall_ms(void); /* Unix time, milliseconds */

/* From now on both clocks stand at these values (golden tests).  clock_advance moves both. */
void clock_freeze(int64_t mono_ns, int64_t wall_ms);
void clock_advance(int64_t ns);

#endif
