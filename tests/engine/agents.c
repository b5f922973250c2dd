/* agents.c - up, commands, down, on a real engine: BERTH_TEST_ENGINE names it, with the image box:1. */
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
#include <berth/audit.h>
#include <berth/journal.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#include "container/container.h"
#include "lane/lane.h"
#include "lib/hosted.h"
#include "lib/paths.h"

static char name[64]; /* of the agent: unique, tests may run beside each other */

static int setup(void **state)
{
	struct agents_options o = {
		.guest = test_guest, .defaults = {.journal_commands = 16, .journal_bytes = 8192}};
	AUTO_FREE char *yaml = NULL;

	(void)state;
	if (hosted_place())
		return -1;
	setenv("BERTH_TEST_SECRET", "s3cret value", 1);
	hosted_dir("docs", 0755, 0);
	snprintf(name, sizeof name, "t%d", (int)getpid());
	yaml = xasprintf("agents:\n  %s:\n    image: box:1\n    workspace: %s/ws\n    memory: 64m\n"
			 "    cpus: 1\n    pids: 64\n    context_paths: [{path: %s/docs}]\n"
			 "    block: [\"date.*\"]\n    secrets: [key]\n    env: {GREETING: hello}\n"
			 "    credentials: {env: [BERTH_TEST_SECRET]}\n"
			 "secrets: {key: {env: BERTH_TEST_SECRET}}\n",
		name, top, top);
	hosted_open(&o, yaml);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return hosted_close();
}

struct output {
	struct str text[3];
};

static void collect_agent_output(void *ctx, int stream, const char *bytes, size_t n)
{
	struct output *o = ctx;

	str_add(&o->text[stream], bytes, n);
}

static struct run_result run_for(struct output *o, int64_t timeout_ms, const char *script)
{
	const char *argv[] = {"sh", "-c", script};
	struct run_request r = {.agent = name,
		.argv = argv,
		.argc = 3,
		.timeout_ms = timeout_ms,
		.in = -1,
		.out = -1,
		.error = -1,
		.output = collect_agent_output,
		.ctx = o,
		.cancel_fd = -1,
		.resize_fd = -1};
	struct run_result out;
	struct err e = ERR_INIT;

	for (int i = 0; i < 3; i++)
		str_clear(&o->text[i]);
	if (agents_run(&r, &out, &e))
		fail_msg("%s", e.msg);
	return out;
}

static void test_agent_up(void **state)
{
	struct agent_up up;
	struct err e = ERR_INIT;

	(void)state;
	if (agents_up(host, &team, &team.agents[0], &up, &e))
		fail_msg("%s", e.msg);
	assert_false(up.was_up);
	assert_true(up.nenforced >= 10);
	for (size_t i = 0; i < up.nenforced; i++)
		if (!up.enforced[i].same)
			fail_msg("%s: asked %s, in force %s", up.enforced[i].what,
				up.enforced[i].asked, up.enforced[i].actual);
	assert_int_equal(up.nloosened, 0);
	if (agents_up(host, &team, &team.agents[0], &up, &e))
		fail_msg("%s", e.msg);
	assert_true(up.was_up);
}

static void test_agent_commands(void **state)
{
	struct output o = {{STR_INIT, STR_INIT, STR_INIT}};
	struct run_result r;

	(void)state;
	r = run_for(&o, 0, "echo out; echo err >&2; exit 7");
	assert_int_equal(r.ended, ENDED_EXIT);
	assert_int_equal(r.exit_code, 7);
	assert_string_equal(o.text[1].s, "out\n");
	assert_string_equal(o.text[2].s, "err\n");
	r = run_for(&o, 0, "kill -TERM $$");
	assert_int_equal(r.ended, ENDED_SIGNAL);
	assert_int_equal(r.exit_code, 143);
	r = run_for(&o, 300, "trap '' TERM; (setsid sleep 1000 &); sleep 1000");
	assert_int_equal(r.ended, ENDED_TIMEOUT);
	assert_int_equal(r.exit_code, 124);
	assert_false(r.left_behind);
	r = run_for(&o, 0, "echo $GREETING $BERTH_TEST_SECRET; cat /run/secrets/key; pwd");
	assert_non_null(strstr(o.text[1].s, "hello s3cret value\ns3cret value"));
	assert_non_null(strstr(o.text[1].s, "/ws\n"));
	r = run_for(&o, 0, "x=a; while :; do x=$x$x; done");
	assert_int_equal(r.ended, ENDED_OOM);
	r = run_for(&o, 0, "ps | grep -c '[s]leep 1000'");
	assert_string_equal(o.text[1].s, "0\n"); /* nothing was left behind */
	for (int i = 0; i < 3; i++)
		str_release(&o.text[i]);
}

/* Files stay between commands; the root and read-only grants cannot be written. */
/* What ran and what it printed can be read afterwards; what is secret cannot. */
static void test_journal(void **state)
{
	struct output o = {{STR_INIT, STR_INIT, STR_INIT}};
	struct journal_command list[4];
	struct journal_output kept;

	(void)state;
	run_for(&o, 0, "echo out; cat /run/secrets/key; echo; echo $BERTH_TEST_SECRET >&2; exit 3");
	assert_non_null(strstr(o.text[1].s, "s3cret value"));
	assert_int_equal(journal_running(name, list, 4), 0);
	assert_true(journal_list(name, list, 4) > 0);
	assert_non_null(strstr(list[0].argv, "sh -c 'echo out;"));
	assert_int_equal(list[0].exit_code, 3);
	assert_int_equal(list[0].path, RUN_LANE);
	assert_int_equal(list[0].out_bytes, o.text[1].len);
	assert_int_equal(journal_read(name, list[0].seq, &kept, NULL), 0);
	for (size_t i = 0; i < kept.npieces; i++)
		str_add(&o.text[0], kept.piece[i].bytes, kept.piece[i].n);
	assert_int_equal(kept.missed, 0);
	assert_int_equal(o.text[0].len, o.text[1].len + o.text[2].len);
	assert_null(strstr(o.text[0].s, "s3cret"));
	assert_non_null(strstr(o.text[0].s, "out\n************"));
	journal_output_release(&kept);
	for (int i = 0; i < 3; i++)
		str_release(&o.text[i]);
}

static void test_files(void **state)
{
	struct output o = {{STR_INIT, STR_INIT, STR_INIT}};
	struct run_result r;

	(void)state;
	run_for(&o, 0, "echo kept > $HOME/x; echo w > file");
	r = run_for(&o, 0, "cat $HOME/x file");
	assert_int_equal(r.exit_code, 0);
	assert_string_equal(o.text[1].s, "kept\nw\n");
	r = run_for(&o, 0, "touch /usr/x");
	assert_int_not_equal(r.exit_code, 0);
	r = run_for(&o, 0, "touch ../docs/x");
	assert_int_not_equal(r.exit_code, 0);
	r = run_for(&o, 0, "grep -h Cap /proc/self/status | grep -v 0000000000000000");
	assert_int_equal(r.exit_code, 1);
	for (int i = 0; i < 3; i++)
		str_release(&o.text[i]);
}

static void test_not_found(void **state)
{
	const char *argv[] = {"no-such-program"};
	struct run_request r = {.agent = name,
		.argv = argv,
		.argc = 1,
		.in = -1,
		.out = -1,
		.error = -1,
		.cancel_fd = -1,
		.resize_fd = -1};
	struct run_result out;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(agents_run(&r, &out, &e), 0);
	assert_int_equal(out.ended, ENDED_FAILED);
	assert_int_equal(out.exit_code, 127);
	argv[0] = "/etc";
	assert_int_equal(agents_run(&r, &out, &e), 0);
	assert_int_equal(out.exit_code, 126);
	r.agent = "nobody";
	assert_int_equal(agents_run(&r, &out, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
}

/* The rules of the definition, and the plainly destructive, stop a command before it runs. */
static void test_rules(void **state)
{
	const char *argv[] = {"sh", "-c", "cd / && rm -rf /"}, *blocked[] = {"date", "+%s"};
	struct run_request r = {.agent = name,
		.argv = argv,
		.argc = 3,
		.in = -1,
		.out = -1,
		.error = -1,
		.cancel_fd = -1,
		.resize_fd = -1};
	struct run_result out;
	struct err e = ERR_INIT;
	struct agent_def free_of_rules = team.agents[0];
	struct agent_up up;

	(void)state;
	assert_int_equal(agents_run_recorded(&r, NULL, "test", &out, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(out.ended, ENDED_REFUSED);
	assert_int_equal(out.exit_code, 125);
	r.argv = blocked;
	r.argc = 2;
	assert_int_equal(agents_run_recorded(&r, NULL, "test", &out, &e), -1);
	assert_non_null(strstr(e.msg, "blocks it"));
	blocked[0] = "true";
	assert_int_equal(agents_run_recorded(&r, NULL, "test", &out, &e), 0);
	assert_int_equal(out.exit_code, 0);

	/* `up` with other rules: the container stays, the rules are the new ones. */
	free_of_rules.block.n = 0;
	assert_int_equal(agents_up(host, &team, &free_of_rules, &up, &e), 0);
	assert_true(up.was_up);
	blocked[0] = "date";
	assert_int_equal(agents_run_recorded(&r, NULL, "test", &out, &e), 0);
	assert_int_equal(agents_up(host, &team, &team.agents[0], &up, &e), 0);
	assert_true(up.was_up);
	assert_int_equal(agents_run_recorded(&r, NULL, "test", &out, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
}

/* A secret more is handed over by a new container. */
static void test_handed(void **state)
{
	struct agent_def fewer = team.agents[0];
	struct err e = ERR_INIT;
	struct agent_up up;

	(void)state;
	fewer.credentials.env.n = 0;
	assert_int_equal(agents_up(host, &team, &fewer, &up, &e), 0);
	assert_true(up.replaced);
	assert_int_equal(agents_up(host, &team, &team.agents[0], &up, &e), 0);
	assert_true(up.replaced);
	assert_int_equal(agents_up(host, &team, &team.agents[0], &up, &e), 0);
	assert_true(up.was_up);
}

struct upper {
	struct agents_host *host;
	struct agent_up up;
	struct err e;
	int result;
};

static void *bring_up_in_thread(void *ctx)
{
	struct upper *u = ctx;

	u->result = agents_up(u->host, &team, &team.agents[0], &u->up, &u->e);
	return NULL;
}

/* Two at the same moment: one makes it, the other finds it up. */
static void test_at_once(void **state)
{
	struct agents_options o = {.guest = test_guest,
		.defaults = {.journal_commands = 16, .journal_bytes = 8192},
		.program = "test"};
	struct upper u[2] = {{0}};
	struct err e = ERR_INIT;
	pthread_t thread[2];

	(void)state;
	agents_down(host, team.agents[0].container, NULL);
	o.host = getenv("BERTH_TEST_ENGINE");
	for (int i = 0; i < 2; i++)
		if (!(u[i].host = agents_open(&o, &e)))
			fail_msg("%s", e.msg);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, bring_up_in_thread, &u[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 2; i++) {
		if (u[i].result)
			fail_msg("%s", u[i].e.msg);
		agents_close(u[i].host);
	}
	assert_string_equal(u[0].up.id, u[1].up.id);
	assert_int_equal(u[0].up.was_up + u[1].up.was_up, 1);
}

static void test_agent_down(void **state)
{
	struct err e = ERR_INIT;
	struct agent_up up;

	(void)state;
	/* A stale one is replaced: another image would be another specification. */
	assert_int_equal(agents_down(host, team.agents[0].container, &e), 0);
	assert_int_equal(agents_down(host, team.agents[0].container, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_int_equal(agents_up(host, &team, &team.agents[0], &up, &e), 0);
	assert_false(up.was_up);
	assert_int_equal(agents_down(host, team.agents[0].container, &e), 0);
}

/* An agent of that name is up on another engine: its record and its lane are not this one's to take. */
static void test_elsewhere(void **state)
{
	const char *container = team.agents[0].container;
	struct session record, kept;
	struct err e = ERR_INIT;
	char lane[LANE_PATH_MAX];
	struct lane_offer offer;
	struct agent_up up;

	(void)state;
	assert_int_equal(session_load(container, &kept, NULL), -1);
	assert_int_equal(agents_up(host, &team, &team.agents[0], &up, &e), 0);
	assert_int_equal(session_load(container, &record, &e), 0);
	assert_int_equal(agents_down(host, container, &e), 0);
	snprintf(record.engine, sizeof record.engine, "OTHER");
	assert_int_equal(session_save(&record, &e), 0);
	assert_int_equal(lane_prepare(container, &offer, &e), 0);
	lane_offer_release(&offer);

	assert_int_equal(agents_down(host, container, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_int_equal(agents_up(host, &team, &team.agents[0], &up, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_int_equal(session_load(container, &kept, &e), 0);
	assert_string_equal(kept.engine, "OTHER");
	assert_string_equal(kept.id, record.id);
	assert_int_equal(lane_place(container, lane, &e), 0);
	assert_int_equal(access(lane, F_OK), 0);
	lane_forget(container);
	session_forget(container);
}

static void count_container_records(
	void *ctx, const struct audit_record *r, const char *line, size_t len)
{
	(void)line;
	(void)len;
	if (!strcmp(r->name, team.agents[0].container))
		++*(int *)ctx;
}

/* How often the log has that it was removed to make place. */
static int count_removals(void)
{
	const struct audit_filter f = {
		.operation = "container.remove", .result = AUDIT_OK, .by_result = true};
	struct err e = ERR_INIT;
	struct audit_reader *r;
	int n = 0;

	recorder_close(&host->at.recorder);
	r = audit_reader_open(NULL, &f, &e);
	if (!r)
		fail_msg("%s", e.msg);
	assert_int_equal(audit_reader_forward(r, 100, 0, count_container_records, &n, &e), 0);
	audit_reader_close(r);
	return n;
}

/* By its label or its image: neither taken down nor replaced. */
static void test_protected_agent(void **state)
{
	static const char *const label[] = {"berth.role=agent"}, *const image[] = {"box:*"};
	const struct policy policies[] = {{.keep.labels = {1, label}}, {.keep.images = {1, image}}};
	const char *container = team.agents[0].container;
	struct agent_def changed = team.agents[0];
	struct err e = ERR_INIT;
	struct agent_up up;
	struct existing x;
	int before = count_removals();
	char id[65];

	(void)state;
	assert_int_equal(agents_up(host, &team, &team.agents[0], &up, &e), 0);
	snprintf(id, sizeof id, "%s", up.id);
	changed.limits.pids = 65;
	for (size_t i = 0; i < COUNT(policies); i++) {
		const struct agents_options o = {
			.host = engine, .guest = test_guest, .policy = &policies[i]};
		struct agents_host *strict = agents_open(&o, &e);

		assert_non_null(strict);
		assert_int_equal(agents_down(strict, container, &e), -1);
		assert_int_equal(e.kind, ERR_REFUSED);
		assert_int_equal(agents_up(strict, &team, &changed, &up, &e), -1);
		assert_int_equal(e.kind, ERR_REFUSED);
		/* As it is it may stay up. */
		assert_int_equal(agents_up(strict, &team, &team.agents[0], &up, &e), 0);
		assert_true(up.was_up);
		agents_close(strict);
		assert_int_equal(host_look(host, container, &x, &e), 1);
		assert_true(x.running);
		assert_string_equal(x.id, id);
	}
	assert_int_equal(count_removals(), before);
	assert_int_equal(agents_up(host, &team, &changed, &up, &e), 0);
	assert_true(up.replaced);
	assert_int_equal(count_removals(), before + 1);
	assert_int_equal(agents_down(host, container, &e), 0);
}

static void test_refusals(void **state)
{
	static const char *const bad[] = {"/etc", "/", "/proc", "/root"};
	struct err e = ERR_INIT;
	struct agent_up up;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		AUTO_FREE char *yaml = xasprintf(
			"agents: {x%d: {image: \"box:1\", workspace: %s/ws, context_paths: [{path: %s}]}}",
			(int)getpid(), top, bad[i]);
		struct team t;

		assert_int_equal(team_parse("t", yaml, strlen(yaml), "/", &t, &e), 0);
		assert_int_equal(agents_up(host, &t, &t.agents[0], &up, &e), -1);
		assert_int_equal(e.kind, ERR_REFUSED);
		team_release(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agent_up),
		cmocka_unit_test(test_agent_commands),
		cmocka_unit_test(test_journal),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_not_found),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_handed),
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_agent_down),
		cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_protected_agent),
		cmocka_unit_test(test_refusals),
	};

	text_init();
	return cmocka_run_group_tests(tests, setup, teardown);
}
