/* console.c - the console in a terminal, on a fake engine: start, resize, every way to end, plain terminals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "terminal/term.h"

static char dir[64], host[96];
static pid_t engine;

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int setup(void **state)
{
	const char *source = getenv("SRC");
	char script[80], fake[512];

	(void)state;
	snprintf(dir, sizeof dir, "%s/t-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(dir));
	snprintf(host, sizeof host, "unix://%s/e", dir);
	snprintf(script, sizeof script, "%s/s", dir);
	write_file(script,
		"{\"containers\": [{\"name\": \"alpha\", \"cpu\": 40}, {\"name\": \"beta\"},"
		" {\"name\": \"gamma\", \"state\": \"exited\", \"exit\": 3},"
		" {\"name\": \"evil\\u001b[2J\\u001b]0;owned\\u0007\\u009b31m\"}]}");
	snprintf(fake, sizeof fake, "%s/tests/scenario/fake_engine.py",
		source ? source : BERTH_SOURCE);
	engine = fork();
	assert_true(engine >= 0);
	if (engine == 0) {
		execl("/usr/bin/python3", "python3", fake, host + strlen("unix://"), script, NULL);
		_exit(127);
	}
	return 0;
}

static int teardown(void **state)
{
	char cmd[128];

	(void)state;
	term_free_last();
	kill(engine, SIGKILL);
	waitpid(engine, NULL, 0);
	snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	return system(cmd);
}

/* The console with environment `env` on top of a true-colour one. */
static struct term *console_with(int columns, int rows, const char *const *extra)
{
	const char *argv[] = {getenv("BERTH") ? getenv("BERTH") : BERTH_PROGRAM, "-H", host, NULL};
	const char *env[16] = {
		"TERM=xterm-256color", "COLORTERM=truecolor", "LC_ALL=C.UTF-8", "NO_COLOR", "TMUX"};
	size_t n = 5;

	while (extra && *extra && n < 15)
		env[n++] = *extra++;
	return term_start(argv, env, columns, rows);
}

static struct term *console(void)
{
	return console_with(100, 24, NULL);
}

/* As `console`, once the list is there. */
static struct term *opened(void)
{
	struct term *t = console();

	term_expect(t, "alpha");
	assert_true(term_mode(t, 1049));
	return t;
}

static void ends_well(struct term *t, int code)
{
	int status = term_expect_end(t);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), code);
	term_expect_restored(t);
	term_free(t);
}

static void test_start_and_quit(void **state)
{
	struct term *t = opened();

	(void)state;
	term_expect(t, "beta");
	term_expect(t, "evil");
	term_send(t, "q");
	ends_well(t, 0);
}

/* Colours are the theme's own, as RGB: more than one of them on the screen. */
static void test_true_colour(void **state)
{
	struct term *t = opened();
	int coloured = 0;

	(void)state;
	for (int row = 0; row < 24; row++) {
		for (int column = 0; column < 100; column++)
			coloured += !term_cell(t, row, column).fg_default;
	}
	assert_true(coloured > 20);
	term_send(t, "q");
	ends_well(t, 0);
}

/* Names from the engine are text: no title set, no screen cleared, no C1 that means something. */
static void test_hostile_name(void **state)
{
	struct term *t = opened();
	const char *out;
	size_t len;

	(void)state;
	term_expect(t, "evil");
	out = term_output(t, &len);
	assert_null(memmem(out, len, "owned\a", 6));
	assert_null(memmem(out, len, "evil\033", 5));
	assert_null(memmem(out, len, "\xc2\x9b", 2));
	term_send(t, "q");
	ends_well(t, 0);
}

static void test_resize_storm(void **state)
{
	struct term *t = opened();

	(void)state;
	for (int i = 0; i < 200; i++)
		term_resize(t, 20 + i * 7 % 180, 5 + i * 3 % 60);
	term_resize(t, 100, 24);
	term_expect(t, "alpha");
	term_resize(t, 40, 12);
	term_expect(t, "alpha");
	term_resize(t, 1, 1);
	term_resize(t, 200, 60);
	term_expect(t, "alpha");
	term_expect(t, "beta");
	term_send(t, "q");
	ends_well(t, 0);
}

static void ends_by(int sig)
{
	struct term *t = opened();
	int status;

	term_signal(t, sig);
	status = term_expect_end(t);
	/* being told to end is no failure; a crash stays one, so that its parent learns of it */
	if (sig == SIGTERM || sig == SIGHUP)
		assert_int_equal(status, 0);
	else
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == sig);
	term_expect_restored(t);
	term_free(t);
}

static void test_sigterm(void **state)
{
	(void)state;
	ends_by(SIGTERM);
}

static void test_sighup(void **state)
{
	(void)state;
	ends_by(SIGHUP);
}

/* What a failed assertion ends in. */
static void test_abort(void **state)
{
	(void)state;
	ends_by(SIGABRT);
}

static void test_crash(void **state)
{
	(void)state;
	ends_by(SIGBUS);
}

static void test_lost_terminal(void **state)
{
	struct term *t = opened();

	(void)state;
	term_hang_up(t);
	term_expect_end(t); /* it must not spin on a dead descriptor */
	term_free(t);
}

static bool is_stopped(struct term *t, void *ctx)
{
	siginfo_t info = {0};

	(void)ctx;
	return waitid(P_PID, (id_t)term_pid(t), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
		info.si_pid == term_pid(t);
}

static void test_stop_and_continue(void **state)
{
	struct term *t = opened();

	(void)state;
	term_signal(t, SIGSTOP);
	assert_true(term_wait(t, is_stopped, NULL, 10000));
	term_resize(t, 80, 24);
	term_signal(t, SIGCONT);
	term_send(t, "?");
	term_expect(t, "mark the row");
	term_send(t, "\033");
	term_expect_gone(t, "mark the row"); /* before the next key, or the two are one: Alt-q */
	term_expect(t, "alpha");
	term_send(t, "q");
	ends_well(t, 0);
}

/* LANG=C: nothing but ASCII leaves the program, and it still works. */
static void test_lang_c(void **state)
{
	const char *env[] = {"LC_ALL=C", "LANG=C", NULL};
	struct term *t = console_with(100, 24, env);
	const char *out;
	size_t len;

	(void)state;
	term_expect(t, "alpha");
	out = term_output(t, &len);
	for (size_t i = 0; i < len; i++)
		assert_true((unsigned char)out[i] < 0x80);
	term_send(t, "q");
	ends_well(t, 0);
}

static void test_no_color(void **state)
{
	const char *env[] = {"NO_COLOR=1", NULL};
	struct term *t = console_with(100, 24, env);

	(void)state;
	term_expect(t, "alpha");
	for (int row = 0; row < 24; row++) {
		for (int column = 0; column < 100; column++) {
			struct term_cell c = term_cell(t, row, column);

			assert_true(c.fg_default);
			assert_true(c.bg_default);
		}
	}
	term_send(t, "q");
	ends_well(t, 0);
}

static void test_40_by_12(void **state)
{
	struct term *t = console_with(40, 12, NULL);

	(void)state;
	term_expect(t, "alpha");
	term_expect(t, "beta");
	term_send(t, "q");
	ends_well(t, 0);
}

/* terminfo does not know it: it is told so, and gets what most terminals understand. */
static void test_unknown_term(void **state)
{
	const char *env[] = {"TERM=no-such-terminal", NULL};
	struct term *t = console_with(100, 24, env);

	(void)state;
	term_expect(t, "alpha");
	term_expect(t, "no-such-terminal");
	term_send(t, "q");
	ends_well(t, 0);
}

/* The engine dies: the rows stay, the header says so in words; it returns, and so do they. */
static void test_engine_lost(void **state)
{
	struct term *t = opened();

	kill(engine, SIGKILL);
	waitpid(engine, NULL, 0);
	term_expect(t, "lost");
	assert_true(term_find(t, "alpha", NULL, NULL));
	term_send(t, "q");
	ends_well(t, 0);
	/* teardown wants a process to end */
	engine = fork();
	if (engine == 0)
		_exit(0);
	(void)state;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_start_and_quit),
		TEST(test_true_colour),
		TEST(test_hostile_name),
		TEST(test_resize_storm),
		TEST(test_sigterm),
		TEST(test_sighup),
		TEST(test_abort),
		TEST(test_crash),
		TEST(test_lost_terminal),
		TEST(test_stop_and_continue),
		TEST(test_lang_c),
		TEST(test_no_color),
		TEST(test_40_by_12),
		TEST(test_unknown_term),
		TEST(test_engine_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
