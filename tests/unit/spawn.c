/* spawn.c - a signal that reaches a child before it has become another program stops the child and not its parent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/spawn.h>

static int stop[2]; /* as a server has it for its signal handler */

static void note_signal(int sig)
{
	char byte = (char)sig;

	if (write(stop[1], &byte, 1) < 0)
		_exit(99);
}

static bool is_stopped(void)
{
	return poll(&(struct pollfd){stop[0], POLLIN, 0}, 1, 0) > 0;
}

static bool early; /* a signal comes in the next child, before fork returns there */

static void raise_early(void)
{
	if (early)
		raise(SIGTERM);
}

static int make_server(void **state)
{
	const struct sigaction act = {.sa_handler = note_signal};

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	return pthread_atfork(NULL, NULL, raise_early) || pipe2(stop, O_CLOEXEC | O_NONBLOCK) ||
		sigaction(SIGTERM, &act, NULL);
}

static void test_child(void **state)
{
	int status = 0;
	pid_t pid;

	(void)state;
	early = true;
	pid = spawn_fork();
	if (pid == 0)
		_exit(98);
	early = false;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
	assert_false(is_stopped());
	raise(SIGTERM); /* here it is handled as before */
	assert_true(is_stopped());
	assert_int_equal(read(stop[0], &(char){0}, 1), 1);
}

static void test_ignored(void **state)
{
	int status = 0;
	pid_t pid = spawn_fork();

	(void)state;
	if (pid == 0) {
		raise(SIGPIPE);
		_exit(7);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

/* Whoever holds the other end of `said` has ended when that closes. */
static void test_orphan(void **state)
{
	char word[2] = "";
	int said[2], rc;

	(void)state;
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	rc = spawn_orphan();
	if (rc == 0) {
		if (write(said[1], "a", 1) == 1)
			raise(SIGTERM);
		if (write(said[1], "b", 1) == 1)
			_exit(1);
		_exit(2);
	}
	assert_int_equal(rc, 1);
	close(said[1]);
	assert_int_equal(read(said[0], word, 1), 1);
	assert_int_equal(*word, 'a');
	assert_int_equal(read(said[0], word, 1), 0);
	close(said[0]);
	assert_false(is_stopped());
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_child),
		cmocka_unit_test(test_ignored), cmocka_unit_test(test_orphan)};

	return cmocka_run_group_tests(tests, make_server, NULL);
}
