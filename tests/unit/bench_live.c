/* bench_live.c - what a run of benchmarks wrote so far, as the console counts it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "views/bench/bench_live.h"

#define RUN                                              \
	"run\t7\tnow\t-\t-\t0.95\t3\t30\n"               \
	"case\t0\tmine/a\tabout\ts\t10\t-\n"             \
	"case\t1\tmine/b\tabout\ts\t10\t-\n"             \
	"case\t2\tmine/c\tabout\ts\t10\t-\n"             \
	"begin\t0\nstate\t0\tnot_run\tno such program\n" \
	"begin\t1\narm\t1\t0\tone\tbaseline\n"           \
	"v\t1\t0\t0.5\t4\n"

static void read_live(struct live_run *r, const char *text)
{
	live_release(r);
	live_take(r, text, strlen(text));
	assert_int_equal(r->ncases, 3);
}

/* A case that was not run is no progress: its samples are not to be done any more. */
static void test_not_run(void **state)
{
	static struct live_run r;

	(void)state;
	read_live(&r, RUN);
	assert_int_equal(r.cases[0].state, LIVE_NOT_RUN);
	assert_int_equal(r.cases[1].state, LIVE_RUNS);
	assert_int_equal(r.cases[2].state, LIVE_WAITS);
	assert_int_equal(r.samples, 20);
	assert_int_equal(r.done, 4);
	live_release(&r);
}

/* After the end nothing looks as if it were running or waiting. */
static void test_end(void **state)
{
	static struct live_run r;

	(void)state;
	read_live(&r, RUN "end\tcancelled\t-\n");
	assert_int_equal(r.cases[1].state, LIVE_NOT_RUN);
	assert_non_null(strstr(r.cases[1].text, "Cancelled"));
	assert_int_equal(r.cases[2].state, LIVE_NOT_RUN);
	assert_non_null(strstr(r.cases[2].text, "before its turn"));
	assert_string_equal(r.cases[0].text, "no such program");
	read_live(&r, RUN);
	live_end_cases(&r); /* it wrote no end: it was killed */
	assert_int_equal(r.cases[1].state, LIVE_NOT_RUN);
	assert_null(strstr(r.cases[1].text, "Cancelled"));
	live_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_run), cmocka_unit_test(test_end)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
