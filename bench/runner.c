/* runner.c - interleaves, times and checks the arms of a case; independent of what is measured. */
#include "runner.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <berth/check.h>
#include <berth/hash.h>
#include <berth/mem.h>

uint64_t digest_bytes(uint64_t seed, const void *bytes, size_t n)
{
	return hash_more(seed ? seed : HASH_START, bytes, n);
}

double clock_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double now_s(void)
{
	return clock_s(CLOCK_MONOTONIC);
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static uint64_t io_field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static void usage_now(struct usage *u)
{
	char text[512] = "";
	int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);

	memset(u, 0, sizeof *u);
	for (int who = 0; who < 2; who++) {
		struct rusage r;

		getrusage(who ? RUSAGE_CHILDREN : RUSAGE_SELF, &r);
		u->user_s += seconds_of(r.ru_utime);
		u->system_s += seconds_of(r.ru_stime);
		u->minor_faults += (uint64_t)r.ru_minflt;
		u->major_faults += (uint64_t)r.ru_majflt;
		if ((uint64_t)r.ru_maxrss * 1024 > u->peak_bytes)
			u->peak_bytes = (uint64_t)r.ru_maxrss * 1024;
	}
	if (fd < 0)
		return;
	if (read(fd, text, sizeof text - 1) > 0) {
		u->read_bytes = io_field(text, "\nread_bytes: ");
		u->write_bytes = io_field(text, "\nwrite_bytes: ");
		u->syscalls_rw = io_field(text, "syscr: ") + io_field(text, "syscw: ");
	}
	close(fd);
}

static struct usage usage_between(const struct usage *before, const struct usage *after)
{
	struct usage u = {
		.user_s = after->user_s - before->user_s,
		.system_s = after->system_s - before->system_s,
		.minor_faults = after->minor_faults - before->minor_faults,
		.major_faults = after->major_faults - before->major_faults,
		.read_bytes = after->read_bytes - before->read_bytes,
		.write_bytes = after->write_bytes - before->write_bytes,
		.syscalls_rw = after->syscalls_rw - before->syscalls_rw,
		.peak_bytes = after->peak_bytes,
	};

	return u;
}

struct series_of *bench_series(struct bench_run *r, const char *name)
{
	for (size_t i = 0; i < r->nseries; i++)
		if (!strcmp(r->series[i].name, name))
			return &r->series[i];
	return NULL;
}

void bench_value(struct bench_run *r, const char *name, double value)
{
	struct series_of *s = bench_series(r, name);

	if (!s) {
		CHECK(r->nseries < ARMS_MAX);
		s = &r->series[r->nseries++];
		snprintf(s->name, sizeof s->name, "%s", name);
	}
	s->v = mem_grow(s->v, &s->cap, s->n + 1, sizeof *s->v);
	s->used = mem_grow(s->used, &s->used_cap, s->n + 1, sizeof *s->used);
	s->used[s->n] = (struct usage){0};
	s->v[s->n++] = value;
	if (r->options && r->options->sampled)
		r->options->sampled(r->options->ctx, r, (size_t)(s - r->series), value);
}

bool bench_cancelled(const struct bench_run *r)
{
	return r->options && r->options->cancelled && r->options->cancelled(r->options->ctx);
}

int64_t bench_param(const struct bench_run *r)
{
	return r->what->param;
}

const struct bench_case *bench_what(const struct bench_run *r)
{
	return r->what;
}

size_t case_arms(const struct bench_case *c)
{
	size_t n = 0;

	while (n < ARMS_MAX && c->arms[n].name)
		n++;
	return n;
}

static int samples_for(const struct bench_case *c, const struct run_options *o)
{
	if (o->smoke)
		return c->smoke_samples ? c->smoke_samples : 3;
	return o->samples ? o->samples : c->samples ? c->samples : 30;
}

int case_samples(const struct bench_case *c, const struct run_options *o)
{
	return samples_for(c, o) * (!c->measure ? (int)case_arms(c) : c->phases ? c->phases : 1);
}

int bench_samples(const struct bench_run *r)
{
	return r->samples;
}

bool bench_smoke(const struct bench_run *r)
{
	return r->smoke;
}

uint64_t bench_random(struct bench_run *r)
{
	return prng_next(&r->random);
}

void bench_note(struct bench_run *r, const char *fmt, ...)
{
	va_list ap;

	if (r->notes.len)
		str_adds(&r->notes, "; ");
	va_start(ap, fmt);
	str_addv(&r->notes, fmt, ap);
	va_end(ap);
}

static int one_sample(
	struct bench_run *r, void *ctx, size_t arm, bool record, uint64_t *digest, struct err *e)
{
	const struct bench_case *c = r->what;
	struct sample s = {.seconds = -1, .arm = (int)arm};
	struct usage before, after;
	double start, took;

	if (c->prepare && c->prepare(ctx, e))
		return err_wrap(e, "preparing %s", c->name);
	usage_now(&before);
	start = now_s();
	if (c->arms[arm].run(ctx, &s, e)) {
		r->failed = true;
		return err_wrap(e, "%s", c->arms[arm].name);
	}
	took = now_s() - start;
	usage_now(&after);
	if (*digest && s.digest != *digest) {
		r->failed = true;
		return err_set(e, ERR_FAILED,
			"the arm %s gave another result than the arms before it",
			c->arms[arm].name);
	}
	*digest = s.digest;
	if (record) {
		struct series_of *series = &r->series[arm];

		bench_value(r, c->arms[arm].name, s.seconds >= 0 ? s.seconds : took);
		series->used[series->n - 1] = usage_between(&before, &after);
		if (s.usage.peak_bytes)
			series->used[series->n - 1].peak_bytes = s.usage.peak_bytes;
	}
	return 0;
}

static int run_blocks(struct bench_run *r, void *ctx, size_t narms, struct err *e)
{
	int warmup = r->smoke ? r->samples > 1 : r->what->warmup, total = warmup + r->samples;
	uint64_t digest = 0;

	/* The series stand in the order of the arms, whichever happens to run first. */
	for (size_t a = 0; a < narms; a++)
		snprintf(r->series[a].name, sizeof r->series[a].name, "%s", r->what->arms[a].name);
	r->nseries = narms;
	for (int block = 0; block < total; block++) {
		size_t order[ARMS_MAX];

		for (size_t a = 0; a < narms; a++) {
			size_t other = prng_below(&r->random, a + 1);

			order[a] = order[other];
			order[other] = a;
		}
		for (size_t a = 0; a < narms; a++) {
			if (bench_cancelled(r))
				return err_set(e, ERR_CANCELLED, "cancelled");
			if (one_sample(r, ctx, order[a], block >= warmup, &digest, e))
				return -1;
		}
	}
	return 0;
}

void bench_case_run(const struct bench_suite *s, const struct bench_case *c,
	const struct run_options *o, struct bench_run *ret)
{
	size_t narms = case_arms(c);
	void *ctx = NULL;
	int failed = 0;

	memset(ret, 0, sizeof *ret);
	ret->suite = s;
	ret->what = c;
	ret->smoke = o->smoke;
	ret->seed = o->seed;
	ret->random.state = o->seed;
	str_init(&ret->notes);
	ret->options = o;
	ret->samples = samples_for(c, o);
	if (c->setup && !(ctx = c->setup(ret, &ret->err))) {
		ret->cancelled = ret->err.kind == ERR_CANCELLED;
		ret->failed = ret->err.kind != ERR_NOT_FOUND && !ret->cancelled;
		return;
	}
	if (c->measure) {
		failed = c->measure(ret, ctx, &ret->err);
		ret->failed = failed && ret->err.kind != ERR_NOT_FOUND;
	} else {
		failed = run_blocks(ret, ctx, narms, &ret->err);
	}
	if (ret->err.kind == ERR_CANCELLED || bench_cancelled(ret)) {
		ret->cancelled = true;
		ret->failed = false;
		failed = -1;
	}
	/* Samples of a run whose result was wrong are worth nothing, and so is half a case. */
	for (size_t i = 0; failed && i < ret->nseries; i++)
		ret->series[i].n = 0;
	if (c->teardown)
		c->teardown(ctx);
}

void bench_run_release(struct bench_run *r)
{
	for (size_t i = 0; i < ARMS_MAX; i++)
		free(r->series[i].v), free(r->series[i].used);
	str_release(&r->notes);
}

const char *verdict_word(enum verdict v)
{
	static const char *const words[] = {"not run", "met", "MISSED", "FAILED", ""};

	return words[v];
}

enum verdict target_judge(
	const struct bench_run *run, const struct goal *t, double *figure, struct interval *ratio)
{
	struct bench_run *r = (struct bench_run *)run;
	struct series_of *s = t->arm ? bench_series(r, t->arm) : r->nseries ? &r->series[0] : NULL;
	struct summary sum;

	*figure = NAN;
	*ratio = (struct interval){NAN, NAN, NAN};
	if (r->err.kind)
		return r->failed ? FAILED : NOT_RUN;
	if (!s || !s->n)
		return NOT_RUN;
	if (t->on == ON_RATIO || t->on == ON_FLOOR || t->on == ON_OVER) {
		const char *name = r->what->measure ? r->series[0].name
						    : r->what->arms[r->what->baseline].name;
		struct series_of *base = bench_series(r, name);

		if (!base || !base->n || base == s)
			return NOT_RUN;
		if (t->on == ON_FLOOR) {
			AUTO_FREE double *bar = xreallocarray(NULL, base->n, sizeof *bar);

			for (size_t i = 0; i < base->n; i++)
				bar[i] = base->v[i] * t->at_most + t->at_least;
			*ratio = ratio_interval(bar, base->n, s->v, s->n, base->n == s->n, r->seed);
			*figure = ratio->point;
			return ratio->low >= 1 ? MET : MISSED;
		}
		if (t->on == ON_OVER) {
			*ratio = difference_interval(
				s->v, s->n, base->v, base->n, base->n == s->n, r->seed);
			*figure = ratio->point;
			return ratio->high <= t->at_most ? MET : MISSED;
		}
		*ratio = ratio_interval(base->v, base->n, s->v, s->n, base->n == s->n, r->seed);
		*figure = ratio->point;
		if (!isnan(t->at_least) && !(ratio->low >= t->at_least))
			return MISSED;
		return !isnan(t->at_most) && !(ratio->high <= t->at_most) ? MISSED : MET;
	}
	summarise(s->v, s->n, &sum);
	*figure = t->on == ON_MEDIAN ? sum.median : t->on == ON_P99 ? sum.p99 : sum.max;
	if (isnan(*figure))
		return NOT_RUN;
	if (!isnan(t->at_least) && !(*figure >= t->at_least))
		return MISSED;
	return !isnan(t->at_most) && !(*figure <= t->at_most) ? MISSED : MET;
}
