/* files_pool.c - unit tests of files/common/workers.h: no more workers than the process's limits bear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/resource.h>

#include "files/common/workers.h"

static unsigned widest;

static void widen_far(void *ctx, unsigned worker, struct crew *c)
{
	(void)ctx;
	if (worker > 0)
		return;
	crew_widen(c, 10 * POOL_MAX);
	widest = crew_width(c);
}

static unsigned width_under(int resource, rlim_t soft)
{
	struct rlimit before, low;
	struct pool *p;

	assert_int_equal(getrlimit(resource, &before), 0);
	low = before;
	low.rlim_cur = soft;
	assert_int_equal(setrlimit(resource, &low), 0);
	p = pool_new();
	assert_int_equal(setrlimit(resource, &before), 0);
	crew_run(p, 1, widen_far, NULL);
	pool_free(p);
	return widest;
}

static void test_descriptors(void **state)
{
	(void)state;
	assert_int_equal(width_under(RLIMIT_NOFILE, 1024), POOL_MAX);
	assert_in_range(width_under(RLIMIT_NOFILE, 32), 2, 8);
	assert_int_equal(width_under(RLIMIT_NOFILE, 8), 1);
}

static void test_addresses(void **state)
{
	struct rlimit now;

	(void)state;
	pool_free(pool_new()); /* what that needs is then there */
	assert_int_equal(getrlimit(RLIMIT_AS, &now), 0);
	assert_in_range(width_under(RLIMIT_AS, 400ul << 20), 1, 4);
	assert_int_equal(width_under(RLIMIT_AS, 1ul << 20), 1);
	assert_int_equal(width_under(RLIMIT_AS, now.rlim_cur), POOL_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
