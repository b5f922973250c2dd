/* blocking.c - blocking work on worker threads, also if no thread can be created. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/mem.h>

#include "net/blocking.h"

#define MANY 200

static atomic_int at_work, most, worked;
static int ended;

static void work_hard(struct blocking_task *x)
{
	int now = atomic_fetch_add(&at_work, 1) + 1, seen = atomic_load(&most);

	while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now))
		;
	for (volatile int i = 0; i < 10000; i++)
		;
	atomic_fetch_add(&worked, 1);
	atomic_fetch_sub(&at_work, 1);
	(void)x;
}

static void free_blocking(struct blocking_task *x)
{
	ended++;
	free(x);
}

static void test_many(void **state)
{
	uv_loop_t loop;

	(void)state;
	assert_int_equal(uv_loop_init(&loop), 0);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(blocking_start(&loop, xcalloc(1, sizeof(struct blocking_task)),
					 work_hard, free_blocking),
			0);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(ended, MANY);
	assert_int_equal(atomic_load(&worked), MANY);
	assert_true(atomic_load(&most) <= BLOCKING_THREADS);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void start_again(struct blocking_task *x)
{
	int *left = x->data;

	if ((*left)-- > 0)
		assert_int_equal(blocking_start(x->finished.loop, x, work_hard, start_again), 0);
}

static void test_again(void **state)
{
	struct blocking_task x = {0};
	int left = 20;
	uv_loop_t loop;

	(void)state;
	x.data = &left;
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(blocking_start(&loop, &x, work_hard, start_again), 0);
	assert_true(blocking_owns((uv_handle_t *)&x.finished));
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(left, -1);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static int gate[2];

/* As an ssh that connects to a host that does not answer. */
static void wait_at_gate(struct blocking_task *x)
{
	char byte;

	(void)x;
	if (read(gate[0], &byte, 1) != 1)
		abort();
}

static void open_gate(struct blocking_task *x)
{
	for (int i = 0; i < BLOCKING_THREADS + 2; i++)
		assert_int_equal(write(gate[1], "x", 1), 1);
	free_blocking(x);
}

/* However many wait for other machines, other work is done. */
static void test_apart(void **state)
{
	uv_loop_t loop;

	(void)state;
	ended = 0;
	assert_int_equal(pipe(gate), 0);
	assert_int_equal(uv_loop_init(&loop), 0);
	for (int i = 0; i < BLOCKING_THREADS + 2; i++)
		assert_int_equal(
			blocking_start_apart(&loop, xcalloc(1, sizeof(struct blocking_task)),
				wait_at_gate, free_blocking),
			0);
	assert_int_equal(blocking_start(&loop, xcalloc(1, sizeof(struct blocking_task)), work_hard,
				 open_gate),
		0);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(ended, BLOCKING_THREADS + 3);
	assert_int_equal(uv_loop_close(&loop), 0);
	close(gate[0]);
	close(gate[1]);
}

static void start_nothing(struct blocking_task *x)
{
	(void)x;
	_exit(3);
}

/* In a process of its own, without threads, of a user who may have no more: an errno, and the loop ends. */
static void test_no_thread(void **state)
{
	const struct rlimit none = {0, 0};
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		struct blocking_task x = {0};
		uv_loop_t loop;

		if (uv_loop_init(&loop) || (!geteuid() && (setgid(61234) || setuid(61234))) ||
			setrlimit(RLIMIT_NPROC, &none))
			_exit(2);
		if (blocking_start(&loop, &x, start_nothing, start_nothing) != EAGAIN ||
			blocking_start_apart(&loop, &x, start_nothing, start_nothing) != EAGAIN)
			_exit(4);
		uv_run(&loop, UV_RUN_DEFAULT);
		_exit(uv_loop_close(&loop) ? 5 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_thread), /* before there are threads that could do it */
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
