/*
 * paths.c - one table of commands over the lane and over the engine's exec, with equal results.
 *
 * BERTH_TEST_ENGINE names an engine with the image box:1.  Both paths run in the same container of
 * an agent, so that only the path differs.  What the engine cannot say is named in the table.
 */
#include <fcntl.h>
#include <pthread.h>
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

#include <berth/agents.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#include "container/container.h"
#include "lane/lane.h"
#include "lib/hosted.h"
#include "lib/paths.h"

static char name[64];

static int setup(void **state)
{
	struct agents_options o = {.guest = test_guest};
	AUTO_FREE char *yaml = NULL;
	struct err e = ERR_INIT;
	struct agent_up up;

	(void)state;
	if (hosted_place())
		return -1;
	snprintf(name, sizeof name, "p%d", (int)getpid());
	yaml = xasprintf(
		"agents:\n  %s: {image: \"box:1\", workspace: %s/ws, memory: 64m, pids: 256,\n"
		"    env: {GREETING: hello}}\n",
		name, top);
	hosted_open(&o, yaml);
	if (agents_up(host, &team, &team.agents[0], &up, &e))
		fail_msg("%s", e.msg);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return hosted_close();
}

struct call {
	struct run_result r;
	struct str text[3];
	struct err e;
	int result;
};

static void collect_path_output(void *ctx, int stream, const char *bytes, size_t n)
{
	struct call *c = ctx;

	str_add(&c->text[stream], bytes, n);
}

static void path_call_init(struct call *c)
{
	*c = (struct call){.text = {STR_INIT, STR_INIT, STR_INIT}, .e = ERR_INIT};
}

static void path_call_release(struct call *c)
{
	for (int i = 0; i < 3; i++)
		str_release(&c->text[i]);
}

static struct run_request path_request(struct call *c)
{
	return (struct run_request){.agent = name,
		.in = -1,
		.out = -1,
		.error = -1,
		.output = collect_path_output,
		.ctx = c,
		.cancel_fd = -1,
		.resize_fd = -1};
}

static void run_by(enum run_path path, struct run_request *q, struct call *c)
{
	if (path == RUN_ENGINE)
		q->host = engine;
	c->result =
		path == RUN_LANE ? agents_run(q, &c->r, &c->e) : agents_run_engine(q, &c->r, &c->e);
	assert_int_equal(c->r.path, path);
}

/* -- the table ----------------------------------------------------------------------------------- */

#define NEVER_RUNS "/etc/passwd"

static const struct row {
	const char *script;  /* sh -c; or `word` alone */
	const char *word;    /* run directly, without a shell */
	const char *input;   /* NULL: none */
	const char *cwd;     /* NULL: the container's */
	int64_t timeout_ms;  /* 0: none */
	uint64_t output_max; /* 0: none */
	enum run_ended ended, by_engine;
	int code;
	const char *out, *error; /* NULL: not looked at */
} table[] = {
	/* exit codes */
	{"exit 0", NULL, NULL, NULL, 0, 0, ENDED_EXIT, ENDED_EXIT, 0, "", ""},
	{"exit 1", NULL, NULL, NULL, 0, 0, ENDED_EXIT, ENDED_EXIT, 1, "", ""},
	{"exit 126", NULL, NULL, NULL, 0, 0, ENDED_EXIT, ENDED_EXIT, 126, "", ""},
	{"exit 127", NULL, NULL, NULL, 0, 0, ENDED_EXIT, ENDED_EXIT, 127, "", ""},
	{"exit 137", NULL, NULL, NULL, 0, 0, ENDED_EXIT, ENDED_EXIT, 137, "", ""},
	{"exit 143", NULL, NULL, NULL, 0, 0, ENDED_EXIT, ENDED_EXIT, 143, "", ""},
	{"exit 255", NULL, NULL, NULL, 0, 0, ENDED_EXIT, ENDED_EXIT, 255, "", ""},
	{NULL, "no-such-program", NULL, NULL, 0, 0, ENDED_FAILED, ENDED_FAILED, 127, "", ""},
	{NULL, NEVER_RUNS, NULL, NULL, 0, 0, ENDED_FAILED, ENDED_FAILED, 126, "", ""},
	{NULL, "/etc", NULL, NULL, 0, 0, ENDED_FAILED, ENDED_FAILED, 126, "", ""},
	/* signals: the engine says 128+n and cannot tell it from an exit */
	{"kill -TERM $$", NULL, NULL, NULL, 60000, 0, ENDED_SIGNAL, ENDED_EXIT, 143, "", ""},
	{"kill -KILL $$", NULL, NULL, NULL, 60000, 0, ENDED_SIGNAL, ENDED_EXIT, 137, "", ""},
	{"kill -INT $$", NULL, NULL, NULL, 0, 0, ENDED_SIGNAL, ENDED_EXIT, 130, "", ""},
	/* streams */
	{"echo o; echo e >&2; echo O; echo E >&2", NULL, NULL, NULL, 0, 0, ENDED_EXIT, ENDED_EXIT,
		0, "o\nO\n", "e\nE\n"},
	{"cat; echo end", NULL, "in\n", NULL, 0, 0, ENDED_EXIT, ENDED_EXIT, 0, "in\nend\n", ""},
	{"cat; echo end", NULL, NULL, NULL, 0, 0, ENDED_EXIT, ENDED_EXIT, 0, "end\n", ""},
	{"head -c1; exit 3", NULL, "abcdefgh", NULL, 0, 0, ENDED_EXIT, ENDED_EXIT, 3, "a", ""},
	{"exec >&- 2>&-; sleep 0.2; exit 4", NULL, NULL, NULL, 0, 0, ENDED_EXIT, ENDED_EXIT, 4, "",
		""},
	{"yes | head -c 100000", NULL, NULL, NULL, 0, 10, ENDED_EXIT, ENDED_EXIT, 0,
		"y\ny\ny\ny\ny\n", ""},
	/* where and with what */
	{"pwd; echo $GREETING $ADDED; umask; id -u", NULL, NULL, "/demo", 0, 0, ENDED_EXIT,
		ENDED_EXIT, 0, "/demo\nhello added\n0022\n1000\n", ""},
	{"exit 0", NULL, NULL, "/no/such/place", 0, 0, ENDED_FAILED, ENDED_FAILED, 125, "", ""},
	/* memory */
	{"x=a; while :; do x=$x$x; done", NULL, NULL, NULL, 60000, 0, ENDED_OOM, ENDED_OOM, 137, "",
		NULL},
	/* time: everything is gone afterwards, which is looked at below */
	{"exec sleep 7001", NULL, NULL, NULL, 300, 0, ENDED_TIMEOUT, ENDED_TIMEOUT, 124, "", ""},
	{"sleep 7001; :", NULL, NULL, NULL, 300, 0, ENDED_TIMEOUT, ENDED_TIMEOUT, 124, "", ""},
	{"setsid sleep 7001; :", NULL, NULL, NULL, 300, 0, ENDED_TIMEOUT, ENDED_TIMEOUT, 124, "",
		""},
	{"(setsid sh -c 'sleep 7001 & sleep 7001 &' &) ; sleep 7001", NULL, NULL, NULL, 300, 0,
		ENDED_TIMEOUT, ENDED_TIMEOUT, 124, "", ""},
	{"trap '' TERM INT HUP; while :; do sleep 7001; done", NULL, NULL, NULL, 300, 0,
		ENDED_TIMEOUT, ENDED_TIMEOUT, 124, "", ""},
	{"sleep 7001 & kill -STOP $!; kill -STOP $$", NULL, NULL, NULL, 300, 0, ENDED_TIMEOUT,
		ENDED_TIMEOUT, 124, "", ""},
	/* its end is the main process's end, and what it started goes with it */
	{"sleep 7001 & echo parent", NULL, NULL, NULL, 60000, 0, ENDED_EXIT, ENDED_EXIT, 0,
		"parent\n", ""},
	{"(setsid sh -c 'sleep 7001 &' &); echo parent; exit 5", NULL, NULL, NULL, 60000, 0,
		ENDED_EXIT, ENDED_EXIT, 5, "parent\n", ""},
};

static int input_of(const char *text)
{
	int p[2];

	if (!text)
		return -1;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	assert_int_equal(write(p[1], text, strlen(text)), (ssize_t)strlen(text));
	close(p[1]);
	return p[0];
}

static void run_row(enum run_path path, const struct row *row)
{
	static const char *const env[] = {"ADDED=added"};
	const char *argv[] = {"sh", "-c", row->script}, *alone[] = {row->word};
	enum run_ended want = path == RUN_LANE ? row->ended : row->by_engine;
	struct run_request q;
	struct call c;

	path_call_init(&c);
	q = path_request(&c);
	q.argv = row->word ? alone : argv;
	q.argc = row->word ? 1 : 3;
	q.env = env;
	q.envc = 1;
	q.cwd = row->cwd;
	q.timeout_ms = row->timeout_ms;
	q.output_max = row->output_max;
	q.in = input_of(row->input);
	run_by(path, &q, &c);
	if (c.result || c.r.ended != want || c.r.exit_code != row->code || c.r.left_behind ||
		(row->out && strcmp(c.text[1].s, row->out) != 0) ||
		(row->error && strcmp(c.text[2].s, row->error) != 0))
		fail_msg("over the %s: %s\n %s %d, wanted %s %d; out `%s`, error `%s`; %s%s",
			path == RUN_LANE ? "lane" : "engine", row->word ? row->word : row->script,
			run_ended_name(c.r.ended), c.r.exit_code, run_ended_name(want), row->code,
			c.text[1].s, c.text[2].s, c.r.err.msg, c.r.left_behind ? " left" : "");
	if (row->output_max)
		assert_int_equal(c.r.out_bytes - c.r.dropped_bytes, row->output_max);
	if (q.in >= 0)
		close(q.in);
	path_call_release(&c);
}

static int count_sleepers(void)
{
	const char *argv[] = {"sh", "-c", "ps | grep -c '[s]leep 7001'"};
	struct run_request q;
	struct call c;
	int n;

	path_call_init(&c);
	q = path_request(&c);
	q.argv = argv;
	q.argc = 3;
	run_by(RUN_LANE, &q, &c);
	n = atoi(c.text[1].s);
	path_call_release(&c);
	return n;
}

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(table); i++)
		for (int path = RUN_LANE; path <= RUN_ENGINE; path++) {
			run_row((enum run_path)path, &table[i]);
			if (strstr(table[i].script ? table[i].script : "", "7001") &&
				count_sleepers())
				fail_msg("over the %s, something is left of: %s",
					path == RUN_LANE ? "lane" : "engine", table[i].script);
		}
}

/* Every byte, through both ends. */
static void test_binary(void **state)
{
	const char *argv[] = {"sh", "-c", "cat > /tmp/b && cat /tmp/b && cat /tmp/b >&2"};
	size_t n = (size_t)3 << 20;
	char *bytes = xmalloc(n), path[64];
	unsigned seed = 7;
	int fd;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		bytes[i] = (char)(seed >> 24);
	}
	snprintf(path, sizeof path, "%s/bytes", top);
	for (int by = RUN_LANE; by <= RUN_ENGINE; by++) {
		struct run_request q;
		struct call c;

		fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		assert_int_equal(write(fd, bytes, n), (ssize_t)n);
		lseek(fd, 0, SEEK_SET);
		path_call_init(&c);
		q = path_request(&c);
		q.argv = argv;
		q.argc = 3;
		q.in = fd;
		run_by((enum run_path)by, &q, &c);
		assert_int_equal(c.r.exit_code, 0);
		for (int i = 1; i < 3; i++) {
			assert_int_equal(c.text[i].len, n);
			assert_memory_equal(c.text[i].s, bytes, n);
		}
		close(fd);
		path_call_release(&c);
	}
	free(bytes);
}

struct many {
	pthread_t thread;
	enum run_path path;
	int number;
	bool wrong;
	char said[1024];
};

static void *run_numbered(void *ctx)
{
	struct many *m = ctx;
	AUTO_FREE char *script =
		xasprintf("echo %d; echo %d >&2; exit %d", m->number, m->number, m->number);
	AUTO_FREE char *want = xasprintf("%d\n", m->number);
	const char *argv[] = {"sh", "-c", script};
	struct run_request q;
	struct call c;

	path_call_init(&c);
	q = path_request(&c);
	q.argv = argv;
	q.argc = 3;
	if (m->path == RUN_ENGINE)
		q.host = engine;
	c.result = m->path == RUN_LANE ? agents_run(&q, &c.r, &c.e)
				       : agents_run_engine(&q, &c.r, &c.e);
	m->wrong = c.result || c.r.exit_code != m->number || strcmp(c.text[1].s, want) != 0 ||
		strcmp(c.text[2].s, want) != 0;
	snprintf(m->said, sizeof m->said, "%s %d, out `%s`, error `%s`; %s%s",
		run_ended_name(c.r.ended), c.r.exit_code, c.text[1].s, c.text[2].s, c.r.err.msg,
		c.e.msg);
	path_call_release(&c);
	return NULL;
}

/* Many at once: none is lost, none gets another's output. */
static void test_many_paths(void **state)
{
	struct many many[16];

	(void)state;
	for (int path = RUN_LANE; path <= RUN_ENGINE; path++) {
		for (int i = 0; i < (int)COUNT(many); i++) {
			many[i] = (struct many){.path = (enum run_path)path, .number = i + 10};
			assert_int_equal(
				pthread_create(&many[i].thread, NULL, run_numbered, &many[i]), 0);
		}
		for (size_t i = 0; i < COUNT(many); i++)
			pthread_join(many[i].thread, NULL);
		for (size_t i = 0; i < COUNT(many); i++)
			if (many[i].wrong)
				fail_msg("%d over the %s: %s", many[i].number,
					path == RUN_LANE ? "lane" : "engine", many[i].said);
	}
}

/* Cancelled while it writes without end. */
static void test_cancel_paths(void **state)
{
	const char *argv[] = {"sh", "-c", "sleep 7001 & yes"};
	int stop[2];

	(void)state;
	for (int path = RUN_LANE; path <= RUN_ENGINE; path++) {
		struct run_request q;
		struct call c;

		assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
		path_call_init(&c);
		q = path_request(&c);
		q.argv = argv;
		q.argc = 3;
		q.cancel_fd = stop[0];
		q.output_max = 1000; /* the rest is read and dropped */
		assert_int_equal(write(stop[1], "x", 1), 1);
		run_by((enum run_path)path, &q, &c);
		assert_int_equal(c.r.ended, ENDED_CANCELLED);
		assert_int_equal(c.r.exit_code, 143);
		assert_false(c.r.left_behind);
		assert_int_equal(count_sleepers(), 0);
		close(stop[0]);
		close(stop[1]);
		path_call_release(&c);
	}
}

static struct err refusal_of(enum run_path path)
{
	const char *argv[] = {"true"};
	struct run_request q;
	struct call c;

	path_call_init(&c);
	q = path_request(&c);
	q.argv = argv;
	q.argc = 1;
	q.agent = team.agents[0].container;
	q.fall_back = agents_run_engine;
	if (path == RUN_ENGINE)
		q.host = engine;
	c.result =
		path == RUN_LANE ? agents_run(&q, &c.r, &c.e) : agents_run_engine(&q, &c.r, &c.e);
	assert_int_equal(c.result, -1);
	assert_int_equal(c.r.exit_code, 125);
	path_call_release(&c);
	return c.e;
}

/* Without its lane the same command goes the other way; without a way it is not found. */
static void test_broken_lane(void **state)
{
	AUTO_FREE char *lane =
		xasprintf("%s/run/berth/lanes/%s" LANE_SOCK, top, team.agents[0].container);
	AUTO_FREE char *aside = xasprintf("%s.aside", lane);
	const char *argv[] = {"sh", "-c", "echo here; exit 9"};
	struct run_request q;
	struct call c;

	(void)state;
	setenv("DOCKER_HOST", engine, 1);
	path_call_init(&c);
	q = path_request(&c);
	q.argv = argv;
	q.argc = 3;
	assert_int_equal(rename(lane, aside), 0);
	assert_int_equal(agents_run(&q, &c.r, &c.e), -1);
	assert_int_equal(c.e.kind, ERR_NOT_FOUND);
	q.fall_back = agents_run_engine;
	assert_int_equal(agents_run(&q, &c.r, &c.e), 0);
	assert_int_equal(c.r.path, RUN_ENGINE);
	assert_int_equal(c.r.exit_code, 9);
	assert_string_equal(c.text[1].s, "here\n");
	assert_string_equal(c.r.agent, name);
	assert_int_equal(rename(aside, lane), 0);
	str_clear(&c.text[1]);
	assert_int_equal(agents_run(&q, &c.r, &c.e), 0);
	assert_int_equal(c.r.path, RUN_LANE);
	path_call_release(&c);
}

/* Paused, stopped and removed are three different things, and are said as such. */
static void test_states(void **state)
{
	const char *container = team.agents[0].container;
	struct err e;

	(void)state;
	setenv("DOCKER_HOST", engine, 1);
	assert_int_equal(
		sync_act(host->at.engine, ACT_PAUSE, container, false, false, -1, NULL), 0);
	for (int path = RUN_LANE; path <= RUN_ENGINE; path++) {
		e = refusal_of((enum run_path)path);
		assert_int_equal(e.kind, ERR_CONFLICT);
		assert_non_null(strstr(e.msg, "paused"));
	}
	assert_int_equal(
		sync_act(host->at.engine, ACT_UNPAUSE, container, false, false, -1, NULL), 0);
	assert_int_equal(sync_act(host->at.engine, ACT_KILL, container, false, false, -1, NULL), 0);
	for (int path = RUN_LANE; path <= RUN_ENGINE; path++) {
		e = refusal_of((enum run_path)path);
		assert_int_equal(e.kind, ERR_CONFLICT);
		assert_non_null(strstr(e.msg, "is not running"));
	}
	assert_int_equal(agents_down(host, container, NULL), 0);
	for (int path = RUN_LANE; path <= RUN_ENGINE; path++) {
		e = refusal_of((enum run_path)path);
		assert_int_equal(e.kind, ERR_NOT_FOUND);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_binary),
		cmocka_unit_test(test_many_paths),
		cmocka_unit_test(test_cancel_paths),
		cmocka_unit_test(test_broken_lane),
		cmocka_unit_test(test_states),
	};

	text_init();
	return cmocka_run_group_tests(tests, setup, teardown);
}
