/* result.c - computes results and verdicts from samples. */
#include "result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

#include "plan.h"

void results_init(struct results *r)
{
	memset(r, 0, sizeof *r);
	r->threshold = THRESHOLD;
}

static void result_release(struct result *x)
{
	history_case_release(&x->c);
	for (size_t a = 0; a < HISTORY_ARMS_MAX; a++)
		free(x->trend[a]);
}

void results_release(struct results *r)
{
	for (size_t i = 0; i < r->n; i++)
		result_release(&r->v[i]);
	free(r->v);
	results_init(r);
}

void case_of_run(const struct bench_run *r, struct history_case *c)
{
	memset(c, 0, sizeof *c);
	snprintf(c->suite, sizeof c->suite, "%s", r->suite->name);
	snprintf(c->name, sizeof c->name, "%s", r->what->name);
	snprintf(c->unit, sizeof c->unit, "%s", r->what->unit ? r->what->unit : "s");
	snprintf(c->state, sizeof c->state, "%s",
		r->failed                             ? "failed"
			: r->err.kind || r->cancelled ? "not_run"
						      : "ok");
	snprintf(c->error, sizeof c->error, "%s", r->err.msg);
	snprintf(c->notes, sizeof c->notes, "%s", r->notes.s ? r->notes.s : "");
	c->baseline = r->what->measure || r->nseries < 2 ? -1 : r->what->baseline;
	c->higher = r->what->higher;
	c->narms = r->nseries;
	for (size_t a = 0; a < r->nseries; a++) {
		const struct series_of *s = &r->series[a];
		struct history_arm *arm = &c->arms[a];

		snprintf(arm->name, sizeof arm->name, "%s", s->name);
		arm->n = s->n;
		arm->v = xcalloc(s->n + 1, sizeof *arm->v);
		for (size_t i = 0; i < s->n; i++) {
			const struct usage *u = &s->used[i];

			arm->v[i] = (struct history_sample){s->v[i], u->user_s, u->system_s,
				u->minor_faults, u->major_faults, u->read_bytes, u->write_bytes,
				u->syscalls_rw, u->peak_bytes};
		}
	}
}

void run_of_case(const struct history_case *c, const struct bench_case *what,
	const struct bench_suite *suite, struct bench_run *r)
{
	memset(r, 0, sizeof *r);
	str_init(&r->notes);
	r->suite = suite;
	r->what = what;
	r->seed = 1;
	r->failed = !strcmp(c->state, "failed");
	if (strcmp(c->state, "ok") != 0)
		err_set(&r->err, r->failed ? ERR_FAILED : ERR_NOT_FOUND, "%s", c->error);
	for (size_t a = 0; a < c->narms; a++) {
		snprintf(r->series[a].name, sizeof r->series[a].name, "%.63s", c->arms[a].name);
		r->nseries = a + 1;
		for (size_t i = 0; i < c->arms[a].n; i++)
			bench_value(r, r->series[a].name, c->arms[a].v[i].value);
	}
}

static const struct history_arm *arm_named(const struct history_case *c, const char *name)
{
	for (size_t a = 0; a < c->narms; a++)
		if (!name || !strcmp(c->arms[a].name, name))
			return &c->arms[a];
	return NULL;
}

/* Bootstrap of the median alone: the ratio to a sample that is exactly 1. */
static struct interval median_interval(const struct history_arm *a)
{
	AUTO_FREE double *v = arm_values(a);

	return ratio_interval(v, a->n, (const double[]){1}, 1, 0, 1);
}

static void judge_targets(struct result *x)
{
	static const struct bench_suite nameless = {"", NULL};
	struct bench_run r;

	run_of_case(&x->c, x->what, &nameless, &r);
	for (size_t i = 0; i < TARGETS_MAX && x->what->targets[i].requirement; i++) {
		const struct goal *g = &x->what->targets[i];
		const struct history_arm *arm = arm_named(&x->c, g->arm);
		struct target_result *t = &x->targets[x->ntargets++];

		*t = (struct target_result){.requirement = g->requirement,
			.arm = g->arm ? g->arm : "",
			.on_ratio = g->on == ON_RATIO || g->on == ON_FLOOR,
			.on_difference = g->on == ON_OVER,
			.n = arm ? arm->n : 0};
		t->verdict = target_judge(&r, g, &t->figure, &t->interval);
		if (!t->on_ratio && arm && arm->n && g->on == ON_MEDIAN)
			t->interval = median_interval(arm);
		if (t->verdict == MISSED && x->what->alert_missed &&
			(!x->what->alert_arm || !strcmp(x->what->alert_arm, t->arm)))
			snprintf(x->alert, sizeof x->alert, "%s", x->what->alert_missed);
	}
	bench_run_release(&r);
}

struct result *results_add(struct results *r, struct history_case *c, const struct bench_case *what)
{
	struct result *x;

	r->v = mem_grow(r->v, &r->cap, r->n + 1, sizeof *r->v);
	x = &r->v[r->n++];
	memset(x, 0, sizeof *x);
	x->c = *c;
	x->what = what;
	memset(c, 0, sizeof *c);
	if (what)
		judge_targets(x);
	if (what && what->alert_failed && !strcmp(x->c.state, "failed"))
		snprintf(x->alert, sizeof x->alert, "%s: %.180s", what->alert_failed, x->c.error);
	return x;
}

void result_compare(struct results *r, struct result *x, const struct history_case *old)
{
	double alert = x->what ? x->what->alert_slower : 0;

	if (strcmp(x->c.state, "ok") != 0)
		return;
	x->compared = true;
	for (size_t a = 0; a < x->c.narms; a++) {
		struct compared *k = &x->changes[a];

		compare_arm(old, &x->c, a, r->threshold, alert, k);
		if (!k->alert || (*x->alert && !x->alert_slower))
			continue;
		x->alert_slower = true;
		snprintf(x->alert, sizeof x->alert,
			"%s/%s is %.0f %% slower than %s, more than the %.0f %% that are "
			"allowed",
			x->c.suite, x->c.name, 100 * (1 / k->speed.point - 1), r->baseline_word,
			100 * alert);
	}
}

bool result_slower(const struct result *x)
{
	for (size_t a = 0; x->compared && a < x->c.narms; a++)
		if (x->changes[a].change == CHANGE_SLOWER)
			return true;
	return false;
}

const char *run_label(const struct history_run *r, char *buf, size_t cap)
{
	if (*r->release)
		snprintf(buf, cap, "%s", r->release);
	else if (*r->commit)
		snprintf(buf, cap, "%.10s", r->commit);
	else
		snprintf(buf, cap, "#%lld", (long long)r->id);
	return buf;
}

int result_trend(struct result *x, struct history *h, const char *machine, struct err *e)
{
	struct history_run *runs;
	size_t n, cap[HISTORY_ARMS_MAX] = {0};

	if (history_runs(h, 1000, &runs, &n, e) < 0)
		return -1;
	for (size_t i = n; i-- > 0;) {
		struct history_case c = {0};

		if (strcmp(runs[i].machine, machine) != 0 ||
			history_case(h, runs[i].id, x->c.suite, x->c.name, &c, NULL) < 0)
			continue;
		for (size_t a = 0; a < x->c.narms && !strcmp(c.state, "ok"); a++) {
			const struct history_arm *arm = arm_named(&c, x->c.arms[a].name);
			AUTO_FREE double *v = arm && arm->n ? arm_values(arm) : NULL;
			struct trend_point *p;

			if (!v)
				continue;
			if (x->ntrend[a] == TREND_MAX) {
				memmove(x->trend[a], x->trend[a] + 1,
					(TREND_MAX - 1) * sizeof *x->trend[a]);
				x->ntrend[a]--;
			}
			x->trend[a] = mem_grow(
				x->trend[a], &cap[a], x->ntrend[a] + 1, sizeof *x->trend[a]);
			p = &x->trend[a][x->ntrend[a]++];
			*p = (struct trend_point){.run = runs[i].id,
				.started_ms = runs[i].started_ms,
				.n = arm->n,
				.median = median_of(v, arm->n)};
			quartiles(v, arm->n, &p->low, &p->high);
			run_label(&runs[i], p->label, sizeof p->label);
		}
		history_case_release(&c);
	}
	free(runs);
	return 0;
}

int results_load(struct results *r, struct history *h, const struct history_run *run,
	const struct history_run *baseline, double threshold, bool trends, struct err *e)
{
	struct history_case *all;
	size_t n;

	results_init(r);
	r->run = *run;
	r->threshold = threshold;
	if (baseline) {
		r->baseline = *baseline;
		run_label(baseline, r->baseline_word, sizeof r->baseline_word);
	}
	if (history_cases(h, run->id, &all, &n, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct bench_case *what = bench_find(all[i].suite, all[i].name);
		struct result *x = results_add(r, &all[i], what);
		struct history_case old = {0};

		if (baseline) {
			bool has = history_case(h, baseline->id, x->c.suite, x->c.name, &old,
					   NULL) == 0 &&
				!strcmp(old.state, "ok");

			result_compare(r, x, has ? &old : NULL);
			history_case_release(&old);
		}
		if (trends && result_trend(x, h, run->machine, e) < 0)
			break;
	}
	free(all);
	return 0;
}

struct tally results_tally(const struct results *r)
{
	struct tally t = {0};

	for (size_t i = 0; i < r->n; i++) {
		const struct result *x = &r->v[i];

		*(!strcmp(x->c.state, "ok")                     ? &t.ok
				: !strcmp(x->c.state, "failed") ? &t.failed
								: &t.not_run) += 1;
		for (size_t k = 0; k < x->ntargets; k++) {
			t.met += x->targets[k].verdict == MET;
			t.missed += x->targets[k].verdict == MISSED;
		}
		for (size_t a = 0; x->compared && a < x->c.narms; a++) {
			t.slower += x->changes[a].change == CHANGE_SLOWER && !x->unconfirmed;
			t.faster += x->changes[a].change == CHANGE_FASTER;
		}
		t.alerts += *x->alert != '\0';
	}
	return t;
}

int results_exit(const struct results *r)
{
	struct tally t = results_tally(r);

	return t.failed || t.slower || t.alerts || !t.ok;
}
