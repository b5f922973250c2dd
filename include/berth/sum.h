/*
 * sum.h - sums of sizes that come from outside: up to 2^63 - 1 for one file of holes.
 *
 * Thread: any.
 */
#ifndef BERTH_SUM_H
#define BERTH_SUM_H

#include <stdint.h>

/* It stays at the highest number, and is never little again. */
static inline void sum_add(uint64_t *sum, uint64_t more)
{
	*sum = more > UINT64_MAX - *sum ? UINT64_MAX : *sum + more;
}

#endif
