/*
 * lane.c - the lane under stress, on a real engine: kill means kill as the host sees it, who is killed and
 * started again, many commands at once, and nothing left of any.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/agents.h>
#include <berth/clock.h>
#include <berth/file.h>
#include <berth/journal.h>
#include <berth/mem.h>
#include <berth/sanitized.h>
#include <berth/str.h>
#include <berth/text.h>

#include "container/container.h"
#include "lane/lane.h"
#include "lane/peer.h"
#include "lib/hosted.h"
#include "lib/paths.h"

static char name[64];
static struct agent_up up;

static int setup(void **state)
{
	struct agents_options o = {
		.guest = test_guest, .defaults = {.journal_commands = 128, .journal_bytes = 16384}};
	AUTO_FREE char *yaml = NULL;
	struct err e = ERR_INIT;

	(void)state;
	if (hosted_place())
		return -1;
	setenv("BERTH_TEST_SECRET", "s3cret value", 1);
	snprintf(name, sizeof name, "l%d", (int)getpid());
	yaml = xasprintf(
		"agents:\n  %s:\n    image: box:1\n    workspace: %s/ws\n    memory: 256m\n"
		"    cpus: 2\n    pids: 512\n    secrets: [key]\n"
		"secrets: {key: {env: BERTH_TEST_SECRET}}\n",
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

struct output {
	struct str text[3];
	size_t most; /* kept of each */
};

static void collect_bounded(void *ctx, int stream, const char *bytes, size_t n)
{
	struct output *o = ctx;

	if (o->text[stream].len < o->most)
		str_add(&o->text[stream], bytes, n);
}

static void release_output(struct output *o)
{
	for (int i = 0; i < 3; i++)
		str_release(&o->text[i]);
}

static int run_shell(struct output *o, int cancel_fd, int64_t timeout_ms, const char *script,
	struct run_result *ret, struct err *e)
{
	const char *argv[] = {"sh", "-c", script};
	struct run_request r = {.agent = name,
		.argv = argv,
		.argc = 3,
		.timeout_ms = timeout_ms,
		.in = -1,
		.out = -1,
		.error = -1,
		.output = collect_bounded,
		.ctx = o,
		.cancel_fd = cancel_fd,
		.resize_fd = -1};

	*o = (struct output){{STR_INIT, STR_INIT, STR_INIT}, 1 << 20};
	return agents_run(&r, ret, e);
}

static struct run_result run_good(struct output *o, int64_t timeout_ms, const char *script)
{
	struct run_result r;
	struct err e = ERR_INIT;

	if (run_shell(o, -1, timeout_ms, script, &r, &e))
		fail_msg("%s: %s", script, e.msg);
	return r;
}

static pid_t init_of(void)
{
	struct existing x;
	struct err e = ERR_INIT;

	if (host_look(host, team.agents[0].container, &x, &e) <= 0)
		fail_msg("%s", e.msg);
	return x.pid;
}

/* Processes in the container's cgroup, as the host sees them; zombies count. */
static unsigned count_inside(pid_t guest)
{
	static const char *const controllers[] = {"", "pids", "memory"};
	char path[CGROUP_PATH_MAX], text[65536];
	unsigned n = 0;

	for (size_t i = 0; i < COUNT(controllers); i++)
		if (!cgroup_file(guest, up.id, controllers[i], "cgroup.procs", path) &&
			file_text(path, text, sizeof text) > 0) {
			for (const char *p = text; (p = strchr(p, '\n')); p++)
				n++;
			return n;
		}
	return 0;
}

/* Until only the init is there. */
static void wait_until_alone(pid_t guest)
{
	int64_t deadline = clock_mono_ns() + INT64_C(60000000000);

	while (count_inside(guest) != 1) {
		if (clock_mono_ns() > deadline)
			fail_msg("%u processes are in the container", count_inside(guest));
		poll(NULL, 0, 10);
	}
}

/* Until so many are there; for threads, too, which cannot fail a test. */
static void wait_until_inside(pid_t guest, unsigned least)
{
	int64_t deadline = clock_mono_ns() + INT64_C(60000000000);

	while (count_inside(guest) < least) {
		if (clock_mono_ns() > deadline) {
			fprintf(stderr, "only %u of %u processes are in the container\n",
				count_inside(guest), least);
			_exit(1);
		}
		poll(NULL, 0, 5);
	}
}

/* -- frozen -- */

struct freezing {
	pid_t guest;
	int after_ms, for_ms;
};

static void *freeze_a_while(void *ctx)
{
	const struct freezing *f = ctx;
	struct err e = ERR_INIT;

	poll(NULL, 0, f->after_ms);
	if (lane_freeze(f->guest, up.id, 5000, &e))
		fail_msg("%s", e.msg);
	assert_true(lane_frozen(f->guest, up.id));
	poll(NULL, 0, f->for_ms);
	if (lane_thaw(f->guest, up.id, &e))
		fail_msg("%s", e.msg);
	return NULL;
}

static struct run_result run_frozen(
	struct output *o, const struct freezing *f, int64_t timeout_ms, const char *script)
{
	struct run_result r;
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, freeze_a_while, (void *)f), 0);
	r = run_good(o, timeout_ms, script);
	pthread_join(t, NULL);
	assert_false(lane_frozen(f->guest, up.id));
	return r;
}

/* A command's time does not pass while its container stands still, for its init nor for the host. */
static void test_frozen_time_does_not_count(void **state)
{
	const struct freezing f = {init_of(), 300, 8000};
	struct output o;
	struct run_result r = run_frozen(&o, &f, 2000,
		"i=0; while [ $i -lt 10 ]; do sleep 0.1; i=$((i+1)); done; echo through");

	(void)state;
	assert_int_equal(r.ended, ENDED_EXIT);
	assert_int_equal(r.exit_code, 0);
	assert_string_equal(o.text[1].s, "through\n");
	assert_true(r.duration_ms > 8000);
	release_output(&o);
	/* And what is left of it does. */
	r = run_frozen(&o, &(const struct freezing){f.guest, 300, 2000}, 1000, "sleep 1000");
	assert_int_equal(r.ended, ENDED_TIMEOUT);
	assert_int_equal(r.exit_code, 124);
	assert_true(r.duration_ms > 2500);
	release_output(&o);
	wait_until_alone(f.guest);
}

/* A moment is waited out; what somebody has to decide is told. */
static void test_frozen_by_whom(void **state)
{
	struct lane_hold hold = {.by = getpid(), .brief = true, .why = "a checkpoint"}, back;
	struct err e = ERR_INIT;
	struct freezing f = {init_of(), 0, 1500};
	struct run_result r;
	struct output o;
	pthread_t t;

	(void)state;
	assert_false(lane_hold_read(up.id, &back));
	assert_int_equal(lane_hold_save(up.id, &hold, &e), 0);
	assert_true(lane_hold_read(up.id, &back));
	assert_true(back.alive && back.brief);
	assert_string_equal(back.why, hold.why);
	assert_int_equal(lane_freeze(f.guest, up.id, 5000, &e), 0);
	assert_int_equal(pthread_create(&t, NULL, freeze_a_while, &f), 0);
	r = run_good(&o, 0, "echo fine");
	assert_string_equal(o.text[1].s, "fine\n");
	release_output(&o);
	pthread_join(t, NULL);
	hold.brief = false;
	snprintf(hold.why, sizeof hold.why, "its workspace is full");
	assert_int_equal(lane_hold_save(up.id, &hold, &e), 0);
	assert_int_equal(lane_freeze(f.guest, up.id, 5000, &e), 0);
	assert_int_equal(run_shell(&o, -1, 0, "echo fine", &r, &e), -1);
	assert_non_null(strstr(e.msg, "its workspace is full"));
	release_output(&o);
	assert_int_equal(lane_thaw(f.guest, up.id, &e), 0);
	lane_hold_forget(up.id);
	assert_false(lane_hold_read(up.id, &back));
	wait_until_alone(f.guest);
}

static void *run_long(void *ctx)
{
	struct output o;
	struct run_result *r = ctx;

	*r = run_good(&o, 0, "sleep 1000 & setsid sleep 1000 & sleep 1000");
	release_output(&o);
	return NULL;
}

/* Everything but the init, and who waits is told in order. */
static void test_commands_ended(void **state)
{
	pid_t guest = init_of(), some[64];
	struct run_result r;
	pthread_t t;
	int64_t deadline = clock_mono_ns() + INT64_C(60000000000);

	(void)state;
	assert_int_equal(lane_commands(guest, up.id, some, COUNT(some)), 0);
	assert_int_equal(pthread_create(&t, NULL, run_long, &r), 0);
	while (lane_commands(guest, up.id, some, COUNT(some)) < 4) {
		if (clock_mono_ns() > deadline)
			fail_msg("the commands do not start");
		poll(NULL, 0, 5);
	}
	assert_int_equal(lane_end_commands(guest, up.id, 5000), 0);
	pthread_join(t, NULL);
	assert_int_equal(r.ended, ENDED_SIGNAL);
	assert_int_equal(r.exit_code, 137);
	assert_int_equal(r.err.kind, ERR_NONE);
	assert_int_equal(lane_commands(guest, up.id, some, COUNT(some)), 0);
}

static void test_supervisor_killed(void **state)
{
	pid_t guest = init_of();
	struct output o;
	struct run_result r = run_good(&o, 0,
		"(setsid sleep 1000 &) ; setsid sh -c 'sleep 1000 & sleep 1000' & kill -9 $PPID; sleep 1000");

	(void)state;
	assert_int_equal(r.ended, ENDED_SIGNAL);
	assert_int_equal(r.exit_code, 137);
	assert_int_equal(r.err.kind, ERR_FAILED);
	release_output(&o);
	wait_until_alone(guest);
	/* The next one does not notice. */
	r = run_good(&o, 0, "echo fine");
	assert_string_equal(o.text[1].s, "fine\n");
	release_output(&o);
}

/* More orphans at once than a small list holds: the init ends all of them and goes on to reap. */
static void test_supervisor_of_many_killed(void **state)
{
	pid_t guest = init_of();
	struct output o;
	struct run_result r;

	(void)state;
	for (int i = 0; i < 4; i++) {
		r = run_good(&o, 0,
			"i=0; while [ $i -lt 400 ]; do (sleep 1000 &); i=$((i+1)); done; kill -9 $PPID; sleep 1000");
		assert_int_equal(r.ended, ENDED_SIGNAL);
		release_output(&o);
		wait_until_alone(guest);
	}
	r = run_good(&o, 60000, "echo fine");
	assert_string_equal(o.text[1].s, "fine\n");
	release_output(&o);
}

/* The host stops the init, which ends stopped supervisors, and the command's supervisor: nobody can answer, and
 * the host must act. */
static void *stop_supervisor(void *arg)
{
	pid_t guest = *(pid_t *)arg;
	char text[4096];

	/* The command and a child of it are there, so it has started. */
	wait_until_inside(guest, 5);
	for (int i = 0; i < 1000; i++) {
		DIR *d = opendir("/proc");
		struct dirent *entry;

		while ((entry = readdir(d))) {
			const char *after;

			if (atoi(entry->d_name) <= 0 ||
				proc_file(atoi(entry->d_name), "stat", text, sizeof text) ||
				!(after = strrchr(text, ')')) || atoi(after + 4) != guest)
				continue;
			kill(guest, SIGSTOP);
			kill(atoi(entry->d_name), SIGSTOP);
			closedir(d);
			return NULL;
		}
		closedir(d);
		poll(NULL, 0, 60);
	}
	fprintf(stderr, "the init has no supervisor\n");
	_exit(1);
}

static void test_guest_does_not_answer(void **state)
{
	pid_t guest = init_of();
	struct output o;
	struct run_result r;
	pthread_t stopper;

	(void)state;
	assert_int_equal(pthread_create(&stopper, NULL, stop_supervisor, &guest), 0);
	r = run_good(&o, 600, "trap '' TERM; (setsid sleep 1000 &); sleep 1000 & sleep 1000");
	pthread_join(stopper, NULL);
	kill(guest, SIGCONT);
	assert_int_equal(r.ended, ENDED_TIMEOUT);
	assert_int_equal(r.exit_code, 124);
	assert_int_equal(r.err.kind, ERR_TIMEOUT);
	assert_false(r.left_behind);
	release_output(&o);
	wait_until_alone(guest);
}

/* Escapes of every kind, looked for from outside once the command is over. */
static void test_nothing_left(void **state)
{
	static const struct {
		const char *script;
		int64_t timeout_ms;
		int code;
	} table[] = {
		{"setsid sleep 1000 & exit 0", 0, 0},
		{"(setsid sh -c '(sleep 1000 &) &' &) & exit 3", 0, 3},
		{"trap '' TERM INT HUP; sh -c 'trap \"\" TERM; sleep 1000' & sleep 1000", 200, 124},
		{"sh -c 'kill -STOP $$; sleep 1000' & sh -c 'kill -STOP $PPID; sleep 1000'", 300,
			124},
		{"b() { b | b & }; b; sleep 1000", 400, 124},
		{"while :; do setsid sleep 1000 & done", 400, 124},
	};
	pid_t guest = init_of();

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct output o;
		struct run_result r = run_good(&o, table[i].timeout_ms, table[i].script);

		/* A shell that cannot fork any more may give up before its time is over. */
		if (table[i].code != 124 || r.ended == ENDED_TIMEOUT)
			assert_int_equal(r.exit_code, table[i].code);
		assert_false(r.left_behind);
		wait_until_alone(guest);
		release_output(&o);
	}
}

struct many {
	pthread_t thread;
	int number;
	bool bad;
};

/* Number and counter on both streams, far more than a pipe holds. */
static void *run_one_of_many(void *arg)
{
	struct many *m = arg;
	AUTO_FREE char *script = xasprintf(
		"i=0; while [ $i -lt 3000 ]; do echo %d.$i; echo %d.$i >&2; i=$((i+1)); done; exit %d",
		m->number, m->number, m->number);
	struct output o;
	struct run_result r;
	struct str want = STR_INIT;

	for (int i = 0; i < 3000; i++)
		str_addf(&want, "%d.%d\n", m->number, i);
	m->bad = run_shell(&o, -1, 0, script, &r, NULL) || r.exit_code != m->number ||
		o.text[1].len != want.len || memcmp(o.text[1].s, want.s, want.len) ||
		o.text[2].len != want.len || memcmp(o.text[2].s, want.s, want.len);
	release_output(&o);
	str_release(&want);
	return NULL;
}

struct endless {
	int cancel[2];
	struct run_result r;
	uint64_t seen;
};

static void count_endless(void *ctx, int stream, const char *bytes, size_t n)
{
	struct endless *x = ctx;

	(void)stream;
	(void)bytes;
	x->seen += n;
}

static void *run_endless(void *arg)
{
	static const char *const argv[] = {"yes"};
	struct endless *x = arg;
	struct run_request r = {.agent = name,
		.argv = argv,
		.argc = 1,
		.in = -1,
		.out = -1,
		.error = -1,
		.output = count_endless,
		.ctx = x,
		.cancel_fd = x->cancel[0],
		.resize_fd = -1};

	agents_run(&r, &x->r, NULL);
	return NULL;
}

/* 64 at once beside one that writes without end: no loss, no mixing, nobody waits for it. */
static void test_many_at_once(void **state)
{
	struct many all[64];
	struct endless x = {.seen = 0};
	pthread_t noise;
	pid_t guest = init_of();

	(void)state;
	assert_int_equal(pipe(x.cancel), 0);
	assert_int_equal(pthread_create(&noise, NULL, run_endless, &x), 0);
	for (int i = 0; i < 64; i++) {
		all[i].number = i;
		assert_int_equal(pthread_create(&all[i].thread, NULL, run_one_of_many, &all[i]), 0);
	}
	for (int i = 0; i < 64; i++) {
		pthread_join(all[i].thread, NULL);
		if (all[i].bad)
			fail_msg("command %d lost or mixed its output", i);
	}
	assert_int_equal(write(x.cancel[1], "x", 1), 1);
	pthread_join(noise, NULL);
	assert_int_equal(x.r.ended, ENDED_CANCELLED);
	assert_true(x.seen > 0);
	close(x.cancel[0]);
	close(x.cancel[1]);
	wait_until_alone(guest);
}

static unsigned count_descriptors(const char *of)
{
	AUTO_FREE char *path = xasprintf("/proc/%s/fd", of);
	DIR *d = opendir(path);
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* The fewest of many looks, or no more than `enough`: the init closes a command's connection after it has reported the end. */
static unsigned count_least_descriptors(const char *of, unsigned enough)
{
	const struct timespec pause = {0, 5000000};
	unsigned least = count_descriptors(of);

	for (int i = 0; i < 400 && least > enough && (enough || i < 40); i++) {
		unsigned n;

		nanosleep(&pause, NULL);
		n = count_descriptors(of);
		least = n < least ? n : least;
	}
	return least;
}

static long resident_kb(const char *of)
{
	char text[8192];
	const char *at;

	assert_int_equal(proc_file(atoi(of), "status", text, sizeof text), 0);
	at = strstr(text, "VmRSS:");
	assert_non_null(at);
	return strtol(at + 6, NULL, 10);
}

/* 1,000 commands (100,000 with BERTH_SOAK) leave descriptors, memory and processes as they were. */
static void test_commands_leave_nothing(void **state)
{
	unsigned total = getenv("BERTH_SOAK") ? 100000 : 1000, ours, theirs;
	char self[16], guest[16];
	pid_t init = init_of();
	long mine, its;
	struct output o;

	(void)state;
	snprintf(self, sizeof self, "%d", (int)getpid());
	snprintf(guest, sizeof guest, "%d", (int)init);
	for (int i = 0; i < 50; i++) {
		run_good(&o, 0, "true");
		release_output(&o);
	}
	ours = count_descriptors(self);
	theirs = count_least_descriptors(guest, 0);
	mine = resident_kb(self);
	its = resident_kb(guest);
	for (unsigned i = 0; i < total; i++) {
		struct run_result r =
			run_good(&o, 0, i % 10 ? "exit 7" : "setsid sleep 1000 & exit 7");

		assert_int_equal(r.exit_code, 7);
		release_output(&o);
	}
	assert_int_equal(count_descriptors(self), ours);
	assert_int_equal(count_least_descriptors(guest, theirs), theirs);
	if ((!SANITIZED && resident_kb(self) > mine + 2048) || resident_kb(guest) > its + 512)
		fail_msg("memory grew: ours %ld to %ld kB, the guest's %ld to %ld kB", mine,
			resident_kb(self), its, resident_kb(guest));
	wait_until_alone(init);
}

static void test_paused(void **state)
{
	struct output o;
	struct run_result r;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(sync_act(host->at.engine, ACT_PAUSE, up.id, false, false, -1, &e), 0);
	assert_int_equal(run_shell(&o, -1, 0, "echo late >/tmp/late", &r, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_non_null(strstr(e.msg, "paused"));
	assert_int_equal(sync_act(host->at.engine, ACT_UNPAUSE, up.id, false, false, -1, &e), 0);
	release_output(&o);
	/* What was refused does not run later either: its turn came before this one's. */
	r = run_good(&o, 0, "echo hello");
	assert_string_equal(o.text[1].s, "hello\n");
	release_output(&o);
	wait_until_alone(init_of());
	r = run_good(&o, 0, "cat /tmp/late");
	assert_int_equal(r.exit_code, 1);
	release_output(&o);
}

/* docker restart: the lane goes with the guest, and `up` gives the same container a new one. */
static void test_started_again(void **state)
{
	struct agent_up again;
	struct output o;
	struct run_result r;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(sync_act(host->at.engine, ACT_RESTART, up.id, false, false, -1, &e), 0);
	assert_int_equal(run_shell(&o, -1, 0, "true", &r, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(e.msg, "berth up"));
	release_output(&o);
	memset(&e, 0, sizeof e);
	if (agents_up(host, &team, &team.agents[0], &again, &e))
		fail_msg("%s", e.msg);
	assert_true(again.offered_again);
	assert_false(again.replaced || again.was_up);
	assert_string_equal(again.id, up.id);
	r = run_good(&o, 0, "cat /run/secrets/key");
	assert_string_equal(o.text[1].s, "s3cret value");
	release_output(&o);
	if (agents_up(host, &team, &team.agents[0], &again, &e))
		fail_msg("%s", e.msg);
	assert_true(again.was_up);
}

/* Its output into `fd`.  Who is not told that it goes nowhere would run until the time-out. */
static struct run_result run_into(int fd, const char *script)
{
	const char *argv[] = {"sh", "-c", script};
	const struct run_request q = {.agent = name,
		.argv = argv,
		.argc = 3,
		.timeout_ms = 60000,
		.in = -1,
		.out = fd,
		.error = -1,
		.cancel_fd = -1,
		.resize_fd = -1};
	struct run_result r;
	struct err e = ERR_INIT;

	if (agents_run(&q, &r, &e))
		fail_msg("%s: %s", script, e.msg);
	return r;
}

/* A reader that left ends the command as it would on the host, or does not, as the command likes; what it
 * had printed is in the journal.  A full disk is said, and ends it. */
static void test_output_goes_nowhere(void **state)
{
	pid_t guest = init_of();
	struct journal_command newest;
	struct journal_output kept;
	struct run_result r;
	struct err e = ERR_INIT;
	int p[2], full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_true(full >= 0);
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	close(p[0]);
	r = run_into(p[1], "exec yes");
	assert_int_equal(r.ended, ENDED_SIGNAL);
	assert_int_equal(r.code, SIGPIPE);
	assert_int_equal(r.exit_code, 141);
	assert_int_equal(r.err.kind, ERR_NONE);
	r = run_into(
		p[1], "trap '' PIPE; echo one; while echo more; do :; done 2>/dev/null; exit 9");
	assert_int_equal(r.ended, ENDED_EXIT);
	assert_int_equal(r.exit_code, 9);
	r = run_into(p[1], "echo the last words; exit 3");
	assert_int_equal(r.exit_code, 3);
	assert_int_equal(journal_list(name, &newest, 1), 1);
	assert_int_equal(newest.out_bytes, strlen("the last words\n"));
	assert_int_equal(journal_read(name, newest.seq, &kept, &e), 0);
	assert_int_equal(kept.npieces, 1);
	assert_int_equal(kept.piece[0].n, strlen("the last words\n"));
	assert_memory_equal(kept.piece[0].bytes, "the last words\n", kept.piece[0].n);
	journal_output_release(&kept);
	r = run_into(full, "setsid sleep 1000 & exec yes");
	assert_int_equal(r.ended, ENDED_FAILED);
	assert_int_equal(r.exit_code, 125);
	assert_int_equal(r.err.sys, ENOSPC);
	assert_non_null(strstr(r.err.msg, "standard output"));
	close(p[1]);
	close(full);
	signal(SIGPIPE, SIG_DFL);
	wait_until_alone(guest);
}

static void *kill_container(void *arg)
{
	pid_t guest = *(pid_t *)arg;

	wait_until_inside(guest, 3);
	kill(guest, SIGKILL);
	return NULL;
}

static void test_container_killed(void **state)
{
	pid_t guest = init_of();
	struct output o;
	struct run_result r;
	pthread_t killer;

	(void)state;
	wait_until_alone(guest);
	assert_int_equal(pthread_create(&killer, NULL, kill_container, &guest), 0);
	r = run_good(&o, 0, "sleep 1000");
	pthread_join(killer, NULL);
	assert_int_equal(r.ended, ENDED_SIGNAL);
	assert_int_equal(r.exit_code, 137);
	assert_non_null(strstr(r.err.msg, "ended while the command ran"));
	release_output(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_supervisor_killed),
		cmocka_unit_test(test_frozen_time_does_not_count),
		cmocka_unit_test(test_frozen_by_whom),
		cmocka_unit_test(test_commands_ended),
		cmocka_unit_test(test_supervisor_of_many_killed),
		cmocka_unit_test(test_guest_does_not_answer),
		cmocka_unit_test(test_nothing_left),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_commands_leave_nothing),
		cmocka_unit_test(test_output_goes_nowhere),
		cmocka_unit_test(test_paused),
		cmocka_unit_test(test_started_again),
		cmocka_unit_test(test_container_killed),
	};

	text_init();
	return cmocka_run_group_tests(tests, setup, teardown);
}
