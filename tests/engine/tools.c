/* tools.c - custom tools on a real engine: BERTH_TEST_ENGINE names it, with the image box:1. */
#include <dirent.h>
#include <malloc.h>
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
#include <berth/str.h>
#include <berth/text.h>
#include <berth/tool.h>

#include "container/container.h"
#include "lib/hosted.h"
#include "lib/paths.h"

#define YAML                                                                                     \
	"custom_tools:\n"                                                                        \
	"  echo: {type: docker, image: \"box:1\", script: 'echo \"$#:$*\"; cat; echo e >&2'}\n"  \
	"  seven: {type: docker, image: \"box:1\", command: [sh, -c, exit 7]}\n"                 \
	"  slow: {type: docker, image: \"box:1\", timeout: 1,\n"                                 \
	"    script: \"trap '' TERM; (setsid sleep 1000 &); sleep 1000\"}\n"                     \
	"  big: {type: docker, image: \"box:1\", output: 1000, script: 'yes | head -c 5000'}\n"  \
	"  hungry: {type: docker, image: \"box:1\", resources: {memory: 32m},\n"                 \
	"    script: 'x=a; while :; do x=$x$x; done'}\n"                                         \
	"  state: {type: docker, image: \"box:1\", script: 'id -u; pwd; cat /run/secrets/key;\n" \
	"    echo $GREETING; touch here /tmp/x $HOME/y && ls; touch /etc/z 2>/dev/null ||\n"     \
	"    echo read-only; grep -c : /proc/net/dev; grep CapEff /proc/self/status',\n"         \
	"    secrets: [key], env: {GREETING: hello}, isolation: {filesystem: workspace}}\n"      \
	"  absent: {type: docker, image: \"absent:1\", script: \"true\"}\n"                      \
	"secrets: {key: {env: BERTH_TEST_SECRET}}\n"

static int setup(void **state)
{
	struct agents_options o = {.guest = test_guest};

	(void)state;
	if (hosted_place())
		return -1;
	setenv("BERTH_TEST_SECRET", "s3cret", 1);
	hosted_open(&o, YAML);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return hosted_close();
}

struct call {
	struct run_result r;
	struct tool_ran ran;
	struct str text[3];
	struct err e;
};

static void collect_tool_output(void *ctx, int stream, const char *bytes, size_t n)
{
	struct call *c = ctx;

	str_add(&c->text[stream], bytes, n);
}

static struct run_request tool_request(struct call *c, const char *const *argv, size_t argc)
{
	for (int i = 0; i < 3; i++)
		str_clear(&c->text[i]);
	c->e = (struct err)ERR_INIT;
	return (struct run_request){.argv = argv,
		.argc = argc,
		.in = -1,
		.out = -1,
		.error = -1,
		.output = collect_tool_output,
		.ctx = c,
		.cancel_fd = -1,
		.resize_fd = -1};
}

static void tool_call_init(struct call *c)
{
	for (int i = 0; i < 3; i++)
		str_init(&c->text[i]);
}

static void tool_call_release(struct call *c)
{
	for (int i = 0; i < 3; i++)
		str_release(&c->text[i]);
}

static int count_entries_in(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* Containers of ours on the engine, and what lies in the runtime directory. */
static void nothing_left(void)
{
	AUTO_STR struct str reply = STR_INIT;
	struct err e = ERR_INIT;
	char lanes[64];

	if (sync_ask(host->at.engine, "list", NULL, "GET",
		    "/containers/json?all=1&filters=%7B%22name%22%3A%5B%22berth-tool-%22%5D%7D",
		    NULL, 0, &reply, &e))
		fail_msg("%s", e.msg);
	/* Other tests' tools may be there: ours carry this process's number. */
	{
		AUTO_FREE char *mine = xasprintf("\\\"pid\\\":%d,", (int)getpid());

		assert_null(strstr(reply.s, mine));
	}
	snprintf(lanes, sizeof lanes, "%s/run/berth/lanes", top);
	assert_in_range(count_entries_in(lanes), 0, 2);
}

static struct call *run_tool(struct call *c, const char *name, const char *const *argv, size_t argc)
{
	struct run_request q = tool_request(c, argv, argc);
	char ws[64];

	snprintf(ws, sizeof ws, "%s/ws", top);
	tool_run(host, &team, team_tool(&team, name), ws, &q, &c->ran, &c->r, &c->e);
	return c;
}

static void test_results(void **state)
{
	static const char *const words[] = {"a", "b c", "$(id)"};
	struct call c;

	(void)state;
	tool_call_init(&c);
	run_tool(&c, "echo", words, 3);
	assert_int_equal(c.r.ended, ENDED_EXIT);
	assert_int_equal(c.r.exit_code, 0);
	assert_int_equal(c.r.path, RUN_LANE);
	assert_string_equal(c.text[1].s, "3:a b c $(id)\n");
	assert_string_equal(c.text[2].s, "e\n");
	assert_true(*c.ran.id && c.ran.create_ms > 0 && c.ran.remove_ms > 0);
	assert_int_equal(run_tool(&c, "seven", NULL, 0)->r.exit_code, 7);
	run_tool(&c, "slow", NULL, 0);
	assert_int_equal(c.r.ended, ENDED_TIMEOUT);
	assert_int_equal(c.r.exit_code, 124);
	run_tool(&c, "big", NULL, 0);
	assert_int_equal(c.text[1].len, 1000);
	assert_int_equal(c.r.dropped_bytes, 4000);
	run_tool(&c, "hungry", NULL, 0);
	assert_int_equal(c.r.ended, ENDED_OOM);
	run_tool(&c, "absent", NULL, 0);
	assert_int_equal(c.r.ended, ENDED_FAILED);
	assert_int_equal(c.r.exit_code, 125);
	assert_non_null(strstr(c.r.err.msg, "berth image"));
	nothing_left();
	tool_call_release(&c);
}

static void test_inside(void **state)
{
	AUTO_FREE char *want = xasprintf("1000\n%s/ws\ns3crethello\nhere\nread-only\n1\n"
					 "CapEff:\t0000000000000000\n",
		top);
	AUTO_FREE char *file = xasprintf("%s/ws/here", top);
	struct call c;

	(void)state;
	tool_call_init(&c);
	run_tool(&c, "state", NULL, 0);
	assert_string_equal(c.text[2].s, "");
	assert_string_equal(c.text[1].s, want);
	assert_int_equal(unlink(file), 0);
	tool_call_release(&c);
}

/* The three steps apart, as a pool uses them. */
static void test_steps(void **state)
{
	struct tool_box *b = NULL;
	struct run_request q;
	struct existing x;
	struct call c;
	char id[65];

	(void)state;
	tool_call_init(&c);
	if (tool_box_make(host, &team, team_tool(&team, "echo"), NULL, true, -1, &b, &c.e))
		fail_msg("%s", c.e.msg);
	assert_true(tool_box_alive(b));
	assert_int_equal(host_look(host, b->name, &x, NULL), 1);
	assert_true(x.ours && x.running);
	assert_string_equal(x.role, "pool");
	snprintf(id, sizeof id, "%s", b->id);
	q = tool_request(&c, NULL, 0);
	assert_int_equal(tool_box_run(b, &q, &c.r, &c.e), 0);
	assert_string_equal(c.text[1].s, "0:\n");
	assert_int_equal(tool_box_run(b, &q, &c.r, &c.e), -1);
	assert_int_equal(c.e.kind, ERR_USAGE);
	assert_int_equal(tool_box_drop(host, b, &c.e), 0);
	assert_int_equal(host_look(host, id, &x, NULL), 0);
	nothing_left();
	tool_call_release(&c);
}

/* Cancelled before and while it runs. */
static void test_cancel_tools(void **state)
{
	struct run_request q;
	struct call c;
	int p[2];

	(void)state;
	tool_call_init(&c);
	assert_int_equal(pipe(p), 0);
	assert_int_equal(write(p[1], "x", 1), 1);
	q = tool_request(&c, NULL, 0);
	q.cancel_fd = p[0];
	assert_int_equal(
		tool_run(host, &team, team_tool(&team, "slow"), NULL, &q, &c.ran, &c.r, &c.e), -1);
	assert_int_equal(c.r.ended, ENDED_CANCELLED);
	assert_int_equal(c.e.kind, ERR_CANCELLED);
	nothing_left();
	close(p[0]);
	close(p[1]);
	tool_call_release(&c);
}

/* Many calls leave nothing behind: no container, lane, descriptor or memory. */
static void test_many_tools(void **state)
{
	int n = getenv("BERTH_SOAK") ? 1000 : 20, before;
	size_t memory;
	struct call c;

	(void)state;
	tool_call_init(&c);
	run_tool(&c, "seven", NULL, 0);
	before = count_entries_in("/proc/self/fd");
	memory = mallinfo2().uordblks; /* 0 with a sanitizer, which looks for leaks itself */
	for (int i = 0; i < n; i++)
		assert_int_equal(run_tool(&c, "seven", NULL, 0)->r.exit_code, 7);
	assert_int_equal(count_entries_in("/proc/self/fd"), before);
	assert_in_range(mallinfo2().uordblks, 0, memory + 65536);
	nothing_left();
	tool_call_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_inside),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_cancel_tools),
		cmocka_unit_test(test_many_tools),
	};

	text_init();
	return cmocka_run_group_tests(tests, setup, teardown);
}
