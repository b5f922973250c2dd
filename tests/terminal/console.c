/* console.c - the console in a terminal, on a fake engine: start, resize, every way to end, plain terminals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "terminal/term.h"
#include "lib/paths.h"

#define WAIT_MS 60000

static char dir[64], host[96];
static pid_t engine;

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

#define EVIL "\\u001b[2J\\u001b]0;owned\\u0007\\u009b31m\\u202e"
#define CONTAINERS                                                                   \
	"\"containers\": [{\"name\": \"alpha\", \"cpu\": 40}, {\"name\": \"beta\"}," \
	" {\"name\": \"gamma\", \"state\": \"exited\", \"exit\": 3},"                \
	" {\"name\": \"evil" EVIL "\", \"log\": [\"line" EVIL "\", \"e:wrong" EVIL "\"]}]"

/* An engine by this script; what there is of it already ends first. */
static void engine_start(const char *json)
{
	const char *source = getenv("SRC");
	char script[80], fake[512];

	if (engine > 0) {
		kill(engine, SIGKILL);
		waitpid(engine, NULL, 0);
		engine = 0;
	}
	if (!json)
		return;
	snprintf(script, sizeof script, "%s/s", dir);
	write_file(script, json);
	snprintf(fake, sizeof fake, "%s/tests/scenario/fake_engine.py",
		source ? source : test_source);
	engine = fork();
	assert_true(engine >= 0);
	if (engine == 0) {
		execl("/usr/bin/python3", "python3", fake, host + strlen("unix://"), script, NULL);
		_exit(127);
	}
}

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof dir, "%s/t-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(dir));
	snprintf(host, sizeof host, "unix://%s/e", dir);
	engine_start("{" CONTAINERS "}");
	return 0;
}

static int teardown(void **state)
{
	char cmd[128];

	(void)state;
	term_free_last();
	engine_start(NULL);
	snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	return system(cmd);
}

/* The console with environment `extra` on top of a true-colour one, and more arguments. */
static struct term *console_by(
	int columns, int rows, const char *const *extra, const char *const *arguments)
{
	const char *argv[12] = {getenv("BERTH") ? getenv("BERTH") : test_program, "-H", host};
	static char kept[96]; /* what one test chooses is nothing to the next */
	const char *env[16] = {kept, "TERM=xterm-256color", "COLORTERM=truecolor", "LC_ALL=C.UTF-8",
		"NO_COLOR", "TMUX"};
	size_t n = 6;

	snprintf(kept, sizeof kept, "XDG_STATE_HOME=%s", dir);

	while (extra && *extra && n < 15)
		env[n++] = *extra++;
	for (size_t i = 3; arguments && *arguments && i < 11;)
		argv[i++] = *arguments++;
	return term_start(argv, env, columns, rows);
}

static struct term *console_with(int columns, int rows, const char *const *extra)
{
	return console_by(columns, rows, extra, NULL);
}

static struct term *start_console(void)
{
	return console_with(100, 24, NULL);
}

/* As `start_console`, once the list is there. */
static struct term *open_listed(void)
{
	struct term *t = start_console();

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
	struct term *t = open_listed();

	(void)state;
	term_expect(t, "beta");
	term_expect(t, "evil");
	term_send(t, "Q");
	ends_well(t, 0);
}

/* Colours are the theme's own, as RGB: more than one of them on the screen. */
static void test_true_colour(void **state)
{
	struct term *t = open_listed();
	int coloured = 0;

	(void)state;
	for (int row = 0; row < 24; row++) {
		for (int column = 0; column < 100; column++)
			coloured += !term_cell(t, row, column).fg_default;
	}
	assert_true(coloured > 20);
	term_send(t, "Q");
	ends_well(t, 0);
}

/* Names from the engine are text: no title set, no screen cleared, no C1 that means something. */
static void test_hostile_name(void **state)
{
	struct term *t = open_listed();
	const char *out;
	size_t len;

	(void)state;
	term_expect(t, "evil");
	out = term_output(t, &len);
	assert_null(memmem(out, len, "owned\a", 6));
	assert_null(memmem(out, len, "evil\033", 5));
	assert_null(memmem(out, len, "\xc2\x9b", 2));
	term_send(t, "Q");
	ends_well(t, 0);
}

static void test_resize_storm(void **state)
{
	struct term *t = open_listed();

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
	term_send(t, "Q");
	ends_well(t, 0);
}

static void ends_by(int sig)
{
	struct term *t = open_listed();
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

/* Nothing in berth uses them: they come from outside, and end it. */
static void test_other_signals(void **state)
{
	(void)state;
	ends_by(SIGQUIT);
	ends_by(SIGUSR1);
}

static void test_lost_terminal(void **state)
{
	struct term *t = open_listed();

	(void)state;
	term_hang_up(t);
	term_expect_end(t); /* it must not spin on a dead descriptor */
	term_free(t);
}

static bool is_child_stopped(struct term *t, void *ctx)
{
	siginfo_t info = {0};

	(void)ctx;
	return waitid(P_PID, (id_t)term_pid(t), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
		info.si_pid == term_pid(t);
}

static void test_stop_and_continue(void **state)
{
	struct term *t = open_listed();

	(void)state;
	term_signal(t, SIGSTOP);
	assert_true(term_wait(t, is_child_stopped, NULL, WAIT_MS));
	term_resize(t, 80, 24);
	term_signal(t, SIGCONT);
	term_send(t, "?");
	term_expect(t, "mark the row");
	term_send(t, "\033");
	term_expect_gone(t, "mark the row"); /* before the next key, or the two are one: Alt-q */
	term_expect(t, "alpha");
	term_send(t, "Q");
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
	term_send(t, "Q");
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
	term_send(t, "Q");
	ends_well(t, 0);
}

static void test_40_by_12(void **state)
{
	struct term *t = console_with(40, 12, NULL);

	(void)state;
	term_expect(t, "alpha");
	term_expect(t, "beta");
	term_send(t, "Q");
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
	term_send(t, "Q");
	ends_well(t, 0);
}

/* The cursor's row, as the list marks it. */
static bool cursor_on(struct term *t, void *name)
{
	int row, column;

	return term_find(t, "\u258c", &row, &column) && strstr(term_row(t, row), name);
}

static void expect_cursor(struct term *t, const char *name)
{
	if (!term_wait(t, cursor_on, (void *)(uintptr_t)name, WAIT_MS)) {
		term_dump(t);
		fail_msg("the cursor is not on %s", name);
	}
}

static struct term_cell cell_of(struct term *t, const char *text)
{
	int row, column;

	assert_true(term_find(t, text, &row, &column));
	return term_cell(t, row, column);
}

/* The row of alpha has the colour that it had before; a frame may come in pieces. */
static bool is_lively(struct term *t, void *before)
{
	struct term_cell now;
	int row, column;

	if (!term_find(t, "\u25cf alpha", &row, &column))
		return false;
	now = term_cell(t, row, column);
	return memcmp(now.fg, ((struct term_cell *)before)->fg, sizeof now.fg) == 0;
}

static bool is_dimmed(struct term *t, void *before)
{
	return term_find(t, "\u25cf alpha", NULL, NULL) && !is_lively(t, before);
}

/* The engine dies: the rows stay, dimmed, the header says so in words; it returns, and so do they,
 * with filter and cursor where they were. */
static void test_engine_lost(void **state)
{
	struct term *t = open_listed();
	struct term_cell lively;

	(void)state;
	term_send(t, "/^(alpha|beta)$\r");
	term_expect(t, "2 of 4");
	term_send(t, "j");
	expect_cursor(t, "beta");
	lively = cell_of(t, "\u25cf alpha");
	engine_start(NULL);
	term_expect(t, "engine lost");
	term_expect(t, "retry in");
	term_expect(t, "AGE");
	assert_true(term_wait(t, is_dimmed, &lively, WAIT_MS));
	expect_cursor(t, "beta");
	engine_start("{" CONTAINERS "}");
	term_expect_gone(t, "engine lost");
	term_expect_gone(t, "AGE");
	term_expect(t, "2 of 4");
	expect_cursor(t, "beta");
	assert_true(term_wait(t, is_lively, &lively, WAIT_MS));
	term_send(t, "q");
	term_expect_gone(t, "2 of 4");
	term_send(t, "Q");
	ends_well(t, 0);
}

/* What follows the engine says so while nothing comes because it is gone. */
static void test_engine_lost_followed(void **state)
{
	static const char *const page[] = {":events\r", ":containers\r/^alpha\rl"};

	(void)state;
	for (size_t i = 0; i < sizeof page / sizeof *page; i++) {
		struct term *t = open_listed();

		term_send(t, page[i]);
		term_expect(t, "following");
		engine_start(NULL);
		term_expect(t, "the engine does not answer");
		term_expect_gone(t, "following");
		engine_start("{" CONTAINERS "}");
		term_expect_gone(t, "the engine does not answer");
		term_send(t, "Q");
		ends_well(t, 0);
	}
}

/* Another engine on the same socket: nothing of the old one is left to act on. */
static void test_engine_replaced(void **state)
{
	struct term *t = open_listed();

	(void)state;
	term_send(t, "*");
	term_expect(t, "4 marked");
	engine_start("{\"id\": \"OTHER\", \"name\": \"elsewhere\","
		     " \"containers\": [{\"name\": \"alpha\"}, {\"name\": \"delta\"}]}");
	term_expect(t, "elsewhere");
	term_expect(t, "delta");
	term_expect_gone(t, "gamma");
	term_expect_gone(t, "marked");
	term_send(t, "Q");
	ends_well(t, 0);
}

/* No engine, and one that accepts and says nothing: which, where it was named, what to do. */
static void test_no_engine(void **state)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct term *t;
	int fd;

	(void)state;
	engine_start(NULL);
	unlink(host + strlen("unix://"));
	t = start_console();
	term_expect(t, "No engine yet.");
	term_expect(t, "(from --host)");
	/* Words of "there is no such socket": where a line ends depends on how long the path is. */
	term_expect(t, " such");
	term_expect(t, "socket:");
	term_expect(t, "Q quits");
	term_send(t, "Q");
	ends_well(t, 0);

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(a.sun_path, sizeof a.sun_path, "%s", host + strlen("unix://"));
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(listen(fd, 16), 0);
	t = start_console();
	term_expect(t, "Connecting to the engine.");
	term_expect(t, "(from --host)");
	term_expect(t, "accepts connections but");
	term_send(t, "Q");
	ends_well(t, 0);
	close(fd);
}

static bool is_text_shown(struct term *t, void *text)
{
	return term_find(t, text, NULL, NULL);
}

/* A dialog does not take keys that were on their way before it could be read. */
static void send_until(struct term *t, const char *keys, const char *text)
{
	for (int i = 0; i < WAIT_MS / 200; i++) {
		term_send(t, keys);
		if (term_wait(t, is_text_shown, (void *)(uintptr_t)text, 200))
			return;
	}
	term_expect(t, text);
}

/* A list that cannot be read: the rows stay, and it is said for as long as it is so. */
static void test_garbled_list(void **state)
{
	struct term *t;

	(void)state;
	/* so often that a busy machine, which draws not every picture, shows it */
	engine_start("{\"faults\": [{\"match\": \"/containers/json\", \"after\": 3, \"times\": 20,"
		     " \"do\": \"garble\"}], " CONTAINERS "}");
	t = open_listed();
	send_until(t, "r", "cannot list the containers");
	assert_true(term_find(t, "beta", NULL, NULL));
	for (int i = 0; i < WAIT_MS / 100 && is_text_shown(t, (void *)(uintptr_t) "cannot list");
		i++) {
		term_send(t, "r");
		term_wait(t, cursor_on, (void *)(uintptr_t) "nobody", 100);
	}
	term_expect_gone(t, "cannot list the containers");
	term_send(t, "Q");
	ends_well(t, 0);
}

/* What the engine refuses for one of many: a sentence, and a job that failed. */
static void test_bulk_refused(void **state)
{
	struct term *t;

	(void)state;
	engine_start(
		"{\"faults\": [{\"match\": \"^DELETE .*\", \"times\": 1, \"do\": \"status\","
		" \"status\": 409, \"message\": \"the disk is in its way\"}], " CONTAINERS "}");
	t = open_listed();
	term_send(t, "/^(alpha|beta|gamma)$\r*");
	term_expect(t, "3 marked");
	term_send(t, "D");
	term_expect(t, "Remove 3 containers");
	/* the dialog stands on Cancel, and 3 is to be typed */
	send_until(t, "\r", "Cancelled: nothing was done.");
	term_send(t, "D");
	term_expect(t, "Type 3 and Enter");
	send_until(t, "3", "> 3");
	term_send(t, "\r");
	term_expect(t, "the engine answered 409");
	term_expect(t, "1 of 3");
	term_send(t, "4");
	term_expect(t, "remove 3 containers");
	term_expect(t, "1 failed");
	term_send(t, "2Q");
	ends_well(t, 0);
}

/* An image from a tar file, by name in the palette: a job in the view Jobs. */
static void test_console_import(void **state)
{
	struct term *t = open_listed();
	char path[96], typed[128];

	(void)state;
	snprintf(path, sizeof path, "%s/my image.tar", dir);
	write_file(path, "no tar, but the engine of this test does not mind");
	snprintf(typed, sizeof typed, ":import %s made:1\r", path);
	term_send(t, typed);
	term_expect(t, "Importing ");
	term_send(t, "4");
	term_expect(t, "image import made:1");
	term_expect(t, "1 done");
	term_send(t, ":import\r");
	term_expect(t, "tar file and image name:");
	term_send(t, "alone\r");
	term_expect(t, "import FILE NAME");
	term_send(t, "2Q");
	ends_well(t, 0);
}

static void test_console_read_only(void **state)
{
	const char *arguments[] = {"--read-only", NULL};
	struct term *t = console_by(100, 24, NULL, arguments);

	(void)state;
	term_expect(t, "alpha");
	term_expect(t, "read-only");
	term_send(t, "D");
	term_expect(t, "Read-only: `remove` is disabled.");
	term_send(t, ":import x y\r");
	term_expect(t, "Read-only: `import` is disabled.");
	term_send(t, ":ro\r");
	term_expect(t, "cannot be turned off");
	term_send(t, "Q");
	ends_well(t, 0);
}

/* Two actions on one key: said with its place, and the other keys of the file hold. */
static void test_key_clash(void **state)
{
	char path[96];
	const char *arguments[] = {"--settings", path, NULL};
	struct term *t;

	(void)state;
	snprintf(path, sizeof path, "%s/k.yaml", dir);
	write_file(path, "keys:\n  logs: \"S\"\n  help: \"J\"\n");
	t = console_by(120, 24, NULL, arguments);
	term_expect(t, "k.yaml:2:9: key `S` is bound to both `start-stop` and `logs`");
	term_send(t, "J");
	term_expect(t, "mark the row");
	term_send(t, "q");
	term_expect_gone(t, "mark the row");
	term_send(t, "Q");
	ends_well(t, 0);
}

/* Name of the row to the clipboard by OSC 52; a click moves the cursor, another view by its tab. */
static void test_copy_and_mouse(void **state)
{
	struct term *t = open_listed();
	char click[48];
	const char *out;
	int row, column;
	size_t len;

	(void)state;
	expect_cursor(t, "alpha");
	term_send(t, "y");
	term_expect(t, "Copied: alpha");
	out = term_output(t, &len);
	assert_non_null(memmem(out, len, "\033]52;c;YWxwaGE=", 15));
	/* Pasted into a shell it does nothing: no escape sequences, no end of a line. */
	term_send(t, "jj");
	expect_cursor(t, "evil");
	term_send(t, "y");
	term_expect(t, "Copied: evil^[");
	out = term_output(t, &len);
	assert_non_null(memmem(out, len, "\033]52;c;ZXZpbF5bWzJK", 19));
	assert_null(memmem(out, len, "\033]52;c;ZXZpbBs", 14));
	assert_true(term_find(t, "beta", &row, &column));
	snprintf(click, sizeof click, "\033[<0;%d;%dM\033[<0;%d;%dm", column + 1, row + 1,
		column + 1, row + 1);
	term_send(t, click);
	expect_cursor(t, "beta");
	assert_true(term_find(t, "Jobs", &row, &column));
	snprintf(click, sizeof click, "\033[<0;%d;%dM\033[<0;%d;%dm", column + 1, row + 1,
		column + 1, row + 1);
	term_send(t, click);
	term_expect(t, "4\u25b8Jobs");
	term_send(t, "2");
	term_expect(t, "alpha");
	term_send(t, "+++");
	term_expect(t, "10 samples a second.");
	term_send(t, "F");
	term_expect(t, "frozen");
	term_send(t, "F");
	term_expect_gone(t, "frozen");
	term_send(t, "Q");
	ends_well(t, 0);
}

/* In a shell a new size and a stop in between take nothing of what is typed, and leave the terminal to
 * the shell: no mouse, no bracketed paste. */
static void test_shell_resized(void **state)
{
	struct term *t = open_listed();

	(void)state;
	expect_cursor(t, "alpha");
	term_send(t, "x");
	term_expect(t, "fake$");
	assert_false(term_mode(t, 2004));
	term_signal(t, SIGSTOP);
	assert_true(term_wait(t, is_child_stopped, NULL, WAIT_MS));
	term_resize(t, 80, 30);
	term_send(t, "typed \033[200~and pasted\033[201~");
	term_signal(t, SIGCONT);
	term_expect(t, "typed and pasted");
	assert_false(term_mode(t, 2004));
	assert_false(term_mouse(t));
	assert_false(term_mode(t, 1049));
	term_send(t, "\rexit 3\r");
	term_expect(t, "ended with 3");
	assert_true(term_mode(t, 2004));
	assert_true(term_mouse(t));
	term_send(t, "Q");
	ends_well(t, 0);
}

static bool has_prompts(struct term *t, void *ctx)
{
	int n = 0;

	for (int row = 0; row < term_rows(t); row++)
		n += strstr(term_row(t, row), "fake$") != NULL;
	return n == *(const int *)ctx;
}

/* A shell of alpha, below what the ones before it left, and `said` typed into it. */
static void say_in_shell(struct term *t, int shells, const char *said)
{
	term_send(t, "x");
	if (!term_wait(t, has_prompts, &shells, WAIT_MS))
		term_dump(t);
	assert_true(has_prompts(t, &shells));
	term_send(t, said);
	term_expect(t, said);
}

/* What the shell printed stays on the terminal, and what comes after it is below: after its end, after Ctrl-], and
 * when that left a program in the alternate screen. */
static void test_shell_text_stays(void **state)
{
	struct term *t = open_listed();
	int row, column, at;

	(void)state;
	expect_cursor(t, "alpha");
	say_in_shell(t, 1, "first");
	term_send(t, "\r\nexit 0\r\n");
	term_expect(t, "ended with 0");
	say_in_shell(t, 2, "second");
	term_send(t, "\035");
	term_expect(t, "Left the shell");
	say_in_shell(t, 3, "third");
	term_send(t, "\033[?1049h\033[5;5Hfull");
	term_expect(t, "full");
	term_send(t, "\035");
	term_expect(t, "Left the shell");
	term_send(t, "Q");
	term_expect(t, "fake$ first");
	term_expect(t, "fake$ second");
	term_expect(t, "fake$ third");
	assert_false(term_find(t, "full", &row, &column));
	assert_true(term_find(t, "third", &row, &column));
	term_cursor(t, &at, &column);
	assert_int_equal(at, row + 1);
	ends_well(t, 0);
}

/* Logs and the detail of what has escape sequences everywhere: none of them gets out. */
static void test_hostile_logs(void **state)
{
	static const char *const never[] = {
		"\033[2J\033]0", "\033]0;owned", "owned\a", "\xc2\x9b", "\xe2\x80\xae"};
	struct term *t = open_listed();
	const char *out;
	size_t len;

	(void)state;
	term_send(t, "/^evil\r");
	term_expect(t, "1 of 4");
	term_send(t, "\r");
	term_expect(t, "Overview");
	term_send(t, "l");
	term_expect(t, "wrong");
	term_expect(t, "2 lines");
	term_send(t, "2i");
	term_expect(t, "\u25b8 inspect");
	out = term_output(t, &len);
	for (size_t i = 0; i < sizeof never / sizeof *never; i++)
		assert_null(memmem(out, len, never[i], strlen(never[i])));
	term_signal(t, SIGTERM);
	ends_well(t, 0);
}

static bool is_same_colour(struct term_cell a, struct term_cell b)
{
	return memcmp(a.fg, b.fg, sizeof a.fg) == 0;
}

#define COLOURED                                                                                        \
	"{\"containers\": [{\"name\": \"alpha\", \"log\": [\"\\u001b[38;5;208morange\\u001b[0m end\", " \
	"\"\\u001b[8;30mhidden black\", \"\\u001b[31;5mblink\\u001b[2J\\u001b]0;owned\\u0007\"]}]}"

/* Colours of a log are shown, also those that would hide it are not, and nothing else it asks for happens. */
static void test_log_coloured(void **state)
{
	static const char *const none[] = {"NO_COLOR=1", NULL};
	struct term_cell plain;
	const char *out;
	struct term *t;
	size_t len;

	(void)state;
	engine_start(COLOURED);
	t = open_listed();
	term_send(t, "l");
	term_expect(t, "blink");
	plain = cell_of(t, "end");
	assert_false(is_same_colour(cell_of(t, "orange"), plain));
	assert_false(is_same_colour(cell_of(t, "blink"), plain));
	assert_false(is_same_colour(cell_of(t, "blink"), cell_of(t, "orange")));
	assert_true(is_same_colour(cell_of(t, "hidden black"), plain));
	out = term_output(t, &len);
	assert_null(memmem(out, len, "owned", 5));
	term_signal(t, SIGTERM);
	ends_well(t, 0);
	t = console_with(100, 24, none);
	term_expect(t, "alpha");
	term_send(t, "l");
	term_expect(t, "orange end");
	for (int row = 0; row < 24; row++)
		for (int column = 0; column < 100; column++)
			assert_true(term_cell(t, row, column).fg_default);
	term_signal(t, SIGTERM);
	ends_well(t, 0);
}

static void expect_kept(const char *want, mode_t mode)
{
	char path[96], text[1024] = "";
	struct stat st;
	FILE *f;

	snprintf(path, sizeof path, "%s/berth/console.json", dir);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | mode);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_true(fread(text, 1, sizeof text - 1, f) > 0);
	fclose(f);
	if (!strstr(text, want))
		fail_msg("%s is not in: %s", want, text);
}

/* What was chosen by keys is there in the next run, until berth.yaml says something else; a file that is
 * damaged, or a link, counts as none. */
static void test_choices_kept(void **state)
{
	static const char *const bad[] = {"", "{", "[1]", "{\"over\": [1], \"views\": 5}",
		"{\"over\": \"auto name 1 1\", \"theme\": \"../x\", \"views\": {\"containers\": "
		"{\"sort\": [], \"columns\": {}, \"folded\": [[]], \"groups\": {}}, \"logs\": 1}}",
		"{\"over\": \"auto name 1 1\", \"theme\": \"nosuch\", \"views\": {\"containers\": "
		"{\"sort\": \"-nosuch\", \"columns\": [\"\\u001b[2J\"], \"folded\": \"x\"}}}"};
	const char *settings[] = {"--settings", NULL, NULL};
	char path[96], away[96], yaml[96];
	struct term *t = open_listed();

	(void)state;
	term_expect(t, "NAME\u2191");
	term_send(t, "M");
	term_expect(t, "\u2193MEM");
	term_send(t, "T");
	term_expect(t, "Theme");
	term_send(t, "e9");
	term_expect(t, "SUITE AND CASE");
	term_expect(t, "VS BEFORE");
	term_send(t, "cjjjj c");
	term_expect_gone(t, "VS BEFORE");
	term_send(t, "2Q");
	ends_well(t, 0);
	expect_kept("\"sort\": \"mem\"", 0600);
	expect_kept("\"bench\"", 0600);
	expect_kept("\"stopped\": false", 0600);
	expect_kept("\"theme\":", 0600);
	t = open_listed();
	term_expect(t, "\u2193MEM");
	term_expect(t, "1 stopped hidden");
	/* However it ends. */
	term_send(t, "I");
	term_expect(t, "\u2191MEM");
	term_signal(t, SIGTERM);
	ends_well(t, 0);
	expect_kept("\"sort\": \"-mem\"", 0600);
	snprintf(yaml, sizeof yaml, "%s/berth.yaml", dir);
	write_file(yaml, "sort: -name\n");
	settings[1] = yaml;
	t = console_by(100, 24, NULL, settings);
	term_expect(t, "NAME\u2193");
	term_send(t, "Q");
	ends_well(t, 0);
	snprintf(path, sizeof path, "%s/berth/console.json", dir);
	snprintf(away, sizeof away, "%s/away", dir);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		write_file(path, bad[i]);
		t = open_listed();
		term_expect(t, "NAME\u2191");
		term_send(t, "Q");
		ends_well(t, 0);
	}
	write_file(away, "{}");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(away, path), 0);
	t = open_listed();
	term_send(t, "MQ");
	ends_well(t, 0);
	expect_kept("\"sort\": \"mem\"", 0600);
	assert_int_equal(truncate(away, 2), 0);
}

static void test_too_small(void **state)
{
	struct term *t = console_with(10, 3, NULL);

	(void)state;
	term_expect(t, "too small");
	term_resize(t, 80, 24);
	term_expect(t, "alpha");
	term_send(t, "Q");
	ends_well(t, 0);
}

static void test_no_terminfo(void **state)
{
	const char *env[] = {"TERMINFO=/nonexistent", "TERMINFO_DIRS=/nonexistent", NULL};
	struct term *t = console_with(100, 24, env);

	(void)state;
	term_expect(t, "alpha");
	term_send(t, "Q");
	ends_well(t, 0);
}

/* Programs and engine where any user comes to: the system's limits are not for root. */
static int setup_for_all(void **state)
{
	const char *program = getenv("BERTH") ? getenv("BERTH") : test_program;
	char cmd[2 * PATH_MAX];
	struct stat st;

	(void)state;
	snprintf(dir, sizeof dir, "/tmp/t-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	snprintf(host, sizeof host, "unix://%s/e", dir);
	/* Of what runs the processes are read at once, by a thread that would be there for the rest. */
	engine_start("{\"containers\": [{\"name\": \"gamma\", \"state\": \"exited\"}]}");
	/* The tree itself may be root's alone. */
	snprintf(cmd, sizeof cmd, "cp '%s' '%s'-* '%s/tests/lib/tsan.supp' %s && mkdir -m 777 %s/h",
		program, program, test_source, dir, dir);
	if (system(cmd))
		return -1;
	for (int i = 0; stat(host + strlen("unix://"), &st) && i < WAIT_MS / 50; i++)
		poll(NULL, 0, 50);
	return chmod(host + strlen("unix://"), 0666);
}

/* A user of this run alone: whose processes are counted. */
static int user_of_ours(void)
{
	return 300000 + (int)getpid();
}

static void wait_for_nobody(int user)
{
	char cmd[64];

	snprintf(cmd, sizeof cmd, "pgrep -U %d >/dev/null", user);
	for (int i = 0; system(cmd) == 0; i++) {
		if (i > WAIT_MS / 50)
			fail_msg("a console that had too few threads has left a process");
		poll(NULL, 0, 50);
	}
}

#define AS_USER "setpriv --reuid=%d --regid=%d --clear-groups "

/* A console whose user may have so many threads and no more, or NULL where those are too few for it. */
static struct term *open_limited(int threads)
{
	char cmd[500];
	const int user = user_of_ours();
	const char *const argv[] = {"sh", "-c", cmd, NULL};
	const char *const env[] = {"TERM=xterm-256color", "LC_ALL=C.UTF-8", "TMUX", NULL};
	struct term *t;

	/* What still ends of the one before would be one of the few. */
	wait_for_nobody(user);
	snprintf(cmd, sizeof cmd,
		"cd %s && exec " AS_USER
		"prlimit --nproc=%d: env HOME=$PWD/h XDG_STATE_HOME=$PWD/h/s "
		"TSAN_OPTIONS=\"halt_on_error=1 suppressions=$PWD/tsan.supp\" "
		"XDG_RUNTIME_DIR=$PWD/h ./berth -H %s",
		dir, user, user, threads, host);
	t = term_start(argv, env, 100, 24);
	if (term_wait(t, is_text_shown, (void *)(uintptr_t) "gamma", WAIT_MS))
		return t;
	term_free(t);
	return NULL;
}

/* No thread for what waits: the view says so and lives on, and has the plan as soon as there is one. */
static void test_threads_refused(void **state)
{
	char cmd[160];
	struct rlimit all;
	struct term *t = NULL;

	(void)state;
	if (geteuid())
		skip(); /* a user with other processes */
	for (int n = 1; !t && n < 12; n++)
		t = open_limited(n);
	assert_non_null(t);
	term_send(t, "5");
	term_expect(t, "start a thread to clean up");
	term_send(t, "2");
	term_expect(t, "gamma");
	assert_int_equal(getrlimit(RLIMIT_NPROC, &all), 0);
	snprintf(cmd, sizeof cmd, AS_USER "prlimit --pid %d --nproc=%llu:", user_of_ours(),
		user_of_ours(), (int)term_pid(t), (unsigned long long)all.rlim_max);
	assert_int_equal(system(cmd), 0);
	send_until(t, "5f", "not berth");
	term_send(t, "Q");
	ends_well(t, 0);
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
		TEST(test_other_signals),
		TEST(test_lost_terminal),
		TEST(test_stop_and_continue),
		TEST(test_lang_c),
		TEST(test_no_color),
		TEST(test_40_by_12),
		TEST(test_unknown_term),
		TEST(test_engine_lost),
		TEST(test_engine_lost_followed),
		TEST(test_engine_replaced),
		TEST(test_garbled_list),
		TEST(test_no_engine),
		TEST(test_bulk_refused),
		TEST(test_console_import),
		TEST(test_console_read_only),
		TEST(test_key_clash),
		TEST(test_copy_and_mouse),
		TEST(test_shell_resized),
		TEST(test_shell_text_stays),
		TEST(test_hostile_logs),
		TEST(test_log_coloured),
		TEST(test_choices_kept),
		TEST(test_too_small),
		TEST(test_no_terminfo),
		cmocka_unit_test_setup_teardown(test_threads_refused, setup_for_all, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
