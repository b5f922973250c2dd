/* clock.c - reading the clocks; frozen ones for golden tests. */
#include <berth/clock.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

static atomic_bool frozen;
static _Atomic int64_t frozen_mono, frozen_wall;

int64_t clock_mono_ns(void)
{
	struct timespec t;

	if (atomic_load_explicit(&frozen, memory_order_relaxed))
		return atomic_load(&frozen_mono);
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_wall_ms(void)
{
	struct timespec t;

	if (atomic_load_explicit(&frozen, memory_order_relaxed))
		return atomic_load(&frozen_wall);
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void clock_freeze(int64_t mono_ns, int64_t wall_ms)
{
	atomic_store(&frozen_mono, mono_ns);
	atomic_store(&frozen_wall, wall_ms);
	atomic_store(&frozen, true);
}

void clock_advance(int64_t ns)
{
	atomic_fetch_add(&frozen_mono, ns);
	atomic_fetch_add(&frozen_wall, ns / 1000000);
}
