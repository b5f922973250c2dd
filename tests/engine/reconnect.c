/*
 * reconnect.c - an engine that is not there yet, dies, comes back, and hangs.
 *
 * Starts an engine of its own (tests/lib/engine.sh), because it kills it.
 */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/backend.h>
#include <berth/clock.h>
#include <berth/message.h>
#include <berth/str.h>

#include "lib/paths.h"

#define PATIENCE_NS (60 * 1000000000LL)
#define SKIP 77

static char dir[] = "/tmp/berth-rc-XXXXXX";
static struct backend *b;
static struct str logs = STR_INIT; /* lines of the followed container, one after the other */

static int run_engine_script(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static int run_engine_script(const char *fmt, ...)
{
	char what[512], cmd[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	snprintf(cmd, sizeof cmd, "D=%s; . '%s/../lib/engine.sh'; %s", dir, test_data, what);
	{
		/* engine.sh is written for bash */
		char full[1200];

		snprintf(full, sizeof full, "exec bash -c '%s'", cmd);
		return system(full);
	}
}

static void pump_events(int64_t until)
{
	struct pollfd p = {backend_fd(b), POLLIN, 0};
	int64_t left = until - clock_mono_ns();
	struct event *ev;

	if (left > 0)
		poll(&p, 1, (int)(left / 1000000) + 1);
	while ((ev = backend_next(b))) {
		for (size_t i = 0; ev->kind == EV_LOG_LINES && i < ev->nlines; i++) {
			str_add(&logs, ev->lines[i].text, ev->lines[i].len);
			str_addc(&logs, ' ');
		}
		event_free(ev);
	}
}

static const struct snapshot *wait_phase(
	enum engine_phase phase, bool (*also)(const struct snapshot *))
{
	int64_t until = clock_mono_ns() + PATIENCE_NS;

	for (;;) {
		const struct snapshot *s = backend_snapshot(b);

		if (s->engine.phase == phase && (!also || also(s)))
			return s;
		if (clock_mono_ns() > until)
			fail_msg("phase %d instead of %d: %s", (int)s->engine.phase, (int)phase,
				s->engine.problem ? s->engine.problem : "no problem");
		snapshot_unref(s);
		pump_events(until);
	}
}

static bool has_problem(const struct snapshot *s)
{
	return s->engine.problem != NULL;
}

static int64_t mark_ns; /* rows confirmed after this */

static bool is_resynchronised(const struct snapshot *s)
{
	for (size_t i = 0; i < s->ncontainers; i++)
		if (s->containers[i].seen_ns <= mark_ns)
			return false;
	return s->listed;
}

static bool two_running(const struct snapshot *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->ncontainers; i++)
		n += s->containers[i].state == CONTAINER_RUNNING;
	return n == 2 && is_resynchronised(s);
}

static bool none_running(const struct snapshot *s)
{
	for (size_t i = 0; i < s->ncontainers; i++)
		if (s->containers[i].state == CONTAINER_RUNNING)
			return false;
	return s->ncontainers == 2 && is_resynchronised(s);
}

static void wait_log(const char *word)
{
	int64_t until = clock_mono_ns() + PATIENCE_NS;

	while (!strstr(logs.s, word)) {
		assert_true(clock_mono_ns() < until);
		pump_events(until);
	}
}

static void test_reconnect_life(void **state)
{
	char host[64], engine_id[80];
	struct backend_options o = {.host = host, .program = "test", .hz = 2};
	struct command *c;
	struct err e = ERR_INIT;
	const struct snapshot *s;
	int64_t back;

	(void)state;
	snprintf(host, sizeof host, "unix://%s/docker.sock", dir);
	b = backend_start(&o, &e);
	assert_non_null(b);
	/* nobody there: a sentence, and another try */
	s = wait_phase(ENGINE_CONNECTING, has_problem);
	assert_true(s->engine.retry_at_ns > 0);
	assert_non_null(strstr(s->engine.problem, dir));
	assert_false(s->listed);
	snapshot_unref(s);

	assert_int_equal(run_engine_script("engine_start $D"), 0);
	snapshot_unref(wait_phase(ENGINE_UP, NULL));
	assert_int_equal(
		run_engine_script(
			"docker -H %s run -d --name one box:1 sleep 10000 >/dev/null", host),
		0);
	assert_int_equal(
		run_engine_script("docker -H %s run -d --name two box:1 sh -c \"echo word1; "
				  "sleep 10000\" >/dev/null",
			host),
		0);
	s = wait_phase(ENGINE_UP, two_running);
	snprintf(engine_id, sizeof engine_id, "%s", s->engine.id);
	c = command_new(CMD_LOGS_OPEN);
	c->logs.follow = true;
	for (size_t i = 0; i < s->ncontainers; i++)
		if (strcmp(s->containers[i].name, "two") == 0)
			command_target(c, s->containers[i].engine, s->containers[i].id, "two");
	snapshot_unref(s);
	backend_send(b, c);
	wait_log("word1");

	/* killed: rows stay and say how old they are */
	assert_int_equal(run_engine_script("engine_kill $D"), 0);
	s = wait_phase(ENGINE_LOST, has_problem);
	assert_int_equal(s->ncontainers, 2);
	assert_string_equal(s->engine.id, engine_id);
	assert_true(s->engine.since_ns > 0);
	snapshot_unref(s);
	/* what is asked for now is refused with a sentence, not lost */
	c = command_new(CMD_REFRESH);
	backend_send(b, c);

	mark_ns = clock_mono_ns();
	assert_int_equal(run_engine_script("engine_again $D"), 0);
	back = clock_mono_ns(); /* the engine has answered the script by now */
	s = wait_phase(ENGINE_UP, is_resynchronised);
	printf("# resynchronised %.0f ms after the engine's first answer\n",
		(double)(clock_mono_ns() - back) / 1e6);
	assert_int_equal(s->ncontainers, 2);
	assert_string_equal(s->engine.id, engine_id);
	assert_null(s->engine.problem);
	snapshot_unref(s);
	/* a dockerd without live-restore ends its containers: so must our rows */
	assert_int_equal(run_engine_script("docker -H %s stop -t 0 one two >/dev/null", host), 0);
	snapshot_unref(wait_phase(ENGINE_UP, none_running));
	assert_int_equal(run_engine_script("docker -H %s start one two >/dev/null", host), 0);
	snapshot_unref(wait_phase(ENGINE_UP, two_running));
	/* the log goes on where it was: the old word once, the new start's word once */
	wait_log("word1 word1 ");
	assert_null(strstr(logs.s, "word1 word1 word1"));

	/* it accepts and says nothing: noticed all the same */
	assert_int_equal(run_engine_script("kill -STOP $(cat $D/docker.pid)"), 0);
	s = wait_phase(ENGINE_LOST, has_problem);
	assert_int_equal(s->ncontainers, 2);
	snapshot_unref(s);
	assert_int_equal(run_engine_script("kill -CONT $(cat $D/docker.pid)"), 0);
	snapshot_unref(wait_phase(ENGINE_UP, two_running));
	backend_stop(b);
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	str_release(&logs);
	return run_engine_script(
		"[ ! -e $D/docker.pid ] || { kill -CONT $(cat $D/docker.pid); engine_stop $D; }; "
		"rm -rf $D");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reconnect_life, setup, teardown),
	};

	if (geteuid() != 0 || system("command -v dockerd >/dev/null") != 0) {
		fprintf(stderr,
			"Only root can start a dockerd of its own, and one must be there.\n");
		return SKIP;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
