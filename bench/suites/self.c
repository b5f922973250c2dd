/* self.c - the framework measured with itself: what two equal arms look like on this machine. */
#include "bench.h"

#include <unistd.h>

static int work(void *ctx, struct sample *s, struct err *e)
{
	uint64_t h = 0;

	(void)ctx;
	(void)e;
	for (int i = 0; i < 20000; i++)
		h = digest_bytes(h, &i, sizeof i);
	s->digest = h;
	return 0;
}

static const struct bench_case cases[] = {
	{.name = "a-a",
		.about = "the noise floor: the same work in both arms",
		.samples = 200,
		.warmup = 10,
		.arms = {{"a", work}, {"a again", work}},
		.targets = {{"two equal arms differ by less than 5 %", "a again", ON_RATIO, 0.95,
			1.05}}},
	{.name = NULL},
};

const struct bench_suite suite_self = {"self", "the noise floor", cases};
