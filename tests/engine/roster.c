/*
 * roster.c - agents as the console has them: down, up, drifted, made anew, journalled, taken down, and a
 * failure that stays in its place.  BERTH_TEST_ENGINE names the engine, which holds image box:1.
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/agents.h>
#include <berth/backend.h>
#include <berth/clock.h>
#include <berth/journal.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>

#define PATIENCE_NS (60 * 1000000000LL)

static char top[] = "/tmp/berth-roster-XXXXXX", file[64];
static char names[2][64]; /* unique: tests may run beside each other */
static struct backend *b;
static struct event *result, *journal;

static void write_roster_team(int pids)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	fprintf(f,
		"agents:\n"
		"  %s: {role: worker, image: \"box:1\", workspace: %s/ws, memory: 64m, pids: %d,\n"
		"    network: {allow: [\"host.docker.internal:1\"]}}\n"
		"  %s: {image: \"not-there:1\", workspace: %s/ws}\n",
		names[0], top, pids, names[1], top);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(file, 0644), 0);
}

static int setup(void **state)
{
	const char *host = getenv("BERTH_TEST_ENGINE");
	struct backend_options o = {.host = host,
		.team = file,
		.program = "roster test",
		.defaults = {.journal_commands = 16, .journal_bytes = 65536}};
	struct err e = ERR_INIT;
	char path[96];

	(void)state;
	if (!mkdtemp(top))
		return -1;
	setenv("XDG_RUNTIME_DIR", top, 1);
	setenv("XDG_STATE_HOME", top, 1);
	snprintf(path, sizeof path, "%s/ws", top);
	if (mkdir(path, 0777) || chmod(path, 0777))
		return -1;
	snprintf(file, sizeof file, "%s/team.yaml", top);
	for (int i = 0; i < 2; i++)
		snprintf(names[i], sizeof names[i], "roster%c-%d", 'a' + i, (int)getpid());
	write_roster_team(64);
	b = backend_start(&o, &e);
	if (!b)
		fprintf(stderr, "%s\n", e.msg);
	return b ? 0 : -1;
}

static int teardown(void **state)
{
	char cmd[128];

	(void)state;
	backend_stop(b);
	event_free(result);
	event_free(journal);
	snprintf(cmd, sizeof cmd, "rm -rf %s", top);
	return system(cmd);
}

static bool pump_roster(int64_t until)
{
	struct pollfd p = {backend_fd(b), POLLIN, 0};
	int64_t left = until - clock_mono_ns();
	struct event *ev;

	if (left <= 0)
		return false;
	poll(&p, 1, (int)(left / 1000000) + 1);
	while ((ev = backend_next(b))) {
		struct event **keep = ev->kind == EV_RESULT && ev->agent_act ? &result
			: ev->kind == EV_JOURNAL                             ? &journal
									     : NULL;

		if (keep) {
			event_free(*keep);
			*keep = ev;
		} else {
			event_free(ev);
		}
	}
	return true;
}

static const struct agent *agent_of(const struct snapshot *s, const char *id)
{
	for (size_t i = 0; i < s->nagents; i++)
		if (!strcmp(s->agents[i].id, id))
			return &s->agents[i];
	return NULL;
}

typedef bool condition(const struct agent *a);

/* Waits until the agent satisfies `fn`; the caller's reference. */
static const struct snapshot *wait_agent(const char *id, condition *fn)
{
	int64_t until = clock_mono_ns() + PATIENCE_NS;

	do {
		const struct snapshot *s = backend_snapshot(b);
		const struct agent *a = agent_of(s, id);

		if (a && fn(a))
			return s;
		snapshot_unref(s);
	} while (pump_roster(until));
	fail_msg("waited too long for %s", id);
	return NULL;
}

static bool is_down(const struct agent *a)
{
	return a->state == AGENT_DOWN && a->defined && !a->pending;
}

static bool is_checked(const struct agent *a)
{
	return a->state == AGENT_UP && a->lane && !a->pending && a->container && a->nchecks > 5;
}

static bool has_drifted(const struct agent *a)
{
	return a->state == AGENT_UP && !a->pending && a->ndrift > 0;
}

static bool is_unreadable(const struct agent *a)
{
	return has_drifted(a) && strstr(a->checks[0].actual, file);
}

static bool is_as_asked(const struct agent *a)
{
	return is_checked(a) && a->ndrift == 0;
}

static bool has_failed(const struct agent *a)
{
	return a->problem && !a->pending;
}

static bool runs_one(const struct agent *a)
{
	return a->nrunning == 1 && a->ncommands == 1;
}

static bool ran_one(const struct agent *a)
{
	return a->nrunning == 0 && a->last;
}

static void act_on_agent(enum agent_act what, const char *id)
{
	struct command *c = command_new(CMD_AGENTS);
	char name[96];

	snprintf(name, sizeof name, "berth-%s", id);
	c->agents.what = what;
	command_target(c, "", "", name);
	event_free(result);
	result = NULL;
	backend_send(b, c);
}

static void wait_result(void)
{
	int64_t until = clock_mono_ns() + PATIENCE_NS;

	while (!result)
		if (!pump_roster(until))
			fail_msg("no result");
}

static const struct agent_check *find_check(const struct agent *a, const char *what)
{
	for (size_t i = 0; i < a->nchecks; i++)
		if (!strcmp(a->checks[i].what, what))
			return &a->checks[i];
	fail_msg("no check of %s", what);
	return NULL;
}

static void test_roster_up(void **state)
{
	const struct snapshot *s;
	const struct agent *a;

	(void)state;
	snapshot_unref(wait_agent(names[0], is_down));
	act_on_agent(AGENT_BRING_UP, names[0]);
	wait_result();
	assert_int_equal(result->err.kind, ERR_NONE);
	assert_int_equal(result->done, 1);
	assert_string_equal(result->target.name, names[0]);
	s = wait_agent(names[0], is_checked);
	a = agent_of(s, names[0]);
	for (size_t i = 0; i < a->nchecks; i++)
		if (!a->checks[i].same)
			fail_msg("%s: declared %s, actual %s", a->checks[i].what,
				a->checks[i].asked, a->checks[i].actual);
	assert_string_equal(find_check(a, "processes")->actual, "64");
	assert_string_equal(find_check(a, "memory")->actual, "64M");
	assert_int_equal(a->nloosened, 1);
	assert_non_null(strstr(a->loosened[0], "the host's loopback"));
	assert_string_equal(a->role, "worker");
	assert_string_equal(a->file, file);
	assert_true(*a->session);
	snapshot_unref(s);
}

/* A file that says something else by now; and the agent made anew by it. */
static void test_drift(void **state)
{
	const struct snapshot *s;
	const struct agent *a;

	(void)state;
	write_roster_team(99);
	act_on_agent(AGENT_TAKE_DOWN,
		names[1]); /* not up: nothing to do, and everything is looked at again */
	wait_result();
	s = wait_agent(names[0], has_drifted);
	a = agent_of(s, names[0]);
	assert_false(find_check(a, "definition")->same);
	assert_false(find_check(a, "processes")->same);
	assert_string_equal(find_check(a, "processes")->asked, "99");
	assert_string_equal(find_check(a, "processes")->actual, "64");
	assert_true(find_check(a, "image")->same);
	snapshot_unref(s);
	act_on_agent(AGENT_RECREATE, names[0]);
	wait_result();
	assert_int_equal(result->err.kind, ERR_NONE);
	s = wait_agent(names[0], is_as_asked);
	assert_string_equal(find_check(agent_of(s, names[0]), "processes")->actual, "99");
	snapshot_unref(s);
}

/* A file that does not define it any more, or is none any more: it cannot be made anew from it. */
static void test_undefined(void **state)
{
	const struct snapshot *s;
	FILE *f = fopen(file, "w");

	(void)state;
	assert_non_null(f);
	fprintf(f, "agents:\n  %s: {image: \"not-there:1\", workspace: %s/ws}\n", names[1], top);
	assert_int_equal(fclose(f), 0);
	s = wait_agent(names[0], has_drifted);
	assert_string_equal(
		find_check(agent_of(s, names[0]), "definition")->actual, "not there any more");
	snapshot_unref(s);
	f = fopen(file, "w");
	assert_non_null(f);
	fprintf(f, "agents: [\n");
	assert_int_equal(fclose(f), 0);
	s = wait_agent(names[0], is_unreadable);
	snapshot_unref(s);
	write_roster_team(99);
	snapshot_unref(wait_agent(names[0], is_as_asked));
}

/* What it runs, what it ran, and what that printed. */
static void test_roster_commands(void **state)
{
	const char *const argv[] = {"sh", "-c", "echo printed; echo wrong >&2; read wait; exit 5"};
	struct run_request r = {.agent = names[0], .argv = argv, .argc = 3, .program = "test"};
	const struct snapshot *s;
	struct run_result ran;
	struct err e = ERR_INIT;
	struct command *c;
	int p[2], status;
	pid_t child;
	char name[96];

	(void)state;
	assert_int_equal(pipe(p), 0);
	child = fork();
	if (child == 0) {
		close(p[1]);
		r.in = p[0];
		r.out = r.error = -1;
		r.cancel_fd = r.resize_fd = -1;
		_exit(agents_run(&r, &ran, &e) ? 125 : ran.exit_code);
	}
	close(p[0]);
	s = wait_agent(names[0], runs_one);
	assert_non_null(strstr(agent_of(s, names[0])->commands[0].text, "echo printed"));
	snapshot_unref(s);
	close(p[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);
	s = wait_agent(names[0], ran_one);
	assert_string_equal(agent_of(s, names[0])->last->ended, "exit 5");
	assert_false(agent_of(s, names[0])->last->good);
	c = command_new(CMD_JOURNAL);
	c->journal.output_of = agent_of(s, names[0])->last->seq + 1;
	snapshot_unref(s);
	snprintf(name, sizeof name, "berth-%s", names[0]);
	command_target(c, "", "", name);
	backend_send(b, c);
	for (int64_t until = clock_mono_ns() + PATIENCE_NS; !journal && pump_roster(until);)
		;
	assert_non_null(journal);
	assert_int_equal(journal->err.kind, ERR_NONE);
	assert_true(journal->npieces >= 2);
	assert_int_equal(journal->commands[0].exit_code, 5);
}

static void run_shell_line(const char *line)
{
	struct command *c = command_new(CMD_AGENTS);
	char name[96];

	snprintf(name, sizeof name, "berth-%s", names[0]);
	c->agents.what = AGENT_RUN;
	c->agents.argc = 3;
	c->agents.argv = arena_array(&c->mem, 3, sizeof *c->agents.argv);
	c->agents.argv[0] = "sh";
	c->agents.argv[1] = "-c";
	c->agents.argv[2] = arena_strdup(&c->mem, line);
	command_target(c, "", "", name);
	event_free(result);
	result = NULL;
	backend_send(b, c);
	wait_result();
}

/* A command by the console: by the rules, and its end is told. */
static void test_run(void **state)
{
	const struct snapshot *s;

	(void)state;
	run_shell_line("exit 0");
	assert_int_equal(result->err.kind, ERR_NONE);
	assert_int_equal(result->agent_act, AGENT_RUN);
	run_shell_line("exit 7");
	assert_int_equal(result->failed, 1);
	assert_non_null(strstr(result->err.msg, "exit 7"));
	run_shell_line("sudo rm -rf /");
	assert_int_equal(result->err.kind, ERR_REFUSED);
	s = wait_agent(names[0], ran_one);
	assert_null(agent_of(s, names[0])->problem);
	snapshot_unref(s);
}

/* One that cannot come up says why in its row; the other is not touched by that. */
static void test_failure(void **state)
{
	const struct snapshot *s;

	(void)state;
	act_on_agent(AGENT_BRING_UP, names[1]);
	wait_result();
	assert_int_equal(result->failed, 1);
	assert_non_null(strstr(result->err.msg, "not-there:1"));
	s = wait_agent(names[1], has_failed);
	assert_int_equal(agent_of(s, names[1])->state, AGENT_DOWN);
	assert_int_equal(agent_of(s, names[0])->state, AGENT_UP);
	snapshot_unref(s);
}

static void test_roster_down(void **state)
{
	(void)state;
	act_on_agent(AGENT_TAKE_DOWN, names[0]);
	wait_result();
	assert_int_equal(result->err.kind, ERR_NONE);
	/* Still there to be brought up again: its file is known. */
	snapshot_unref(wait_agent(names[0], is_down));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roster_up),
		cmocka_unit_test(test_drift),
		cmocka_unit_test(test_undefined),
		cmocka_unit_test(test_roster_commands),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_roster_down),
	};

	if (!getenv("BERTH_TEST_ENGINE")) {
		puts("BERTH_TEST_ENGINE names no engine.");
		return 77;
	}
	text_init();
	return cmocka_run_group_tests(tests, setup, teardown);
}
