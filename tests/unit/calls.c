/* calls.c - the calls of servers: written, read by others, of dead ones, from hostile files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <glob.h>
#include <sys/wait.h>
#include <cmocka.h>

#include <berth/calls.h>
#include <berth/clock.h>
#include <berth/err.h>

#include "job/board.h"
#include "job/board_layout.h"
#include "lib/tree.h"

static struct err e;
static struct call_info got[CALLS_KEPT * 3];
static struct call_totals totals;

static int setup(void **state)
{
	(void)state;
	tree_make("calls");
	assert_int_equal(chmod(tree_path(""), 0700), 0);
	setenv("XDG_RUNTIME_DIR", tree_path(""), 1);
	e = (struct err)ERR_INIT;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_remove();
	return 0;
}

static uint64_t begin_shown_call(struct callboard *b, const char *tool, const char *arguments)
{
	return callboard_begin(b, tool, arguments, strlen(arguments), 100);
}

static void end_shown_call(
	struct callboard *b, uint64_t serial, enum call_state state, const char *result)
{
	callboard_end(b, serial, state, result, strlen(result), 40);
}

static size_t read_all_calls(void)
{
	return calls_read(NULL, got, sizeof got / sizeof *got, &totals);
}

static void test_one_server(void **state)
{
	struct callboard *b = callboard_open("alpha", &e);
	uint64_t one, two;

	(void)state;
	assert_non_null(b);
	assert_int_equal(read_all_calls(), 0);
	assert_int_equal(totals.servers, 1);
	one = begin_shown_call(b, "read_text_file", "path: a");
	two = begin_shown_call(b, "edit_file", "path: b");
	assert_int_equal(read_all_calls(), 2);
	assert_int_equal(got[0].serial, two);
	assert_int_equal(got[0].state, CALL_RUNS);
	assert_string_equal(got[0].agent, "alpha");
	end_shown_call(b, one, CALL_DONE, "text");
	end_shown_call(b, two, CALL_FAILED, "why not");
	assert_int_equal(read_all_calls(), 2);
	assert_int_equal(got[0].state, CALL_FAILED);
	assert_string_equal(got[0].result, "why not");
	assert_string_equal(got[1].arguments, "path: a");
	assert_int_equal(got[1].state, CALL_DONE);
	assert_int_equal(got[1].in_bytes, 100);
	assert_int_equal(got[1].out_bytes, 40);
	assert_true(got[1].duration_us >= 0);
	assert_int_equal(totals.calls, 2);
	assert_int_equal(totals.failed, 1);
	assert_int_equal(totals.out_bytes, 80);
	assert_int_equal(calls_read("beta", got, 1, &totals), 0);
	assert_int_equal(totals.servers, 0);
	assert_int_equal(calls_read("alpha", got, 1, &totals), 1);
	callboard_close(b);
	/* Ended, and still to be seen. */
	assert_int_equal(read_all_calls(), 2);
	assert_int_equal(totals.servers, 0);
}

/* Without its slots: what an agent asks of all its servers, and how often. */
static void test_calls_now(void **state)
{
	struct callboard *b;
	struct calls_of now[2];
	uint64_t one, two;

	(void)state;
	assert_int_equal(calls_read_now(now, 2), 0);
	b = callboard_open("alpha", &e);
	one = begin_shown_call(b, "execute_command", "");
	two = begin_shown_call(b, "search_text", "");
	for (int i = 0; i < 5; i++)
		end_shown_call(b, begin_shown_call(b, "ping", ""), CALL_FAILED, "");
	assert_int_equal(calls_read_now(now, 2), 1);
	assert_string_equal(now[0].agent, "alpha");
	assert_string_equal(now[0].now.tool, "execute_command");
	assert_true(now[0].now.started_wall_ms > 0);
	assert_int_equal(now[0].now.totals.running, 2);
	assert_int_equal(now[0].now.totals.minute, 7);
	assert_int_equal(now[0].now.totals.failed, 5);
	end_shown_call(b, one, CALL_DONE, "");
	assert_int_equal(calls_read_now(now, 2), 1);
	assert_string_equal(now[0].now.tool, "search_text");
	end_shown_call(b, two, CALL_DONE, "");
	assert_int_equal(calls_read_now(now, 2), 1);
	assert_string_equal(now[0].now.tool, "");
	assert_int_equal(now[0].now.totals.running, 0);
	callboard_close(b);
	assert_int_equal(calls_read_now(now, 2), 0);
}

/* What all servers of an agent are asked is its own; how many began lately is not believed where no clock says it. */
static void test_calls_now_of_two(void **state)
{
	struct callboard *b = callboard_open("alpha", &e);
	struct calls_of now[2];
	static const int64_t odd[] = {INT64_MAX, INT64_MIN, 0, 1};
	char path[PATH_MAX], line[8];
	int up[2], down[2], fd;
	pid_t child;
	glob_t g;

	(void)state;
	assert_int_equal(pipe(up), 0);
	assert_int_equal(pipe(down), 0);
	child = fork();
	if (child == 0) {
		struct callboard *second = callboard_open("alpha", &e);

		close(down[1]);
		begin_shown_call(second, "fork", "");
		_exit(write(up[1], "!", 1) != 1 || read(down[0], line, 1) != 0);
	}
	close(down[0]);
	assert_int_equal(read(up[0], line, 1), 1);
	/* Which is the older is told by milliseconds. */
	for (int64_t began = clock_wall_ms(); clock_wall_ms() <= began;)
		;
	begin_shown_call(b, "search_text", "");
	assert_int_equal(calls_read_now(now, 0), 0);
	assert_int_equal(calls_read_now(now, 2), 1);
	assert_int_equal(now[0].now.totals.servers, 2);
	assert_int_equal(now[0].now.totals.running, 2);
	assert_int_equal(now[0].now.totals.minute, 2);
	assert_string_equal(now[0].now.tool, "fork");
	close(down[1]);
	assert_int_equal(waitpid(child, &fd, 0), child);
	assert_int_equal(fd, 0);
	assert_int_equal(calls_read_now(now, 2), 1);
	assert_string_equal(now[0].now.tool, "search_text");
	snprintf(path, sizeof path, "%s/berth/calls/%d-*.calls", tree_path(""), (int)getpid());
	assert_int_equal(glob(path, 0, NULL, &g), 0);
	fd = open(g.gl_pathv[0], O_WRONLY);
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		assert_int_equal(pwrite(fd, &odd[i], sizeof odd[i],
					 offsetof(struct calls_header, now.second)),
			sizeof odd[i]);
		assert_int_equal(calls_read_now(now, 2), 1);
		assert_int_equal(now[0].now.totals.minute, 0);
	}
	close(fd);
	globfree(&g);
	callboard_close(b);
}

/* A call that runs keeps its place, however many come after it; the oldest of the others go. */
static void test_many_calls(void **state)
{
	struct callboard *b = callboard_open("alpha", &e);
	uint64_t first = begin_shown_call(b, "execute_command", "command: sleep 1000");
	bool kept = false;

	(void)state;
	for (int i = 0; i < 1000; i++)
		end_shown_call(b, begin_shown_call(b, "ping", ""), CALL_DONE, "");
	assert_int_equal(read_all_calls(), CALLS_KEPT);
	for (size_t i = 0; i < CALLS_KEPT; i++)
		kept |= got[i].serial == first && got[i].state == CALL_RUNS;
	assert_true(kept);
	assert_int_equal(totals.calls, 1001);
	/* All places taken by calls that run: one more is counted, and its end harms nobody. */
	for (int i = 1; i < CALLS_KEPT; i++)
		begin_shown_call(b, "wait", "");
	end_shown_call(b, begin_shown_call(b, "one more", ""), CALL_FAILED, "no");
	assert_int_equal(read_all_calls(), CALLS_KEPT);
	for (size_t i = 0; i < CALLS_KEPT; i++)
		assert_int_equal(got[i].state, CALL_RUNS);
	assert_int_equal(totals.failed, 1);
	callboard_close(b);
}

static void test_call_texts(void **state)
{
	struct callboard *b = callboard_open("alpha", &e);
	char longer[2 * CALL_TEXT_MAX];

	(void)state;
	memset(longer, 'a', sizeof longer);
	memcpy(longer + CALL_TEXT_MAX - 2, "\xc3\xa9", 2); /* a character across the end */
	callboard_begin(b, "t", longer, sizeof longer, 0);
	callboard_begin(b, "t", "a\0b", 3, 0);
	assert_int_equal(read_all_calls(), 2);
	assert_string_equal(got[0].arguments, "a b");
	assert_int_equal(strlen(got[1].arguments), CALL_TEXT_MAX - 2);
	callboard_close(b);
}

static void test_killed_server(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0) {
		struct callboard *b = callboard_open("beta", &e);

		begin_shown_call(b, "execute_command", "command: x");
		end_shown_call(b, begin_shown_call(b, "ping", ""), CALL_DONE, "");
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(read_all_calls(), 2);
	assert_int_equal(got[1].state, CALL_LOST);
	assert_int_equal(got[1].duration_us, -1);
	assert_int_equal(got[0].state, CALL_DONE);
}

static void put_hostile(const char *name, const void *bytes, size_t n, off_t size)
{
	int fd = open(tree_path(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	assert_int_equal(ftruncate(fd, size), 0);
	close(fd);
}

/* What anybody could have put there: skipped, or shown within bounds. */
static void test_hostile_files(void **state)
{
	struct callboard *b = callboard_open("alpha", &e);
	struct calls_header h = {.version = CALLS_VERSION,
		.slots = CALLS_KEPT,
		.slot_size = sizeof(struct call_slot),
		.pid = 7};
	struct call_slot s = {.serial = 1, .state = 99};
	char page[CALLS_HEADER] = {0};

	(void)state;
	put_hostile("berth/calls/1-1.calls", "", 0, 0);
	put_hostile("berth/calls/2-1.calls", &h, sizeof h, (off_t)CALLS_BYTES); /* no magic */
	memcpy(h.magic, CALLS_MAGIC, 8);
	put_hostile("berth/calls/3-1.calls", &h, sizeof h, 8192); /* too short */
	assert_int_equal(symlink("3-1.calls", tree_path("berth/calls/4-1.calls")), 0);
	assert_int_equal(mkfifo(tree_path("berth/calls/5-1.calls"), 0600), 0);
	assert_int_equal(mkdir(tree_path("berth/calls/6-1.calls"), 0700), 0);
	assert_int_equal(read_all_calls(), 0);
	/* No NUL anywhere, a state that there is not, times out of order. */
	memset(h.agent, 'x', sizeof h.agent);
	memset(s.tool, 'y', sizeof s.tool);
	memset(s.arguments, 'z', sizeof s.arguments);
	memcpy(page, &h, sizeof h);
	put_hostile("berth/calls/7-1.calls", page, sizeof page, (off_t)CALLS_BYTES);
	assert_int_equal(read_all_calls(), 0);
	s.state = CALL_DONE;
	s.started_mono_ns = INT64_MAX;
	s.ended_mono_ns = INT64_MIN;
	{
		int fd = open(tree_path("berth/calls/7-1.calls"), O_WRONLY);

		assert_int_equal(pwrite(fd, &s, sizeof s, CALLS_HEADER), sizeof s);
		close(fd);
	}
	assert_int_equal(read_all_calls(), 1);
	assert_int_equal(strlen(got[0].tool), CALL_NAME_MAX - 1);
	assert_int_equal(strlen(got[0].agent), CALL_NAME_MAX - 1);
	assert_int_equal(strlen(got[0].arguments), CALL_TEXT_MAX - 1);
	assert_int_equal(got[0].duration_us, -1);
	callboard_close(b);
}

/* A living server's half-written slot is left out; another one is not held up by it. */
static void test_torn_slot(void **state)
{
	struct callboard *b = callboard_open("alpha", &e);
	char path[PATH_MAX];
	uint64_t odd = 7;
	FILE *ls;
	int fd;

	(void)state;
	begin_shown_call(b, "first", "");
	begin_shown_call(b, "second", "");
	snprintf(path, sizeof path, "ls %s/berth/calls/*.calls", tree_path(""));
	ls = popen(path, "r");
	assert_non_null(fgets(path, sizeof path, ls));
	pclose(ls);
	path[strcspn(path, "\n")] = '\0';
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, &odd, sizeof odd, CALLS_HEADER), sizeof odd);
	close(fd);
	assert_int_equal(read_all_calls(), 1);
	assert_string_equal(got[0].tool, "second");
	callboard_close(b);
}

#define CASE(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_one_server),
		CASE(test_calls_now),
		CASE(test_calls_now_of_two),
		CASE(test_many_calls),
		CASE(test_call_texts),
		CASE(test_killed_server),
		CASE(test_hostile_files),
		CASE(test_torn_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
