/*
 * console.c - measures what a user feels: start, key to frame, and the resources of the console.
 *
 * The program runs in a pty that a terminal emulator reads; times end when the bytes that complete the
 * picture have been read there.
 */
#include "bench.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/spawn.h>

#include "peers/engine.h"
#include "peers/screen.h"

#define FLEET 40
#define PREFIX "berth-bench"

/* -- the program's own start ---------------------------------------------------------------------- */

static char *berth, *empty;

static int spawn_program(const char *path, const char *arg, struct err *e)
{
	const char *const argv[] = {path, arg, NULL};
	int status, bad;
	pid_t pid;

	bad = spawn_start(&(struct spawn){.path = path, .argv = argv, .err = STDERR_FILENO}, &pid);
	if (bad)
		return err_sys(e, bad, "cannot run %s", path);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status)
		? 0
		: err_set(e, ERR_FAILED, "%s did not end with 0", path);
}

static int run_empty(void *ctx, struct sample *s, struct err *e)
{
	(void)ctx;
	s->digest = 1;
	return spawn_program(empty, NULL, e);
}

static int run_version(void *ctx, struct sample *s, struct err *e)
{
	(void)ctx;
	s->digest = 1;
	return spawn_program(berth, "--version", e);
}

static void *setup_programs(struct bench_run *r, struct err *e)
{
	static int there;

	(void)r;
	(void)e;
	berth = xstrdup(program_path("berth"));
	empty = xstrdup(program_path("bench-empty"));
	return &there;
}

static void free_programs(void *ctx)
{
	(void)ctx;
	free(berth);
	free(empty);
}

/* The case above compares by ratio; the requirement is a difference. */
static int measure_version(struct bench_run *r, void *ctx, struct err *e)
{
	(void)ctx;
	for (int i = 0; i < bench_samples(r) + 10 && !bench_cancelled(r); i++) {
		double took[2];

		for (int k = 0; k < 2; k++) {
			int arm = (int)(bench_random(r) & 1) ^ k;
			int64_t start = clock_mono_ns();

			if (arm ? spawn_program(berth, "--version", e)
				: spawn_program(empty, NULL, e))
				return -1;
			took[arm] = (double)(clock_mono_ns() - start) / 1e9;
		}
		if (i < 10)
			continue;
		bench_value(r, "empty program", took[0]);
		bench_value(r, "berth --version", took[1]);
		bench_value(r, "difference", took[1] - took[0]);
	}
	return 0;
}

/* -- a real engine with forty containers ------------------------------------------------------------ */

static struct fleet fleet;

static void *setup_fleet(struct bench_run *r, struct err *e)
{
	if (fleet_start(&fleet, PREFIX, bench_smoke(r) ? 3 : FLEET, e))
		return NULL;
	return &fleet;
}

static void end_fleet(void *ctx)
{
	fleet_end(ctx);
}

static struct screen_peer *open_console(const char *engine, int columns, int rows, struct err *e)
{
	const char *path = program_path("berth");
	const char *argv[] = {path, "-H", engine, NULL};

	return peer_start(argv, NULL, columns, rows, e);
}

static bool all_listed(struct screen_peer *p, void *ctx)
{
	size_t *want = ctx, seen = 0;

	for (int row = 0; row < peer_rows(p); row++)
		seen += strstr(peer_row(p, row), PREFIX) != NULL;
	return seen >= *want;
}

/* Every row of ours has a number with a decimal point, its CPU, after its state. */
static bool all_measured(struct screen_peer *p, void *ctx)
{
	size_t *want = ctx, seen = 0;

	for (int row = 0; row < peer_rows(p); row++) {
		const char *text = peer_row(p, row), *state = strstr(text, "running");

		if (strstr(text, PREFIX) && state && strstr(state, "0.") != NULL)
			seen++;
	}
	return seen >= *want;
}

static int measure_start(struct bench_run *r, void *ctx, struct err *e)
{
	struct fleet *f = ctx;
	size_t want = f->n;

	for (int i = 0; i < bench_samples(r) + 1 && !bench_cancelled(r); i++) {
		int64_t start = clock_mono_ns(), listed, measured;
		struct screen_peer *p = open_console(f->engine, 120, FLEET + 40, e);

		if (!p)
			return -1;
		listed = peer_wait(p, all_listed, &want, 5000);
		measured = peer_wait(p, all_measured, &want, 5000);
		peer_end(p);
		if (!listed || !measured)
			return err_set(
				e, ERR_FAILED, "the console did not show %zu containers", want);
		if (i == 0)
			continue;
		bench_value(r, "to the list", (double)(listed - start) / 1e9);
		bench_value(r, "to every row's statistics", (double)(measured - start) / 1e9);
	}
	return 0;
}

static pid_t client;

/*
 * Engine and shims.  Where several engines run, BERTH_BENCH_PROCESSES is a word that only the command
 * lines of the one in question hold (its directory); the client's own may hold it too.
 */
static double engine_cpu(void)
{
	const char *word = getenv("BERTH_BENCH_PROCESSES");

	if (word)
		return cpu_of_matching(word) - (client ? cpu_of_pid(client) : 0);
	return cpu_of_matching("dockerd") + cpu_of_matching("containerd");
}

static double idle_cpu(double seconds)
{
	double before = engine_cpu();

	usleep((useconds_t)(seconds * 1e6));
	return engine_cpu() - before;
}

static double all_cpu(void)
{
	return engine_cpu() + cpu_of_pid(client);
}

static double client_cpu(void)
{
	return cpu_of_pid(client);
}

static int measure_cost(struct bench_run *r, void *ctx, struct err *e)
{
	struct fleet *f = ctx;
	double seconds = bench_smoke(r) ? 1 : 60, idle, ours, theirs, own;
	const char *argv[] = {"/usr/bin/docker", "-H", f->engine, "stats", NULL};
	struct screen_peer *p;

	client = 0;
	idle = idle_cpu(seconds);
	p = open_console(f->engine, 120, FLEET + 40, e);
	if (!p)
		return -1;
	peer_drain(p, 3000);
	client = peer_pid(p);
	own = client_cpu();
	/* The pty must be read meanwhile, or the console would wait for it. */
	ours = engine_cpu() + own;
	for (int64_t until = clock_mono_ns() + (int64_t)(seconds * 1e9); clock_mono_ns() < until;)
		peer_drain(p, 200);
	ours = engine_cpu() + client_cpu() - ours - idle;
	own = client_cpu() - own;
	bench_value(r, "berth's own, % of a core", 100 * own / seconds);
	peer_end(p);
	p = peer_start(argv, NULL, 160, FLEET + 10, e);
	if (!p)
		return -1;
	peer_drain(p, 3000);
	client = peer_pid(p);
	theirs = all_cpu();
	for (int64_t until = clock_mono_ns() + (int64_t)(seconds * 1e9); clock_mono_ns() < until;)
		peer_drain(p, 200);
	theirs = all_cpu() - theirs - idle;
	peer_end(p);
	bench_value(r, "berth + engine, % of a core", 100 * ours / seconds);
	bench_value(r, "docker stats + engine, %", 100 * theirs / seconds);
	bench_value(r, "ratio, %", theirs > 0 ? 100 * ours / theirs : NAN);
	bench_note(r, "%zu containers over %.0f s; the idle engine's own %.2f %% is taken off both",
		f->n, seconds, 100 * idle / seconds);
	return 0;
}

/* -- the scripted engine: a thousand rows, a megabyte of logs a second ------------------------------ */

static struct fake fake;

static void *setup_thousand(struct bench_run *r, struct err *e)
{
	static const char scenario[] = "{\"containers\": 1000, \"log_rate\": 1000000}";

	(void)r;
	if (fake_start(&fake, scenario, e)) {
		fake_end(&fake);
		return NULL;
	}
	return &fake;
}

static void end_thousand(void *ctx)
{
	fake_end(ctx);
}

struct look { /* the row that the cursor mark stands in */
	int row;
};

static int cursor_row(struct screen_peer *p)
{
	for (int row = 0; row < peer_rows(p); row++)
		if (!strncmp(peer_row(p, row), "\u258c", 3))
			return row;
	return -1;
}

static bool has_cursor_moved(struct screen_peer *p, void *ctx)
{
	const struct look *l = ctx;
	int row = cursor_row(p);

	return row >= 0 && row != l->row;
}

static int measure_keys(struct bench_run *r, void *ctx, struct err *e)
{
	struct fake *f = ctx;
	struct screen_peer *p = open_console(f->url, 120, 40, e);
	struct look l;

	if (!p)
		return -1;
	l.row = -2;
	if (!peer_wait(p, has_cursor_moved, &l, 20000)) {
		peer_end(p);
		return err_set(e, ERR_FAILED, "the console never showed a cursor");
	}
	peer_drain(p, 3000);
	for (int i = 0; i < bench_samples(r) + 10 && !bench_cancelled(r); i++) {
		int64_t start, end;

		/* Keys come at any moment of the sampling period. */
		peer_drain(p, 10 + (int)(bench_random(r) % 40));
		l.row = cursor_row(p);
		start = clock_mono_ns();
		peer_send(p, i % 20 < 10 ? "j" : "k");
		end = peer_wait(p, has_cursor_moved, &l, 2000);
		if (!end) {
			peer_end(p);
			return err_set(e, ERR_FAILED, "a key was not followed by a frame");
		}
		if (i >= 10)
			bench_value(r, "key to frame", (double)(end - start) / 1e9);
	}
	peer_end(p);
	return 0;
}

static bool shows_text(struct screen_peer *p, void *ctx)
{
	return peer_shows(p, ctx);
}

static bool hides_text(struct screen_peer *p, void *ctx)
{
	return !peer_shows(p, ctx);
}

/* While a megabyte a second runs through the view, `?` brings the help, Esc takes it away. */
static int measure_logs(struct bench_run *r, void *ctx, struct err *e)
{
	struct fake *f = ctx;
	struct screen_peer *p = open_console(f->url, 120, 40, e);
	struct look l = {-2};
	int result = 0;

	if (!p)
		return -1;
	if (!peer_wait(p, has_cursor_moved, &l, 20000))
		result = err_set(e, ERR_FAILED, "the console never showed a cursor");
	peer_send(p, "l");
	peer_drain(p, 4000);
	for (int i = 0; !result && i < bench_samples(r) + 10 && !bench_cancelled(r); i++) {
		char *help = (char *)"keys and actions";
		int64_t start, end;

		peer_drain(p, 10 + (int)(bench_random(r) % 40));
		start = clock_mono_ns();
		peer_send(p, i % 2 ? "\033" : "?");
		end = peer_wait(p, i % 2 ? hides_text : shows_text, help, 2000);
		if (!end)
			result = err_set(e, ERR_FAILED, "a key was not followed by a frame");
		/* Esc waits for what might follow it: only the way in is counted. */
		else if (i >= 10 && i % 2 == 0)
			bench_value(r, "key to frame", (double)(end - start) / 1e9);
	}
	peer_end(p);
	return result;
}

/* From the new engine's first answer to a picture that is no longer called lost. */
static int measure_resync(struct bench_run *r, void *ctx, struct err *e)
{
	struct screen_peer *p;
	struct look l = {-2};
	int result = 0;

	(void)ctx;
	if (fake_start(&fake, "{\"containers\": 40}", e)) {
		fake_end(&fake);
		return -1;
	}
	p = open_console(fake.url, 120, 60, e);
	if (!p || !peer_wait(p, has_cursor_moved, &l, 20000))
		result = p ? err_set(e, ERR_FAILED, "the console never showed a cursor") : -1;
	for (int i = 0; !result && i < bench_samples(r) && !bench_cancelled(r); i++) {
		char *lost = (char *)"engine lost";
		int64_t answered, end;

		kill(fake.pid, SIGKILL);
		if (!peer_wait(p, shows_text, lost, 10000)) {
			result = err_set(e, ERR_FAILED,
				"the console did not notice that the engine is gone");
			break;
		}
		/* At any moment between two attempts. */
		peer_drain(p, (int)(bench_random(r) % 3000));
		result = fake_restart(&fake, e);
		answered = clock_mono_ns();
		end = result ? 0 : peer_wait(p, hides_text, lost, 10000);
		if (!result && !end)
			result =
				err_set(e, ERR_FAILED, "the console did not find the engine again");
		if (!result)
			bench_value(r, "resynchronised", (double)(end - answered) / 1e9);
	}
	peer_end(p);
	fake_end(&fake);
	return result;
}

/* Resident after some seconds of running. */
static int measure_resident(
	struct bench_run *r, const char *name, const char *scenario, bool logs, struct err *e)
{
	int seconds = bench_smoke(r) ? 2 : 15;
	struct look l = {-2};
	struct screen_peer *p;
	int result = 0;

	if (fake_start(&fake, scenario, e)) {
		fake_end(&fake);
		return -1;
	}
	p = open_console(fake.url, 120, 40, e);
	if (p && peer_wait(p, has_cursor_moved, &l, 20000)) {
		if (logs)
			peer_send(p, "l");
		for (int i = 0; i < seconds * 5; i++)
			peer_drain(p, 200);
		bench_value(r, name, rss_of_pid(peer_pid(p)));
	} else {
		result = p ? err_set(e, ERR_FAILED, "the console never showed a cursor") : -1;
	}
	peer_end(p);
	fake_end(&fake);
	return result;
}

static int measure_memory(struct bench_run *r, void *ctx, struct err *e)
{
	(void)ctx;
	return measure_resident(r, "40 containers", "{\"containers\": 40}", false, e) ||
			measure_resident(r, "1,000 containers, logs open",
				"{\"containers\": 1000, \"log_rate\": 1000000}", true, e)
		? -1
		: 0;
}

static const struct bench_case cases[] = {
	{.name = "version",
		.about = "berth --version beside an empty C program",
		.samples = 300,
		.setup = setup_programs,
		.teardown = free_programs,
		.measure = measure_version,
		.targets = {{"berth --version within 2 ms of an empty program", "difference",
			ON_MEDIAN, NO_BOUND, 2e-3}}},
	{.name = "version-ratio",
		.about = "the same, interleaved as arms",
		.samples = 200,
		.warmup = 10,
		.setup = setup_programs,
		.teardown = free_programs,
		.arms = {{"empty program", run_empty}, {"berth --version", run_version}}},
	{.name = "start",
		.about = "from exec to the picture, 40 running containers",
		.samples = 30,
		.smoke_samples = 1,
		.setup = setup_fleet,
		.teardown = end_fleet,
		.measure = measure_start,
		.targets = {{"first frame with the list <= 60 ms", "to the list", ON_MEDIAN,
				    NO_BOUND, 0.06},
			{"every row's statistics <= 350 ms", "to every row's statistics", ON_MEDIAN,
				NO_BOUND, 0.35}}},
	{.name = "cost",
		.about = "CPU of an idle console, 40 running containers, 1 Hz",
		.unit = "%",
		.samples = 1,
		.smoke_samples = 1,
		.setup = setup_fleet,
		.teardown = end_fleet,
		.measure = measure_cost,
		.targets = {{"berth's own CPU <= 0.5 % of a core", "berth's own, % of a core",
				    ON_MAX, NO_BOUND, 0.5},
			{"berth + engine <= 1/10 of docker stats + engine", "ratio, %", ON_MAX,
				NO_BOUND, 10}}},
	{.name = "keys",
		.about = "key to painted frame, 1,000 rows",
		.samples = 300,
		.smoke_samples = 20,
		.setup = setup_thousand,
		.teardown = end_thousand,
		.measure = measure_keys,
		.targets = {{"p99 <= 16 ms", "key to frame", ON_P99, NO_BOUND, 0.016}}},
	{.name = "logs",
		.about = "key to painted frame, 1 MB/s of followed logs",
		.samples = 500,
		.smoke_samples = 20,
		.setup = setup_thousand,
		.teardown = end_thousand,
		.measure = measure_logs,
		.targets = {{"p99 <= 16 ms", "key to frame", ON_P99, NO_BOUND, 0.016}}},
	{.name = "resync",
		.about = "engine killed and started again, from its first answer to the picture",
		.samples = 20,
		.smoke_samples = 1,
		.measure = measure_resync,
		.targets = {{"<= 3 s from the engine's first answer", "resynchronised", ON_MAX,
			NO_BOUND, 3}}},
	{.name = "memory",
		.about = "resident memory, 15 s after the start",
		.unit = "MiB",
		.samples = 1,
		.smoke_samples = 1,
		.measure = measure_memory,
		.targets = {{"<= 20 MB with 40 containers", "40 containers", ON_MAX, NO_BOUND, 20},
			{"<= 48 MB with 1,000 containers and logs open",
				"1,000 containers, logs open", ON_MAX, NO_BOUND, 48}}},
	{.name = NULL},
};

const struct bench_suite suite_console = {"console", cases};
