/* terminal_foreground.c - what is seen of a terminal's processes: real ones, on pseudo-terminals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "terminals/foreground.h"

#define PATIENCE_MS 60000

/* A supervisor whose one child runs that on a terminal. */
struct seen_terminal {
	pid_t supervisor;
	int master;
};

static struct seen_terminal start_program(const char *const *argv)
{
	struct seen_terminal t;
	pid_t pid;
	int slave;

	assert_int_equal(openpty(&t.master, &slave, NULL, NULL, NULL), 0);
	t.supervisor = fork();
	assert_true(t.supervisor >= 0);
	if (t.supervisor) {
		close(slave);
		return t;
	}
	close(t.master);
	pid = fork();
	if (!pid) {
		login_tty(slave);
		execvp("sh", (char *const *)argv);
		_exit(127);
	}
	close(slave);
	while (waitpid(pid, NULL, 0) < 0)
		;
	_exit(0);
}

/* Its end hangs the terminal up, and so ends what runs there. */
static void end_program(struct seen_terminal *t)
{
	close(t->master);
	waitpid(t->supervisor, NULL, 0);
}

/* Until it is seen so. */
static struct foreground expect_front(const struct seen_terminal *t, enum terminal_front front)
{
	struct foreground f = {.front = TERMINAL_FRONT_UNKNOWN};

	for (int waited = 0; waited < PATIENCE_MS; waited += 5) {
		foreground_below(t->supervisor, PATIENCE_MS, &f);
		if (f.front == front && f.n)
			return f;
		poll(NULL, 0, 5);
	}
	fail_msg("front %d of %s", f.front, f.n ? f.name[0] : "nothing");
	return f;
}

static bool has_name(const struct foreground *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->name[i], name))
			return true;
	return false;
}

static void one_that_reads_is_seen(void **state)
{
	const char *script[] = {"sh", "-c", "read x", NULL};
	struct seen_terminal t = start_program(script);
	struct foreground f = expect_front(&t, TERMINAL_FRONT_READS);

	(void)state;
	assert_true(has_name(&f, "sh"));
	assert_false(f.shell);
	end_program(&t);
}

static void a_shell_without_a_script_is_one(void **state)
{
	const char *shell[] = {"-sh", "-i", NULL};
	struct seen_terminal t = start_program(shell);
	struct foreground f = expect_front(&t, TERMINAL_FRONT_READS);

	(void)state;
	assert_true(has_name(&f, "sh"));
	assert_true(f.shell);
	end_program(&t);
}

static void one_that_computes_runs(void **state)
{
	const char *script[] = {"sh", "-c", "while :; do :; done", NULL};
	struct seen_terminal t = start_program(script);

	(void)state;
	expect_front(&t, TERMINAL_FRONT_RUNS);
	end_program(&t);
}

/* As long as what is read of it, and longer. */
static void a_long_first_word_is_read(void **state)
{
	(void)state;
	for (size_t n = 1020; n <= 1030; n++) {
		AUTO_FREE char *name = xmalloc(n + 1);
		const char *argv[] = {name, "-c", "read x", NULL};
		struct seen_terminal t;
		struct foreground f;

		memset(name, 'a', n);
		name[n] = '\0';
		t = start_program(argv);
		f = expect_front(&t, TERMINAL_FRONT_READS);
		assert_in_range(f.n, 1, FOREGROUND_NAMES);
		end_program(&t);
	}
}

/* On a terminal of the program's own, which is asked and so is not said to ask. */
static void a_terminal_below_is_not_this_one(void **state)
{
	struct seen_terminal t, below = {.master = -1};
	struct foreground f;
	int master, slave, outer[2];
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(pipe(outer), 0);
	assert_int_equal(openpty(&t.master, &slave, NULL, NULL, NULL), 0);
	t.supervisor = fork();
	if (!t.supervisor) {
		close(t.master);
		if (fork()) {
			close(slave);
			while (wait(NULL) < 0)
				;
			_exit(0);
		}
		login_tty(slave);
		if (!forkpty(&master, NULL, NULL, NULL)) {
			execlp("sh", "inner", "-c", "read x", NULL);
			_exit(127);
		}
		pid = getpid();
		if (write(outer[1], &pid, sizeof pid) != sizeof pid)
			_exit(1);
		while (read(master, &c, 1) == 1)
			;
		_exit(0);
	}
	close(slave);
	assert_int_equal(read(outer[0], &below.supervisor, sizeof below.supervisor),
		sizeof below.supervisor);
	f = expect_front(&below, TERMINAL_FRONT_READS);
	assert_true(has_name(&f, "inner"));
	f = expect_front(&t, TERMINAL_FRONT_SLEEPS);
	assert_false(has_name(&f, "inner"));
	close(outer[0]);
	close(outer[1]);
	end_program(&t);
}

/* Each of these looks goes on when nobody waits for it any more, and then there is another. */
static void one_that_takes_too_long_is_left(void **state)
{
	const char *script[] = {"sh", "-c", "read x", NULL};
	struct seen_terminal t = start_program(script);
	struct foreground f;

	(void)state;
	for (int i = 0; i < 300; i++) {
		foreground_below(t.supervisor, 0, &f);
		foreground_below(getpid(), 0, &f);
	}
	f = expect_front(&t, TERMINAL_FRONT_READS);
	assert_true(has_name(&f, "sh"));
	end_program(&t);
}

static void nothing_is_known_of_others(void **state)
{
	struct foreground f = {.front = TERMINAL_FRONT_RUNS, .n = 3};

	(void)state;
	foreground_look(getpid(), "0123456789abcdef", &f);
	assert_int_equal(f.front, TERMINAL_FRONT_UNKNOWN);
	assert_int_equal(f.n, 0);
	foreground_look(0, "", &f);
	assert_int_equal(f.front, TERMINAL_FRONT_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_reads_is_seen),
		cmocka_unit_test(a_shell_without_a_script_is_one),
		cmocka_unit_test(one_that_computes_runs),
		cmocka_unit_test(a_long_first_word_is_read),
		cmocka_unit_test(a_terminal_below_is_not_this_one),
		cmocka_unit_test(one_that_takes_too_long_is_left),
		cmocka_unit_test(nothing_is_known_of_others),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
