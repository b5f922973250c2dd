/*
 * verbs.c - every verb against a real engine.
 *
 * BERTH_TEST_ENGINE names it (unix:// or tcp://; TLS by DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, as
 * for the docker CLI); it must have the image box:1.  transports.sh repeats this over every
 * transport. BERTH_TEST_PODMAN=1: it is podman, and where it differs is said in place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <uv.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#include "engine/engine.h"
#include "net/http.h"

enum { PATIENCE_MS = 60000 };

static uv_loop_t loop;
static uv_timer_t watchdog;
static uv_timer_t beat; /* wakes UV_RUN_ONCE, which waits on after what a timer brought */
static struct endpoint ep;
static struct engine *en;
static struct http *raw; /* for what engine.h has no verb for: create */
static int closed;

/* What the last callback said. */
static int ends; /* callbacks that end a call */
static struct err last;

static void fail_late(uv_timer_t *timer)
{
	(void)timer;
	fail_msg("nothing happened for %d s", PATIENCE_MS / 1000);
}

static void wake_for_beat(uv_timer_t *timer)
{
	(void)timer;
}

/* Run the loop until *what reaches n. */
static void run_loop_until(const int *what, int n)
{
	uv_timer_start(&watchdog, fail_late, PATIENCE_MS, 0);
	while (*what < n)
		uv_run(&loop, UV_RUN_ONCE);
	uv_timer_stop(&watchdog);
}

/* For what is asked again and again: the time by which it must have come, and a look at the clock. */
static int64_t begin_patience(void)
{
	return clock_mono_ns() + PATIENCE_MS * INT64_C(1000000);
}

static void check_patience(int64_t until, const char *what)
{
	if (clock_mono_ns() > until)
		fail_msg("waited %d s for %s", PATIENCE_MS / 1000, what);
}

static void note_end(const struct err *err)
{
	ends++;
	last = err ? *err : (struct err)ERR_INIT;
}

static void on_verb_done(void *ctx, const struct err *err)
{
	(void)ctx;
	note_end(err);
}

static void expect_end(enum err_kind kind)
{
	int now = ends;

	run_loop_until(&ends, now + 1);
	if (last.kind != kind)
		fail_msg("kind %d expected, got %d: %s", kind, last.kind, last.msg);
}

static void on_verbs_closed(void *ctx)
{
	(void)ctx;
	closed++;
}

static int setup(void **state)
{
	const char *url = getenv("BERTH_TEST_ENGINE");
	struct http_server server;
	struct err e = ERR_INIT;

	(void)state;
	if (endpoint_choose(&(struct endpoint_options){.host = url}, &ep, &e) ||
		endpoint_reach(&ep, &(struct endpoint_reach){0}, &e))
		fail_msg("%s", e.msg);
	uv_loop_init(&loop);
	uv_timer_init(&loop, &watchdog);
	uv_timer_init(&loop, &beat);
	uv_timer_start(&beat, wake_for_beat, 2, 2);
	en = engine_open(&loop, &ep, &e);
	assert_non_null(en);
	server = (struct http_server){.unix_path = ep.path,
		.host = ep.host,
		.port = ep.port,
		.tls = ep.transport == TRANSPORT_TLS,
		.tls_verify = ep.tls_verify,
		.ca = ep.ca,
		.cert = ep.cert,
		.key = ep.key};
	raw = http_open(&loop, &server, &e);
	assert_non_null(raw);
	ends = closed = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (en)
		engine_close(en, on_verbs_closed, NULL);
	else
		closed++;
	http_close(raw, on_verbs_closed, NULL);
	run_loop_until(&closed, 2);
	uv_close((uv_handle_t *)&watchdog, NULL);
	uv_close((uv_handle_t *)&beat, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0); /* no handle is left */
	endpoint_release(&ep);
	return 0;
}

/* Containers */

static char made[65];

static void on_raw(void *ctx, const struct http_reply *r, const struct err *err)
{
	const char *id = strstr(r->body, "\"Id\":\"");

	(void)ctx;
	if (err)
		fail_msg("%s", err->msg);
	if (r->status >= 400)
		fail_msg("%d: %s", r->status, r->body);
	if (id)
		snprintf(made, sizeof made, "%.64s", id + 6);
	ends++;
}

static void raw_post(const char *target, const char *body)
{
	struct http_request rq = {.method = "POST", .target = target, .body = body, .done = on_raw};
	int now = ends;

	http_send(raw, &rq);
	run_loop_until(&ends, now + 1);
}

/* podman asks for more open files by default than a machine may have. */
#define ULIMITS                                                           \
	"\"Ulimits\":[{\"Name\":\"nofile\",\"Soft\":1024,\"Hard\":1024}," \
	"{\"Name\":\"nproc\",\"Soft\":1024,\"Hard\":1024}]"

/* Create and start a container; `more` are members of the request.  Returns its id in `made`. */
static const char *start_container(const char *name, const char *script, const char *more)
{
	AUTO_FREE char *body = xasprintf("{\"Image\":\"box:1\",\"Cmd\":[\"sh\",\"-c\",\"%s\"],"
					 "\"HostConfig\":{\"NetworkMode\":\"none\"," ULIMITS "}%s}",
		script, more);
	AUTO_FREE char *target =
		xasprintf("/v1.41/containers/create?name=engine-%s-%d", name, (int)getpid());

	raw_post(target, body);
	engine_act(en, ACT_START, made, false, false, -1, on_verb_done, NULL);
	expect_end(ERR_NONE);
	return made;
}

static void remove_made(void)
{
	engine_act(en, ACT_REMOVE, made, true, true, -1, on_verb_done, NULL);
	expect_end(ERR_NONE);
}

/* hello, list, counts */

static void on_info(void *ctx, const struct engine_info *info, const struct err *err)
{
	(void)ctx;
	note_end(err);
	if (err)
		return;
	assert_true(*info->id && *info->name && *info->version && *info->os && *info->kernel &&
		*info->arch && *info->root_dir && *info->storage && *info->api);
	assert_true(strcmp(info->cgroup, "1") == 0 || strcmp(info->cgroup, "2") == 0);
	assert_int_equal(info->cpus, sysconf(_SC_NPROCESSORS_CONF));
	assert_true(info->memory_bytes > 64 << 20);
	assert_string_equal(info->product, getenv("BERTH_TEST_PODMAN") ? "podman" : "docker");
}

static void test_hello(void **state)
{
	(void)state;
	engine_hello(en, on_info, NULL);
	expect_end(ERR_NONE);
}

static struct {
	char name[128], label[64], image[64];
	enum container_state state;
	int64_t created;
	size_t n;
} listed;

static void on_verb_list(
	void *ctx, const struct engine_summary *rows, size_t n, const struct err *err)
{
	(void)ctx;
	note_end(err);
	memset(&listed, 0, sizeof listed);
	listed.n = n;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i].id, made) != 0)
			continue;
		snprintf(listed.name, sizeof listed.name, "%s", rows[i].name);
		snprintf(listed.image, sizeof listed.image, "%s", rows[i].image);
		listed.state = rows[i].state;
		listed.created = rows[i].created_wall_ms;
		for (size_t k = 0; k < rows[i].nlabels; k++)
			if (strcmp(rows[i].labels[k].key, "berth.agent") == 0)
				snprintf(listed.label, sizeof listed.label, "%s",
					rows[i].labels[k].value);
	}
}

static void test_verb_list(void **state)
{
	(void)state;
	start_container(
		"list", "exec sleep 1000", ",\"Labels\":{\"berth.agent\":\"agent \\u263a\"}");
	engine_list(en, on_verb_list, NULL);
	expect_end(ERR_NONE);
	assert_non_null(strstr(listed.name, "engine-list-"));
	assert_non_null(strstr(listed.image, "box:1"));
	assert_string_equal(listed.label, "agent \xe2\x98\xba");
	assert_int_equal(listed.state, CONTAINER_RUNNING);
	assert_true(llabs(listed.created - clock_wall_ms()) < 60000);
	remove_made();
}

static void on_verb_counts(void *ctx, int images, int networks, int volumes, const struct err *err)
{
	(void)ctx;
	note_end(err);
	if (err)
		return;
	assert_true(images >= 1);
	assert_true(networks >= 1);
	assert_true(volumes >= 0);
}

static void test_counts(void **state)
{
	(void)state;
	engine_counts(en, on_verb_counts, NULL);
	expect_end(ERR_NONE);
}

/* inspect, act */

static struct {
	enum container_state state;
	int exit_code, pid;
} seen;

static void on_verb_inspected(void *ctx, const struct engine_container *c, const char *json,
	size_t len, const struct err *err)
{
	void (*look)(const struct engine_container *) = NULL;

	memcpy(&look, &ctx, sizeof look);
	note_end(err);
	if (err)
		return;
	assert_true(len > 100 && json[0] == '{');
	seen.state = c->state;
	seen.exit_code = c->exit_code;
	seen.pid = c->pid;
	if (look)
		look(c);
}

static void look_at(void (*look)(const struct engine_container *))
{
	void *ctx = NULL;

	memcpy(&ctx, &look, sizeof look);
	engine_inspect(en, made, on_verb_inspected, ctx);
	expect_end(ERR_NONE);
}

static void look_hard(const struct engine_container *c)
{
	assert_string_equal(c->id, made);
	assert_non_null(strstr(c->name, "engine-inspect-"));
	assert_non_null(strstr(c->image, "box:1"));
	assert_string_equal(c->command, "sh -c exec sleep 1000");
	assert_string_equal(c->user, "1000:1000");
	assert_string_equal(c->workdir, "/tmp");
	assert_true(c->memory_limit == 64 << 20);
	assert_true(c->pids_limit == 50);
	assert_true(c->read_only_root && c->no_new_privileges && !c->privileged && !c->tty);
	assert_string_equal(c->seccomp, "default");
	assert_true(c->ncap_drop >= 1); /* podman spells ALL out */
	assert_int_equal(c->state, CONTAINER_RUNNING);
	assert_true(c->pid > 0);
	assert_true(llabs(c->started_wall_ms - clock_wall_ms()) < 60000);
	assert_int_equal(c->finished_wall_ms > c->started_wall_ms, 0);
	for (size_t i = 0; i < c->nenv; i++)
		if (strcmp(c->env[i].key, "TOKEN") == 0)
			assert_string_equal(c->env[i].value, "a=b");
	assert_true(c->nenv >= 1);
}

static void test_verb_inspect(void **state)
{
	static const char body[] =
		"{\"Image\":\"box:1\",\"Cmd\":[\"sh\",\"-c\",\"exec sleep 1000\"],"
		"\"User\":\"1000:1000\",\"WorkingDir\":\"/tmp\",\"Env\":[\"TOKEN=a=b\"],"
		"\"HostConfig\":{" ULIMITS
		",\"NetworkMode\":\"none\",\"Memory\":67108864,\"PidsLimit\":50,"
		"\"ReadonlyRootfs\":true,\"CapDrop\":[\"ALL\"],"
		"\"SecurityOpt\":[\"no-new-privileges\"]}}";
	AUTO_FREE char *target =
		xasprintf("/v1.41/containers/create?name=engine-inspect-%d", (int)getpid());

	(void)state;
	raw_post(target, body);
	engine_act(en, ACT_START, made, false, false, -1, on_verb_done, NULL);
	expect_end(ERR_NONE);
	look_at(look_hard);
	remove_made();
	engine_inspect(en, made, on_verb_inspected, NULL);
	expect_end(ERR_NOT_FOUND);
	assert_int_equal(last.sys, 404);
	assert_non_null(strstr(last.msg, "cannot inspect "));
}

static void act_and_expect(enum act a, int timeout_s, enum err_kind kind)
{
	engine_act(en, a, made, false, false, timeout_s, on_verb_done, NULL);
	expect_end(kind);
}

static void expect_state(enum container_state s)
{
	look_at(NULL);
	assert_int_equal(seen.state, s);
}

static int sleepers;

static void on_verb_top(void *ctx, const struct process_info *p, size_t n, const struct err *err)
{
	(void)ctx;
	sleepers = 0;
	for (size_t i = 0; i < n; i++) {
		assert_true(p[i].pid > 0);
		sleepers += strstr(p[i].command, "sleep") == p[i].command;
	}
	note_end(err);
}

/* Until n processes called sleep run: the script has come that far. */
static void until_sleeping(int n)
{
	int64_t until = begin_patience();

	do {
		check_patience(until, "the script to sleep");
		engine_top(en, made, on_verb_top, NULL);
		expect_end(ERR_NONE);
	} while (sleepers < n);
}

static void test_verb_acts(void **state)
{
	int64_t until;
	int first;

	(void)state;
	start_container("acts", "trap 'exit 7' TERM; while :; do sleep 0.05; done", "");
	look_at(NULL);
	first = seen.pid;
	act_and_expect(ACT_START, -1, ERR_NONE); /* 304: so already */
	act_and_expect(ACT_PAUSE, -1, ERR_NONE);
	expect_state(CONTAINER_PAUSED);
	act_and_expect(ACT_UNPAUSE, -1, ERR_NONE);
	expect_state(CONTAINER_RUNNING);
	act_and_expect(ACT_RESTART, 5, ERR_NONE);
	expect_state(CONTAINER_RUNNING);
	assert_int_not_equal(seen.pid, first);
	until_sleeping(1); /* the trap is set */
	act_and_expect(ACT_STOP, 10, ERR_NONE);
	expect_state(CONTAINER_EXITED);
	assert_int_equal(seen.exit_code, 7);
	act_and_expect(ACT_START, -1, ERR_NONE);
	act_and_expect(ACT_REMOVE, -1,
		getenv("BERTH_TEST_PODMAN") ? ERR_FAILED : ERR_CONFLICT); /* it runs */
	act_and_expect(ACT_KILL, -1, ERR_NONE);
	until = begin_patience();
	do {
		check_patience(until, "the killed container to end");
		look_at(NULL);
	} while (seen.state == CONTAINER_RUNNING);
	assert_int_equal(seen.exit_code, 137);
	remove_made();
	act_and_expect(ACT_STOP, 1, ERR_NOT_FOUND);
}

/* stats, top */

static struct counters counted;

static void on_stats(void *ctx, const struct counters *c, const struct err *err)
{
	(void)ctx;
	if (c)
		counted = *c;
	note_end(err);
}

static void test_verb_stats(void **state)
{
	struct counters before;
	int64_t until = begin_patience();

	(void)state;
	start_container("stats", "while :; do :; done", "");
	engine_stats(en, made, on_stats, NULL);
	expect_end(ERR_NONE);
	before = counted;
	do {
		check_patience(until, "50 ms of its CPU time");
		engine_stats(en, made, on_stats, NULL);
		expect_end(ERR_NONE);
	} while (counted.cpu_ns < before.cpu_ns + 50000000);
	assert_true(counted.system_ns > before.system_ns);
	assert_int_equal(counted.online_cpus, sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(counted.at_ns > before.at_ns);
	assert_true(counted.memory_bytes > 0 && counted.memory_bytes < 64 << 20);
	assert_true(counted.pids >= 1);
	remove_made();
	engine_stats(en, made, on_stats, NULL);
	expect_end(ERR_NOT_FOUND);
}

static void test_verb_top(void **state)
{
	(void)state;
	start_container("top", "sleep 1000 & exec sleep 1000", "");
	until_sleeping(2);
	remove_made();
}

/* logs */

static struct {
	size_t lines, batches, bytes;
	int wanted; /* set when the wanted line came */
	char last[64];
	int streams[3];
	int64_t stream_ns[3];
	bool clipped;
	int64_t wall_ns;
	struct engine_call *call;
} logged;

static void on_log(void *ctx, const struct log_line *lines, size_t n)
{
	(void)ctx;
	logged.batches++;
	for (size_t i = 0; i < n; i++) {
		logged.lines++;
		logged.bytes += lines[i].len;
		logged.streams[lines[i].stream]++;
		logged.clipped |= lines[i].clipped;
		/* Each stream has its own writer in the engine: only within one is time in order. */
		assert_true(lines[i].wall_ns >= logged.stream_ns[lines[i].stream]);
		logged.wall_ns = logged.stream_ns[lines[i].stream] = lines[i].wall_ns;
		snprintf(logged.last, sizeof logged.last, "%.*s", (int)lines[i].len, lines[i].text);
		if (strcmp(logged.last, "end") == 0)
			logged.wanted++;
	}
}

static void test_verb_logs(void **state)
{
	(void)state;
	memset(&logged, 0, sizeof logged);
	/* What comes later of a line has another time where the engine passes on the first part (podman). */
	start_container("logs",
		"i=0; while [ $i -lt 500 ]; do i=$((i+1)); echo line $i; done; echo oops >&2; "
		"printf 'in two '; sleep 1; echo parts; "
		"head -c 100000 /dev/zero | tr '\\\\0' x; echo; printf 'r\\\\r\\\\n'; "
		"sleep 1; echo end; exec sleep 1000",
		"");
	logged.call = engine_logs(
		en, made, false, true, (struct log_span){.tail = -1}, on_log, on_verb_done, NULL);
	run_loop_until(&logged.wanted, 1);
	assert_int_equal(logged.lines, 505);
	assert_int_equal(logged.streams[2], 1);
	assert_true(logged.clipped);
	assert_true(llabs(logged.wall_ns / 1000000 - clock_wall_ms()) < 60000);
	engine_cancel(logged.call);
	expect_end(ERR_CANCELLED);
	/* the last two, then the end */
	memset(&logged, 0, sizeof logged);
	engine_logs(
		en, made, false, false, (struct log_span){.tail = 2}, on_log, on_verb_done, NULL);
	expect_end(ERR_NONE);
	assert_int_equal(logged.lines, 2);
	assert_string_equal(logged.last, "end");
	/* since the last line's time: that one only */
	engine_logs(en, made, false, false,
		(struct log_span){.tail = -1, .since_ns = logged.wall_ns}, on_log, on_verb_done,
		NULL);
	logged.lines = 0;
	expect_end(ERR_NONE);
	assert_int_equal(logged.lines, 1);
	/* until a minute before it: nothing */
	engine_logs(en, made, false, false,
		(struct log_span){.tail = -1, .until_ns = logged.wall_ns - 60000000000}, on_log,
		on_verb_done, NULL);
	logged.lines = 0;
	expect_end(ERR_NONE);
	assert_int_equal(logged.lines, 0);
	remove_made();
	engine_logs(
		en, made, false, true, (struct log_span){.tail = -1}, on_log, on_verb_done, NULL);
	expect_end(ERR_NOT_FOUND);
}

static void test_logs_tty(void **state)
{
	(void)state;
	memset(&logged, 0, sizeof logged);
	start_container("logs-tty", "echo one; echo end; exec sleep 1000", ",\"Tty\":true");
	logged.call = engine_logs(
		en, made, true, true, (struct log_span){.tail = -1}, on_log, on_verb_done, NULL);
	run_loop_until(&logged.wanted, 1);
	assert_int_equal(logged.lines, 2);
	engine_cancel(logged.call);
	expect_end(ERR_CANCELLED);
	remove_made();
}

static int ticks;

static void count_tick(uv_timer_t *timer)
{
	(void)timer;
	ticks++;
}

static void log_until(size_t bytes)
{
	uv_timer_start(&watchdog, fail_late, PATIENCE_MS, 0);
	while (logged.bytes < bytes)
		uv_run(&loop, UV_RUN_ONCE);
	uv_timer_stop(&watchdog);
}

static void test_pause(void **state)
{
	uv_timer_t timer;
	size_t before;

	(void)state;
	memset(&logged, 0, sizeof logged);
	start_container(
		"pause", "while :; do echo 0123456789012345678901234567890123456789; done", "");
	logged.call = engine_logs(
		en, made, false, true, (struct log_span){.tail = -1}, on_log, on_verb_done, NULL);
	log_until(1 << 20);
	engine_pause(logged.call, true);
	before = logged.batches;
	uv_timer_init(&loop, &timer);
	ticks = 0;
	uv_timer_start(&timer, count_tick, 10, 10);
	run_loop_until(&ticks, 50);
	assert_int_equal(
		logged.batches, before); /* nothing while paused, however much is written */
	engine_pause(logged.call, false);
	log_until(3 << 20);
	assert_string_equal(logged.last, "0123456789012345678901234567890123456789");
	engine_pause(logged.call, true);
	engine_cancel(logged.call); /* a paused one ends, too */
	expect_end(ERR_CANCELLED);
	uv_close((uv_handle_t *)&timer, NULL);
	remove_made();
}

/* events */

static struct {
	int opened, creates, starts, dies, destroys;
	int64_t wall_ns;
	char more[64];
} happened;

static void on_opened(void *ctx)
{
	(void)ctx;
	happened.opened++;
}

static void on_verb_event(void *ctx, const struct engine_event *ev)
{
	(void)ctx;
	if (strcmp(ev->type, "container") != 0 || !strstr(ev->name, "engine-events-"))
		return;
	assert_int_equal(strlen(ev->id), 64);
	happened.wall_ns = ev->wall_ns;
	happened.creates += strcmp(ev->action, "create") == 0;
	happened.starts += strcmp(ev->action, "start") == 0;
	happened.destroys += strcmp(ev->action, "destroy") == 0;
	if (strcmp(ev->action, "die") == 0) {
		happened.dies++;
		snprintf(happened.more, sizeof happened.more, "%s", ev->more);
	}
}

static void test_verb_events(void **state)
{
	struct engine_call *c;
	int64_t begin = clock_wall_ms() * 1000000;

	(void)state;
	memset(&happened, 0, sizeof happened);
	c = engine_events(en, 0, 0, on_opened, on_verb_event, on_verb_done, NULL);
	run_loop_until(&happened.opened, 1);
	start_container("events", "exit 3", "");
	run_loop_until(&happened.dies, 1);
	remove_made();
	run_loop_until(&happened.destroys, 1);
	assert_int_equal(happened.creates, 1);
	assert_int_equal(happened.starts, 1);
	assert_string_equal(happened.more, "exit 3");
	assert_true(llabs(happened.wall_ns - begin) < 60000000000);
	engine_cancel(c);
	expect_end(ERR_CANCELLED);
	/* the past, again */
	memset(&happened, 0, sizeof happened);
	c = engine_events(en, begin, 0, on_opened, on_verb_event, on_verb_done, NULL);
	run_loop_until(&happened.destroys, 1);
	assert_int_equal(happened.dies, 1);
	engine_cancel(c);
	expect_end(ERR_CANCELLED);
}

/* exec with a terminal */

static struct {
	struct str out;
	int ready, ended, exit_code;
	struct err err;
} tty;

static void on_tty_ready(void *ctx)
{
	(void)ctx;
	tty.ready++;
}

static void on_tty_output(void *ctx, const char *bytes, size_t n)
{
	(void)ctx;
	str_add(&tty.out, bytes, n);
}

static void on_tty_end(void *ctx, int exit_code, const struct err *err)
{
	(void)ctx;
	tty.ended++;
	tty.exit_code = exit_code;
	tty.err = err ? *err : (struct err)ERR_INIT;
}

static const struct engine_tty_events tty_events = {on_tty_ready, on_tty_output, on_tty_end};

static struct engine_tty *open_tty(struct engine *on, const char *id, const char *const *argv,
	size_t argc, int columns, int rows)
{
	const struct engine_exec_ask ask = {.argv = argv,
		.argc = argc,
		.tty = true,
		.input = true,
		.columns = columns,
		.rows = rows};

	return engine_exec(on, id, &ask, &tty_events, NULL);
}

static struct engine_tty *tty_open(const char *const *argv, size_t argc)
{
	str_release(&tty.out);
	memset(&tty, 0, sizeof tty);
	str_init(&tty.out);
	return open_tty(en, made, argv, argc, 91, 33);
}

static void tty_until(const char *text)
{
	uv_timer_start(&watchdog, fail_late, PATIENCE_MS, 0);
	while (!strstr(tty.out.s, text)) {
		if (tty.ended)
			fail_msg("ended before \"%s\": %s %s", text, tty.err.msg, tty.out.s);
		uv_run(&loop, UV_RUN_ONCE);
	}
	uv_timer_stop(&watchdog);
	str_clear(&tty.out);
}

static void type_into_tty(struct engine_tty *t, const char *text)
{
	assert_true(engine_tty_input(t, text, strlen(text)));
}

static void test_exec(void **state)
{
	static const char *const sh[] = {"sh"};
	static const char *const none[] = {"/no/such/program"};
	static const char *const cat[] = {"sh", "-c", "stty raw -echo; echo ready; cat"};
	struct engine_tty *t;
	struct str big = STR_INIT;

	(void)state;
	start_container("exec", "exec sleep 1000", "");
	t = tty_open(sh, 1);
	type_into_tty(t, "echo early-$((1+1))\n"); /* before it runs */
	tty_until("early-2");
	assert_int_equal(tty.ready, 1);
	/* the size given at the start, once the engine has applied it */
	type_into_tty(
		t, "until [ \"$(stty size)\" = '33 91' ]; do sleep 0.02; done; echo si''zed\n");
	tty_until("sized");
	engine_tty_resize(t, 100, 40);
	engine_tty_resize(t, 120, 50);
	type_into_tty(
		t, "until [ \"$(stty size)\" = '50 120' ]; do sleep 0.02; done; echo resi''zed\n");
	tty_until("resized");
	type_into_tty(t, "exit 42\n");
	run_loop_until(&tty.ended, 1);
	assert_int_equal(tty.exit_code, 42);
	assert_int_equal(tty.err.kind, ERR_NONE);

	tty_open(none, 1);
	run_loop_until(&tty.ended, 1);
	assert_true(tty.exit_code == 126 || tty.exit_code == 127 || tty.err.kind != ERR_NONE);

	/* 200,000 bytes there and back, the reader stopping in between; podman's conmon stops for
	 * good when more than a few thousand wait for it */
	t = tty_open(cat, 3);
	tty_until("ready");
	for (int i = 0; big.len < (getenv("BERTH_TEST_PODMAN") ? 4000u : 200000u); i++)
		str_addf(&big, "%d,", i);
	type_into_tty(t, big.s);
	engine_tty_pause(t, true);
	for (int i = 0; i < 20; i++)
		uv_run(&loop, UV_RUN_NOWAIT);
	engine_tty_pause(t, false);
	uv_timer_start(&watchdog, fail_late, PATIENCE_MS, 0);
	while (tty.out.len < big.len)
		uv_run(&loop, UV_RUN_ONCE);
	uv_timer_stop(&watchdog);
	assert_non_null(strstr(tty.out.s, big.s));
	engine_tty_close(t);
	run_loop_until(&tty.ended, 1);
	assert_int_equal(tty.err.kind, ERR_CANCELLED);
	str_release(&big);

	/* closed before anything happened */
	engine_tty_close(tty_open(sh, 1));
	assert_int_equal(tty.ended, 0);
	run_loop_until(&tty.ended, 1);
	assert_int_equal(tty.err.kind, ERR_CANCELLED);
	remove_made();
	tty_open(sh, 1);
	run_loop_until(&tty.ended, 1);
	assert_int_equal(tty.err.kind, ERR_NOT_FOUND);
	str_release(&tty.out);
}

static void on_full_frame(void *ctx, int stream, const char *bytes, size_t n)
{
	(void)stream;
	on_tty_output(ctx, bytes, n);
}

/* A reader that never reads: input is bounded.  podman's conmon never comes back from a terminal that is full, whatever
 * becomes of its command (berth/product.h, EXEC_INPUT): there it is a pipe. */
static void test_exec_full(void **state)
{
	static const char *const stuck[] = {"sh", "-c",
		"[ ! -t 0 ] || stty raw -echo; echo $$ >/stuck; echo ready; exec sleep 1000"};
	static const char *const end[] = {"sh", "-c", "kill -9 $(cat /stuck)"};
	const struct engine_exec_ask ask = {.argv = stuck,
		.argc = 3,
		.tty = !getenv("BERTH_TEST_PODMAN"),
		.input = true,
		.columns = 91,
		.rows = 33,
		.frame = on_full_frame};
	static char block[32768];
	struct engine_tty *t;
	int taken = 0;

	(void)state;
	start_container("full", "exec sleep 1000", "");
	str_release(&tty.out);
	memset(&tty, 0, sizeof tty);
	str_init(&tty.out);
	t = engine_exec(en, made, &ask, &tty_events, NULL);
	tty_until("ready");
	memset(block, 'x', sizeof block);
	for (int i = 0; i < 1000 && engine_tty_input(t, block, sizeof block); i++) {
		taken++;
		uv_run(&loop, UV_RUN_NOWAIT);
	}
	assert_true(taken < 1000);
	engine_tty_close(t);
	run_loop_until(&tty.ended, 1);
	/* As berth ends what it leaves: podman waits for it before it removes the container. */
	tty_open(end, 3);
	run_loop_until(&tty.ended, 1);
	assert_int_equal(tty.exit_code, 0);
	remove_made();
	str_release(&tty.out);
}

/* import */

static struct {
	uint64_t sent, total;
	int calls;
} progress;

static void on_verb_progress(void *ctx, uint64_t sent, uint64_t total)
{
	(void)ctx;
	assert_true(sent >= progress.sent && sent <= total);
	progress.sent = sent;
	progress.total = total;
	progress.calls++;
}

/* A tar with one file of 4 MiB: header, zeros, two empty blocks. */
static void write_tar(const char *path)
{
	char header[512] = "big", zeros[4096] = "";
	unsigned sum = 0;
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	snprintf(header + 100, 8, "%07o", 0644u);
	snprintf(header + 108, 8, "%07o", 0u);
	snprintf(header + 116, 8, "%07o", 0u);
	snprintf(header + 124, 12, "%011o", 4u << 20);
	snprintf(header + 136, 12, "%011o", 0u);
	memcpy(header + 257, "ustar\00000", 8);
	header[156] = '0';
	memset(header + 148, ' ', 8);
	for (size_t i = 0; i < sizeof header; i++)
		sum += (unsigned char)header[i];
	snprintf(header + 148, 8, "%06o", sum);
	fwrite(header, 1, sizeof header, f);
	for (int i = 0; i < 1024; i++)
		fwrite(zeros, 1, sizeof zeros, f);
	fwrite(zeros, 1, 1024, f);
	assert_int_equal(fclose(f), 0);
}

static void import_and_expect(const char *path, enum err_kind kind)
{
	memset(&progress, 0, sizeof progress);
	engine_import(en, path, "engine-import:1", on_verb_progress, on_verb_done, NULL);
	expect_end(kind);
}

static void test_verb_import(void **state)
{
	char dir[] = "/tmp/engine-import.XXXXXX";
	AUTO_FREE char *tar = NULL, *bad = NULL;
	struct http_request rq = {
		.method = "DELETE", .target = "/v1.41/images/engine-import:1", .done = on_raw};
	FILE *f;
	int now;

	(void)state;
	assert_non_null(mkdtemp(dir));
	tar = xasprintf("%s/good.tar", dir);
	bad = xasprintf("%s/bad.tar", dir);
	write_tar(tar);
	import_and_expect(tar, ERR_NONE);
	assert_int_equal(progress.total, (4 << 20) + 1536);
	assert_int_equal(progress.sent, progress.total);
	assert_true(progress.calls > 4);
	now = ends;
	http_send(raw, &rq);
	run_loop_until(&ends, now + 1);

	import_and_expect("/no/such/file", ERR_SYS);
	import_and_expect(dir, ERR_USAGE);
	f = fopen(bad, "w");
	for (int i = 0; i < 100000; i++)
		fputs("no tar\n", f);
	fclose(f);
	if (!getenv("BERTH_TEST_PODMAN")) /* it takes anything and fails when it is used */
		import_and_expect(bad, ERR_FAILED);
	unlink(tar);
	unlink(bad);
	rmdir(dir);
}

/* cancelling, closing */

static void cancel_now(struct engine_call *c)
{
	int now = ends;

	engine_cancel(c);
	engine_cancel(c);
	assert_int_equal(ends, now); /* never from inside the call */
	expect_end(ERR_CANCELLED);
}

static void turn_loop(int n)
{
	while (n-- > 0)
		uv_run(&loop, UV_RUN_NOWAIT);
}

static void cancel_all_calls(int turns)
{
	struct engine_call *calls[10];

	for (size_t i = 0; i < COUNT(calls); i++) {
		int now = ends;

		switch (i) {
		case 0: calls[i] = engine_hello(en, on_info, NULL); break;
		case 1: calls[i] = engine_list(en, on_verb_list, NULL); break;
		case 2: calls[i] = engine_counts(en, on_verb_counts, NULL); break;
		case 3: calls[i] = engine_inspect(en, made, on_verb_inspected, NULL); break;
		case 4: calls[i] = engine_stats(en, made, on_stats, NULL); break;
		case 5: calls[i] = engine_top(en, made, on_verb_top, NULL); break;
		case 6:
			calls[i] = engine_events(en, 0, 0, NULL, on_verb_event, on_verb_done, NULL);
			break;
		case 7:
			calls[i] = engine_logs(en, made, false, true, (struct log_span){.tail = 0},
				on_log, on_verb_done, NULL);
			break;
		case 8:
			calls[i] = engine_act(
				en, ACT_STOP, made, false, false, 20, on_verb_done, NULL);
			break;
		default:
			calls[i] = engine_import(
				en, "/proc/self/exe", "engine-never:1", NULL, on_verb_done, NULL);
		}
		turn_loop(turns);
		/* On a busy machine the whole answer may be there after one turn. */
		if (ends == now)
			cancel_now(calls[i]);
	}
}

static void test_verb_cancel(void **state)
{
	(void)state;
	start_container("cancel", "trap '' TERM; while :; do sleep 0.05; done", "");
	cancel_all_calls(0);
	cancel_all_calls(1);
	engine_cancel(NULL);
	remove_made();
}

static void ignore_log(void *ctx, const struct log_line *lines, size_t n)
{
	(void)ctx;
	(void)lines;
	(void)n;
}

/* Sixty calls, streams and terminals at once, then the end of it all. */
static void test_close(void **state)
{
	static const char *const sh[] = {"sh"};

	(void)state;
	start_container("close", "while :; do echo x; sleep 0.01; done", "");
	ends = 0;
	str_release(&tty.out);
	memset(&tty, 0, sizeof tty);
	str_init(&tty.out);
	for (int i = 0; i < 20; i++) {
		engine_stats(en, made, on_stats, NULL);
		engine_logs(en, made, false, true, (struct log_span){.tail = -1}, ignore_log,
			on_verb_done, NULL);
		engine_events(en, 0, 0, NULL, on_verb_event, on_verb_done, NULL);
		if (i % 4 == 0)
			open_tty(en, made, sh, 1, 80, 24);
		if (i == 10)
			run_loop_until(&tty.ready, 1);
	}
	engine_import(en, "/proc/self/exe", "engine-never:1", NULL, on_verb_done, NULL);
	engine_close(en, on_verbs_closed, NULL);
	assert_int_equal(closed, 0);
	run_loop_until(&closed, 1);
	assert_int_equal(ends, 61);
	assert_int_equal(tty.ended, 5);
	closed = 0;
	str_release(&tty.out);
	en = engine_open(&loop, &ep, NULL);
	remove_made();
}

/* an engine that is not there */

static void expect_unreachable(const char *url, const char *text)
{
	struct endpoint nowhere;
	struct engine *saved = en;
	struct err e = ERR_INIT;

	assert_int_equal(endpoint_choose(&(struct endpoint_options){.host = url}, &nowhere, &e), 0);
	en = engine_open(&loop, &nowhere, &e);
	assert_non_null(en);
	engine_hello(en, on_info, NULL);
	expect_end(ERR_UNREACHABLE);
	if (!strstr(last.msg, text) || !strstr(last.msg, "(from --host)"))
		fail_msg("\"%s\" lacks \"%s\"", last.msg, text);
	engine_list(en, on_verb_list, NULL);
	expect_end(ERR_UNREACHABLE);
	engine_close(en, on_verbs_closed, NULL);
	run_loop_until(&closed, 1);
	closed = 0;
	en = saved;
	endpoint_release(&nowhere);
}

static void test_unreachable(void **state)
{
	char path[] = "/tmp/engine-no.XXXXXX";
	AUTO_FREE char *url = NULL;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	url = xasprintf("unix://%s", path);
	expect_unreachable("unix:///no/such/socket", "start the engine that listens there");
	expect_unreachable("unix:///run/user/1/docker.sock", "start the engine that listens there");
	expect_unreachable(url, "no engine listens");
	unlink(path);
	if (!getenv("DOCKER_TLS_VERIFY"))
		expect_unreachable("tcp://127.0.0.1:1", "nothing listens");
}

/* A server that asks for our certificate, and a server that no CA of ours has signed. */
static void test_tls_refused(void **state)
{
	const char *url = getenv("BERTH_TEST_TLS_URL");
	char dir[] = "/tmp/engine-tls.XXXXXX";
	AUTO_FREE char *certs = xstrdup(getenv("DOCKER_CERT_PATH")), *from = NULL, *to = NULL;

	(void)state;
	assert_non_null(url);
	assert_non_null(mkdtemp(dir));
	setenv("DOCKER_CERT_PATH", dir, 1);
	setenv("DOCKER_TLS", "1", 1);
	expect_unreachable(url, "TLS failed"); /* no verification, no certificate of ours */
	setenv("DOCKER_TLS_VERIFY", "1", 1);
	from = xasprintf("%s/cert.pem", certs); /* a certificate, but not the CA's */
	to = xasprintf("%s/ca.pem", dir);
	assert_int_equal(symlink(from, to), 0);
	expect_unreachable(url, "TLS failed");
	unlink(to);
	rmdir(dir);
	unsetenv("DOCKER_TLS");
	unsetenv("DOCKER_TLS_VERIFY");
	setenv("DOCKER_CERT_PATH", certs, 1);
	expect_unreachable(url, "connection was lost"); /* plain HTTP to a TLS port */
}

static bool is_test_wanted(const struct CMUnitTest *test)
{
	const char *only = getenv("BERTH_TEST_ONLY");

	if (only)
		return strcmp(test->name, only) == 0;
	if (strcmp(test->name, "test_tls_refused") == 0) /* transports.sh runs it by itself */
		return false;
	return true;
}

int main(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test_setup_teardown(test_hello, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verb_list, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verb_inspect, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verb_acts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verb_stats, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verb_top, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verb_logs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_logs_tty, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pause, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verb_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exec, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exec_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verb_import, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verb_cancel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_close, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreachable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tls_refused, setup, teardown),
	};
	struct CMUnitTest tests[COUNT(all)];
	size_t n = 0;

	if (!getenv("BERTH_TEST_ENGINE")) {
		fprintf(stderr, "BERTH_TEST_ENGINE is not set: it names the engine to test with\n");
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	text_init();
	for (size_t i = 0; i < COUNT(all); i++)
		if (is_test_wanted(&all[i]))
			tests[n++] = all[i];
	return _cmocka_run_group_tests("verbs", tests, n, NULL, NULL);
}
