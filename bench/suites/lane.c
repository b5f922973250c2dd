/*
 * lane.c - measures the lane: a command against the host and the engine, and by the MCP server; many at once; a gigabyte
 * of output; a tool from the warm pool.
 *
 * The agent is brought up as any agent is, with its journal on, in directories of this benchmark's own.
 */
#include "bench.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/pool.h>
#include <berth/str.h>
#include <berth/tool.h>

#include "container/container.h"
#include "peers/mcp.h"
#include "run/pool.h"
#include "suites/agents.h"

#define MANY 64
#define GIB ((uint64_t)1 << 30)
#define COMPUTE "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; echo $i"
#define FILES                                                                                       \
	"mkdir d; i=0; while [ $i -lt 300 ]; do echo $i >d/$i; i=$((i+1)); done; cat d/* | wc -l; " \
	"rm -r d"

struct lane_bench {
	struct crew crew;
	char name[64];
	struct pool *pool;
	struct mcp_peer mcp; /* a server for the agent */
	bool up;
};

static void teardown(void *ctx)
{
	struct lane_bench *b = ctx;

	pool_stop(b->pool);
	mcp_peer_end(&b->mcp);
	for (size_t i = 0; b->up && i < b->crew.team.nagents; i++)
		crew_take_down(&b->crew, i);
	crew_close(&b->crew);
	free(b);
}

static int prepare_agent(struct lane_bench *b, struct err *e)
{
	struct agents_options o = {
		.host = b->crew.url, .defaults = {.journal_commands = 128, .journal_bytes = 65536}};
	AUTO_STR struct str text = STR_INIT;
	struct agent_up up;

	str_addf(&text,
		"agents:\n  %s:\n    image: box:1\n    workspace: %s\n    pids: 1024\n    cpus: %ld\n"
		"  %s-a: {image: box:1, workspace: %s}\n"
		"  %s-b: {image: box:1, workspace: %s, network: {allow: [pypi.org]}}\n"
		"custom_tools:\n  hello:\n    image: box:1\n    script: 'echo hello'\n"
		"    pool: {size: 3, idle: 3600}\n",
		b->name, b->crew.workspace, sysconf(_SC_NPROCESSORS_ONLN), b->name,
		b->crew.workspace, b->name, b->crew.workspace);
	if (crew_read(&b->crew, text.s, e))
		return -1;
	b->crew.host = agents_open(&o, e);
	if (!b->crew.host ||
		agents_up(b->crew.host, &b->crew.team, &b->crew.team.agents[0], &up, e))
		return -1;
	b->up = true;
	return 0;
}

static void *setup(struct bench_run *r, struct err *e)
{
	struct lane_bench *b = xcalloc(1, sizeof *b);
	static unsigned serial;

	(void)r;
	b->mcp.in = b->mcp.out = -1;
	snprintf(b->name, sizeof b->name, "bench%d-%u", (int)getpid(), serial++);
	if (!have_program("busybox") || !have_program("docker")) {
		err_set(e, ERR_NOT_FOUND, "busybox and docker are needed on this machine");
		free(b);
		return NULL;
	}
	if (crew_open(&b->crew, e)) {
		free(b);
		return NULL;
	}
	if (!prepare_agent(b, e))
		return b;
	teardown(b);
	return NULL;
}

static void *setup_pool(struct bench_run *r, struct err *e)
{
	struct lane_bench *b = setup(r, e);
	struct agents_options o = {.host = b ? b->crew.url : NULL};

	if (b && !(b->pool = pool_start(&o, b->crew.file, e))) {
		teardown(b);
		return NULL;
	}
	return b;
}

/* --- the ways to a command --- */

static int finish_sample(
	struct sample *s, double begun, int code, const struct str *out, struct err *e)
{
	s->seconds = now_s() - begun;
	s->digest = digest_bytes(0, out->s, out->len);
	return code ? err_set(e, ERR_FAILED, "the command exited with %d", code) : 0;
}

static int by_host(struct lane_bench *b, const char *script, struct sample *s, struct err *e)
{
	AUTO_STR struct str there = STR_INIT, out = STR_INIT;
	const char *argv[] = {"busybox", "sh", "-c", there.s, NULL};
	double begun;
	int code;

	str_adds(&there, script);
	argv[3] = there.s;
	if (chdir(b->crew.team.agents[0].workspace))
		return err_set(e, ERR_FAILED, "cannot enter the workspace");
	begun = now_s();
	code = run_program(argv, &out, e);
	return code < 0 ? -1 : finish_sample(s, begun, code, &out, e);
}

static int by_lane(struct lane_bench *b, const char *script, struct sample *s, struct err *e)
{
	AUTO_STR struct str out = STR_INIT;
	const char *argv[] = {"sh", "-c", script};
	struct run_request q = {.agent = b->name,
		.argv = argv,
		.argc = 3,
		.in = -1,
		.out = -1,
		.error = -1,
		.output = crew_output,
		.ctx = &out,
		.cancel_fd = -1,
		.resize_fd = -1};
	struct run_result r;
	double begun = now_s();

	if (agents_run(&q, &r, e))
		return -1;
	if (r.path != RUN_LANE)
		return err_set(e, ERR_FAILED, "the command did not take the lane");
	return finish_sample(s, begun, r.exit_code, &out, e);
}

static int by_process(struct lane_bench *b, const char *script, struct sample *s, struct err *e)
{
	AUTO_STR struct str out = STR_INIT;
	const char *argv[] = {berth_program(), "exec", b->name, "--", "sh", "-c", script, NULL};
	double begun = now_s();
	int code = run_program(argv, &out, e);

	return code < 0 ? -1 : finish_sample(s, begun, code, &out, e);
}

static int by_docker(struct lane_bench *b, const char *script, struct sample *s, struct err *e)
{
	AUTO_STR struct str out = STR_INIT;
	const char *argv[] = {"docker", "-H", b->crew.url, "exec", b->crew.team.agents[0].container,
		"sh", "-c", script, NULL};
	double begun = now_s();
	int code = run_program(argv, &out, e);

	return code < 0 ? -1 : finish_sample(s, begun, code, &out, e);
}

#define WAYS(name, script)                                                 \
	static int name##_host(void *ctx, struct sample *s, struct err *e) \
	{                                                                  \
		return by_host(ctx, script, s, e);                         \
	}                                                                  \
	static int name##_lane(void *ctx, struct sample *s, struct err *e) \
	{                                                                  \
		return by_lane(ctx, script, s, e);                         \
	}
WAYS(trivial, "true")
WAYS(compute, COMPUTE)
WAYS(files, FILES)

static int trivial_process(void *ctx, struct sample *s, struct err *e)
{
	return by_process(ctx, "true", s, e);
}

static int trivial_docker(void *ctx, struct sample *s, struct err *e)
{
	return by_docker(ctx, "true", s, e);
}

/* --- 64 --- */

struct worker {
	pthread_t thread;
	struct lane_bench *b;
	int failed;
};

static void *work_in_lane(void *arg)
{
	struct worker *w = arg;
	struct sample s = {0};

	w->failed = by_lane(w->b, "echo $((6 * 7))", &s, NULL);
	return NULL;
}

static int at_once(void *ctx, struct sample *s, struct err *e)
{
	struct worker w[MANY];
	int failed = 0, n = 0;

	for (; n < MANY; n++) {
		w[n] = (struct worker){.b = ctx};
		if (pthread_create(&w[n].thread, NULL, work_in_lane, &w[n]))
			break;
	}
	failed = n < MANY;
	for (int i = 0; i < n; i++) {
		pthread_join(w[i].thread, NULL);
		failed |= w[i].failed;
	}
	s->digest = 1;
	return failed ? err_set(e, ERR_FAILED, "one of %d commands failed", MANY) : 0;
}

static int run_one_by_one(void *ctx, struct sample *s, struct err *e)
{
	for (int i = 0; i < MANY; i++) {
		struct sample one = {0};

		if (by_lane(ctx, "echo $((6 * 7))", &one, e))
			return -1;
	}
	s->digest = 1;
	return 0;
}

/* --- a gigabyte --- */

static int measure_output(struct bench_run *r, void *ctx, struct err *e)
{
	struct lane_bench *b = ctx;
	const char *argv[] = {"dd", "if=/dev/zero", "bs=64k", "count=16384"};
	char path[300];

	snprintf(path, sizeof path, "%s/out", b->crew.dir.path);
	for (int i = 0; i < bench_samples(r) && !bench_cancelled(r); i++) {
		AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		struct run_request q = {.agent = b->name,
			.argv = argv,
			.argc = 4,
			.in = -1,
			.out = fd,
			.error = -1,
			.cancel_fd = -1,
			.resize_fd = -1};
		struct run_result ran;
		struct rusage before, after;
		struct stat st;
		double begun;

		getrusage(RUSAGE_SELF, &before);
		begun = now_s();
		if (fd < 0 || agents_run(&q, &ran, e))
			return -1;
		bench_value(r, "to a file", (double)GIB / 1e6 / (now_s() - begun));
		getrusage(RUSAGE_SELF, &after);
		if (ran.exit_code || fstat(fd, &st) || (uint64_t)st.st_size != GIB)
			return err_set(e, ERR_FAILED, "not all of the output came");
		if (i == 0)
			bench_note(r,
				"memory of the client grew by %ld kB while 1 GiB went through",
				after.ru_maxrss - before.ru_maxrss);
	}
	unlink(path);
	return 0;
}

/* --- the warm pool --- */

struct first {
	double at;
	size_t n;
};

static void first_byte(void *ctx, int stream, const char *bytes, size_t n)
{
	struct first *f = ctx;

	(void)stream;
	(void)bytes;
	if (!f->n)
		f->at = now_s();
	f->n += n;
}

static int wait_warm(struct bench_run *r, struct err *e)
{
	double until = now_s() + 60;

	while (!bench_cancelled(r)) {
		struct pool_info p[2];

		if (pool_list(p, 2) && p[0].warm == p[0].size)
			return 0;
		if (now_s() > until)
			return err_set(
				e, ERR_TIMEOUT, "no container became ready: %s", p[0].problem);
		poll(NULL, 0, 5);
	}
	return -1;
}

/* From the request to the first byte of the tool's first instruction. */
static int warm_call(struct bench_run *r, struct lane_bench *b, struct err *e)
{
	struct first f = {0};
	struct run_request q = {.in = -1,
		.out = -1,
		.error = -1,
		.output = first_byte,
		.ctx = &f,
		.cancel_fd = -1,
		.resize_fd = -1};
	struct pool_claim claim;
	struct run_result ran;
	struct tool_box *box;
	double begun;
	int failed;

	if (wait_warm(r, e))
		return -1;
	begun = now_s();
	box = pool_take(
		b->crew.host->at.info.id, &b->crew.team, &b->crew.team.tools[0], NULL, &claim);
	if (!box)
		return err_set(e, ERR_FAILED, "the pool had no container");
	failed = tool_box_run(box, &q, &ran, e);
	if (!failed && f.n)
		bench_value(r, "warm", f.at - begun);
	if (tool_box_drop(b->crew.host, box, failed ? NULL : e))
		failed = -1;
	pool_done(&claim);
	return failed;
}

static int cold_call(struct bench_run *r, struct lane_bench *b, struct err *e)
{
	const char *argv[] = {"docker", "-H", b->crew.url, "run", "--rm", "--network", "none",
		"box:1", "sh", "-c", "echo hello", NULL};
	AUTO_STR struct str out = STR_INIT;
	double begun = now_s();
	int code;

	if (wait_warm(r, e)) /* the keeper shall not be busy meanwhile */
		return -1;
	begun = now_s();
	code = run_program(argv, &out, e);
	if (code)
		return code < 0 ? -1 : err_set(e, ERR_FAILED, "docker run exited with %d", code);
	bench_value(r, "docker run", now_s() - begun);
	return 0;
}

static int measure_warm(struct bench_run *r, void *ctx, struct err *e)
{
	for (int i = 0; i < bench_samples(r) && !bench_cancelled(r); i++)
		if (warm_call(r, ctx, e) || (i % 5 == 0 && cold_call(r, ctx, e)))
			return -1;
	return 0;
}

/* --- by the MCP server --- */

#define READS 1000
#define SEARCHED 10000 /* files that the search goes through */

static void *setup_mcp(struct bench_run *r, struct err *e)
{
	struct lane_bench *b = setup(r, e);
	const char *argv[] = {berth_program(), "-H", b ? b->crew.url : "", "-c",
		b ? b->crew.file : "", "mcp", "--agent", b ? b->name : "", NULL};

	if (b && mcp_peer_start(&b->mcp, argv, e)) {
		teardown(b);
		return NULL;
	}
	return b;
}

static void *setup_beside(struct bench_run *r, struct err *e)
{
	struct lane_bench *b = setup_mcp(r, e);
	size_t n = bench_smoke(r) ? SEARCHED / 50 : SEARCHED;

	for (size_t i = 0; b && i < n; i++) {
		AUTO_FREE char *name = xasprintf("ws/d%zu/file%zu", i / 200, i);

		if (scratch_file(&b->crew.dir, name, i ? 1000 : 8000, i, e)) {
			teardown(b);
			return NULL;
		}
	}
	return b;
}

static int trivial_mcp(void *ctx, struct sample *s, struct err *e)
{
	struct lane_bench *b = ctx;
	AUTO_STR struct str answer = STR_INIT;
	const char *code;

	if (mcp_peer_call(
		    &b->mcp, "execute_command", "{\"argv\":[\"sh\",\"-c\",\"true\"]}", &answer, e))
		return -1;
	code = mcp_peer_member(answer.s, "exit_code");
	s->digest = digest_bytes(0, "", 0);
	return code && *code == '0'
		? 0
		: err_set(e, ERR_FAILED, "the command did not end as it should: %.300s", answer.s);
}

/* What is under way beside the reads; 0: nothing. */
struct beside {
	unsigned command, search;
	const char *sleep; /* the command */
};

static int keep_busy(struct lane_bench *b, struct beside *x, struct err *e)
{
	AUTO_STR struct str what = STR_INIT;

	if (!x->command && !(x->command = mcp_peer_ask(&b->mcp, "execute_command", x->sleep, e)))
		return -1;
	str_addf(&what, "{\"path\":\"%s\",\"pattern\":\"nothing has this\"}", b->crew.workspace);
	return x->search || (x->search = mcp_peer_ask(&b->mcp, "search_text", what.s, e)) ? 0 : -1;
}

/* The id that the next message answers; 0: *e. */
static unsigned take_answer(struct lane_bench *b, struct beside *x, struct str *line, struct err *e)
{
	const char *at;
	unsigned id;

	do {
		if (mcp_peer_line(&b->mcp, line, e))
			return 0;
		at = mcp_peer_member(line->s, "id");
		id = at ? (unsigned)strtoul(at, NULL, 10) : 0;
	} while (!id);
	x->search = id == x->search ? 0 : x->search;
	x->command = id == x->command ? 0 : x->command;
	return id;
}

/* How long one read takes; negative: *e. */
static double read_once(struct lane_bench *b, struct beside *x, bool busy, struct err *e)
{
	AUTO_STR struct str line = STR_INIT;
	char path[400];
	unsigned id, got;
	double begun;

	snprintf(path, sizeof path, "{\"path\":\"%s/d0/file0\"}", b->crew.workspace);
	if (busy && keep_busy(b, x, e))
		return -1;
	begun = now_s();
	id = mcp_peer_ask(&b->mcp, "read_text_file", path, e);
	do {
		if (!id || !(got = take_answer(b, x, &line, e)))
			return -1;
	} while (got != id);
	if (line.len < 8000) {
		err_set(e, ERR_FAILED, "not the file: %.300s", line.s);
		return -1;
	}
	return now_s() - begun;
}

static int read_p99(struct lane_bench *b, struct beside *x, bool busy, double *ret, struct err *e)
{
	struct summary s;
	double v[READS];

	for (int i = 0; i < READS; i++)
		if ((v[i] = read_once(b, x, busy, e)) < 0)
			return -1;
	summarise(v, READS, &s);
	*ret = s.p99;
	return 0;
}

static int measure_beside(struct bench_run *r, void *ctx, struct err *e)
{
	struct lane_bench *b = ctx;

	for (int i = 0; i < bench_samples(r) && !bench_cancelled(r); i++) {
		struct beside x = {.sleep = bench_smoke(r) ? "{\"argv\":[\"sleep\",\"1\"]}"
							   : "{\"argv\":[\"sleep\",\"10\"]}"};
		double quiet, busy;
		AUTO_STR struct str line = STR_INIT;

		if (read_p99(b, &x, false, &quiet, e) || read_p99(b, &x, true, &busy, e))
			return -1;
		bench_value(r, "alone", quiet);
		bench_value(r, "beside both", busy);
		bench_value(r, "rise", busy - quiet);
		while (x.search || x.command)
			if (!take_answer(b, &x, &line, e))
				return -1;
	}
	return 0;
}

/* The arms are agents of the team, behind the first. */
static int up_again(void *ctx, struct sample *s, struct err *e)
{
	struct lane_bench *b = ctx;
	const struct agent_def *a = &b->crew.team.agents[1 + (size_t)s->arm];
	struct err why = ERR_INIT;
	struct agent_up up;
	double begun;

	if (agents_down(b->crew.host, a->container, &why) && why.kind != ERR_NOT_FOUND)
		return err_copy(e, &why);
	begun = now_s();
	if (agents_up(b->crew.host, &b->crew.team, a, &up, e))
		return -1;
	s->seconds = now_s() - begun;
	s->digest = 1;
	return 0;
}

static const struct bench_case cases[] = {
	{.name = "command",
		.about = "sh -c true in a running agent, by a library client",
		.samples = 200,
		.warmup = 5,
		.setup = setup,
		.teardown = teardown,
		.arms = {{"on the host", trivial_host}, {"lane", trivial_lane}},
		.targets = {{"4.2: at most 0.5 ms over the host", "lane", ON_OVER, NO_BOUND,
			0.0005}}},
	{.name = "exec",
		.about = "sh -c true by a whole process: berth exec, docker exec",
		.samples = 200,
		.warmup = 3,
		.setup = setup,
		.teardown = teardown,
		.baseline = 1,
		.arms = {{"on the host", trivial_host}, {"docker exec", trivial_docker},
			{"berth exec", trivial_process}},
		.targets = {{"4.2: at least 20 times faster than docker exec", "berth exec",
			ON_RATIO, 20, NO_BOUND}}},
	{.name = "exec-over-host",
		.about = "sh -c true by berth exec, over the host's own time",
		.samples = 200,
		.warmup = 3,
		.setup = setup,
		.teardown = teardown,
		.arms = {{"on the host", trivial_host}, {"berth exec", trivial_process}},
		.targets = {{"at most 3 ms over the host", "berth exec", ON_OVER, NO_BOUND,
			0.003}}},
	{.name = "mcp-command",
		.about = "sh -c true by execute_command of the MCP server",
		.samples = 200,
		.warmup = 5,
		.setup = setup_mcp,
		.teardown = teardown,
		.arms = {{"on the host", trivial_host}, {"execute_command", trivial_mcp}},
		.targets = {{"at most 1.5 ms over the host", "execute_command", ON_OVER, NO_BOUND,
			0.0015}}},
	{.name = "mcp-beside",
		.about =
			"p99 of 1,000 cached reads of 8 KiB by the MCP server, alone and while a command runs and 10,000 files are searched",
		.samples = 7,
		.smoke_samples = 1,
		.setup = setup_beside,
		.teardown = teardown,
		.measure = measure_beside,
		.targets = {{"p99 rises by at most 1 ms", "rise", ON_MEDIAN, NO_BOUND, 0.001}}},
	{.name = "up-egress",
		.about = "an agent without a network comes up, without rules and with some",
		.samples = 20,
		.smoke_samples = 1,
		.warmup = 1,
		.setup = setup,
		.teardown = teardown,
		.arms = {{"no network", up_again}, {"egress", up_again}},
		.targets = {{"up at most 15 ms slower", "egress", ON_OVER, NO_BOUND, 0.015}}},
	{.name = "compute",
		.about = "a command that computes for 50 ms and more",
		.samples = 60,
		.warmup = 2,
		.setup = setup,
		.teardown = teardown,
		.arms = {{"on the host", compute_host}, {"lane", compute_lane}},
		.targets = {{"4.2: less than 5 % over the host", "lane", ON_FLOOR, 0, 1.05}}},
	{.name = "files",
		.about = "a command that makes, reads and removes 300 files in the workspace",
		.samples = 60,
		.warmup = 2,
		.setup = setup,
		.teardown = teardown,
		.arms = {{"on the host", files_host}, {"lane", files_lane}},
		.targets = {{"4.2: less than 5 % over the host", "lane", ON_FLOOR, 0, 1.05}}},
	{.name = "many",
		.about = "64 commands in one container",
		.samples = 20,
		.warmup = 1,
		.setup = setup,
		.teardown = teardown,
		.arms = {{"one by one", run_one_by_one}, {"at once", at_once}},
		.targets = {{"at once never slower than 0.95 of one by one", "at once", ON_RATIO,
			0.95, NO_BOUND}}},
	{.name = "output",
		.about = "1 GiB of output of one command into a file",
		.unit = "MB/s",
		.higher = true,
		.samples = 7,
		.smoke_samples = 1,
		.setup = setup,
		.teardown = teardown,
		.measure = measure_output,
		.targets = {{"at least 500 MB/s", "to a file", ON_MEDIAN, 500, NO_BOUND}}},
	{.name = "warm-tool",
		.about = "a tool from the warm pool: from the request to its first byte",
		.samples = 200,
		.smoke_samples = 1,
		.setup = setup_pool,
		.teardown = teardown,
		.measure = measure_warm,
		.targets = {{"4.1: at most 5 ms", "warm", ON_MEDIAN, NO_BOUND, 0.005},
			{"4.1: at most 20 ms at p99", "warm", ON_P99, NO_BOUND, 0.020}}},
	{.name = NULL},
};

const struct bench_suite suite_lane = {"lane", cases};
