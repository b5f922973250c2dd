/*
 * clean.c - measures removing 100 containers: a clean-up plan against a minimal client.
 *
 * The containers are orphans (proven ours, their process dead) and were never started, so that no grace
 * period is part of it.  berth looks at each again, has the intent on disk before the request and records
 * the outcome; the peer only sends the requests.  Both do eight at a time.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/clean.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "container/container.h"
#include "engine/sync.h"
#include "peers/docker.h"
#include "peers/remover.h"
#include "suites/files.h"

#define MANY 100
#define SMOKE 8
#define WIDTH 8

struct bench {
	char dir[64], dead[512], *state, *runtime; /* what the environment had */
	struct endpoint endpoint;
	struct engine_sync *engine; /* for looking at what came of it */
	struct engine_info info;
	size_t n;
	char (*id)[65];
	char **name, **body;
	struct clean_host *host;
	struct clean_plan *plan;
	struct clean_outcome *outcome;
	struct arena mem;
};

/* The owner label of a process that is gone. */
static int make_dead_owner(struct bench *b, struct err *e)
{
	AUTO_STR struct str s = STR_INIT;
	int pipes[2];
	ssize_t n;
	pid_t pid;

	if (pipe(pipes))
		return err_set(e, ERR_FAILED, "no pipe");
	pid = fork();
	if (!pid) {
		own_label(&s);
		_exit(write(pipes[1], s.s, s.len) != (ssize_t)s.len);
	}
	waitpid(pid, NULL, 0);
	n = read(pipes[0], b->dead, sizeof b->dead - 1);
	close(pipes[0]);
	close(pipes[1]);
	return n > 0 ? 0 : err_set(e, ERR_FAILED, "no owner label");
}

static int make_body(struct bench *b, size_t i, struct err *e)
{
	static const char session[] = "0123456789abcdef0123456789abcdef";
	AUTO_STR struct str s = STR_INIT;
	char proof[PROOF_MAX];

	b->name[i] = xasprintf("berth-bench-%d-%zu", (int)getpid(), i);
	if (own_proof(b->info.id, b->name[i], session, proof, e))
		return -1;
	str_addf(&s,
		"{\"Image\":\"box:1\",\"Cmd\":[\"true\"],\"HostConfig\":{\"NetworkMode\":\"none\"},"
		"\"Labels\":{\"berth.role\":\"tool\",\"berth.session\":\"%s\",\"berth.proof\":\"%s\","
		"\"berth.owner\":",
		session, proof);
	str_add_json(&s, b->dead);
	str_adds(&s, "}}");
	b->body[i] = str_detach(&s);
	return 0;
}

static void teardown(void *ctx)
{
	struct bench *b = ctx;
	AUTO_FREE char *rm = xasprintf("rm -rf %s", b->dir);

	clean_close(b->host);
	sync_close(b->engine);
	endpoint_release(&b->endpoint);
	set_or_unset("XDG_STATE_HOME", b->state);
	set_or_unset("XDG_RUNTIME_DIR", b->runtime);
	if (*b->dir && system(rm))
		fprintf(stderr, "%s stays\n", b->dir);
	for (size_t i = 0; b->name && i < b->n; i++) {
		free(b->name[i]);
		free(b->body[i]);
	}
	free(b->name);
	free(b->body);
	free(b->id);
	free(b->outcome);
	free(b->state);
	free(b->runtime);
	arena_release(&b->mem);
	free(b);
}

static int open_clean_engine(struct bench *b, struct err *e)
{
	struct clean_options co = {.program = "bench"};
	struct mini look;

	if (mini_open(&look, e) < 0)
		return -1;
	if (mini_image(&look, BOX, e) < 0 || bench_endpoint(&b->endpoint, e) < 0) {
		mini_close(&look);
		return -1;
	}
	mini_close(&look);
	co.host = b->endpoint.url;
	b->engine = sync_open(&b->endpoint, e);
	if (!b->engine || sync_hello(b->engine, &b->info, e))
		return -1;
	b->host = clean_open(&co, e);
	return b->host ? 0 : -1;
}

static void *setup(struct bench_run *r, struct err *e)
{
	struct bench *b = xcalloc(1, sizeof *b);

	arena_init(&b->mem, 65536);
	b->state = xstrdup(getenv("XDG_STATE_HOME"));
	b->runtime = xstrdup(getenv("XDG_RUNTIME_DIR"));
	snprintf(b->dir, sizeof b->dir, "/tmp/berth-bench-XXXXXX");
	if (!mkdtemp(b->dir)) {
		b->dir[0] = '\0';
		goto fail;
	}
	/* Its own key and audit log, on the same disk as any other. */
	setenv("XDG_STATE_HOME", b->dir, 1);
	setenv("XDG_RUNTIME_DIR", b->dir, 1);
	b->n = bench_smoke(r) ? SMOKE : MANY;
	b->id = xcalloc(b->n, sizeof *b->id);
	b->name = xcalloc(b->n, sizeof *b->name);
	b->body = xcalloc(b->n, sizeof *b->body);
	b->outcome = xcalloc(CLEAN_ITEMS_MAX, sizeof *b->outcome);
	if (open_clean_engine(b, e) || make_dead_owner(b, e))
		goto fail;
	for (size_t i = 0; i < b->n; i++)
		if (make_body(b, i, e))
			goto fail;
	bench_note(r, "%zu containers, %d at a time, on %s %s", b->n, WIDTH, b->info.product,
		b->info.version);
	return b;
fail:
	teardown(b);
	return NULL;
}

/* Before each sample: the containers, and the plan that names them. */
static int prepare_sample(void *ctx, struct err *e)
{
	struct bench *b = ctx;
	struct removing make = {b->endpoint.path, WIDTH, b->n, b->id, (const char *const *)b->body,
		(const char *const *)b->name};
	size_t marked = 0;

	if (remover_run(&make, e))
		return -1;
	arena_reset(&b->mem);
	b->plan = clean_plan_make(b->host, false, false, &b->mem, e);
	if (!b->plan)
		return -1;
	for (size_t i = 0; i < b->plan->n; i++)
		marked += b->plan->item[i].marked;
	return marked == b->n
		? 0
		: err_set(e, ERR_FAILED, "the plan has %zu of %zu containers", marked, b->n);
}

/* What is left of them: none, for every arm. */
static int check_removed(struct bench *b, struct sample *s, struct err *e)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++) {
		AUTO_FREE char *path = xasprintf("/containers/%s/json", b->id[i]);

		n += !sync_ask(
			b->engine, "look for %s", b->id[i], "GET", path, NULL, 0, NULL, NULL);
	}
	s->digest = digest_bytes(0, &n, sizeof n);
	return n ? err_set(e, ERR_FAILED, "%zu containers are left", n) : 0;
}

static int run_peer(void *ctx, struct sample *s, struct err *e)
{
	struct bench *b = ctx;
	struct removing r = {b->endpoint.path, WIDTH, b->n, b->id, NULL, NULL};
	double start = now_s();

	if (remover_run(&r, e))
		return -1;
	s->seconds = now_s() - start;
	return check_removed(b, s, e);
}

static int run_berth(void *ctx, struct sample *s, struct err *e)
{
	struct bench *b = ctx;
	const struct clean_run how = {.width = WIDTH, .grace_s = -1};
	struct clean_sum sum;
	double start = now_s();

	if (clean_carry_out(b->host, b->plan, &how, b->outcome, &sum, e))
		return -1;
	s->seconds = now_s() - start;
	if (sum.done != b->n)
		return err_set(e, ERR_FAILED, "berth removed %zu of %zu", sum.done, b->n);
	return check_removed(b, s, e);
}

static const struct bench_case cases[] = {
	{.name = "remove",
		.about = "100 containers removed by a clean-up plan, against a minimal client",
		.samples = 10,
		.warmup = 1,
		.smoke_samples = 1,
		.setup = setup,
		.teardown = teardown,
		.prepare = prepare_sample,
		.arms = {{"minimal client", run_peer}, {"clean-up plan", run_berth}},
		.targets = {{"at most 1.2x of the engine's own time", "clean-up plan", ON_RATIO,
			1 / 1.2, NO_BOUND}},
		.alert_failed = "a clean-up failed"},
	{.name = NULL},
};

const struct bench_suite suite_clean = {"clean", cases};
