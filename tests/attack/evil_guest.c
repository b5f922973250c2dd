/* evil_guest.c - the host's end of the lane against a guest that lies (tests/attack/evil), in a real container. */
#include <dirent.h>
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
#include <berth/mem.h>
#include <berth/str.h>

#include "lane/lane.h"
#include "lib/hosted.h"

static char name[64];

static int setup(void **state)
{
	struct agents_options o = {.guest = EVIL_GUEST};
	AUTO_FREE char *yaml = NULL;

	(void)state;
	if (hosted_place())
		return -1;
	snprintf(name, sizeof name, "e%d", (int)getpid());
	yaml = xasprintf(
		"agents:\n  %s: {image: 'box:1', workspace: %s/ws, memory: 64m}\n"
		"  %sstat: {image: 'box:1', workspace: %s/ws, memory: 64m, env: {EVIL_BOOT: stat}}\n"
		"  %shello: {image: 'box:1', workspace: %s/ws, memory: 64m, env: {EVIL_BOOT: hello}}\n",
		name, top, name, top, name, top);
	hosted_open(&o, yaml);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return hosted_close();
}

static int count_own_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

struct one {
	const char *mode;
	int64_t timeout_ms;
	struct run_result r;
	struct err e;
	int result;
	uint64_t seen;
};

static void count_lies(void *ctx, int stream, const char *bytes, size_t n)
{
	(void)stream;
	(void)bytes;
	((struct one *)ctx)->seen += n;
}

static void *run_mode(void *ctx)
{
	struct one *o = ctx;
	const char *argv[] = {o->mode};
	struct run_request r = {.agent = name,
		.argv = argv,
		.argc = 1,
		.timeout_ms = o->timeout_ms,
		.in = -1,
		.out = -1,
		.error = -1,
		.output = count_lies,
		.ctx = o,
		.cancel_fd = -1,
		.resize_fd = -1};

	o->result = agents_run(&r, &o->r, &o->e);
	return NULL;
}

/* Before it is trusted with anything it must show the mounts as they were checked. */
static void test_boot(void **state)
{
	struct agent_up up;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(agents_up(host, &team, &team.agents[1], &up, &e), -1);
	if (e.kind != ERR_REFUSED)
		fail_msg("%s", e.msg);
	assert_int_equal(agents_down(host, team.agents[1].container, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND); /* nothing is left of it */
	/* A greeting that is none of ours is no reason to stop: the mounts are still compared. */
	e = (struct err)ERR_INIT;
	agents_up(host, &team, &team.agents[2], &up, &e);
	agents_down(host, team.agents[2].container, NULL);
	e = (struct err)ERR_INIT;
	if (agents_up(host, &team, &team.agents[0], &up, &e))
		fail_msg("%s", e.msg);
}

static void test_answers(void **state)
{
	/* What the host may make of it: an error, or a result that the contract knows. */
	static const struct {
		const char *mode;
		int result;
		enum run_ended ended;
	} modes[] = {{"fine", 0, ENDED_EXIT}, {"garbage", -1, ENDED_FAILED},
		{"one-byte", -1, ENDED_FAILED}, {"empty", -1, ENDED_FAILED},
		{"version", -1, ENDED_FAILED}, {"length", -1, ENDED_FAILED},
		{"short", -1, ENDED_FAILED}, {"long", -1, ENDED_FAILED}, {"type", -1, ENDED_FAILED},
		{"request", -1, ENDED_FAILED}, {"close", -1, ENDED_FAILED},
		{"huge", 0, ENDED_FAILED}, {"errno", 0, ENDED_FAILED}, {"signal", 0, ENDED_SIGNAL},
		{"left", 0, ENDED_EXIT}, {"descriptors", 0, ENDED_EXIT}, {"twice", 0, ENDED_EXIT},
		{"holds-output", 0, ENDED_EXIT}};
	int before = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(modes); i++) {
		struct one o = {.mode = modes[i].mode};

		run_mode(&o);
		if (o.result != modes[i].result || o.r.ended != modes[i].ended)
			fail_msg("%s: %d, %s: %s", o.mode, o.result, run_ended_name(o.r.ended),
				o.r.err.msg);
		assert_in_range(o.r.exit_code, 0, 255);
		if (o.result || o.r.ended == ENDED_FAILED) {
			assert_true(o.r.err.msg[0]);
			assert_null(strstr(o.r.err.msg, "(null)"));
		}
		assert_true(
			strcmp(o.mode, "version") != 0 || strstr(o.r.err.msg, "another version"));
		/* It said that some are left: the host ended them itself. */
		assert_false(o.r.left_behind && !strcmp(o.mode, "left"));
		if (i == 0)
			before = count_own_descriptors();
		assert_int_equal(count_own_descriptors(), before);
	}
}

/* Those that never end are given up, all at once here, soon after their time is over. */
static void test_endless(void **state)
{
	static const char *const modes[] = {"silent", "started-flood", "output-flood"};
	struct one o[COUNT(modes)] = {0};
	pthread_t thread[COUNT(modes)];
	int before = count_own_descriptors();

	(void)state;
	for (size_t i = 0; i < COUNT(modes); i++) {
		o[i].mode = modes[i];
		o[i].timeout_ms = 200;
		pthread_create(&thread[i], NULL, run_mode, &o[i]);
	}
	for (size_t i = 0; i < COUNT(modes); i++)
		pthread_join(thread[i], NULL);
	for (size_t i = 0; i < COUNT(modes); i++)
		if (o[i].result || o[i].r.ended != ENDED_TIMEOUT || o[i].r.exit_code != 124) {
			/* The first one to give up has the host end them all: for the others the lane broke. */
			assert_int_equal(o[i].r.ended, ENDED_FAILED);
			assert_non_null(strstr(o[i].e.msg, "lane broke"));
		}
	assert_int_equal(count_own_descriptors(), before);
}

/* The host accepts on nothing but a TCP socket that listens at the proxy's address. */
static void test_listeners(void **state)
{
	int fds[LANE_LISTENERS_MAX], n, before = count_own_descriptors();
	struct lane_about about;
	struct err e = ERR_INIT;
	pid_t init;
	int conn;

	(void)state;
	if (lane_find(name, &about, &e))
		fail_msg("%s", e.msg);
	for (int kind = 0; kind < 9; kind++) {
		e = (struct err)ERR_INIT;
		if (lane_listeners(&about, fds, &n, &init, &e) != -1)
			fail_msg("taken: %d", kind);
		assert_int_equal(e.kind, ERR_PROTOCOL);
		assert_int_equal(count_own_descriptors(), before);
	}
	conn = lane_listeners(&about, fds, &n, &init, &e);
	assert_true(conn >= 0);
	assert_int_equal(n, 1);
	close(fds[0]);
	close(conn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boot),
		cmocka_unit_test(test_listeners),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_endless),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
