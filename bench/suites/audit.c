/*
 * audit.c - measures the audit log: appending, durable acknowledgements, verifying, opening, and the cost of a durable
 * intent.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <berth/mem.h>

#include "suites/files.h"
#include "audit/chain.h"

#define WRITERS 16

struct rig {
	struct scratch scratch;
	char dir[4200];
	struct audit *log;
	int plain; /* a file beside the log, for comparison */
	off_t at;
};

static void *setup(struct bench_run *r, struct err *e)
{
	struct rig *rig = xcalloc(1, sizeof *rig);

	(void)r;
	rig->plain = -1;
	if (scratch_init(&rig->scratch, e) < 0) {
		free(rig);
		return NULL;
	}
	snprintf(rig->dir, sizeof rig->dir, "%s/audit", rig->scratch.path);
	return rig;
}

static void close_log(struct rig *rig)
{
	audit_close(STEAL(rig->log));
}

static void teardown(void *ctx)
{
	struct rig *rig = ctx;

	close_log(rig);
	if (rig->plain >= 0)
		close(rig->plain);
	scratch_release(&rig->scratch);
	free(rig);
}

static int open_rig_log(struct rig *rig, struct err *e)
{
	rig->log = audit_open(&(struct audit_options){.dir = rig->dir, .program = "bench"}, e);
	return rig->log ? 0 : -1;
}

/* What a command in an agent's container leaves. */
static struct audit_record make_record(enum operation operation, enum audit_phase phase)
{
	static const struct key_value params[] = {{"command", "pytest -q tests/unit", false}};

	return (struct audit_record){.operation = operation,
		.phase = phase,
		.agent = "agent_a",
		.session = "s-20261120-2145",
		.target_type = "container",
		.engine = "QLSZ:PNHK:XXZ7:ZQFV",
		.target = "8f2d6c0e3b1a4f5d8f2d6c0e3b1a4f5d8f2d6c0e3b1a4f5d8f2d6c0e3b1a4f5d",
		.name = "massgen-agent_a",
		.params = params,
		.nparams = 1,
		.duration_us = phase == AUDIT_INTENT ? -1 : 12345,
		.result = phase == AUDIT_INTENT ? AUDIT_PENDING : AUDIT_OK};
}

/* Submit n without waiting for any; a full queue is waited for.  Agents: every `rare`th is another. */
static int submit_many(struct rig *rig, size_t n, size_t rare, struct err *e)
{
	struct audit_record r = make_record(OP_CONTAINER_EXEC, AUDIT_EVENT), other = r;

	other.agent = "agent_rare";
	for (size_t i = 0; i < n; i++) {
		const struct audit_record *one = rare && i % rare == 0 ? &other : &r;
		struct err why = ERR_INIT;

		while (!audit_submit(rig->log, one, 0, NULL, NULL, &why)) {
			if (audit_trouble(rig->log, NULL))
				return err_copy(e, &why);
			usleep(500);
		}
	}
	return 0;
}

/* ---- appending without waiting */

static int measure_append(struct bench_run *r, void *ctx, struct err *e)
{
	size_t n = bench_smoke(r) ? 20000 : 400000;
	struct rig *rig = ctx;

	for (int i = 0; i < bench_samples(r) && !bench_cancelled(r); i++) {
		struct audit_record last = make_record(OP_CONTAINER_EXEC, AUDIT_EVENT);
		double begun, handed, done;

		if (open_rig_log(rig, e) < 0)
			return -1;
		begun = clock_s(CLOCK_MONOTONIC);
		if (submit_many(rig, n, 0, e) < 0)
			return -1;
		handed = clock_s(CLOCK_MONOTONIC);
		if (audit_write(rig->log, &last, NULL, e) < 0)
			return -1;
		done = clock_s(CLOCK_MONOTONIC);
		close_log(rig);
		bench_value(r, "handed over", (double)n / (handed - begun));
		bench_value(r, "until all is on disk", (double)n / (done - begun));
	}
	return 0;
}

/* ---- durable acknowledgements */

struct waiting_writer {
	pthread_t thread;
	struct audit *log;
	size_t n;
	bool failed;
};

static void *write_and_wait(void *arg)
{
	struct waiting_writer *w = arg;
	struct audit_record r = make_record(OP_CONTAINER_STOP, AUDIT_INTENT);

	for (size_t i = 0; i < w->n && !w->failed; i++)
		w->failed = audit_write(w->log, &r, NULL, NULL) < 0;
	return NULL;
}

static int write_grouped(struct rig *rig, size_t n, double *ret, struct err *e)
{
	struct waiting_writer w[WRITERS];
	double begun;
	bool failed = false;

	if (open_rig_log(rig, e) < 0)
		return -1;
	begun = clock_s(CLOCK_MONOTONIC);
	for (int i = 0; i < WRITERS; i++) {
		w[i] = (struct waiting_writer){.log = rig->log, .n = n};
		if (pthread_create(&w[i].thread, NULL, write_and_wait, &w[i]) != 0)
			return err_set(e, ERR_FAILED, "no thread");
	}
	for (int i = 0; i < WRITERS; i++) {
		pthread_join(w[i].thread, NULL);
		failed |= w[i].failed;
	}
	*ret = (double)n * WRITERS / (clock_s(CLOCK_MONOTONIC) - begun);
	close_log(rig);
	return failed ? err_set(e, ERR_FAILED, "a record was not acknowledged") : 0;
}

/* The same records with the same code, each with an fdatasync of its own. */
static int write_one_by_one(struct rig *rig, size_t n, double *ret, struct err *e)
{
	struct audit_record r = make_record(OP_CONTAINER_STOP, AUDIT_INTENT);
	struct str body = STR_INIT;
	struct chain c;
	double begun;
	int rc = 0;

	chain_init(&c, &(struct audit_options){.dir = rig->dir, .program = "bench"});
	if (chain_open(&c, e) < 0) {
		chain_release(&c);
		return -1;
	}
	r.host = c.self.host;
	r.boot = c.self.boot;
	r.program = c.self.program;
	r.user = c.self.user;
	begun = clock_s(CLOCK_MONOTONIC);
	for (size_t i = 0; i < n && rc == 0; i++) {
		str_clear(&body);
		record_body(&body, &r);
		rc = chain_begin(&c, body.len, e);
		if (rc < 0)
			break;
		rc = chain_add(&c, r.operation, body.s, body.len, 0, NULL, e);
		if (chain_sync(&c, e) < 0)
			rc = -1;
		chain_end(&c);
	}
	*ret = (double)n / (clock_s(CLOCK_MONOTONIC) - begun);
	str_release(&body);
	chain_release(&c);
	return rc;
}

static int measure_durable(struct bench_run *r, void *ctx, struct err *e)
{
	size_t n = bench_smoke(r) ? 50 : 500;
	double group, single;

	for (int i = 0; i < bench_samples(r) && !bench_cancelled(r); i++) {
		if (write_grouped(ctx, n, &group, e) < 0 ||
			write_one_by_one(ctx, n * 4, &single, e) < 0)
			return -1;
		bench_value(r, "16 writers, group commit", group);
		bench_value(r, "one fdatasync per record", single);
		bench_value(r, "ratio", group / single);
	}
	return 0;
}

/* ---- checking */

static int measure_verify(struct bench_run *r, void *ctx, struct err *e)
{
	struct rig *rig = ctx;
	struct audit_verify what = {.path = rig->dir};
	struct audit_verdict v = {0};

	if (open_rig_log(rig, e) < 0 || submit_many(rig, bench_smoke(r) ? 20000 : 300000, 0, e) < 0)
		return -1;
	close_log(rig);
	for (int i = 0; i < bench_samples(r) && !bench_cancelled(r); i++) {
		double wall = clock_s(CLOCK_MONOTONIC), cpu = clock_s(CLOCK_THREAD_CPUTIME_ID);

		if (audit_verify(&what, &v, e) < 0)
			return -1;
		wall = clock_s(CLOCK_MONOTONIC) - wall;
		cpu = clock_s(CLOCK_THREAD_CPUTIME_ID) - cpu;
		if (v.fault != AUDIT_CLEAN)
			return err_set(e, ERR_FAILED, "%s", v.sentence);
		bench_value(r, "wall", (double)v.bytes / 1e6 / wall);
		bench_value(r, "per core", (double)v.bytes / 1e6 / cpu);
	}
	bench_note(r, "%llu records, %.0f bytes each, page cache warm",
		(unsigned long long)v.records, (double)v.bytes / (double)v.records);
	return 0;
}

/* ---- opening the view */

static void digest_record(void *ctx, const struct audit_record *rec, const char *line, size_t len)
{
	(void)line;
	(void)len;
	*(uint64_t *)ctx = digest_bytes(*(uint64_t *)ctx, &rec->seq, sizeof rec->seq);
}

/* Head, and a screenful of the newest that pass. */
static int open_view(struct rig *rig, const char *agent, double *ret_ms, struct err *e)
{
	struct audit_filter filter = {.agent = agent};
	struct audit_reader *reader;
	struct audit_head head;
	uint64_t digest = 0;
	double begun = clock_s(CLOCK_MONOTONIC);
	int rc;

	if (audit_head_read(rig->dir, &head, e) < 0)
		return -1;
	reader = audit_reader_open(rig->dir, agent ? &filter : NULL, e);
	if (!reader)
		return -1;
	rc = audit_reader_older(reader, 60, 0, digest_record, &digest, e);
	*ret_ms = (clock_s(CLOCK_MONOTONIC) - begun) * 1e3;
	audit_reader_close(reader);
	return rc < 0 ? -1 : 0;
}

static int measure_open(struct bench_run *r, void *ctx, struct err *e)
{
	size_t n = bench_smoke(r) ? 100000 : 10000000;
	struct rig *rig = ctx;
	double ms;

	/* The rare agent: one record in the first tenth of the log, and 20 in all. */
	if (open_rig_log(rig, e) < 0 || submit_many(rig, n, n / 20, e) < 0)
		return -1;
	close_log(rig);
	if (open_view(rig, "agent_rare", &ms, e) < 0)
		return -1;
	bench_note(
		r, "%zu records; making the index of all segments took %.1f s, once", n, ms / 1e3);
	for (int i = 0; i < bench_samples(r) && !bench_cancelled(r); i++) {
		if (open_view(rig, NULL, &ms, e) < 0)
			return -1;
		bench_value(r, "newest 60", ms);
		if (open_view(rig, "agent_rare", &ms, e) < 0)
			return -1;
		bench_value(r, "all 20 of one agent", ms);
	}
	return 0;
}

/* ---- what a durable intent costs */

static void *setup_intent(struct bench_run *r, struct err *e)
{
	struct rig *rig = setup(r, e);
	char path[4300];

	if (!rig)
		return NULL;
	snprintf(path, sizeof path, "%s/plain", rig->scratch.path);
	rig->plain = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (rig->plain < 0 || fallocate(rig->plain, FALLOC_FL_KEEP_SIZE, 0, 1 << 22) < 0 ||
		open_rig_log(rig, e) < 0) {
		if (rig->plain < 0)
			err_sys(e, errno, "cannot make %s", path);
		teardown(rig);
		return NULL;
	}
	return rig;
}

static int run_plain(void *ctx, struct sample *s, struct err *e)
{
	char block[640] = {0};
	struct rig *rig = ctx;

	(void)s;
	if (pwrite(rig->plain, block, sizeof block, rig->at) != sizeof block ||
		fdatasync(rig->plain) < 0)
		return err_sys(e, errno, "cannot write");
	rig->at += sizeof block;
	return 0;
}

static int run_intent(void *ctx, struct sample *s, struct err *e)
{
	struct audit_record r = make_record(OP_CONTAINER_REMOVE, AUDIT_INTENT);
	struct rig *rig = ctx;

	(void)s;
	return audit_write(rig->log, &r, NULL, e);
}

static const struct bench_case cases[] = {
	{.name = "append",
		.about = "records handed over without waiting, and until all of them are on disk",
		.unit = "records/s",
		.higher = true,
		.samples = 10,
		.setup = setup,
		.teardown = teardown,
		.measure = measure_append,
		.targets = {{"200,000 records/s appended without waiting", "until all is on disk",
			ON_MEDIAN, 200000, NO_BOUND}}},
	{.name = "durable",
		.about =
			"records acknowledged as durable: 16 threads that wait, against one fdatasync each",
		.unit = "records/s",
		.higher = true,
		.samples = 10,
		.setup = setup,
		.teardown = teardown,
		.measure = measure_durable,
		.targets = {{"5,000 durable acknowledged records/s with 16 writers",
			"16 writers, group commit", ON_MEDIAN, 5000, NO_BOUND}}},
	{.name = "verify",
		.about = "checking a whole log: hashes, chain, signatures",
		.unit = "MB/s",
		.higher = true,
		.samples = 10,
		.setup = setup,
		.teardown = teardown,
		.measure = measure_verify,
		.targets = {{"verify at 300 MB/s per core", "per core", ON_MEDIAN, 300, NO_BOUND}}},
	{.name = "open",
		.about = "a first screen of a log of ten million records",
		.unit = "ms",
		.samples = 20,
		.setup = setup,
		.teardown = teardown,
		.measure = measure_open,
		.targets = {{"the view opens within 200 ms", "newest 60", ON_MAX, NO_BOUND, 200},
			{"filtered by agent likewise", "all 20 of one agent", ON_MAX, NO_BOUND,
				200}}},
	{.name = "intent",
		.about = "a durable intent against one plain write and fdatasync of its size",
		.samples = 300,
		.warmup = 5,
		.setup = setup_intent,
		.teardown = teardown,
		.arms = {{"plain write", run_plain}, {"intent", run_intent}},
		.targets = {{"an intent adds at most one fdatasync", "intent", ON_RATIO, 0.5,
			NO_BOUND}}},
	{.name = NULL},
};

const struct bench_suite suite_audit = {"audit", cases};
