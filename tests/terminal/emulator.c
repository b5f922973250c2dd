/* emulator.c - does the tests' terminal see what it should?  Driven by a shell, not by berth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "terminal/term.h"

static struct term *start_sh(const char *script)
{
	const char *argv[] = {"sh", "-c", script, NULL};
	const char *env[] = {"TERM=xterm-256color", NULL};

	return term_start(argv, env, 40, 8);
}

static void test_text_and_colour(void **state)
{
	struct term *t = start_sh(
		"printf 'plain \\033[38;2;10;20;30;1mrgb\\033[m \\345\\244\\247x'; read x");
	struct term_cell c;
	int row, column;

	(void)state;
	term_expect(t, "plain rgb 大x");
	assert_true(term_find(t, "rgb", &row, &column));
	assert_int_equal(row, 0);
	assert_int_equal(column, 6);
	c = term_cell(t, row, column);
	assert_int_equal(c.ch, 'r');
	assert_true(c.bold);
	assert_false(c.fg_default);
	assert_int_equal(c.fg[0], 10);
	assert_int_equal(c.fg[2], 30);
	assert_true(term_cell(t, 0, 0).fg_default);
	term_free(t);
}

static void test_modes_and_restore(void **state)
{
	struct term *t = start_sh(
		"stty raw -echo; printf '\\033[?1049h\\033[?25l\\033[?1002;1006h\\033[?2004hin'; read x;"
		"stty sane -iutf8; printf '\\033[?2004l\\033[?1006;1002l\\033[?25h\\033[?1049lout'; read x");

	(void)state;
	term_expect(t, "in");
	assert_true(term_mode(t, 1049));
	assert_false(term_mode(t, 25));
	assert_true(term_mouse(t));
	assert_true(term_mode(t, 2004));
	term_send(t, "\n");
	term_expect(t, "out");
	assert_false(term_mouse(t));
	assert_true(term_mode(t, 25));
	term_free(t);

	t = start_sh("true");
	assert_int_equal(term_expect_end(t), 0);
	term_expect_restored(t);
	term_free(t);
}

static void test_resize_reply_end(void **state)
{
	struct term *t = start_sh(
		"trap 'stty size' WINCH; echo ready; while :; do read x; [ \"$x\" = go ] && exit 3; done");
	int status;

	(void)state;
	term_expect(t, "ready");
	term_resize(t, 20, 5);
	term_expect(t, "5 20");
	assert_int_equal(term_columns(t), 20);
	term_send(t, "go\n");
	status = term_expect_end(t);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 3);
	term_free(t);
}

static void test_hang_up(void **state)
{
	struct term *t = start_sh("echo here; read x");
	int status;

	(void)state;
	term_expect(t, "here");
	term_hang_up(t);
	status = term_expect_end(t);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
	term_free(t);
}

static int teardown(void **state)
{
	(void)state;
	term_free_last();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_text_and_colour, teardown),
		cmocka_unit_test_teardown(test_modes_and_restore, teardown),
		cmocka_unit_test_teardown(test_resize_reply_end, teardown),
		cmocka_unit_test_teardown(test_hang_up, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
