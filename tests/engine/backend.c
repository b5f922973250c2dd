/*
 * backend.c - the whole backend against a real engine: list, every act, events, logs, a shell,
 * inspect, focus.  BERTH_TEST_ENGINE names the engine (unix:///...), which holds image box:1.
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/backend.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/sanitized.h>
#include <berth/str.h>

#include "lib/paths.h"

#define PATIENCE_NS (60 * 1000000000LL)
#define SKIP 77

static const char *host;
static struct backend *b;
static char prefix[48];

/* What has been heard since `forget_events`. */
static struct {
	size_t n;
	struct event *ev[4096];
} heard;

static void forget_events(void)
{
	for (size_t i = 0; i < heard.n; i++)
		event_free(heard.ev[i]);
	heard.n = 0;
}

/* ---- the engine by its own client */

static int docker_quietly(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static int docker_quietly(const char *fmt, ...)
{
	char args[1024], cmd[1280];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(args, sizeof args, fmt, ap);
	va_end(ap);
	snprintf(cmd, sizeof cmd, "docker -H %s %s >/dev/null", host, args);
	return system(cmd);
}

static void run_box(const char *name, const char *options, const char *script)
{
	assert_int_equal(docker_quietly("run -d --name %s-%s %s box:1 sh -c '%s'", prefix, name,
				 options, script),
		0);
}

/* ---- waiting for a state */

static bool pump_once(int64_t until)
{
	struct pollfd p = {backend_fd(b), POLLIN, 0};
	int64_t left = until - clock_mono_ns();
	struct event *ev;

	if (left <= 0)
		return false;
	poll(&p, 1, (int)(left / 1000000) + 1);
	while ((ev = backend_next(b))) {
		if (heard.n == COUNT(heard.ev))
			event_free(ev);
		else
			heard.ev[heard.n++] = ev;
	}
	return true;
}

typedef bool (*condition)(const struct snapshot *s, const void *arg);

/* Waits until the snapshot satisfies `fn`; the caller's reference. */
static const struct snapshot *wait_for_snapshot(condition fn, const void *arg)
{
	int64_t until = clock_mono_ns() + PATIENCE_NS;

	do {
		const struct snapshot *s = backend_snapshot(b);

		if (fn(s, arg))
			return s;
		snapshot_unref(s);
	} while (pump_once(until));
	fail_msg("waited too long");
	return NULL;
}

static struct event *find_event(enum event_kind kind, uint64_t id)
{
	for (size_t i = 0; i < heard.n; i++)
		if (heard.ev[i]->kind == kind && heard.ev[i]->id == id)
			return heard.ev[i];
	return NULL;
}

static struct event *wait_backend_event(enum event_kind kind, uint64_t id)
{
	int64_t until = clock_mono_ns() + PATIENCE_NS;
	struct event *ev;

	do {
		ev = find_event(kind, id);
	} while (!ev && pump_once(until));
	if (!ev)
		fail_msg("no event of kind %d for command %llu", kind, (unsigned long long)id);
	return ev;
}

static const struct container *find_by_short_name(const struct snapshot *s, const char *name)
{
	char full[96];

	snprintf(full, sizeof full, "%s-%s", prefix, name);
	for (size_t i = 0; i < s->ncontainers; i++)
		if (strcmp(s->containers[i].name, full) == 0)
			return &s->containers[i];
	return NULL;
}

struct wanted {
	const char *name;
	enum container_state state;
};

static bool in_state(const struct snapshot *s, const void *arg)
{
	const struct wanted *w = arg;
	const struct container *c = find_by_short_name(s, w->name);

	return c && c->state == w->state && !c->pending;
}

static void wait_state(const char *name, enum container_state state)
{
	struct wanted w = {name, state};

	snapshot_unref(wait_for_snapshot(in_state, &w));
}

static bool is_absent(const struct snapshot *s, const void *name)
{
	return s->listed && !find_by_short_name(s, name);
}

static bool has_rates(const struct snapshot *s, const void *name)
{
	const struct container *c = find_by_short_name(s, name);

	return c && c->stats.rates;
}

/* A command with this container as target. */
static void aim_at(struct command *c, const char *name)
{
	const struct snapshot *s = backend_snapshot(b);
	const struct container *row = find_by_short_name(s, name);

	assert_non_null(row);
	command_target(c, row->engine, row->id, row->name);
	snapshot_unref(s);
}

static struct event *act_on(const char *name, enum act what)
{
	struct command *c = command_new(CMD_ACT);

	c->act.what = what;
	c->act.timeout_s = 0;
	c->act.force = what == ACT_REMOVE;
	aim_at(c, name);
	return wait_backend_event(EV_RESULT, backend_send(b, c));
}

/* ---- set-up */

static bool up_and_listed(const struct snapshot *s, const void *arg)
{
	(void)arg;
	return s->engine.phase == ENGINE_UP && s->listed;
}

static int setup(void **state)
{
	const struct backend_options o = {.host = host, .program = "test", .hz = 4};
	struct err e = ERR_INIT;

	(void)state;
	b = backend_start(&o, &e);
	if (!b) {
		fprintf(stderr, "%s\n", e.msg);
		return -1;
	}
	snapshot_unref(wait_for_snapshot(up_and_listed, NULL));
	return 0;
}

static int teardown(void **state)
{
	char cmd[512];

	(void)state;
	backend_stop(b);
	b = NULL;
	forget_events();
	snprintf(cmd, sizeof cmd,
		"docker -H %s ps -aq --filter name=%s | xargs -r docker -H %s rm -fv >/dev/null",
		host, prefix, host);
	return system(cmd);
}

/* ---- the tests */

static bool all_sampled(const struct snapshot *s, const void *arg)
{
	(void)arg;
	return s->listed && s->stats_done && s->ncontainers > 0;
}

static void test_backend_list(void **state)
{
	const struct snapshot *s;
	const struct container *c;

	(void)state;
	run_box("list", "--label berth.agent=agent_a --memory 64m --pids-limit 50", "sleep 1000");
	snapshot_unref(wait_for_snapshot(has_rates, "list"));
	s = wait_for_snapshot(all_sampled, NULL);
	c = find_by_short_name(s, "list");
	assert_int_equal(strlen(c->id), 64);
	assert_string_equal(c->engine, s->engine.id);
	assert_string_equal(c->image, "box:1");
	assert_string_equal(c->agent, "agent_a");
	assert_int_equal(c->state, CONTAINER_RUNNING);
	assert_true(c->pid > 0);
	assert_true(c->started_wall_ms > 0 && c->created_wall_ms > 0);
	assert_true(c->stats.memory_limited);
	assert_int_equal(c->stats.memory_limit_bytes, 64 << 20);
	assert_int_equal(c->stats.pids_limit, 50);
	assert_true(c->stats.pids >= 1);
	if (s->engine.local)
		assert_int_equal(c->stats.source, STATS_CGROUP);
	assert_true(s->host.cpus > 0 && s->host.memory_total_bytes > 0);
	assert_ptr_equal(snapshot_find(s, c->engine, c->id), c);
	snapshot_unref(s);
}

static void test_backend_acts(void **state)
{
	struct event *ev;

	(void)state;
	run_box("acts", "", "sleep 1000");
	wait_state("acts", CONTAINER_RUNNING);
	assert_int_equal(act_on("acts", ACT_PAUSE)->err.kind, ERR_NONE);
	wait_state("acts", CONTAINER_PAUSED);
	assert_int_equal(act_on("acts", ACT_UNPAUSE)->err.kind, ERR_NONE);
	wait_state("acts", CONTAINER_RUNNING);
	assert_int_equal(act_on("acts", ACT_STOP)->err.kind, ERR_NONE);
	wait_state("acts", CONTAINER_EXITED);
	assert_int_equal(act_on("acts", ACT_START)->err.kind, ERR_NONE);
	wait_state("acts", CONTAINER_RUNNING);
	assert_int_equal(act_on("acts", ACT_RESTART)->err.kind, ERR_NONE);
	wait_state("acts", CONTAINER_RUNNING);
	assert_int_equal(act_on("acts", ACT_KILL)->err.kind, ERR_NONE);
	wait_state("acts", CONTAINER_EXITED);
	/* what cannot be done is said, and stays in the row */
	ev = act_on("acts", ACT_PAUSE);
	assert_int_not_equal(ev->err.kind, ERR_NONE);
	assert_int_equal(ev->failed, 1);
	{
		const struct snapshot *s = backend_snapshot(b);

		assert_non_null(find_by_short_name(s, "acts")->problem);
		snapshot_unref(s);
	}
	ev = act_on("acts", ACT_REMOVE);
	assert_int_equal(ev->err.kind, ERR_NONE);
	assert_int_equal(ev->done, 1);
	snapshot_unref(wait_for_snapshot(is_absent, "acts"));
}

static bool job_done(const struct snapshot *s, const void *name)
{
	for (size_t i = 0; i < s->njobs; i++)
		if (s->jobs[i].own && strcmp(s->jobs[i].name, name) == 0)
			return s->jobs[i].state == JOB_DONE;
	return false;
}

static void test_bulk_remove(void **state)
{
	struct command *c = command_new(CMD_ACT);
	struct event *ev;
	char name[16];

	(void)state;
	c->act.what = ACT_REMOVE;
	c->act.force = true;
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof name, "bulk%d", i);
		run_box(name, "", "sleep 1000");
		wait_state(name, CONTAINER_RUNNING);
		aim_at(c, name);
	}
	ev = wait_backend_event(EV_RESULT, backend_send(b, c));
	assert_int_equal(ev->err.kind, ERR_NONE);
	assert_int_equal(ev->done, 4);
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof name, "bulk%d", i);
		snapshot_unref(wait_for_snapshot(is_absent, name));
	}
	snapshot_unref(wait_for_snapshot(job_done, "remove 4 containers"));
}

static void test_backend_read_only(void **state)
{
	struct command *c = command_new(CMD_READ_ONLY);

	(void)state;
	run_box("ro", "", "sleep 1000");
	wait_state("ro", CONTAINER_RUNNING);
	c->read_only = true;
	wait_backend_event(EV_RESULT, backend_send(b, c));
	assert_int_equal(act_on("ro", ACT_KILL)->err.kind, ERR_REFUSED);
	wait_state("ro", CONTAINER_RUNNING);
	c = command_new(CMD_READ_ONLY);
	wait_backend_event(EV_RESULT, backend_send(b, c));
	/* another engine's container is not ours to act on, whatever its id */
	c = command_new(CMD_ACT);
	c->act.what = ACT_KILL;
	aim_at(c, "ro");
	c->targets[0].engine = "another";
	assert_int_equal(wait_backend_event(EV_RESULT, backend_send(b, c))->err.kind, ERR_CONFLICT);
	wait_state("ro", CONTAINER_RUNNING);
}

static bool heard_action(const char *action, const char *name)
{
	char full[96];

	snprintf(full, sizeof full, "%s-%s", prefix, name);
	for (size_t i = 0; i < heard.n; i++)
		if (heard.ev[i]->kind == EV_ENGINE &&
			strcmp(heard.ev[i]->engine_event.action, action) == 0 &&
			strcmp(heard.ev[i]->engine_event.name, full) == 0)
			return true;
	return false;
}

static void test_backend_events(void **state)
{
	static const char *const actions[] = {"create", "start", "die", "destroy"};
	int64_t until = clock_mono_ns() + PATIENCE_NS;

	(void)state;
	assert_int_equal(docker_quietly("run --rm --name %s-short box:1 true", prefix), 0);
	for (size_t i = 0; i < COUNT(actions); i++) {
		while (!heard_action(actions[i], "short"))
			assert_true(pump_once(until));
	}
	snapshot_unref(wait_for_snapshot(is_absent, "short"));
}

/* All text of a subscription's lines so far, and how many came from each source. */
static void gather_log_text(uint64_t id, struct str *text, size_t from[2])
{
	str_clear(text);
	from[0] = from[1] = 0;
	for (size_t i = 0; i < heard.n; i++) {
		const struct event *ev = heard.ev[i];

		if (ev->kind != EV_LOG_LINES || ev->id != id)
			continue;
		for (size_t k = 0; k < ev->nlines; k++) {
			assert_true(ev->lines[k].source < 2);
			assert_true(ev->lines[k].wall_ns > 0);
			from[ev->lines[k].source]++;
			str_add(text, ev->lines[k].text, ev->lines[k].len);
			str_addc(text, '\n');
		}
	}
}

static void wait_text(uint64_t id, const char *what)
{
	AUTO_STR struct str text = STR_INIT;
	int64_t until = clock_mono_ns() + PATIENCE_NS;
	size_t from[2];

	do {
		gather_log_text(id, &text, from);
		if (strstr(text.s, what))
			return;
	} while (pump_once(until));
	fail_msg("\"%s\" never came in: %s", what, text.s);
}

static void test_backend_logs(void **state)
{
	struct command *c;
	AUTO_STR struct str text = STR_INIT;
	size_t from[2];
	uint64_t id, all;
	int64_t until;

	(void)state;
	run_box("log0", "",
		"echo first-0; echo oops >&2; while ! test -e /go; do sleep 0.1; done; echo gone-on; sleep 1000");
	run_box("log1", "-t", "echo first-1; sleep 1000");
	wait_state("log0", CONTAINER_RUNNING);
	wait_state("log1", CONTAINER_RUNNING);
	c = command_new(CMD_LOGS_OPEN);
	c->logs.follow = true;
	aim_at(c, "log0");
	aim_at(c, "log1");
	id = backend_send(b, c);
	wait_text(id, "first-0\n");
	wait_text(id, "oops\n");
	wait_text(id, "first-1");
	assert_int_equal(docker_quietly("exec %s-log0 touch /go", prefix), 0);
	wait_text(id, "gone-on\n");
	/* a restart is followed, and nothing comes twice */
	assert_int_equal(docker_quietly("restart -t 0 %s-log1", prefix), 0);
	until = clock_mono_ns() + PATIENCE_NS;
	do {
		if (!pump_once(until))
			fail_msg("what comes after the restart never came in: %s", text.s);
		gather_log_text(id, &text, from);
	} while (from[1] < 2);
	assert_int_equal(from[1], 2);
	/* without following it ends by itself */
	c = command_new(CMD_LOGS_OPEN);
	c->logs.span.tail = 1;
	aim_at(c, "log0");
	all = backend_send(b, c);
	assert_int_equal(wait_backend_event(EV_LOG_END, all)->err.kind, ERR_NONE);
	gather_log_text(all, &text, from);
	assert_string_equal(text.s, "gone-on\n");
	assert_null(find_event(EV_LOG_END, id));
	/* removal of all sources ends it */
	act_on("log0", ACT_REMOVE);
	act_on("log1", ACT_REMOVE);
	assert_int_equal(wait_backend_event(EV_LOG_END, id)->err.kind, ERR_NOT_FOUND);
}

static void wait_output(uint64_t id, const char *what)
{
	AUTO_STR struct str text = STR_INIT;
	int64_t until = clock_mono_ns() + PATIENCE_NS;

	do {
		str_clear(&text);
		for (size_t i = 0; i < heard.n; i++)
			if (heard.ev[i]->kind == EV_SHELL_OUTPUT && heard.ev[i]->id == id)
				str_add(&text, heard.ev[i]->bytes, heard.ev[i]->nbytes);
		if (strstr(text.s, what))
			return;
	} while (pump_once(until));
	fail_msg("\"%s\" never came in: %s", what, text.s);
}

static void type_into_shell(uint64_t shell, const char *text)
{
	struct command *c = command_new(CMD_SHELL_INPUT);

	c->ref = shell;
	c->input.bytes = arena_strdup(&c->mem, text);
	c->input.n = strlen(text);
	backend_send(b, c);
}

static void test_shell(void **state)
{
	struct command *c;
	uint64_t id;

	(void)state;
	run_box("shell", "", "sleep 1000");
	wait_state("shell", CONTAINER_RUNNING);
	c = command_new(CMD_SHELL_OPEN);
	aim_at(c, "shell");
	c->shell.argv = arena_array(&c->mem, 1, sizeof *c->shell.argv);
	c->shell.argv[0] = "sh";
	c->shell.argc = 1;
	c->shell.columns = 91;
	c->shell.rows = 33;
	id = backend_send(b, c);
	wait_backend_event(EV_SHELL_READY, id);
	/* Engines before 1.42 are told the size right after the start: the shell may ask earlier. */
	type_into_shell(id,
		"echo $((20+22)); until [ \"$(stty size 2>&1)\" = '33 91' ]; do sleep 0.1; done; "
		"echo fit\"\"ted\n");
	wait_output(id, "42");
	wait_output(id, "fitted");
	c = command_new(CMD_SHELL_RESIZE);
	c->ref = id;
	c->size.columns = 77;
	c->size.rows = 22;
	backend_send(b, c);
	type_into_shell(id,
		"while [ \"$(stty size)\" != '22 77' ]; do sleep 0.1; done; echo re\"\"sized\n");
	wait_output(id, "resized");
	type_into_shell(id, "exit 5\n");
	assert_int_equal(wait_backend_event(EV_SHELL_END, id)->exit_code, 5);
	/* in a container that does not run there is none */
	assert_int_equal(act_on("shell", ACT_KILL)->err.kind, ERR_NONE);
	wait_state("shell", CONTAINER_EXITED);
	c = command_new(CMD_SHELL_OPEN);
	aim_at(c, "shell");
	c->shell.argv = arena_array(&c->mem, 1, sizeof *c->shell.argv);
	c->shell.argv[0] = "sh";
	c->shell.argc = 1;
	assert_int_equal(
		wait_backend_event(EV_SHELL_END, backend_send(b, c))->err.kind, ERR_CONFLICT);
}

static uint64_t open_shell_as(const char *name, const char *user, const char *line)
{
	struct command *c = command_new(CMD_SHELL_OPEN);

	aim_at(c, name);
	c->shell.argv = arena_array(&c->mem, 3, sizeof *c->shell.argv);
	c->shell.argv[0] = "sh";
	c->shell.argv[1] = "-c";
	c->shell.argv[2] = arena_strdup(&c->mem, line);
	c->shell.argc = 3;
	c->shell.user = arena_strdup(&c->mem, user);
	c->shell.columns = 80;
	c->shell.rows = 24;
	return backend_send(b, c);
}

/* As somebody else; not in what is, or only says that it is, of berth's. */
static void test_shell_as(void **state)
{
	struct event *ev;
	uint64_t id;

	(void)state;
	run_box("as", "", "sleep 1000");
	run_box("as-ours", "--label berth.session=5e55", "sleep 1000");
	wait_state("as", CONTAINER_RUNNING);
	wait_state("as-ours", CONTAINER_RUNNING);
	id = open_shell_as("as", "1234:77", "echo I am $(id -u) of $(id -g)");
	wait_output(id, "I am 1234 of 77");
	assert_int_equal(wait_backend_event(EV_SHELL_END, id)->exit_code, 0);
	ev = wait_backend_event(EV_SHELL_END, open_shell_as("as-ours", "1234", "id"));
	assert_int_equal(ev->err.kind, ERR_REFUSED);
	id = open_shell_as("as-ours", NULL, "echo as it is");
	wait_output(id, "as it is");
	act_on("as", ACT_REMOVE);
	act_on("as-ours", ACT_REMOVE);
}

static void test_backend_inspect(void **state)
{
	struct command *c = command_new(CMD_INSPECT);
	struct event *ev;

	(void)state;
	run_box("inspect", "", "sleep 1000");
	wait_state("inspect", CONTAINER_RUNNING);
	aim_at(c, "inspect");
	ev = wait_backend_event(EV_INSPECT, backend_send(b, c));
	assert_true(ev->nbytes > 100);
	assert_int_equal(ev->bytes[0], '{');
	assert_non_null(memmem(ev->bytes, ev->nbytes, ev->target.id, 64));
	act_on("inspect", ACT_REMOVE);
	snapshot_unref(wait_for_snapshot(is_absent, "inspect"));
}

static const char *value_of(const struct key_value *kv, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(kv[i].key, key) == 0)
			return kv[i].value;
	return "";
}

static bool shown_in_full(const struct snapshot *s, const void *arg)
{
	(void)arg;
	return s->detail && s->detail->inspected && s->detail->nprocesses >= 2 &&
		s->detail->cpu_percent.len >= 3;
}

static bool has_posture(const struct detail *d, const char *what)
{
	for (size_t i = 0; i < d->nposture; i++)
		if (strcmp(d->posture[i].what, what) == 0)
			return true;
	return false;
}

static void test_focus(void **state)
{
	struct command *c = command_new(CMD_FOCUS);
	const struct snapshot *s;
	const struct detail *d;

	(void)state;
	run_box("focus",
		"--memory 32m --pids-limit 20 --cpus 0.5 --network none --read-only --user 1000:1000 "
		"--cap-drop ALL --security-opt no-new-privileges -e API_TOKEN=hunter2 -e PLAIN=text "
		"--tmpfs /tmp -v /etc/hostname:/x:ro",
		"sleep 1000 & sleep 1001");
	wait_state("focus", CONTAINER_RUNNING);
	aim_at(c, "focus");
	backend_send(b, c);
	s = wait_for_snapshot(shown_in_full, NULL);
	d = s->detail;
	assert_null(d->problem);
	assert_string_equal(value_of(d->env, d->nenv, "PLAIN"), "text");
	assert_string_equal(value_of(d->env, d->nenv, "API_TOKEN"), "********");
	assert_true(d->nmounts >= 1);
	assert_true(d->interval_s > 0.05 && d->interval_s < 120);
	if (s->engine.local) {
		assert_string_equal(value_of(d->limits, d->nlimits, "memory"), "32M, enforced");
		assert_string_equal(value_of(d->limits, d->nlimits, "pids"), "20, enforced");
		assert_string_equal(value_of(d->limits, d->nlimits, "cpu"), "0.50, enforced");
	}
	assert_true(has_posture(d, "non-root 1000:1000"));
	assert_true(has_posture(d, "no capabilities"));
	assert_true(has_posture(d, "no new privileges"));
	assert_true(has_posture(d, "read-only root"));
	assert_true(has_posture(d, "network none"));
	snapshot_unref(s);
	backend_send(b, command_new(CMD_FOCUS));
}

static void test_save(void **state)
{
	char dir[] = "/tmp/berth-test-XXXXXX", path[64], link_path[64];
	struct command *c;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/saved", dir);
	snprintf(link_path, sizeof link_path, "%s/link", dir);
	assert_int_equal(symlink("/tmp/berth-nowhere", link_path), 0);
	for (int i = 0; i < 3; i++) {
		c = command_new(CMD_SAVE);
		c->save.path = arena_strdup(&c->mem, i < 2 ? path : link_path);
		c->save.bytes = "hello";
		c->save.n = 5;
		assert_int_equal(wait_backend_event(EV_RESULT, backend_send(b, c))->err.kind,
			i == 0 ? ERR_NONE : ERR_CONFLICT);
	}
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 5);
	assert_int_equal(stat("/tmp/berth-nowhere", &st), -1);
	unlink(path);
	unlink(link_path);
	rmdir(dir);
}

static void test_backend_import(void **state)
{
	char dir[] = "/tmp/berth-test-XXXXXX", cmd[512], path[64], reference[80];
	struct command *c = command_new(CMD_IMAGE_IMPORT);

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/box.tar", dir);
	snprintf(cmd, sizeof cmd, "'%s/configs/images/make-box' >%s", test_source, path);
	assert_int_equal(system(cmd), 0);
	snprintf(reference, sizeof reference, "%s:1", prefix);
	c->import.path = arena_strdup(&c->mem, path);
	c->import.reference = arena_strdup(&c->mem, reference);
	assert_int_equal(wait_backend_event(EV_RESULT, backend_send(b, c))->err.kind, ERR_NONE);
	assert_int_equal(docker_quietly("image inspect %s", reference), 0);
	assert_int_equal(docker_quietly("rmi %s", reference), 0);
	snprintf(cmd, sizeof cmd, "image import %s", reference);
	snapshot_unref(wait_for_snapshot(job_done, cmd));
	/* no such file: a sentence that names it */
	unlink(path);
	c = command_new(CMD_IMAGE_IMPORT);
	c->import.path = arena_strdup(&c->mem, path);
	c->import.reference = arena_strdup(&c->mem, reference);
	{
		struct event *ev = wait_backend_event(EV_RESULT, backend_send(b, c));

		assert_int_not_equal(ev->err.kind, ERR_NONE);
		assert_non_null(strstr(ev->err.msg, path));
	}
	rmdir(dir);
}

static size_t resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long size = 0, pages = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu", &size, &pages), 2);
	fclose(f);
	return pages * 4096;
}

#define LINES 300000

/* Nobody reads: the stream stops and memory with it.  Then somebody does: every line is there. */
static void test_back_pressure(void **state)
{
	struct command *c;
	struct event *ev;
	int64_t until;
	size_t before, after, was;
	int next = 1;
	bool ended = false;
	uint64_t id;
	char script[32];

	(void)state;
	snprintf(script, sizeof script, "seq %d", LINES);
	run_box("pressure", "", script);
	assert_int_equal(docker_quietly("wait %s-pressure", prefix), 0);
	wait_state("pressure", CONTAINER_EXITED);
	before = resident_bytes();
	c = command_new(CMD_LOGS_OPEN);
	aim_at(c, "pressure");
	id = backend_send(b, c);
	/* until it grows no more; a sanitizer keeps what is freed for a while */
	after = before;
	for (int round = 0; round < 40; round++) {
		was = after;
		for (int i = 0; i < 20; i++) {
			struct pollfd none = {-1, 0, 0};

			poll(&none, 1, 25);
		}
		after = resident_bytes();
		if (after <= was + ((size_t)64 << 10))
			break;
	}
	printf("# %zu KiB grown before the stream stopped\n", (after - before) / 1024);
	assert_true(SANITIZED || after - before < (size_t)24 << 20);
	until = clock_mono_ns() + 4 * PATIENCE_NS;
	while (!ended && clock_mono_ns() < until) {
		ev = backend_next(b);
		if (!ev) {
			struct pollfd p = {backend_fd(b), POLLIN, 0};

			poll(&p, 1, 1000);
			continue;
		}
		if (ev->id == id && ev->kind == EV_LOG_LINES) {
			assert_int_equal(ev->dropped, 0);
			for (size_t i = 0; i < ev->nlines; i++)
				assert_int_equal(strtol(ev->lines[i].text, NULL, 10), next++);
		}
		ended = ev->id == id && ev->kind == EV_LOG_END;
		event_free(ev);
	}
	assert_true(ended);
	assert_int_equal(next, LINES + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_backend_list, setup, teardown),
		cmocka_unit_test_setup_teardown(test_backend_acts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bulk_remove, setup, teardown),
		cmocka_unit_test_setup_teardown(test_backend_read_only, setup, teardown),
		cmocka_unit_test_setup_teardown(test_backend_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_backend_logs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shell, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shell_as, setup, teardown),
		cmocka_unit_test_setup_teardown(test_backend_inspect, setup, teardown),
		cmocka_unit_test_setup_teardown(test_focus, setup, teardown),
		cmocka_unit_test_setup_teardown(test_save, setup, teardown),
		cmocka_unit_test_setup_teardown(test_backend_import, setup, teardown),
		cmocka_unit_test_setup_teardown(test_back_pressure, setup, teardown),
	};

	host = getenv("BERTH_TEST_ENGINE");
	if (!host) {
		fprintf(stderr, "BERTH_TEST_ENGINE names no engine.\n");
		return SKIP;
	}
	snprintf(prefix, sizeof prefix, "observe-test-%d", (int)getpid());
	if (getenv("BERTH_TEST_ONLY"))
		cmocka_set_test_filter(getenv("BERTH_TEST_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
