/* sync.c - the loop that waits for an engine: a turn of it ends with whatever has happened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <uv.h>

#include "engine/sync.h"

enum { FAR_MS = 60000 };

static void count_timer(uv_timer_t *timer)
{
	int *n = timer->data;

	++*n;
}

static void count_closed(uv_handle_t *handle)
{
	int *n = handle->data;

	++*n;
}

static struct engine_sync *open_nowhere(void)
{
	char url[] = "unix:///no/engine";
	struct endpoint ep = {
		.transport = TRANSPORT_UNIX, .url = url, .path = url + sizeof "unix://" - 1};
	struct err e = ERR_INIT;
	struct engine_sync *s = sync_open(&ep, &e);

	if (!s)
		fail_msg("%s", e.msg);
	return s;
}

/* What a timer did is seen before the next thing is waited for, also by a timer that was due before the turn began. */
static void test_timer_ends_turn(void **state)
{
	struct engine_sync *s = open_nowhere();
	uv_timer_t due, far;
	int fired = 0, late = 0, closed = 0;

	(void)state;
	uv_timer_init(sync_loop(s), &due);
	uv_timer_init(sync_loop(s), &far);
	far.data = &late;
	uv_timer_start(&far, count_timer, FAR_MS, 0);
	for (int ms = 0; ms < 4; ms++) {
		due.data = &fired;
		uv_timer_start(&due, count_timer, (uint64_t)ms, 0);
		while (fired <= ms)
			assert_true(sync_turn(s));
	}
	assert_int_equal(late, 0);
	far.data = due.data = &closed;
	uv_close((uv_handle_t *)&far, count_closed);
	uv_close((uv_handle_t *)&due, count_closed);
	while (closed < 2)
		sync_turn(s);
	sync_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timer_ends_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
