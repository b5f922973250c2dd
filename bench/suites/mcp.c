/* mcp.c - measures berth's MCP server on pipes, against the reference file server from npm on the same calls. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "peers/engine.h"
#include "peers/mcp.h"
#include "suites/files.h"

#define READS 200 /* calls of a sample, where one is too short to be measured alone */
#define BATCH 100 /* files of one call */
#define IN_FLIGHT 1000
#define NEEDLE "a needle"
#define NEEDLE_EVERY 100 /* files, in each of which it stands once */
#define IDLE_MS 500      /* after the last call, before the memory is read */

enum work { READ_8K, READ_100, SEARCH, START, MANY, MEMORY };

struct serving {
	struct scratch top;
	char tree[PATH_MAX], team[PATH_MAX];
	const char *reference; /* the other server's program */
	struct mcp_peer other, berth;
	size_t files; /* file0 .. of 8 KiB, or small ones for the search */
	enum work work;
};

static int write_team(const struct serving *x, struct err *e)
{
	static const char text[] = "agents:\n  one: {image: \"box:1\", workspace: ./tree}\n";

	return file_replace(x->team, text, sizeof text - 1, false) < 0
		? err_sys(e, errno, "cannot write %s", x->team)
		: 0;
}

static int hide_needle(const struct serving *x, const char *name, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/%s", x->top.path, name);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	return fd < 0 || file_write(fd, "\n" NEEDLE "\n", sizeof NEEDLE + 1) < 0
		? err_sys(e, errno, "cannot write %s", path)
		: 0;
}

static int fill_served(struct serving *x, bool smoke, struct err *e)
{
	size_t size = x->work == SEARCH ? 1000 : 8192 - 64;

	x->files = x->work != SEARCH ? BATCH : smoke ? 2 * BATCH : 100 * BATCH;
	for (size_t i = 0; i < x->files; i++) {
		AUTO_FREE char *name = xasprintf("tree/d%zu/file%zu", i / 200, i);

		if (scratch_file(&x->top, name, size, i, e) ||
			(x->work == SEARCH && i % NEEDLE_EVERY == 0 && hide_needle(x, name, e)))
			return -1;
	}
	return 0;
}

static int start_other(struct serving *x, struct mcp_peer *p, struct err *e)
{
	const char *argv[] = {"node", x->reference, x->tree, NULL};

	return mcp_peer_start(p, argv, e);
}

static int start_berth(struct serving *x, struct mcp_peer *p, struct err *e)
{
	const char *argv[] = {berth_program(), "-c", x->team, "mcp", "--agent", "one", NULL};

	return mcp_peer_start(p, argv, e);
}

static void release_serving(void *ctx)
{
	struct serving *x = ctx;

	mcp_peer_end(&x->other);
	mcp_peer_end(&x->berth);
	scratch_release(&x->top);
	free(x);
}

static int set_up(struct serving *x, bool smoke, struct err *e)
{
	static struct scratch installed;

	if (!berth_program())
		return err_set(e, ERR_NOT_FOUND, "berth is not next to this program");
	if (!installed.path[0] && scratch_init(&installed, e))
		return -1;
	if (scratch_init(&x->top, e))
		return -1;
	if (chmod(x->top.path, 0755) < 0)
		return err_sys(e, errno, "cannot open %s", x->top.path);
	snprintf(x->tree, sizeof x->tree, "%.2000s/tree", x->top.path);
	snprintf(x->team, sizeof x->team, "%.2000s/team.yaml", x->top.path);
	if (fill_served(x, smoke, e) || write_team(x, e))
		return -1;
	x->reference =
		x->work == MANY || x->work == MEMORY ? "" : mcp_reference_server(installed.path, e);
	if (!x->reference)
		return -1;
	if (x->work == START)
		return 0;
	return (*x->reference && start_other(x, &x->other, e)) || start_berth(x, &x->berth, e) ? -1
											       : 0;
}

static void *setup_serving(struct bench_run *r, struct err *e)
{
	struct serving *x = xcalloc(1, sizeof *x);

	x->other.in = x->other.out = x->berth.in = x->berth.out = -1;
	x->work = *(const enum work *)bench_what(r)->data;
	if (set_up(x, bench_smoke(r), e) == 0)
		return x;
	release_serving(x);
	return NULL;
}

/* ---- what is asked for */

/* The first n of a directory, from `from` on: {"paths":[...]}. */
static void name_files(const struct serving *x, size_t from, size_t n, struct str *out)
{
	str_clear(out);
	str_adds(out, "{\"paths\":[");
	for (size_t i = from; i < from + n; i++)
		str_addf(out, "%s\"%s/d%zu/file%zu\"", i > from ? "," : "", x->tree, i / 200, i);
	str_adds(out, "]}");
}

/* So many single reads, of one file after the other. */
static int read_singly(
	struct serving *x, struct mcp_peer *p, size_t n, uint64_t *digest, struct err *e)
{
	AUTO_STR struct str answer = STR_INIT, arguments = STR_INIT;

	for (size_t i = 0; i < n; i++) {
		size_t k = i % x->files;

		str_clear(&arguments);
		str_addf(&arguments, "{\"path\":\"%s/d%zu/file%zu\"}", x->tree, k / 200, k);
		if (mcp_peer_call(p, "read_text_file", arguments.s, &answer, e))
			return -1;
		if (answer.len < 8000)
			return err_set(e, ERR_FAILED, "an answer is too short: %.200s", answer.s);
		*digest += 1;
	}
	return 0;
}

/* Of an answer that may give its text twice: the second time as data. */
static uint64_t count_needles(const char *answer)
{
	const char *end = mcp_peer_member(answer, "structuredContent");
	uint64_t n = 0;

	for (const char *at = answer; (at = strstr(at, NEEDLE)) && (!end || at < end); at++)
		n++;
	return n;
}

/* By a client that has to read everything. */
static int search_by_reading(struct serving *x, uint64_t *digest, struct err *e)
{
	AUTO_STR struct str answer = STR_INIT, arguments = STR_INIT;

	for (size_t i = 0; i < x->files; i += BATCH) {
		name_files(x, i, BATCH, &arguments);
		if (mcp_peer_call(&x->other, "read_multiple_files", arguments.s, &answer, e))
			return -1;
		*digest += count_needles(answer.s);
	}
	return 0;
}

static int search_by_berth(struct serving *x, uint64_t *digest, struct err *e)
{
	AUTO_STR struct str answer = STR_INIT, arguments = STR_INIT;
	const char *at;

	str_addf(&arguments, "{\"path\":\"%s\",\"pattern\":\"" NEEDLE "\"}", x->tree);
	if (mcp_peer_call(&x->berth, "search_text", arguments.s, &answer, e))
		return -1;
	at = mcp_peer_member(answer.s, "hits");
	*digest += at ? strtoull(at, NULL, 10) : 0;
	return 0;
}

static int read_batch(struct serving *x, uint64_t *digest, struct err *e)
{
	AUTO_STR struct str answer = STR_INIT, arguments = STR_INIT;

	name_files(x, 0, BATCH, &arguments);
	if (mcp_peer_call(&x->berth, "read_multiple_files", arguments.s, &answer, e))
		return -1;
	if (answer.len < (size_t)8000 * BATCH)
		return err_set(e, ERR_FAILED, "not all files were answered");
	*digest += BATCH;
	return 0;
}

/* ---- the arms */

static int ask(void *ctx, struct sample *s, struct err *e)
{
	struct serving *x = ctx;
	bool ours = s->arm;
	struct mcp_peer p, *peer = ours ? &x->berth : &x->other;
	int64_t begun = clock_mono_ns();
	int rc = 0;

	s->digest = 0;
	switch (x->work) {
	case READ_8K:
		rc = read_singly(x, peer, READS, &s->digest, e);
		s->seconds = (double)(clock_mono_ns() - begun) / 1e9 / READS;
		break;
	case READ_100:
		rc = ours ? read_batch(x, &s->digest, e)
			  : read_singly(x, peer, BATCH, &s->digest, e);
		break;
	case SEARCH:
		rc = ours ? search_by_berth(x, &s->digest, e) : search_by_reading(x, &s->digest, e);
		break;
	default:
		rc = ours ? start_berth(x, &p, e) : start_other(x, &p, e);
		s->seconds = (double)(clock_mono_ns() - begun) / 1e9;
		mcp_peer_end(&p);
	}
	return rc;
}

/* ---- measurements */

/* All asked before any is read, each answered once. */
static int ask_many(struct serving *x, struct err *e)
{
	AUTO_FREE bool *seen = xcalloc(x->berth.last + IN_FLIGHT + 1, sizeof *seen);
	AUTO_STR struct str line = STR_INIT, arguments = STR_INIT;
	unsigned from = x->berth.last + 1, answered = 0;

	str_addf(&arguments, "{\"path\":\"%s/d0/file0\",\"head\":1}", x->tree);
	for (size_t i = 0; i < IN_FLIGHT; i++)
		if (!mcp_peer_ask(&x->berth, "read_text_file", arguments.s, e))
			return -1;
	while (answered < IN_FLIGHT) {
		const char *at;
		unsigned long id;

		if (mcp_peer_line(&x->berth, &line, e))
			return -1;
		at = mcp_peer_member(line.s, "id");
		id = at ? strtoul(at, NULL, 10) : 0;
		if (id < from || id >= from + IN_FLIGHT || seen[id])
			return err_set(e, ERR_FAILED, "not an answer: %.200s", line.s);
		seen[id] = true;
		answered++;
	}
	return 0;
}

static int measure_many(struct bench_run *r, void *ctx, struct err *e)
{
	for (int i = 0; i < bench_samples(r) && !bench_cancelled(r); i++) {
		int64_t begun = clock_mono_ns();

		if (ask_many(ctx, e))
			return -1;
		bench_value(r, "1,000 at once", (double)(clock_mono_ns() - begun) / 1e9);
	}
	return 0;
}

static int measure_memory(struct bench_run *r, void *ctx, struct err *e)
{
	struct serving *x = ctx;
	uint64_t digest = 0;

	for (int i = 0; i < bench_samples(r) && !bench_cancelled(r); i++) {
		double resident;

		if (read_singly(x, &x->berth, 10, &digest, e))
			return -1;
		usleep(IDLE_MS * 1000);
		resident = rss_of_pid(x->berth.pid);
		if (resident <= 0)
			return err_set(e, ERR_FAILED, "the server has ended");
		bench_value(r, "resident", resident);
	}
	return 0;
}

static const enum work works[] = {READ_8K, READ_100, SEARCH, START, MANY, MEMORY};
static const char reference[] = "server-filesystem (npm)";

#define SERVING(name_, about_, work_, samples_, ...)                                     \
	{                                                                                \
		.name = (name_), .about = (about_), .samples = (samples_), .warmup = 1,  \
		.smoke_samples = 2, .setup = setup_serving, .teardown = release_serving, \
		.data = &works[work_], .arms = {{reference, ask}, {"berth", ask}},       \
		.targets = __VA_ARGS__,                                                  \
	}
#define TARGETS(...)        \
	{                   \
		__VA_ARGS__ \
	}

static const struct bench_case cases[] = {
	SERVING("read-8k", "a file of 8 KiB in the cache, one call", READ_8K, 15,
		TARGETS({"cached 8 KiB read p50 <= 0.3 ms over pipes", "berth", ON_MEDIAN, NO_BOUND,
				0.0003},
			{"and >= 10x faster", "berth", ON_RATIO, 10, NO_BOUND})),
	SERVING("read-100", "100 files: one call, and the other's 100", READ_100, 15,
		TARGETS({"100 files in one call >= 10x over 100 calls to it", "berth", ON_RATIO, 10,
			NO_BOUND})),
	SERVING("search", "10,000 files: search_text, and reading all of them by the other", SEARCH,
		5,
		TARGETS({"search_text over 10,000 files >= 20x its search", "berth", ON_RATIO, 20,
			NO_BOUND})),
	SERVING("start", "from the start to the first answer", START, 15,
		TARGETS({"start to first answer <= 20 ms", "berth", ON_MEDIAN, NO_BOUND, 0.020})),
	{.name = "many",
		.about = "1,000 calls asked before any answer is read",
		.samples = 9,
		.smoke_samples = 1,
		.setup = setup_serving,
		.teardown = release_serving,
		.data = &works[MANY],
		.measure = measure_many},
	{.name = "memory",
		.about = "resident memory of an idle server, after some calls",
		.unit = "MB",
		.samples = 5,
		.smoke_samples = 1,
		.setup = setup_serving,
		.teardown = release_serving,
		.data = &works[MEMORY],
		.measure = measure_memory,
		.targets = {{"memory <= 16 MB idle", NULL, ON_MAX, NO_BOUND, 16}}},
	{.name = NULL},
};

const struct bench_suite suite_mcp = {"mcp", cases};
