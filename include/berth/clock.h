/*
 * clock.h - the two clocks, and a way to stop them for tests.
 *
 * Monotonic time measures; wall time is only shown.  Thread: any.
 */
#ifndef BERTH_CLOCK_H
#define BERTH_CLOCK_H

#include <stdint.h>
#include <time.h>

int64_t clock_mono_ns(void); /* CLOCK_MONOTONIC, nanoseconds */
int64_t clock_wall_ms(void); /* Unix time, milliseconds */

/* Both stand at these values for the calling thread, until they are released (tests). */
void clock_hold(int64_t mono_ns, int64_t wall_ms);
void clock_let_go(void);

/* CLOCK_MONOTONIC, even while the clocks are held or frozen: for real waits. */
int64_t clock_real_ms(void);
/* So many from now, for what takes CLOCK_MONOTONIC (pthread_cond_clockwait): a step of the wall clock neither shortens nor
 * lengthens a wait. */
struct timespec clock_in_ms(int64_t ms);

/* From now on both clocks stand at these values (golden tests).  clock_advance moves both. */
void clock_freeze(int64_t mono_ns, int64_t wall_ms);
void clock_advance(int64_t ns);

#endif
