/*
 * terminal_process.c - the process that keeps terminals, started as a command line does; the container's init is played
 * here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#include "lane/wire_io.h"
#include "terminals/screen_file.h"
#include "terminals/terminals.h"

#define BOX "box"
#define PATIENCE_MS 60000

struct inside {
	int lane, in, out;
};

static struct inside give_terminal(const char *name)
{
	struct terminals_keep keep = {.command = "sh", .columns = 40, .rows = 5};
	struct inside ends;
	struct screen_file f;
	struct err e = ERR_INIT;
	char path[TERMINALS_PATH_MAX], file[64];
	int lane[2], in[2], out[2];
	struct lane_command c = {.error = -1};

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lane), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	c.conn = lane[0];
	c.in = in[1];
	c.out = out[0];
	ends = (struct inside){lane[1], in[0], out[1]};
	snprintf(keep.name, sizeof keep.name, "%s", name);
	snprintf(file, sizeof file, "%s" TERMINALS_SCREEN, name);
	assert_int_equal(terminals_place(BOX, file, path, &e), 0);
	assert_int_equal(screen_file_open(&f, path, &e), 0);
	if (terminals_hand_over(BOX, &keep, f.fd, &c, &e))
		fail_msg("%s", e.msg);
	screen_file_close(&f);
	lane_command_release(&c);
	return ends;
}

static void close_inside(struct inside *i)
{
	close(i->lane);
	close(i->in);
	close(i->out);
}

static struct terminal_screen read_shown(const char *name)
{
	struct terminal_screen s = {0};
	struct err e = ERR_INIT;

	if (terminals_read(BOX, name, &s, &e))
		fail_msg("%s", e.msg);
	return s;
}

/* The first row of its screen, and its state, within a minute. */
static void expect_shown(const char *name, enum terminal_status status, const char *row)
{
	for (int waited = 0;; waited += 5) {
		struct terminal_screen s = read_shown(name);
		AUTO_STR struct str text = STR_INIT;
		bool there;

		terminal_row_text(&s, 0, false, &text);
		there = s.status == status && !strcmp(text.s, row);
		terminal_screen_release(&s);
		if (there)
			return;
		if (waited >= PATIENCE_MS)
			fail_msg("it shows \"%s\"", text.s);
		poll(NULL, 0, 5);
	}
}

static void expect_cancel(struct inside *i)
{
	struct pollfd p = {i->lane, POLLIN, 0};
	char body[LANE_MSG_MAX];
	struct lane_msg head;
	int fds[LANE_FDS_MAX], n;

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	assert_int_equal(wire_recv(i->lane, &head, body, fds, &n), 1);
	assert_int_equal(head.type, LANE_CANCEL);
}

static void end_command(struct inside *i, uint32_t code)
{
	struct lane_ended end = {.how = LANE_EXIT, .code = code};

	assert_int_equal(wire_send(i->lane, LANE_ENDED, &end, sizeof end), 0);
}

static void two_terminals_have_one_process(void **state)
{
	struct inside a = give_terminal("a"), b = give_terminal("b");
	struct terminal_screen one, two;
	char asked[16] = "";

	(void)state;
	assert_int_equal(write(a.out, "hello\x1b[5n", 9), 9);
	expect_shown("a", TERMINAL_RUNS, "hello");
	assert_int_equal(read(a.in, asked, sizeof asked), 4);
	assert_string_equal(asked, "\x1b[0n");
	one = read_shown("a");
	two = read_shown("b");
	assert_true(one.keeper > 0 && one.keeper != getpid());
	assert_int_equal(one.keeper, two.keeper);
	end_command(&a, 3);
	expect_shown("a", TERMINAL_ENDED, "hello");
	expect_shown("b", TERMINAL_RUNS, "");
	close(b.lane);
	b.lane = -1;
	expect_shown("b", TERMINAL_ENDED, "");
	terminal_screen_release(&one);
	terminal_screen_release(&two);
	close_inside(&a);
	close_inside(&b);
	/* The last of them has ended, and so it has; the next has another. */
	a = give_terminal("a");
	expect_shown("a", TERMINAL_RUNS, "");
	end_command(&a, 0);
	expect_shown("a", TERMINAL_ENDED, "");
	close_inside(&a);
}

static void a_stop_waits_for_the_end(void **state)
{
	struct inside i = give_terminal("stopped");
	struct terminal_row row[4];
	AUTO_CLOSE int first = -1;
	char name[TERMINAL_NAME_MAX] = "stopped";
	pid_t child;

	(void)state;
	/* One who asks and goes is not waited for. */
	first = terminals_dial(BOX, NULL);
	assert_true(first >= 0);
	assert_int_equal(wire_send(first, (enum lane_type)TERMINALS_STOP, name, sizeof name), 0);
	expect_cancel(&i);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		expect_cancel(&i);
		end_command(&i, 0);
		_exit(0);
	}
	assert_int_equal(terminals_stop(BOX, "stopped", NULL), 0);
	for (size_t k = 0, n = terminals_list(BOX, row, 4); k < n; k++)
		assert_string_not_equal(row[k].name, "stopped");
	close_inside(&i);
}

/* What was started after the stop began, and before its turn came, is stopped. */
static void a_stop_waits_for_a_start(void **state)
{
	struct inside i = give_terminal("raced");
	struct terminal_row row[4];
	char path[TERMINALS_PATH_MAX];
	int lock, status;
	pid_t child;

	(void)state;
	end_command(&i, 3);
	expect_shown("raced", TERMINAL_ENDED, "");
	close_inside(&i);
	assert_int_equal(terminals_place(BOX, "lock", path, NULL), 0);
	lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(lock >= 0);
	assert_int_equal(flock(lock, LOCK_EX), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		/* The parent's lock is not this process's. */
		close(lock);
		_exit(terminals_stop(BOX, "raced", NULL) ? 1 : 0);
	}
	i = give_terminal("raced");
	close(lock);
	expect_cancel(&i);
	end_command(&i, 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (size_t k = 0, n = terminals_list(BOX, row, 4); k < n; k++)
		assert_string_not_equal(row[k].name, "raced");
	close_inside(&i);
}

/* A request that is answered. */
static void ask_for_none(int conn)
{
	char none[TERMINAL_NAME_MAX] = "none";
	struct err e = ERR_INIT;

	assert_true(conn >= 0);
	assert_int_equal(wire_send(conn, (enum lane_type)TERMINALS_STOP, none, sizeof none), 0);
	assert_int_equal(terminals_hear(conn, BOX, &e), -1);
	assert_int_equal(e.sys, ENOENT);
	close(conn);
}

static void one_that_says_nothing_yet_holds_nobody_up(void **state)
{
	struct inside i = give_terminal("busy");
	int slow = terminals_dial(BOX, NULL), silent[40];

	(void)state;
	assert_true(slow >= 0);
	ask_for_none(terminals_dial(BOX, NULL));
	/* It is heard when it says something. */
	ask_for_none(slow);
	/* Of many the oldest are not waited for any more. */
	for (size_t k = 0; k < COUNT(silent); k++) {
		silent[k] = terminals_dial(BOX, NULL);
		assert_true(silent[k] >= 0);
	}
	ask_for_none(terminals_dial(BOX, NULL));
	for (size_t k = 0; k < COUNT(silent); k++)
		close(silent[k]);
	end_command(&i, 0);
	expect_shown("busy", TERMINAL_ENDED, "");
	close_inside(&i);
}

static void a_start_that_fails_leaves_what_was_there(void **state)
{
	const struct lane_about about = {.name = BOX};
	struct terminals_wish w = {.name = "left", .command = "sh", .columns = 40, .rows = 5};
	const struct lane_request r = {.argv = NULL};
	struct inside i = give_terminal("left");
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(write(i.out, "last", 4), 4);
	expect_shown("left", TERMINAL_RUNS, "last");
	assert_int_equal(terminals_start(&about, &w, &r, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	end_command(&i, 3);
	expect_shown("left", TERMINAL_ENDED, "last");
	/* There is no lane. */
	assert_int_equal(terminals_start(&about, &w, &r, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	expect_shown("left", TERMINAL_ENDED, "last");
	/* One that a person stopped is not restarted. */
	assert_int_equal(terminals_stop(BOX, "left", NULL), 0);
	w.restart = true;
	assert_int_equal(terminals_start(&about, &w, &r, &e), -1);
	assert_string_equal(e.msg, "the terminal `left` of box was stopped");
	close_inside(&i);
}

static void other_messages_of_one_who_is_attached(void)
{
	const struct terminals_attach attach = {.name = "kept", .size = {40, 5}};
	AUTO_CLOSE int conn = terminals_dial(BOX, NULL);
	char body[2000];
	int fds[] = {conn, conn, conn};

	assert_true(conn >= 0);
	assert_int_equal(
		wire_send(conn, (enum lane_type)TERMINALS_ATTACH, &attach, sizeof attach), 0);
	assert_int_equal(terminals_hear(conn, BOX, NULL), 0);
	memset(body, 0xA5, sizeof body);
	for (int kind = TERMINALS_SHOW_IN; kind <= TERMINALS_ROLE + 1; kind++)
		for (int n = 0; n <= 3; n++)
			for (size_t size = 0; size < sizeof body; size = size * 3 + 11)
				if (kind != TERMINALS_TYPE)
					wire_send_fds(
						conn, (enum lane_type)kind, body, size, fds, n);
}

static void other_messages_do_no_harm(void **state)
{
	static const enum terminals_message kinds[] = {TERMINALS_SHOW_IN, TERMINALS_KEEP,
		TERMINALS_STOP, TERMINALS_SEND, TERMINALS_ATTACH, TERMINALS_TYPE, TERMINALS_PRINT,
		(enum terminals_message)7};
	struct inside i = give_terminal("kept");
	struct terminals_keep keep = {.name = "kept"};
	char body[2000];

	(void)state;
	memset(body, 0xA5, sizeof body);
	for (size_t k = 0; k < COUNT(kinds); k++)
		for (int n = 0; n <= 3; n++)
			for (size_t size = 0; size < sizeof body; size = size * 3 + 11) {
				AUTO_CLOSE int conn = terminals_dial(BOX, NULL);
				int fds[] = {conn, conn, conn};

				assert_true(conn >= 0);
				wire_send_fds(conn, (enum lane_type)kinds[k], body, size, fds, n);
			}
	/* A name that is taken: the descriptors are closed, the terminal of that name stays. */
	{
		AUTO_CLOSE int conn = terminals_dial(BOX, NULL);
		int fds[] = {conn, conn, conn};
		struct err e = ERR_INIT;

		wire_send_fds(conn, (enum lane_type)TERMINALS_SHOW_IN, NULL, 0, fds, 1);
		wire_send_fds(conn, (enum lane_type)TERMINALS_KEEP, &keep, sizeof keep, fds, 3);
		assert_int_equal(terminals_hear(conn, BOX, &e), -1);
		assert_int_equal(e.sys, EEXIST);
	}
	{
		const struct terminals_send more = {.name = "kept", .text = 100};
		AUTO_CLOSE int conn = terminals_dial(BOX, NULL);
		struct terminals_sent sent;

		wire_send(conn, (enum lane_type)TERMINALS_SEND, &more, sizeof more);
		assert_int_equal(recv(conn, &sent, sizeof sent, 0), sizeof sent);
		assert_int_equal(sent.error, EPROTO);
	}
	other_messages_of_one_who_is_attached();
	assert_int_equal(write(i.out, "still here", 10), 10);
	expect_shown("kept", TERMINAL_RUNS, "still here");
	end_command(&i, 0);
	expect_shown("kept", TERMINAL_ENDED, "still here");
	close_inside(&i);
}

static void a_process_that_is_killed_is_seen_to_be_gone(void **state)
{
	struct inside i = give_terminal("lost");
	struct pollfd p = {i.lane, POLLIN, 0};
	struct terminal_screen s;
	char none;

	(void)state;
	assert_int_equal(write(i.out, "last", 4), 4);
	expect_shown("lost", TERMINAL_RUNS, "last");
	s = read_shown("lost");
	kill(s.keeper, SIGKILL);
	/* The container's init is told by the end of the connection. */
	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	assert_int_equal(recv(i.lane, &none, 1, 0), 0);
	expect_shown("lost", TERMINAL_LOST, "last");
	assert_int_equal(terminals_stop(BOX, "lost", NULL), 0);
	terminal_screen_release(&s);
	close_inside(&i);
	terminals_forget(BOX);
	assert_int_equal(terminals_list(NULL, NULL, 0), 0);
}

static int make_runtime(void **state)
{
	static char dir[300];

	(void)state;
	snprintf(dir, sizeof dir, "%s/rXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	return !mkdtemp(dir) || setenv("XDG_RUNTIME_DIR", dir, 1) ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_terminals_have_one_process),
		cmocka_unit_test(a_stop_waits_for_the_end),
		cmocka_unit_test(a_stop_waits_for_a_start),
		cmocka_unit_test(one_that_says_nothing_yet_holds_nobody_up),
		cmocka_unit_test(a_start_that_fails_leaves_what_was_there),
		cmocka_unit_test(other_messages_do_no_harm),
		cmocka_unit_test(a_process_that_is_killed_is_seen_to_be_gone),
	};

	text_init();
	return cmocka_run_group_tests(tests, make_runtime, NULL);
}
