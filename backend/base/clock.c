/* clock.c - reads the clocks, and freezes them for golden tests. */
#include <berth/clock.h>

#include <stdatomic.h>
#include <stdbool.h>

static atomic_bool frozen;
static _Atomic int64_t frozen_mono, frozen_wall;
static _Thread_local bool held;
static _Thread_local int64_t held_mono, held_wall;

static int64_t read_mono(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_mono_ns(void)
{
	if (held)
		return held_mono;
	if (atomic_load_explicit(&frozen, memory_order_relaxed))
		return atomic_load(&frozen_mono);
	return read_mono();
}

int64_t clock_wall_ms(void)
{
	struct timespec t;

	if (held)
		return held_wall;
	if (atomic_load_explicit(&frozen, memory_order_relaxed))
		return atomic_load(&frozen_wall);
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t clock_real_ms(void)
{
	return read_mono() / 1000000;
}

struct timespec clock_in_ms(int64_t ms)
{
	int64_t ns = read_mono() + ms * 1000000;

	return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

void clock_hold(int64_t mono_ns, int64_t wall_ms)
{
	held = true;
	held_mono = mono_ns;
	held_wall = wall_ms;
}

void clock_let_go(void)
{
	held = false;
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
