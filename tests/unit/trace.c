/* trace.c - the log of BERTH_LOG: where it may be, and what of a request is in it. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/trace.h>

static char dir[] = "/tmp/berth-XXXXXX", path[64], text[65536];

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof path, "%s/a:b", dir);
	if (mkdir(path, 0700))
		return -1;
	strcat(path, "/log");
	return 0;
}

static int teardown(void **state)
{
	AUTO_FREE char *rm = xasprintf("rm -rf %s", dir);

	(void)state;
	return system(rm);
}

/* All that was written since the last call. */
static const char *take_text(void)
{
	AUTO_CLOSE int fd = open(path, O_RDWR);
	ssize_t n = read(fd, text, sizeof text - 1);

	assert_true(n >= 0);
	text[n] = '\0';
	assert_int_equal(ftruncate(fd, 0), 0);
	return text;
}

static void begin_log(const char *topics)
{
	AUTO_FREE char *spec = xasprintf("%s%s", path, topics);

	assert_int_equal(trace_open(spec, NULL), 0);
}

static void off_unless_asked(void **state)
{
	(void)state;
	assert_int_equal(trace_open(NULL, NULL), 0);
	assert_int_equal(trace_open("", NULL), 0);
	assert_int_equal(trace_topics, 0);
}

static void expect_refusal(const char *spec, const char *because)
{
	struct err e = ERR_INIT;

	assert_int_equal(trace_open(spec, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_non_null(strstr(e.msg, because));
	assert_int_equal(trace_topics, 0);
}

static void refused_places(void **state)
{
	AUTO_FREE char *link_path = xasprintf("%s/link", dir), *fifo = xasprintf("%s/fifo", dir),
		       *topics = xasprintf("%s:engine,kitchen", path);
	struct stat st;

	(void)state;
	assert_int_equal(symlink("/dev/null", link_path), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	expect_refusal(link_path, "symbolic link");
	expect_refusal(fifo, "cannot write");
	expect_refusal("/dev/null", "not a regular file");
	expect_refusal(dir, "cannot write");
	expect_refusal(topics, "\"kitchen\"");
	assert_int_equal(stat(path, &st), -1);
}

static void mode_and_rooms(void **state)
{
	struct stat st;

	(void)state;
	close(open(path, O_WRONLY | O_CREAT, 0666));
	assert_int_equal(chmod(path, 0644), 0);
	begin_log(":lane");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	trace(TRACE_LANE, "%s", "a frame");
	trace(TRACE_ENGINE, "%s", "a request");
	assert_non_null(strstr(take_text(), " lane a frame\n"));
	assert_null(strstr(text, "request"));
	begin_log("");
	trace(TRACE_ENGINE, "%s", "a request");
	trace(TRACE_EVENTS, "%s", "an event");
	assert_non_null(strstr(take_text(), " engine a request\n"));
	assert_non_null(strstr(text, " events an event\n"));
}

static void secrets_are_masked(void **state)
{
	static const char *const bodies[] = {
		"{\"Env\":[\"A=hidden\",\"B_TOKEN=hidden=hidden\"],\"Image\":\"shown\"}",
		"{\"Config\":{\"Env\": [\"PATH=hid\\\"den=hidden\"]},\"x\":\"shown\"}",
		"{\"Password\":\"hidden\",\"User\":\"shown\"}",
		"{\"Auths\":{\"r.io\":{\"x\":[\"hidden\"]}},\"User\":\"shown\"}",
		"{\"Cmd\":[\"tool\",\"--api-key\",\"hidden\",\"shown\"]}",
		"{\"Cmd\":[\"--password=hidden\",\"DB_PASSWORD=hidden\",\"shown\"]}",
		"{\"Cmd\":[\"sh\",\"-c\",\"curl -H 'Authorization: hidden' x\",\"shown\"]}",
		"{\"Cmd\":[\"sh\",\"-c\",\"A=1 TOKEN=hidden run\",\"shown\"]}",
		"{\"u\":\"https://me:hidden@host/\",\"v\":\"shown\"}",
		"{\"Labels\":{\"my.secret\":\"hidden\",\"other\":\"shown\"}}",
		"[{\"token\":\"hidden\"},{\"a\":\"shown\"}]",
	};

	(void)state;
	begin_log(":engine");
	for (size_t i = 0; i < COUNT(bodies); i++) {
		trace_http("> POST", "/x", bodies[i], strlen(bodies[i]));
		take_text();
		if (strstr(text, "hidden") || strstr(text, "hid\\\"den") || !strstr(text, "shown"))
			fail_msg("%s became %s", bodies[i], text);
	}
	trace_http("> POST", "/build?t=shown&buildargs=%7Bhidden%7D&token=hidden&q=1", NULL, 0);
	assert_non_null(strstr(take_text(), "/build?t=shown&buildargs=***&token=***&q=1"));
	trace_http("<", "/x", "hidden output of a command", 26);
	assert_non_null(strstr(take_text(), "26 bytes"));
	assert_null(strstr(text, "hidden"));
	trace_http("<", "/x", "{\"message\":\"no such token: shown\"}", 34);
	assert_non_null(strstr(take_text(), "shown"));
}

/* Whatever an engine says: one line of printable ASCII, bounded, and no crash on what is no JSON. */
static void hostile_bodies(void **state)
{
	static const char *const bodies[] = {"{", "[\"", "{\"a\\", "{\"Env\":[\"", "]]]}}}[",
		"{\"a\":\"\033[31m\n\xc2\x9b\xe2\x80\xae\xff\"}", "{\"a\" : \"b\\\"",
		"[[[[[[\"=\""};
	size_t big = 200000;
	AUTO_FREE char *long_body = xmalloc(big + 1);

	(void)state;
	begin_log("");
	memset(long_body, '"', big);
	long_body[0] = '{';
	long_body[big] = '\0';
	for (size_t i = 0; i <= COUNT(bodies); i++) {
		const char *body = i < COUNT(bodies) ? bodies[i] : long_body;
		AUTO_FREE char *copy = xstrdup(body); /* of its exact size, for asan */

		trace_http("<", "/\n\033]0;x\a", copy, strlen(copy));
		take_text();
		assert_true(strlen(text) <= TRACE_LINE_MAX);
		for (const char *s = text; s[1]; s++)
			assert_in_range((unsigned char)*s, 0x20, 0x7e);
		assert_int_equal(text[strlen(text) - 1], '\n');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off_unless_asked),
		cmocka_unit_test(refused_places),
		cmocka_unit_test(mode_and_rooms),
		cmocka_unit_test(secrets_are_masked),
		cmocka_unit_test(hostile_bodies),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
