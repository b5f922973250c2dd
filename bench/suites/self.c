/*
 * self.c - measures the framework itself: two equal arms, and a case that can be slowed on purpose
 * (BERTH_BENCH_SLOWER=10: by 10 %), to see that it is detected.
 */
#include "bench.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 20000

static uint64_t spin_rounds(int rounds)
{
	uint64_t h = 0;

	for (int i = 0; i < rounds; i++)
		h = digest_bytes(h, &i, sizeof i);
	return h;
}

static int spin_sample(void *ctx, struct sample *s, struct err *e)
{
	(void)ctx;
	(void)e;
	s->digest = spin_rounds(ROUNDS);
	return 0;
}

static int spin_steadily(void *ctx, struct sample *s, struct err *e)
{
	double start = clock_s(CLOCK_THREAD_CPUTIME_ID);
	int rc = spin_sample(ctx, s, e);

	s->seconds = clock_s(CLOCK_THREAD_CPUTIME_ID) - start;
	return rc;
}

static int spin_slowed(void *ctx, struct sample *s, struct err *e)
{
	const char *percent = getenv("BERTH_BENCH_SLOWER");
	double start = clock_s(CLOCK_THREAD_CPUTIME_ID);
	volatile uint64_t more = spin_rounds(percent ? ROUNDS / 100 * atoi(percent) : 0);
	int rc = spin_sample(ctx, s, e);

	(void)more;
	s->seconds = clock_s(CLOCK_THREAD_CPUTIME_ID) - start;
	return rc;
}

static const struct bench_case cases[] = {
	{.name = "a-a",
		.about = "the noise floor: the same work in both arms",
		.samples = 200,
		.warmup = 10,
		.arms = {{"a", spin_sample}, {"a again", spin_sample}},
		.targets = {{"two equal arms differ by less than 5 %", "a again", ON_RATIO, 0.95,
			1.05}}},
	{.name = "caught",
		.about = "CPU time of a loop that BERTH_BENCH_SLOWER=PERCENT slows on purpose",
		.samples = 100,
		.warmup = 10,
		.arms = {{"steady", spin_steadily}, {"slowed", spin_slowed}}},
	{.name = NULL},
};

const struct bench_suite suite_self = {"self", cases};
