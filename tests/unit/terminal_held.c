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
	struct terminals_keep k = {
		.name = "main", .command = "sh -c 'true'", .columns = columns, .rows = rows};
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

static void take_bytes(void *ctx, const struct lex_token *t)
{
	emulator_take(ctx, t);
}

/* A person's terminal: nothing but what may pass comes. */
struct seat {
	int conn;
	struct pass pass;
	struct lexer lexer;
	struct emulator *em;
	bool types;
};

static struct seat *attach_seat(struct ends *s, int columns, int rows)
{
	struct seat *p = xcalloc(1, sizeof *p);
	struct terminals_attach a = {.who = "a person", .size = {columns, rows}};
	int conn[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, conn), 0);
	p->conn = conn[1];
	fcntl(p->conn, F_SETFL, O_NONBLOCK);
	p->em = emulator_open(columns, rows);
	assert_int_equal(held_attach(s->h, conn[0], &a), 0);
	return p;
}

static void read_seat(struct ends *s, struct seat *p)
{
	static char body[LANE_MSG_MAX];
	AUTO_STR struct str out = STR_INIT;
	struct lane_msg head;
	int fds[LANE_FDS_MAX], n;

	/* Also to those whose time has not come. */
	for (size_t i = 0; i < s->h->viewers.n; i++)
		s->h->viewers.of[i].shown_ms = 0;
	held_turn(s->h);
	while (wire_recv(p->conn, &head, body, fds, &n) == 1) {
		if (head.type == TERMINALS_PRINT)
			pass_through(&p->pass, body, head.len, &out);
		else if (head.type == TERMINALS_ROLE)
			p->types = ((const struct terminals_role *)(const void *)body)->types;
		held_turn(s->h);
	}
	for (int r = 1; r < PASS_REASONS_COUNT; r++)
		assert_int_equal(p->pass.refused[r], 0);
	lex(&p->lexer, out.s, out.len, take_bytes, p->em);
}

static void close_seat(struct seat *p)
{
	close(p->conn);
	emulator_close(p->em);
	free(p);
}

/* Both terminals show the same. */
static void compare_seat(struct ends *s, struct seat *p, const char *what)
{
	struct terminal_screen there = {0};
	const struct terminal_screen *here = &s->h->screen;

	read_seat(s, p);
	held_take_screen(s->h);
	emulator_show(p->em, &there);
	assert_int_equal(here->columns, there.columns);
	for (int y = 0; y < here->rows; y++) {
		AUTO_STR struct str a = STR_INIT, b = STR_INIT;

		terminal_row_text(here, y, true, &a);
		terminal_row_text(&there, y, true, &b);
		if (strcmp(a.s, b.s) != 0)
			fail_msg("%s: row %d is \"%s\", not \"%s\"", what, y, b.s, a.s);
	}
	if (here->cursor_x != there.cursor_x || here->cursor_y != there.cursor_y ||
		here->cursor_shown != there.cursor_shown)
		fail_msg("%s: another cursor", what);
	terminal_screen_release(&there);
}

/* Attached in the middle of anything, a terminal goes on as the one that saw all of it. */
static void one_who_types_sees_what_the_program_prints(void **state)
{
	static const struct {
		const char *before, *after;
	} all[] = {{"hello", " world\r\n"}, {"\x1b[1;3;4;5;7;9;38;2;1;2;3;48;5;200mbold", "more"},
		{"\x1b[2;4r\x1b[?6h\x1b[2;3Hx", "\n\n\ny\x1b[1;1Hz"},
		{"\x1b(0lqk\x1b[?25l", "xxx\x1b(Bxxx\x1b[?25h"}, {"\x1b)0a\x0eq", "q\x0fq"},
		{"abc\r\x1b[4h", "ins\x1b[4lert"}, {"a\x1b[20h", "\nb\x1b[20l\nc"},
		{"main\x1b[?1049h\x1b[2Jother", "\x1b[?1049lagain"}, {"\x1b[3", "1mred"},
		{"\x1b]0;ti", "tle\x07text"}, {"\xe4\xb8", "\xad!"},
		{"\x1b[?7l0123456789012345678901234", "\x1b[?7h\rx"},
		{"\xe4\xb8\xad\xe4\xb8\xad\x1b[1;2H", "x"},
		{"one\x1b"
		 "cy",
			"\x1b"
			"ctwo"},
		{"\x1b[41m\x1b[2J\x1b[m", "\x1b[K"},
		{"ab\x1b[2;3H\x1b[31m\x1b"
		 "7\x1b[m\x1b[4;1Hc",
			"\x1b"
			"8d"},
		{"\x1b[2;4r\x1b[?6h\x1b[2;2H\x1b[s\x1b[1;1Ha", "\x1b[ub"},
		{"\x1b[3;3H\x1b[?1049h\x1b[Ha", "\x1b[?1049lb\x1b[H\x1b[?1048lc"},
		{"a\x1b[5G\x1bH\x1b[1G\tb", "\x1b[3g\r\tc"},
		{"1\r\n2\r\n3\r\n4\r\n5\r\n6", "\x1bM\x1b[2S\x1b[L"}};

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		struct ends s = open_ends(20, 5);
		struct seat *p;

		print(&s, all[i].before);
		p = attach_seat(&s, 20, 5);
		compare_seat(&s, p, all[i].before);
		assert_true(p->types);
		for (size_t k = 0; all[i].after[k]; k++) {
			print(&s, (char[]){all[i].after[k], '\0'});
			compare_seat(&s, p, all[i].after);
		}
		close_seat(p);
		close_ends(&s);
	}
}

static bool shows(struct seat *p, const char *text)
{
	struct terminal_screen there = {0};
	bool found = false;

	emulator_show(p->em, &there);
	for (int y = 0; y < there.rows && !found; y++) {
		AUTO_STR struct str row = STR_INIT;

		terminal_row_text(&there, y, false, &row);
		found = !strcmp(row.s, text);
	}
	terminal_screen_release(&there);
	return found;
}

static void one_who_watches_sees_what_fits(void **state)
{
	struct ends s = open_ends(20, 5);
	struct seat *a = attach_seat(&s, 20, 5), *b = attach_seat(&s, 10, 3),
		    *c = attach_seat(&s, 40, 12);

	(void)state;
	print(&s,
		"\x1b[?1000h\x1b[?1049h\x1b[H1\r\n2\r\n3\r\n4\r\n5 \xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad");
	read_seat(&s, a);
	read_seat(&s, b);
	read_seat(&s, c);
	assert_true(a->types && !b->types && !c->types);
	assert_true(
		shows(b, "4") && shows(b, "5 \xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad"));
	assert_false(shows(b, "3"));
	assert_true(shows(c, "1") && shows(c, "4"));
	close_seat(b);
	close_seat(c);
	close_seat(a);
	close_ends(&s);
}

/* The memory of one who does not read is bounded, and he sees the end. */
static void one_who_does_not_read_misses_the_middle(void **state)
{
	struct ends s = open_ends(40, 3);
	struct seat *p = attach_seat(&s, 40, 3);
	AUTO_STR struct str chunk = STR_INIT;

	(void)state;
	for (int i = 0; i < 1500; i++)
		str_addf(&chunk, "line %d of many\r\n", i);
	read_seat(&s, p);
	for (int i = 0; i < 100; i++) {
		print(&s, chunk.s);
		held_turn(s.h);
		assert_in_range(s.h->viewers.of[0].rest.len, 0, VIEWER_REST);
	}
	print(&s, "the end");
	read_seat(&s, p);
	compare_seat(&s, p, "the end");
	close_seat(p);
	close_ends(&s);
}

/* Neither what he is not sent, nor who types, is tried again until he reads. */
static void one_who_does_not_read_is_waited_for(void **state)
{
	struct ends s = open_ends(40, 3);
	struct seat *p = attach_seat(&s, 40, 3), *other = attach_seat(&s, 40, 3);
	struct viewer *v = &s.h->viewers.of[0];
	AUTO_STR struct str chunk = STR_INIT;

	(void)state;
	read_seat(&s, other);
	for (int i = 0; i < 1500; i++)
		str_addf(&chunk, "line %d of many\r\n", i);
	for (int i = 0; i < 100 && !v->rest.len; i++) {
		print(&s, chunk.s);
		held_turn(s.h);
	}
	assert_true(v->rest.len > 0);
	viewers_take(&s.h->viewers, 1);
	read_seat(&s, other);
	assert_true(other->types && !v->told && v->stale);
	v->shown_ms = 0;
	s.h->viewers.of[1].stale = false;
	assert_int_equal(held_turn_ms(s.h), -1);
	read_seat(&s, p);
	assert_true(v->told && !v->stale && !p->types);
	close_seat(other);
	close_seat(p);
	close_ends(&s);
}

/* A screen that was not looked at is not drawn. */
static void nothing_is_drawn_of_no_screen(void **state)
{
	struct ends s = open_ends(40, 3);
	struct seat *p = attach_seat(&s, 40, 3);

	(void)state;
	viewers_send(&s.h->viewers, NULL, false);
	viewers_send(&s.h->viewers, NULL, true);
	assert_true(s.h->viewers.of[0].told && s.h->viewers.of[0].stale);
	close_seat(p);
	close_ends(&s);
}

static int64_t answered_by(struct ends *s, const struct seat *p, const char *bytes)
{
	s->h->screen.answered_ms = 0;
	assert_int_equal(
		wire_send(p->conn, (enum lane_type)TERMINALS_TYPE, bytes, strlen(bytes)), 0);
	held_hear_viewer(s->h, 0);
	return s->h->screen.answered_ms;
}

/* A mouse that moves over a terminal's window, and a window that is looked at, answer nothing. */
static void keys_answer_and_reports_do_not(void **state)
{
	static const char *const reports[] = {"\x1b[I", "\x1b[O\x1b[I",
		"\x1b[<0;10;3M\x1b[<0;10;3m", "\x1b[M #$", "\x1b[M\xa0\xc3\xa9", "\x1b[35;12;1M"};
	static const char *const keys[] = {"y", "\r", "\x7f", "\x1b[A", "\x1bOB", "\xc3\xa9",
		"\x1b[<0;1;1My", "\x1b[M #$y", "\x1b"};
	struct ends s = open_ends(40, 3);
	struct seat *p = attach_seat(&s, 40, 3);

	(void)state;
	for (size_t i = 0; i < COUNT(reports); i++)
		if (answered_by(&s, p, reports[i]))
			fail_msg("report %zu", i);
	for (size_t i = 0; i < COUNT(keys); i++)
		if (!answered_by(&s, p, keys[i]))
			fail_msg("key %zu", i);
	close_seat(p);
	close_ends(&s);
}

/* One who types faster than the program takes it waits, and nothing of it is lost. */
static void one_who_types_waits_for_the_program(void **state)
{
	struct ends s = open_ends(40, 3);
	struct seat *p = attach_seat(&s, 40, 3);
	char bytes[TERMINALS_TYPE_MAX], got[65536];
	size_t typed = 0, taken = 0;

	(void)state;
	read_seat(&s, p);
	while (held_takes_keys(s.h)) {
		memset(bytes, (int)('a' + typed / sizeof bytes % 26), sizeof bytes);
		assert_int_equal(
			wire_send(p->conn, (enum lane_type)TERMINALS_TYPE, bytes, sizeof bytes), 0);
		held_hear_viewer(s.h, 0);
		typed += sizeof bytes;
	}
	assert_true(s.h->input.len > 0);
	while (taken < typed) {
		ssize_t n = read(s.in, got, sizeof got);

		assert_true(n > 0);
		for (ssize_t i = 0; i < n; i++, taken++)
			assert_int_equal(got[i], 'a' + taken / sizeof bytes % 26);
		held_write(s.h);
	}
	assert_int_equal(s.h->input.len, 0);
	assert_true(held_takes_keys(s.h));
	close_seat(p);
	close_ends(&s);
}

static void resize_seat(struct ends *s, struct seat *p, int columns, int rows)
{
	const struct terminals_size size = {columns, rows};

	assert_int_equal(wire_send(p->conn, (enum lane_type)TERMINALS_SIZE, &size, sizeof size), 0);
	held_hear_viewer(s->h, 0);
}

/* The sizes that came to the container; the last one is *ret. */
static int hear_sizes(struct ends *s, uint16_t ret[2])
{
	char body[LANE_MSG_MAX];
	int fds[LANE_FDS_MAX], n, count = 0;
	struct lane_msg head;

	for (; wire_recv(s->lane, &head, body, fds, &n) == 1; count++) {
		assert_int_equal(head.type, LANE_RESIZE);
		memcpy(ret, body, 2 * sizeof *ret);
	}
	return count;
}

/* One who does not read all sizes comes to know the last one. */
static void a_size_waits_for_room_on_the_lane(void **state)
{
	struct ends s = open_ends(40, 3);
	struct seat *p = attach_seat(&s, 40, 3);
	uint16_t size[2] = {0};

	(void)state;
	fcntl(s.lane, F_SETFL, O_NONBLOCK);
	resize_seat(&s, p, 50, 4);
	assert_int_equal(hear_sizes(&s, size), 1);
	assert_true(size[0] == 50 && size[1] == 4);
	for (int i = 0; i < 100000 && !s.h->size_due; i++)
		resize_seat(&s, p, 40 + i % 2, 3);
	assert_true(s.h->size_due);
	resize_seat(&s, p, 60, 5);
	assert_true(hear_sizes(&s, size) > 0);
	held_send_size(s.h);
	assert_false(s.h->size_due);
	assert_int_equal(hear_sizes(&s, size), 1);
	assert_true(size[0] == 60 && size[1] == 5);
	close_seat(p);
	close_ends(&s);
}

static struct terminals_sent hear_sent(int conn)
{
	struct terminals_sent sent = {.error = -1};

	recv(conn, &sent, sizeof sent, MSG_DONTWAIT);
	return sent;
}

static void what_is_sent_is_typed_or_dropped(void **state)
{
	static char text[sizeof(struct terminals_send) + 32768];
	struct ends s = open_ends(40, 3);
	struct terminals_send head = {.text = 2};
	struct terminals_sent sent;
	char body[sizeof head + 8], got[64] = "";
	int conn[2], sends = 0;

	(void)state;
	memcpy(body, &head, sizeof head);
	memcpy(body + sizeof head, "abUp", 5);
	print(&s, "\x1b[?2004h\x1b[?1h");
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, conn), 0);
	assert_int_equal(held_send(s.h, conn[0], body, sizeof head + 5), 0);
	assert_true(s.h->screen.answered_ms > 0);
	/* It is in the pipe, and nobody has taken it. */
	held_turn(s.h);
	assert_int_equal(hear_sent(conn[1]).error, -1);
	assert_int_equal(held_send(s.h, conn[0], body, sizeof head + 5), EBUSY);
	assert_int_equal(read(s.in, got, sizeof got), 17);
	assert_string_equal(got, "\x1b[200~ab\x1b[201~\x1bOA");
	held_turn(s.h);
	sent = hear_sent(conn[1]);
	assert_int_equal(sent.error, 0);
	assert_int_equal(sent.taken, 17);
	close(conn[1]);
	print(&s, "\x1b[?2004l");
	/* Until the pipe is full. */
	head.text = 32768;
	memset(text, 'x', sizeof text);
	memcpy(text, &head, sizeof head);
	do {
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, conn), 0);
		assert_int_equal(held_send(s.h, conn[0], text, sizeof text), 0);
		str_adds(&s.h->input, "later");
		s.h->sending.due_ms = 0;
		held_turn(s.h);
		sent = hear_sent(conn[1]);
		close(conn[1]);
		assert_int_equal(sent.error, ETIMEDOUT);
		assert_int_equal(sent.all, 32768);
		assert_int_equal(sent.taken, 0);
	} while (sent.waiting == 32768 && ++sends < 100);
	assert_in_range(sent.waiting, 0, 32767);
	assert_true(s.h->input.len >= 5);
	assert_memory_equal(s.h->input.s, "later", 5);
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
		cmocka_unit_test(one_who_types_sees_what_the_program_prints),
		cmocka_unit_test(one_who_watches_sees_what_fits),
		cmocka_unit_test(one_who_does_not_read_misses_the_middle),
		cmocka_unit_test(one_who_does_not_read_is_waited_for),
		cmocka_unit_test(nothing_is_drawn_of_no_screen),
		cmocka_unit_test(keys_answer_and_reports_do_not),
		cmocka_unit_test(one_who_types_waits_for_the_program),
		cmocka_unit_test(a_size_waits_for_room_on_the_lane),
		cmocka_unit_test(what_is_sent_is_typed_or_dropped),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
