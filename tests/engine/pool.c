/*
 * pool.c - warm containers on a real engine: there before they are asked for, used once, seen by nobody
 * after, replaced, and gone with their keeper.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/pool.h>
#include <berth/str.h>
#include <berth/text.h>
#include <berth/tool.h>

#include "container/container.h"
#include "run/pool.h"
#include "lib/hosted.h"
#include "lib/paths.h"

static char file[64];
static struct pool *pool;

static void write_team_to(const char *path, int memory_mb)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fprintf(f,
		"custom_tools:\n  warm:\n    image: box:1\n    script: 'eval \"$1\"'\n"
		"    resources: {memory: %dm}\n    pool: {size: 2, idle: 3600}\n",
		memory_mb);
	fclose(f);
}

static void write_pool_team(int memory_mb)
{
	write_team_to(file, memory_mb);
}

static int setup(void **state)
{
	struct agents_options o = {.guest = test_guest};
	struct err e = ERR_INIT;

	(void)state;
	if (hosted_place())
		return -1;
	snprintf(file, sizeof file, "%s/team.yaml", top);
	write_pool_team(64);
	if (team_read(file, "/", &team, &e))
		fail_msg("%s", e.msg);
	hosted_open(&o, NULL);
	pool = pool_start(&o, file, &e);
	if (!pool)
		fail_msg("no pool: %s", e.msg);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pool_stop(pool);
	return hosted_close();
}

static struct pool_info the_pool(void)
{
	struct pool_info info[4];

	assert_int_equal(pool_list(info, 4), 1);
	return info[0];
}

/* Until that many are ready and that many were made in all. */
static struct pool_info wait_ready(uint32_t warm, uint64_t made)
{
	int64_t deadline = clock_mono_ns() + INT64_C(60000000000);
	struct pool_info p[4];

	for (;;) {
		size_t n = pool_list(p, 4);

		if (n == 1 && p[0].warm == warm && p[0].made >= made)
			return p[0];
		if (clock_mono_ns() > deadline)
			fail_msg("%zu pools, %u ready, %llu made: %s", n, n ? p[0].warm : 0,
				n ? (unsigned long long)p[0].made : 0, n ? p[0].problem : "");
		poll(NULL, 0, 20);
	}
}

static void collect_pool_output(void *ctx, int stream, const char *bytes, size_t n)
{
	(void)stream;
	str_add(ctx, bytes, n);
}

static struct tool_ran run_pool_tool(const char *script, struct str *out)
{
	const char *argv[] = {script};
	struct run_request r = {.argv = argv,
		.argc = 1,
		.in = -1,
		.out = -1,
		.error = -1,
		.output = collect_pool_output,
		.ctx = out,
		.cancel_fd = -1,
		.resize_fd = -1};
	struct tool_ran ran;
	struct run_result result;
	struct err e = ERR_INIT;

	str_clear(out);
	if (tool_run(host, &team, &team.tools[0], NULL, &r, &ran, &result, &e))
		fail_msg("%s", e.msg);
	return ran;
}

static bool on_engine(const char *id)
{
	struct existing x;

	return host_look(host, id, &x, NULL) > 0;
}

static void test_ready_ahead(void **state)
{
	struct pool_info p = wait_ready(2, 2);
	AUTO_STR struct str out = STR_INIT;
	struct tool_ran ran;

	(void)state;
	assert_string_equal(p.tool, "warm");
	assert_int_equal(p.size, 2);
	assert_true(p.oldest_ms >= 0);
	ran = run_pool_tool("echo hello", &out);
	assert_true(ran.warm);
	assert_string_equal(out.s, "hello\n");
	assert_false(on_engine(ran.id));
	p = wait_ready(2, 3);
	assert_int_equal(p.hits, 1);
	assert_int_equal(p.misses, 0);
}

/* Check 59 of the hardening list: nothing of one call is seen by another. */
static void test_nothing_of_one_call(void **state)
{
	static const char *const leave =
		"echo x >/tmp/mark; echo x >/dev/shm/mark 2>/dev/null; echo x >$HOME/mark 2>/dev/null; "
		"(setsid sleep 1000 &); echo $$";
	static const char *const look =
		"ls -A /tmp /dev/shm 2>/dev/null | grep mark; ls -A $HOME 2>/dev/null | grep mark; "
		"ps 2>/dev/null | grep -c '[s]leep 1000'; for p in /proc/[0-9]*; do "
		"grep -q sleep $p/cmdline 2>/dev/null && [ $p != /proc/$$ ] && echo process; done; echo end";
	AUTO_STR struct str out = STR_INIT;
	char ids[3][65];

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct tool_ran ran;

		wait_ready(2, 0);
		ran = run_pool_tool(leave, &out);
		assert_true(ran.warm);
		memcpy(ids[i], ran.id, sizeof ids[i]);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(ids[i], ids[k]);
		ran = run_pool_tool(look, &out);
		assert_true(!strcmp(out.s, "end\n") || !strcmp(out.s, "0\nend\n"));
		assert_false(on_engine(ids[i]));
	}
}

static void test_many_takers(void **state)
{
	pid_t pid[6];
	int good = 0;

	(void)state;
	wait_ready(2, 0);
	for (int i = 0; i < 6; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			struct pool_claim claim;
			struct tool_box *b =
				pool_take(host->at.info.id, &team, &team.tools[0], NULL, &claim);

			/* Not run and not dropped: this taker dies with it. */
			_exit(b ? 10 : 11);
		}
	}
	for (int i = 0; i < 6; i++) {
		int status;

		waitpid(pid[i], &status, 0);
		assert_true(WIFEXITED(status));
		good += WEXITSTATUS(status) == 10;
	}
	/* Each went to one taker at most; what the dead ones had comes back as new ones. */
	assert_true(good >= 1 && good <= 6);
	wait_ready(2, the_pool().made);
}

static void test_dead_one_is_replaced(void **state)
{
	struct pool_claim claim;
	struct pool_info before = wait_ready(2, 0);
	struct tool_box *b = pool_take(host->at.info.id, &team, &team.tools[0], NULL, &claim);
	pid_t guest;

	(void)state;
	assert_non_null(b);
	guest = b->guest;
	assert_int_equal(tool_box_drop(host, b, NULL), 0);
	pool_done(&claim);
	assert_int_not_equal(kill(guest, 0), 0);
	before = wait_ready(2, before.made + 1);
	/* And one that dies while it waits. */
	b = pool_take(host->at.info.id, &team, &team.tools[0], NULL, &claim);
	assert_non_null(b);
	kill(b->guest, SIGKILL);
	close(claim.fd); /* as if this process had died */
	wait_ready(2, before.made + 1);
	arena_release(&b->mem);
	free(b);
}

static void pool_key_of(const char *name, const char *base, const char *secret, char key[POOL_KEY])
{
	AUTO_FREE char *yaml = xasprintf(
		"custom_tools: {x: {image: \"box:1\", script: s, secrets: [key], pool: {size: 1}}}\n"
		"secrets: {key: {%s}}\n",
		secret);
	struct team t;
	struct err e = ERR_INIT;

	if (team_parse(name, yaml, strlen(yaml), base, &t, &e))
		fail_msg("%s", e.msg);
	pool_key("engine", &t, &t.tools[0], NULL, key);
	team_release(&t);
}

/* The secrets and the network of one team are not for the same words in another. */
static void test_teams_apart(void **state)
{
	static const struct {
		const char *name, *base, *secret;
	} other[] = {{"b", "/", "env: ONE"}, {"a", "/x", "env: ONE"}, {"a", "/", "env: TWO"},
		{"a", "/", "file: ONE"}, {"a", "/", "command: [ONE]"},
		{"a", "/", "command: [ONE, x]"}};
	AUTO_FREE char *path = xasprintf("%s/other.yaml", top);
	char first[POOL_KEY], key[POOL_KEY];
	struct pool_claim claim;
	struct tool_box *b;
	struct team theirs;
	struct err e = ERR_INIT;

	(void)state;
	pool_key_of("a", "/", "env: ONE", first);
	pool_key_of("a", "/", "env: ONE", key);
	assert_string_equal(key, first);
	for (size_t i = 0; i < COUNT(other); i++) {
		pool_key_of(other[i].name, other[i].base, other[i].secret, key);
		assert_string_not_equal(key, first);
	}
	wait_ready(2, 0);
	write_team_to(path, 64);
	if (team_read(path, "/", &theirs, &e))
		fail_msg("%s", e.msg);
	assert_null(pool_take(host->at.info.id, &theirs, &theirs.tools[0], NULL, &claim));
	team_release(&theirs);
	b = pool_take(host->at.info.id, &team, &team.tools[0], NULL, &claim);
	assert_non_null(b);
	assert_int_equal(tool_box_drop(host, b, NULL), 0);
	pool_done(&claim);
}

static void test_definition_changes(void **state)
{
	char key[POOL_KEY], other[POOL_KEY];
	int64_t deadline = clock_mono_ns() + INT64_C(60000000000);
	struct pool_claim claim;

	(void)state;
	wait_ready(2, 0);
	pool_key(host->at.info.id, &team, &team.tools[0], NULL, key);
	write_pool_team(96);
	/* The old definition finds nothing any more, for what was made by it is gone. */
	for (;;) {
		struct tool_box *b;
		struct pool_info p[4];
		struct team now;

		if (pool_list(p, 4) == 1 && p[0].warm == 2 && !team_read(file, "/", &now, NULL)) {
			pool_key(host->at.info.id, &now, &now.tools[0], NULL, other);
			assert_string_not_equal(key, other);
			b = pool_take(host->at.info.id, &team, &team.tools[0], NULL, &claim);
			if (!b) {
				b = pool_take(host->at.info.id, &now, &now.tools[0], NULL, &claim);
				if (b) {
					assert_int_equal(tool_box_drop(host, b, NULL), 0);
					pool_done(&claim);
					team_release(&now);
					return;
				}
			} else {
				tool_box_drop(host, b, NULL);
				pool_done(&claim);
			}
			team_release(&now);
		}
		if (clock_mono_ns() > deadline)
			fail_msg("the pool still has the old definition");
		poll(NULL, 0, 50);
	}
}

static void in_log(const char *command)
{
	AUTO_FREE char *line = xasprintf("cd %s/berth/audit && %s", top, command);

	assert_int_equal(system(line), 0);
}

/* At one stroke, for the keeper writes a head that it misses anew. */
static void exchange_head(const char *with)
{
	AUTO_FREE char *head = xasprintf("%s/berth/audit/head", top);
	AUTO_FREE char *other = xasprintf("%s/berth/audit/%s", top, with);

	assert_int_equal(renameat2(AT_FDCWD, head, AT_FDCWD, other, RENAME_EXCHANGE), 0);
}

/* While its removal cannot be recorded a container stays, for nobody, and goes when it can be. */
static void test_unrecorded_stays(void **state)
{
	int64_t deadline = clock_mono_ns() + INT64_C(60000000000);
	struct pool_info p = wait_ready(2, 0);
	struct pool_claim claim;
	struct tool_box *b;
	char id[65];
	struct team now;
	struct err e = ERR_INIT;

	(void)state;
	if (team_read(file, "/", &now, &e))
		fail_msg("%s", e.msg);
	b = pool_take(host->at.info.id, &now, &now.tools[0], NULL, &claim);
	assert_non_null(b);
	snprintf(id, sizeof id, "%s", b->id);
	p = wait_ready(2, p.made + 1);
	in_log("cp -p head kept && mkdir none");
	exchange_head("none");
	in_log("rm none");
	close(claim.fd); /* as if this process had died */
	while (!strstr(the_pool().problem, "recorded")) {
		assert_true(clock_mono_ns() < deadline);
		poll(NULL, 0, 20);
	}
	assert_true(on_engine(id));
	assert_int_equal(the_pool().warm, 2);
	exchange_head("kept");
	in_log("rmdir kept");
	while (on_engine(id)) {
		assert_true(clock_mono_ns() < deadline);
		poll(NULL, 0, 20);
	}
	wait_ready(2, p.made);
	team_release(&now);
	arena_release(&b->mem);
	free(b);
}

static unsigned count_warm_boxes(const char *which, bool remove)
{
	AUTO_FREE char *path = xasprintf(
		"/containers/json?%sfilters={%%22label%%22:[%%22berth.role=pool%%22]}", which);
	AUTO_STR struct str reply = STR_INIT;
	struct err e = ERR_INIT;
	unsigned n = 0;

	if (sync_ask(host->at.engine, "list%s", "", "GET", path, NULL, 0, &reply, &e))
		fail_msg("%s", e.msg);
	for (const char *at = reply.s; (at = strstr(at, "\"Id\":\"")); n++) {
		char id[65];

		at += strlen("\"Id\":\"");
		snprintf(id, sizeof id, "%s", at);
		if (remove)
			sync_act(host->at.engine, ACT_REMOVE, id, true, true, -1, NULL);
	}
	return n;
}

/* What the engine is slower with than a person waits is told: it runs no more, and is `berth clean`'s. */
static void test_gone_with_the_keeper(void **state)
{
	int64_t deadline = clock_mono_ns() + INT64_C(60000000000);
	struct pool_info p[4];
	unsigned left;

	(void)state;
	wait_ready(2, 0);
	left = pool_stop(pool);
	pool = NULL;
	assert_int_equal(pool_list(p, 4), 0);
	/* What was asked of the engine may still be under way there. */
	while ((count_warm_boxes("", false) > 0 || count_warm_boxes("all=1&", false) > left) &&
		clock_mono_ns() < deadline)
		poll(NULL, 0, 20);
	assert_int_equal(count_warm_boxes("", false), 0);
	assert_true(count_warm_boxes("all=1&", true) <= left);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ready_ahead),
		cmocka_unit_test(test_nothing_of_one_call),
		cmocka_unit_test(test_many_takers),
		cmocka_unit_test(test_dead_one_is_replaced),
		cmocka_unit_test(test_teams_apart),
		cmocka_unit_test(test_definition_changes),
		cmocka_unit_test(test_unrecorded_stays),
		cmocka_unit_test(test_gone_with_the_keeper),
	};

	text_init();
	return cmocka_run_group_tests(tests, setup, teardown);
}
