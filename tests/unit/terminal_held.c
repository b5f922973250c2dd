/* terminal_held.c - a terminal that is kept: a pipe and a lane that this test holds the other ends of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "lane/wire_io.h"
#include "terminals/hold.h"

struct ends {
	struct held *h;
	int lane, in, out; /* the container's */
	char path[300];
};

static struct ends open_ends(int columns, int rows)
{
	struct terminals_keep k = {"main", "sh -c 'true'", columns, rows};
	struct screen_file f;
	struct ends s;
	int lane[2], in[2], out[2];

	snprintf(s.path, sizeof s.path, "%s/berth-held-%d",
		getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (int)getpid());
	assert_int_equal(screen_file_open(&f, s.path, NULL), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lane), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
	s.h = held_open(&k, f.fd, lane[0], in[1], out[0], NULL);
	assert_non_null(s.h);
	s.lane = lane[1];
	s.in = in[0];
	s.out = out[1];
	return s;
}

static void close_ends(struct ends *s)
{
	held_close(s->h);
	cleanup_close(&s->lane);
	cleanup_close(&s->in);
	cleanup_close(&s->out);
	unlink(s->path);
}

static void print(struct ends *s, const char *text)
{
	assert_int_equal(write(s->out, text, strlen(text)), strlen(text));
	held_read(s->h);
	while (s->h->waiting)
		held_look(s->h);
}

static struct terminal_screen look(struct ends *s)
{
	struct terminal_screen read = {0};

	assert_int_equal(screen_file_read(s->path, &read, NULL), 0);
	return read;
}

static void expect_shown(struct ends *s, int y, const char *text)
{
	struct terminal_screen read = look(s);
	AUTO_STR struct str row = STR_INIT;

	terminal_row_text(&read, y, false, &row);
	assert_string_equal(row.s, text);
	terminal_screen_release(&read);
}

static void output_is_shown_to_others(void **state)
{
	struct ends s = open_ends(20, 4);
	struct terminal_screen read;

	(void)state;
	expect_shown(&s, 0, "");
	print(&s, "\x1b]0;build\ahello\a\x1b]9;look\a");
	held_show(s.h, true);
	expect_shown(&s, 0, "hello");
	read = look(&s);
	assert_string_equal(read.title, "build");
	assert_string_equal(read.notice, "look");
	assert_string_equal(read.command, "sh -c 'true'");
	assert_int_equal(read.bells, 1);
	assert_int_equal(read.status, TERMINAL_RUNS);
	assert_int_equal(read.keeper, getpid());
	terminal_screen_release(&read);
	/* Nothing new: nothing to be written, or waited for. */
	assert_int_equal(held_wait_ms(s.h), -1);
	print(&s, "!");
	assert_in_range(held_wait_ms(s.h), 0, HELD_SHOW_MS);
	close_ends(&s);
}

static void questions_are_answered_into_its_input(void **state)
{
	struct ends s = open_ends(80, 24);
	char got[64] = "";
	AUTO_STR struct str many = STR_INIT;

	(void)state;
	print(&s, "ab\x1b[6n");
	assert_int_equal(read(s.in, got, sizeof got - 1), 6);
	assert_string_equal(got, "\x1b[1;3R");
	/* One that asks and never reads. */
	for (int i = 0; i < 1000; i++)
		str_adds(&many, "\x1b[c");
	for (int i = 0; i < 200; i++)
		print(&s, many.s);
	assert_in_range(s.h->input.len, 1, 65536);
	close(s.in);
	s.in = -1;
	signal(SIGPIPE, SIG_IGN);
	held_write(s.h);
	assert_int_equal(s.h->c.in, -1);
	assert_int_equal(s.h->input.len, 0);
	print(&s, "\x1b[6nstill here");
	held_show(s.h, true);
	expect_shown(&s, 0, "abstill here");
	close_ends(&s);
}

static void what_comes_too_fast_is_left_out_and_the_end_is_seen(void **state)
{
	struct ends s = open_ends(40, 3);
	AUTO_STR struct str chunk = STR_INIT;
	uint64_t printed = 0;

	(void)state;
	for (int i = 0; i < 1500; i++)
		str_addf(&chunk, "line %d of many\r\n", i);
	assert_true(chunk.len < 65536);
	while (printed < 4 * HELD_RING) {
		assert_int_equal(write(s.out, chunk.s, chunk.len), chunk.len);
		held_read(s.h);
		printed += chunk.len;
	}
	print(&s, "\x1b[31mthe end");
	assert_int_equal(s.h->missed, 0);
	assert_true(s.h->screen.missed >= printed - HELD_RING);
	held_show(s.h, true);
	expect_shown(&s, 2, "the end");
	expect_shown(&s, 1, "line 1499 of many");
	close_ends(&s);
}

static void expect_end(enum lane_how how, uint32_t code, uint32_t stage, int exit_code)
{
	struct ends s = open_ends(60, 4);
	struct lane_ended end = {.how = how, .code = code, .stage = stage};
	struct terminal_screen read;

	assert_int_equal(write(s.out, "last words", 10), 10);
	assert_int_equal(wire_send(s.lane, LANE_ENDED, &end, sizeof end), 0);
	held_hear(s.h);
	assert_true(s.h->ended);
	expect_shown(&s, 0, "last words");
	if (how == LANE_NOT_RUN)
		expect_shown(&s, 1, "berth: cannot run it: No such file or directory");
	read = look(&s);
	assert_int_equal(read.status, TERMINAL_ENDED);
	assert_int_equal(read.exit_code, exit_code);
	terminal_screen_release(&read);
	close_ends(&s);
}

static void its_end_is_shown_with_all_that_it_wrote(void **state)
{
	(void)state;
	expect_end(LANE_EXIT, 0, 0, 0);
	expect_end(LANE_EXIT, 3, 0, 3);
	expect_end(LANE_BY_SIGNAL, 15, 0, 143);
	expect_end(LANE_CANCELLED, 0, 0, 143);
	expect_end(LANE_NOT_RUN, ENOENT, LANE_AT_EXEC, 127);
	expect_end(LANE_NOT_RUN, ENOENT, LANE_AT_CWD, 125);
}

static void a_lane_that_breaks_ends_it(void **state)
{
	struct ends s = open_ends(10, 2);
	struct terminal_screen read;

	(void)state;
	held_hear(s.h);
	assert_false(s.h->ended);
	close(s.lane);
	s.lane = -1;
	held_hear(s.h);
	assert_true(s.h->ended);
	read = look(&s);
	assert_int_equal(read.exit_code, 137);
	terminal_screen_release(&read);
	close_ends(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_is_shown_to_others),
		cmocka_unit_test(questions_are_answered_into_its_input),
		cmocka_unit_test(what_comes_too_fast_is_left_out_and_the_end_is_seen),
		cmocka_unit_test(its_end_is_shown_with_all_that_it_wrote),
		cmocka_unit_test(a_lane_that_breaks_ends_it),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
