/* report.c - figures with n and spread, ratios with their interval, targets with a verdict. */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

const char *report_value(char buf[VALUE_MAX], const char *unit, double v)
{
	if (isnan(v))
		snprintf(buf, VALUE_MAX, "-");
	else if (unit && strcmp(unit, "s") != 0)
		snprintf(buf, VALUE_MAX, fabs(v) < 100 ? "%.3g %s" : "%.0f %s", v, unit);
	else if (fabs(v) >= 1)
		snprintf(buf, VALUE_MAX, "%.3g s", v);
	else if (fabs(v) >= 1e-3)
		snprintf(buf, VALUE_MAX, "%.3g ms", v * 1e3);
	else
		snprintf(buf, VALUE_MAX, "%.3g us", v * 1e6);
	return buf;
}

const char *target_figure(char *buf, size_t cap, const struct target_result *t, const char *unit)
{
	char a[VALUE_MAX], b[VALUE_MAX], c[VALUE_MAX];

	if (isnan(t->figure))
		snprintf(buf, cap, "-");
	else if (t->on_ratio)
		snprintf(buf, cap, "%.2fx [%.2f .. %.2f]", t->figure, t->interval.low,
			t->interval.high);
	else if (t->on_difference)
		snprintf(buf, cap, "%+.2f ms [%+.2f .. %+.2f]", t->figure * 1e3,
			t->interval.low * 1e3, t->interval.high * 1e3);
	else if (isnan(t->interval.low))
		snprintf(buf, cap, "%s", report_value(a, unit, t->figure));
	else
		snprintf(buf, cap, "%s [%s .. %s]", report_value(a, unit, t->figure),
			report_value(b, unit, t->interval.low),
			report_value(c, unit, t->interval.high));
	return buf;
}

struct interval arm_ratio(const struct history_case *c, size_t arm)
{
	struct interval none = {NAN, NAN, NAN};
	const struct history_arm *base, *a = &c->arms[arm];

	if (c->baseline < 0 || (size_t)c->baseline == arm)
		return none;
	base = &c->arms[c->baseline];
	if (!base->n || !a->n)
		return none;
	{
		AUTO_FREE double *x = arm_values(base), *y = arm_values(a);

		return c->higher ? ratio_interval(y, a->n, x, base->n, base->n == a->n, 1)
				 : ratio_interval(x, base->n, y, a->n, base->n == a->n, 1);
	}
}

void arm_summary(const struct history_arm *a, struct summary *ret)
{
	AUTO_FREE double *v = arm_values(a);

	summarise(v, a->n, ret);
}

void report_machine(FILE *out, const struct history_run *r)
{
	char memory[FORMAT_MAX], stamp[FORMAT_MAX], label[64];

	fprintf(out, "berth %s, %s, %s%s%s\n", r->version, run_label(r, label, sizeof label),
		format_stamp(stamp, r->started_ms), *r->engine ? ", engine " : "", r->engine);
	fprintf(out, "%s, %lld cores, %s, Linux %s, %s, load %.2f\n", r->cpu, (long long)r->cores,
		format_bytes(memory, (uint64_t)r->memory_bytes), r->kernel, r->fs, r->load_start);
}

static void change_text(char *buf, size_t cap, const struct results *r, const struct result *x,
	const struct compared *k)
{
	if (k->change == CHANGE_MISSING)
		snprintf(buf, cap, "not measured in %s", r->baseline_word);
	else
		snprintf(buf, cap, "%.3fx as fast as %s [%.3f .. %.3f] %s%s", k->speed.point,
			r->baseline_word, k->speed.low, k->speed.high, change_word(k->change),
			x->unconfirmed && k->change == CHANGE_SLOWER
				? " (a second measurement did not show it)"
				: "");
}

void report_case(FILE *out, const struct results *r, const struct result *x)
{
	const struct history_case *c = &x->c;
	char a[VALUE_MAX], b[VALUE_MAX], m[VALUE_MAX], p[VALUE_MAX], q[VALUE_MAX];

	fprintf(out, "\n%s/%s  %s\n", c->suite, c->name, x->what ? x->what->about : "");
	if (strcmp(c->state, "ok") != 0) {
		fprintf(out, "  %s: %s\n", !strcmp(c->state, "failed") ? "FAILED" : "not run",
			c->error);
		return;
	}
	fprintf(out, "  %-28s %5s %10s %10s %10s %10s %10s  %s\n", "arm", "n", "median", "MAD",
		"min", "p95", "p99", c->baseline >= 0 ? "ratio to baseline [95 %]" : "");
	for (size_t i = 0; i < c->narms; i++) {
		struct interval ratio = arm_ratio(c, i);
		struct summary sum;

		arm_summary(&c->arms[i], &sum);
		fprintf(out, "  %-28s %5zu %10s %10s %10s %10s %10s", c->arms[i].name, sum.n,
			report_value(a, c->unit, sum.median), report_value(b, c->unit, sum.mad),
			report_value(m, c->unit, sum.min), report_value(p, c->unit, sum.p95),
			report_value(q, c->unit, sum.p99));
		if (!isnan(ratio.point))
			fprintf(out, "  %.2fx [%.2f .. %.2f]", ratio.point, ratio.low, ratio.high);
		fputc('\n', out);
	}
	for (size_t i = 0; x->compared && i < c->narms; i++) {
		char text[256];

		change_text(text, sizeof text, r, x, &x->changes[i]);
		fprintf(out, "  %-28s %s\n", c->arms[i].name, text);
	}
	if (*x->alert)
		fprintf(out, "  ALERT %s\n", x->alert);
	if (*c->notes)
		fprintf(out, "  %s\n", c->notes);
}

void report_targets(FILE *out, const struct results *r)
{
	struct tally t = results_tally(r);
	size_t any = 0;

	for (size_t i = 0; i < r->n; i++)
		any += r->v[i].ntargets;
	if (any)
		fputs("\ntargets\n", out);
	for (size_t i = 0; i < r->n; i++) {
		const struct result *x = &r->v[i];

		for (size_t k = 0; k < x->ntargets; k++) {
			const struct target_result *g = &x->targets[k];
			char figure[96];

			fprintf(out, "  %-8s %-28s n=%-5zu %s/%s: %s\n", verdict_word(g->verdict),
				target_figure(figure, sizeof figure, g, x->c.unit), g->n,
				x->c.suite, x->c.name, g->requirement);
		}
	}
	fprintf(out, "\n%zu cases measured, %zu failed, %zu not run; targets: %zu met, %zu missed",
		t.ok, t.failed, t.not_run, t.met, t.missed);
	if (r->baseline.id)
		fprintf(out, "; against %s: %zu slower, %zu faster", r->baseline_word, t.slower,
			t.faster);
	if (t.alerts)
		fprintf(out, "; %zu ALERT%s", t.alerts, t.alerts == 1 ? "" : "S");
	fputc('\n', out);
	if (!isnan(r->run.noise_low) && r->run.noise_high > 0)
		fprintf(out, "noise floor: two equal arms differ by %.3fx [%.3f .. %.3f]%s\n",
			r->run.noise_point, r->run.noise_low, r->run.noise_high,
			fabs(r->run.noise_point - 1) > 0.05
				? ": not usable, other activity disturbs this machine"
				: "");
	if (r->run.others_percent > 10 || r->run.steal_percent > 2)
		fprintf(out,
			"disturbed: other processes used %.0f %% of the machine while this ran, the "
			"hypervisor took %.0f %%\n",
			r->run.others_percent, r->run.steal_percent);
}
