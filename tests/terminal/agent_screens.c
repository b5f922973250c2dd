/*
 * agent_screens.c - real programs in a terminal of an agent's: what backend/terminals makes of their output, against
 * libvterm that is given the same bytes as they are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "terminal/term.h"
#include "terminals/emulate.h"

#define COLUMNS 80
#define ROWS 24

static struct term *start_program(const char *const *argv)
{
	/* Without what a person's own configuration would do. */
	static const char *const env[] = {"TERM=xterm-256color", "LC_ALL=C.UTF-8", "PS1=prompt> ",
		"LESS", "TMUX", "HOME=/", NULL};

	return term_start(argv, env, COLUMNS, ROWS);
}

static void take_bytes(void *ctx, const struct lex_token *t)
{
	emulator_take(ctx, t);
}

static void expect_cell(const struct terminal_cell *ours, struct term_cell theirs, int y, int x)
{
	uint32_t blank = theirs.ch == ' ' ? 0 : theirs.ch,
		 shown = ours->ch[0] == ' ' ? 0 : ours->ch[0];

	if (ours->width && blank == shown && !theirs.fg_default == !!ours->ink &&
		!theirs.bg_default == !!ours->paper &&
		theirs.bold == !!(ours->flags & TERMINAL_BOLD) &&
		theirs.underline == !!(ours->flags & TERMINAL_UNDERLINE) &&
		theirs.reverse == !!(ours->flags & TERMINAL_REVERSE))
		return;
	/* The right half of a wide character. */
	if (!ours->width)
		return;
	fail_msg("row %d, column %d: U+%04X, here U+%04X, flags %x, ink %x, paper %x", y, x,
		theirs.ch, ours->ch[0], ours->flags, ours->ink, ours->paper);
}

/* All that it has written so far, in pieces that fit nothing. */
static void compare_screens(struct term *t)
{
	struct emulator *em = emulator_open(COLUMNS, ROWS);
	AUTO_FREE struct lexer *x = xcalloc(1, sizeof *x);
	struct terminal_screen s = {0};
	int row, column;
	size_t n;
	const char *bytes = term_output(t, &n);

	for (size_t i = 0; i < n; i += 97)
		lex(x, bytes + i, n - i < 97 ? n - i : 97, take_bytes, em);
	emulator_show(em, &s);
	for (int y = 0; y < ROWS; y++)
		for (int i = 0; i < COLUMNS; i++)
			expect_cell(&s.cells[y * COLUMNS + i], term_cell(t, y, i), y, i);
	term_cursor(t, &row, &column);
	assert_int_equal(s.cursor_y, row);
	assert_int_equal(s.cursor_x, column);
	assert_int_equal(s.cursor_shown, term_mode(t, 25));
	terminal_screen_release(&s);
	emulator_close(em);
}

static bool is_there(const char *program)
{
	char line[128];

	snprintf(line, sizeof line, "command -v %s >/dev/null", program);
	if (!system(line))
		return true;
	print_message("not compared, for it is not here: %s\n", program);
	return false;
}

static void test_shell(void **state)
{
	const char *argv[] = {"bash", "--norc", NULL};
	struct term *t = start_program(argv);

	(void)state;
	term_expect(t, "prompt>");
	term_send(t, "ls --color=always -la / /etc | tail -40; echo don''e\r");
	term_expect(t, "done");
	compare_screens(t);
	term_send(t, "\x1b[A\x1b[D\x1b[Dx\x03");
	term_send(t,
		"printf '\\033[5;20r\\033[10;1H%s\\033[2L\\033[r\\033[20;1H' '\344\270\255 a\314\201'\r");
	term_send(t, "echo fin''al\r");
	term_expect(t, "final");
	compare_screens(t);
	term_free(t);
}

static void test_tmux(void **state)
{
	char name[32];
	/* So that it is seen when the shell of a pane reads. */
	static const char shell[] = "PS1='pane $TMUX_PANE> ' bash --norc";
	const char *argv[] = {"tmux", "-L", name, "-f", "/dev/null", "new", shell, ";", "set", "-g",
		"default-command", shell, NULL};
	struct term *t;

	(void)state;
	if (!is_there("tmux"))
		skip();
	snprintf(name, sizeof name, "berth-%d", (int)getpid());
	t = start_program(argv);
	term_expect(t, "pane %0>");
	/* By a command: keys that come while tmux still asks its terminal what it is may be lost. */
	term_send(t, "tmux split-window -h\r");
	term_expect(t, "pane %1>");
	term_send(t, "seq 200; echo rig''ht\r");
	term_expect(t, "right");
	compare_screens(t);
	term_send(t, "tmux split-window\r");
	term_expect(t, "pane %2>");
	term_send(t, "ls --color=always -la /; echo low''er\r");
	term_expect(t, "lower");
	compare_screens(t);
	term_send(t, "tmux kill-server\r");
	term_expect_end(t);
	term_free(t);
}

static void test_top(void **state)
{
	const char *argv[] = {"top", "-d", "600", NULL};
	struct term *t;

	(void)state;
	if (!is_there("top"))
		skip();
	t = start_program(argv);
	term_expect(t, "PID");
	compare_screens(t);
	term_send(t, "h");
	term_expect(t, "Help for");
	compare_screens(t);
	term_free(t);
}

static void test_pagers_and_editors(void **state)
{
	static const char *const less[] = {"less", "-R", "/etc/passwd", NULL};
	static const char *const vi[] = {"vim", "-u", "NONE", "-n", "/etc/services", NULL};

	(void)state;
	if (is_there("less")) {
		struct term *t = start_program(less);

		term_expect(t, "root:");
		term_send(t, "/daemon\r");
		term_expect(t, "daemon");
		compare_screens(t);
		term_free(t);
	}
	if (is_there("vim") && !access("/etc/services", R_OK)) {
		struct term *t = start_program(vi);

		term_expect(t, "Network services");
		term_send(t, ":split\r/ftp\roberth here\x1b");
		term_expect(t, "berth here");
		compare_screens(t);
		term_free(t);
	}
}

static int end_failed(void **state)
{
	(void)state;
	term_free_last();
	return 0;
}

/* The server is no child of the terminal's. */
static int end_tmux(void **state)
{
	AUTO_FREE char *line = xasprintf("tmux -L berth-%d kill-server 2>/dev/null", (int)getpid());

	return system(line) < 0 ? -1 : end_failed(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_shell, end_failed),
		cmocka_unit_test_teardown(test_tmux, end_tmux),
		cmocka_unit_test_teardown(test_top, end_failed),
		cmocka_unit_test_teardown(test_pagers_and_editors, end_failed),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
