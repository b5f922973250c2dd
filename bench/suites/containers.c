/*
 * containers.c - measures the life of containers: creation, start, many at once, clean-up, end to end.
 *
 * berth's client (engine/sync.h) stands beside a minimal one (peers/docker.h) that makes the same calls;
 * what the engine needs is in both, so the difference is ours.
 */
#include "suites/containers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>

#define NO_NETWORK "\"NetworkMode\":\"none\","
#define SLEEPS "[\"sleep\",\"100000\"]"
#define ABREAST 5

static void *setup(struct bench_run *r, struct err *e)
{
	(void)r;
	return yard_open(BOX, e);
}

static int create_as(struct yard *y, enum client by, const char *host, char id[72], struct err *e)
{
	AUTO_STR struct str body = STR_INIT;

	yard_body(&body, BOX, SLEEPS, host);
	return yard_create(y, by, body.s, id, e);
}

/* --- creation --- */

static int time_create(void *ctx, struct sample *s, struct err *e)
{
	struct yard *y = ctx;
	double begun = now_s();
	char id[72];

	if (create_as(y, (enum client)s->arm, NO_NETWORK, id, e) < 0)
		return -1;
	s->seconds = now_s() - begun;
	s->digest = 1;
	return yard_remove(y, MINI, id, e);
}

/* --- start: of a container that exists; and all of it, as a tool's call needs --- */

static int check_yard_running(struct yard *y, const char *id, struct sample *s, struct err *e)
{
	AUTO_STR struct str target = STR_INIT, reply = STR_INIT;

	str_addf(&target, "/containers/%s/json", id);
	if (mini_must(&y->mini, 200, "GET", target.s, NULL, &reply, e) < 0)
		return -1;
	s->digest = 1 + (strstr(reply.s, "\"Running\":true") != NULL);
	return s->digest == 2 ? 0 : err_set(e, ERR_FAILED, "the container does not run");
}

static int time_start(struct yard *y, bool cold, struct sample *s, struct err *e)
{
	enum client by = (enum client)s->arm;
	double begun = now_s();
	char id[72];
	int rc;

	if (create_as(y, cold ? by : MINI, NO_NETWORK, id, e) < 0)
		return -1;
	if (!cold)
		begun = now_s();
	rc = yard_start(y, by, id, e);
	s->seconds = now_s() - begun;
	if (rc == 0)
		rc = check_yard_running(y, id, s, e);
	return yard_remove(y, MINI, id, rc ? NULL : e) < 0 ? -1 : rc;
}

static int start_made(void *ctx, struct sample *s, struct err *e)
{
	return time_start(ctx, false, s, e);
}

static int start_cold(void *ctx, struct sample *s, struct err *e)
{
	return time_start(ctx, true, s, e);
}

/* --- end to end: created, started, ran, its output read, removed --- */

static int ask_engine(struct yard *y, enum client by, int wanted, const char *method,
	const char *target, struct str *reply, struct err *e)
{
	if (by == BERTH)
		return sync_ask(y->berth, "ask about %s", "a container", method, target, NULL,
			60000, reply, e);
	return mini_must(&y->mini, wanted, method, target, NULL, reply, e);
}

static int end_to_end(void *ctx, struct sample *s, struct err *e)
{
	struct yard *y = ctx;
	enum client by = (enum client)s->arm;
	AUTO_STR struct str body = STR_INIT, target = STR_INIT, reply = STR_INIT;
	double begun = now_s();
	char id[72];
	int rc;

	yard_body(&body, BOX, "[\"sh\",\"-c\",\"echo $((6 * 7))\"]", NO_NETWORK);
	if (yard_create(y, by, body.s, id, e) < 0)
		return -1;
	rc = yard_start(y, by, id, e);
	str_addf(&target, "/containers/%s/wait", id);
	if (rc == 0)
		rc = ask_engine(y, by, 200, "POST", target.s, &reply, e);
	str_clear(&target);
	str_clear(&reply);
	str_addf(&target, "/containers/%s/logs?stdout=1", id);
	if (rc == 0)
		rc = ask_engine(y, by, 200, "GET", target.s, &reply, e);
	if (yard_remove(y, by, id, rc ? NULL : e) < 0)
		rc = -1;
	s->seconds = now_s() - begun;
	/* One frame of 8 bytes and "42\n". */
	s->digest = digest_bytes(0, reply.s, reply.len);
	if (rc == 0 && (reply.len != 11 || memcmp(reply.s + 8, "42\n", 3) != 0))
		rc = err_set(e, ERR_FAILED, "the container's output is not what it printed");
	return rc;
}

/* --- clean-up of one --- */

static int clean_one(void *ctx, struct sample *s, struct err *e)
{
	struct yard *y = ctx;
	AUTO_STR struct str target = STR_INIT;
	double begun;
	char id[72];
	int rc;

	if (create_as(y, MINI, NO_NETWORK, id, e) < 0 || yard_start(y, MINI, id, e) < 0)
		return -1;
	begun = now_s();
	rc = yard_remove(y, (enum client)s->arm, id, e);
	s->seconds = now_s() - begun;
	str_addf(&target, "/containers/%s/json", id);
	s->digest = 1;
	if (rc == 0 && mini_call(&y->mini, "GET", target.s, NULL, NULL, NULL) != 404)
		return err_set(e, ERR_FAILED, "the container is still there");
	return rc;
}

/* --- many at once: a thread and a client each --- */

struct hand {
	pthread_t thread;
	struct yard y; /* its own clients */
	char id[72];
	bool up, remove;
	struct err err;
};

static void *work_hand(void *arg)
{
	struct hand *h = arg;

	if (h->remove) {
		if (yard_remove(&h->y, BERTH, h->id, &h->err) == 0)
			h->up = false;
	} else if (create_as(&h->y, BERTH, NO_NETWORK, h->id, &h->err) == 0) {
		h->up = true; /* it exists, and must go away again */
		yard_start(&h->y, BERTH, h->id, &h->err);
	}
	return NULL;
}

static int hands_open(struct hand *h, size_t n, const struct yard *y, struct err *e)
{
	struct endpoint_options o = {0};
	struct endpoint ep;
	char url[128];
	int rc = 0;

	o.host = mini_url(&y->mini, url, sizeof url);
	if (endpoint_choose(&o, &ep, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		h[i].y.mini = y->mini;
		h[i].y.mini.fd = -1;
		if (!(h[i].y.berth = sync_open(&ep, e)))
			rc = -1;
	}
	endpoint_release(&ep);
	return rc;
}

static void hands_close(struct hand *h, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (h[i].up)
			yard_remove(&h[i].y, MINI, h[i].id, NULL);
		mini_close(&h[i].y.mini);
		sync_close(h[i].y.berth);
	}
	free(h);
}

/* All of them, at once or one after the other; how long it took. */
static int run_hands(
	struct hand *h, size_t n, bool at_once, bool remove, double *took, struct err *e)
{
	double begun = now_s();

	for (size_t i = 0; i < n; i++) {
		h[i].remove = remove;
		if (!at_once)
			work_hand(&h[i]);
		else
			pthread_create(&h[i].thread, NULL, work_hand, &h[i]);
	}
	for (size_t i = 0; i < n && at_once; i++)
		pthread_join(h[i].thread, NULL);
	*took = now_s() - begun;
	for (size_t i = 0; i < n; i++)
		if (h[i].err.kind)
			return err_copy(e, &h[i].err);
	return 0;
}

static int measure_five(struct bench_run *r, void *ctx, struct err *e)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	double width = cores < ABREAST ? (double)cores : ABREAST;
	int rc = 0;

	bench_note(r, "%ld cores: efficiency is the speed-up over min(5, %ld)", cores, cores);
	for (int i = 0; rc == 0 && i < bench_samples(r) && !bench_cancelled(r); i++) {
		struct hand *h = xcalloc(ABREAST, sizeof *h);
		double took[2] = {0}, gone[2];
		size_t first = bench_random(r) % 2;

		rc = hands_open(h, ABREAST, ctx, e);
		for (size_t k = 0; rc == 0 && k < 2; k++) {
			bool at_once = (k + first) % 2;

			rc = run_hands(h, ABREAST, at_once, false, &took[at_once], e);
			if (rc == 0)
				rc = run_hands(h, ABREAST, at_once, true, &gone[at_once], e);
		}
		hands_close(h, ABREAST);
		if (rc == 0) {
			bench_value(r, "speed-up of five", 100 * took[0] / took[1]);
			bench_value(r, "efficiency", 100 * took[0] / took[1] / width);
			bench_value(r, "speed-up of removing", 100 * gone[0] / gone[1]);
		}
	}
	return rc;
}

static int measure_removal(struct bench_run *r, void *ctx, struct err *e)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < bench_samples(r) && !bench_cancelled(r); i++) {
		struct hand *h = xcalloc(ABREAST, sizeof *h);
		double took;

		rc = hands_open(h, ABREAST, ctx, e);
		if (rc == 0 && (rc = run_hands(h, ABREAST, true, false, &took, e)) == 0 &&
			(rc = run_hands(h, ABREAST, true, true, &took, e)) == 0)
			bench_value(r, "remove five", took);
		hands_close(h, ABREAST);
	}
	return rc;
}

static int measure_load(struct bench_run *r, void *ctx, struct err *e)
{
	size_t n = (size_t)bench_param(r) / (bench_smoke(r) ? 10 : 1);
	int rc = 0;

	for (int i = 0; rc == 0 && i < bench_samples(r) && !bench_cancelled(r); i++) {
		struct hand *h = xcalloc(n, sizeof *h);
		double up = 0, gone = 0;

		rc = hands_open(h, n, ctx, e);
		if (rc == 0 && (rc = run_hands(h, n, true, false, &up, e)) == 0 &&
			(rc = run_hands(h, n, true, true, &gone, e)) == 0) {
			bench_value(r, "all running", up);
			bench_value(r, "each, on average", up / (double)n);
			bench_value(r, "all removed", gone);
		}
		hands_close(h, n);
	}
	return rc;
}

/* --- memory limits --- */

static int time_limited(void *ctx, struct sample *s, struct err *e)
{
	struct yard *y = ctx;
	unsigned long long bytes = 512ull << 20 << s->arm;
	AUTO_STR struct str host = STR_INIT, target = STR_INIT, reply = STR_INIT, want = STR_INIT;
	double begun = now_s();
	char id[72];
	int rc;

	str_addf(&host, NO_NETWORK "\"Memory\":%llu,\"MemorySwap\":%llu,", bytes, bytes);
	if (create_as(y, BERTH, host.s, id, e) < 0)
		return -1;
	rc = yard_start(y, BERTH, id, e);
	s->seconds = now_s() - begun;
	str_addf(&target, "/containers/%s/json", id);
	str_addf(&want, "\"Memory\":%llu,", bytes);
	if (rc == 0)
		rc = mini_must(&y->mini, 200, "GET", target.s, NULL, &reply, e);
	if (rc == 0 && !strstr(reply.s, want.s))
		rc = err_set(e, ERR_FAILED, "the limit is not what was asked for");
	s->digest = 1;
	return yard_remove(y, MINI, id, rc ? NULL : e) < 0 ? -1 : rc;
}

#define LOAD(n)                                                                       \
	{                                                                             \
		.name = "load-" #n, .about = #n " containers at once", .samples = 5,  \
		.smoke_samples = 1, .setup = setup, .teardown = yard_close,           \
		.measure = measure_load, .param = (n),                                \
		.alert_failed = "containers were not all started or not all removed", \
	}

static const struct bench_case cases[] = {
	{.name = "creation",
		.about = "POST /containers/create",
		.samples = 30,
		.smoke_samples = 1,
		.warmup = 2,
		.setup = setup,
		.teardown = yard_close,
		.alert_slower = 0.20,
		.arms = {{"minimal client", time_create}, {"berth", time_create}},
		.targets = {{"creation < 3 s", "berth", ON_MAX, NO_BOUND, 3}, OVER_MINIMAL}},
	{.name = "start",
		.about = "POST /containers/ID/start",
		.samples = 30,
		.smoke_samples = 1,
		.warmup = 2,
		.setup = setup,
		.teardown = yard_close,
		.arms = {{"minimal client", start_made}, {"berth", start_made}},
		.targets = {{"start < 2 s", "berth", ON_MAX, NO_BOUND, 2}, OVER_MINIMAL}},
	{.name = "tool-start",
		.about = "create and start, as a tool's call does",
		.samples = 30,
		.smoke_samples = 1,
		.warmup = 2,
		.setup = setup,
		.teardown = yard_close,
		.alert_slower = 0.20,
		.arms = {{"minimal client", start_cold}, {"berth", start_cold}},
		.targets = {{"container start of a tool < 2 s cold", "berth", ON_MAX, NO_BOUND, 2},
			OVER_MINIMAL}},
	{.name = "end-to-end",
		.about = "create, start, wait, read its output, remove",
		.samples = 20,
		.smoke_samples = 1,
		.warmup = 1,
		.setup = setup,
		.teardown = yard_close,
		.arms = {{"minimal client", end_to_end}, {"berth", end_to_end}},
		.targets = {{"end to end < 5 s", "berth", ON_MAX, NO_BOUND, 5}, OVER_MINIMAL}},
	{.name = "cleanup-one",
		.about = "remove a running container",
		.samples = 20,
		.smoke_samples = 1,
		.warmup = 1,
		.setup = setup,
		.teardown = yard_close,
		.alert_failed = "clean-up failed",
		.arms = {{"minimal client", clean_one}, {"berth", clean_one}},
		.targets = {{"cleanup < 1 s per container", "berth", ON_MAX, NO_BOUND, 1},
			OVER_MINIMAL}},
	{.name = "cleanup-five",
		.about = "remove five running containers at once",
		.samples = 10,
		.smoke_samples = 1,
		.setup = setup,
		.teardown = yard_close,
		.measure = measure_removal,
		.alert_failed = "clean-up failed",
		.targets = {{"cleanup of five < 5 s", "remove five", ON_MAX, NO_BOUND, 5}}},
	{.name = "parallel-five",
		.about = "five containers at once against one after the other",
		.unit = "%",
		.higher = true,
		.samples = 10,
		.smoke_samples = 1,
		.setup = setup,
		.teardown = yard_close,
		.measure = measure_five,
		.alert_failed = "clean-up failed",
		.alert_missed = "the parallel efficiency is below 50 %",
		.alert_arm = "efficiency",
		.targets = {{"five in parallel >= 2x over sequential (200 %)", "speed-up of five",
				    ON_MEDIAN, 200, NO_BOUND},
			{"efficiency over min(5, cores) >= 50 %", "efficiency", ON_MEDIAN, 50,
				NO_BOUND}}},
	LOAD(10),
	LOAD(20),
	LOAD(50),
	{.name = "memory-limits",
		.about = "create and start under a memory limit, read back",
		.samples = 15,
		.smoke_samples = 1,
		.warmup = 1,
		.setup = setup,
		.teardown = yard_close,
		.arms = {{"512m", time_limited}, {"1g", time_limited}, {"2g", time_limited}}},
	{.name = NULL},
};

const struct bench_suite suite_containers = {"containers", cases};
