/* report_markdown.c - writes a report as Markdown, for a pull request or a wiki. */
#include <math.h>
#include <string.h>

#include <berth/format.h>
#include <berth/text.h>

#include "report.h"

/* A cell: one line, and no bar that would end it. */
static const char *clean_cell(char *buf, size_t cap, const char *s)
{
	text_clean(buf, cap, s);
	for (char *p = buf; (p = strchr(p, '|')); p++)
		*p = '/';
	return buf;
}

static void print_targets(FILE *out, const struct results *r)
{
	char figure[96], text[256], name[256];

	fputs("\n## Targets\n\n| | Figure [95 %] | n | Case | Target |\n|---|---|---:|---|---|\n",
		out);
	for (size_t i = 0; i < r->n; i++)
		for (size_t k = 0; k < r->v[i].ntargets; k++) {
			const struct target_result *g = &r->v[i].targets[k];

			snprintf(name, sizeof name, "%s/%s", r->v[i].c.suite, r->v[i].c.name);
			fprintf(out, "| %s%s%s | %s | %zu | %s | %s |\n",
				g->verdict == MISSED || g->verdict == FAILED ? "**" : "",
				verdict_word(g->verdict),
				g->verdict == MISSED || g->verdict == FAILED ? "**" : "",
				target_figure(figure, sizeof figure, g, r->v[i].c.unit), g->n, name,
				clean_cell(text, sizeof text, g->requirement));
		}
}

static void print_regressions(FILE *out, const struct results *r)
{
	char a[VALUE_MAX], b[VALUE_MAX], arm[128];

	fprintf(out,
		"\n## Against %s\n\nSpeed 1 is equal, below 1 slower; a regression is an interval that "
		"lies below %.2f.\n\n| | Case | Arm | Before | Now | Speed [95 %%] | p |\n"
		"|---|---|---|---:|---:|---|---:|\n",
		r->baseline_word, r->threshold);
	for (size_t i = 0; i < r->n; i++)
		for (size_t k = 0; r->v[i].compared && k < r->v[i].c.narms; k++) {
			const struct result *x = &r->v[i];
			const struct compared *d = &x->changes[k];

			fprintf(out, "| %s%s | %s/%s | %s | %s | %s |", change_word(d->change),
				x->unconfirmed && d->change == CHANGE_SLOWER
					? " once, not confirmed"
					: "",
				x->c.suite, x->c.name,
				clean_cell(arm, sizeof arm, x->c.arms[k].name),
				report_value(a, x->c.unit, d->old_median),
				report_value(b, x->c.unit, d->new_median));
			if (d->change == CHANGE_MISSING)
				fputs(" - | - |\n", out);
			else
				fprintf(out, " %.3f [%.3f .. %.3f] | %.2g |\n", d->speed.point,
					d->speed.low, d->speed.high, d->p);
		}
}

static void print_arm_figures(FILE *out, const struct result *x)
{
	const struct history_case *c = &x->c;
	char v[7][VALUE_MAX], text[600];

	fprintf(out, "\n### %s/%s\n\n%s\n", c->suite, c->name, x->what ? x->what->about : "");
	if (strcmp(c->state, "ok") != 0) {
		fprintf(out, "\n**%s**: %s\n", !strcmp(c->state, "failed") ? "failed" : "not run",
			clean_cell(text, sizeof text, c->error));
		return;
	}
	fputs("\n| Arm | n | Median | Mean | SD | MAD | Min | p95 | Max | Ratio [95 %] | CPU / sample |\n"
	      "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|\n",
		out);
	for (size_t i = 0; i < c->narms; i++) {
		const struct history_arm *a = &c->arms[i];
		struct interval q = arm_ratio(c, i);
		struct summary s;
		double cpu = 0;

		arm_summary(a, &s);
		for (size_t k = 0; k < a->n; k++)
			cpu += a->v[k].user_s + a->v[k].system_s;
		fprintf(out, "| %s | %zu | %s | %s | %s | %s | %s | %s | %s |",
			clean_cell(text, sizeof text, a->name), s.n,
			report_value(v[0], c->unit, s.median), report_value(v[1], c->unit, s.mean),
			report_value(v[2], c->unit, s.sd), report_value(v[3], c->unit, s.mad),
			report_value(v[4], c->unit, s.min), report_value(v[5], c->unit, s.p95),
			report_value(v[6], c->unit, s.max));
		if (isnan(q.point))
			fputs(" |", out);
		else
			fprintf(out, " %.2fx [%.2f .. %.2f] |", q.point, q.low, q.high);
		fprintf(out, " %s |\n",
			cpu > 0 ? report_value(v[0], "s", cpu / (double)a->n) : "-");
	}
	if (*c->notes)
		fprintf(out, "\n%s\n", clean_cell(text, sizeof text, c->notes));
}

void report_markdown(FILE *out, const struct results *r)
{
	const struct history_run *h = &r->run;
	char noise[80];
	struct tally t = results_tally(r);
	char label[64], stamp[FORMAT_MAX], memory[FORMAT_MAX];

	fprintf(out, "# Benchmarks of %s\n\n", run_label(h, label, sizeof label));
	fprintf(out, "%zu cases measured, %zu failed, %zu not run. Targets: %zu met, %zu missed.",
		t.ok, t.failed, t.not_run, t.met, t.missed);
	if (r->baseline.id)
		fprintf(out, " Against %s: **%zu slower**, %zu faster.", r->baseline_word, t.slower,
			t.faster);
	fputs("\n", out);
	for (size_t i = 0; i < r->n; i++)
		if (*r->v[i].alert)
			fprintf(out, "\n> **Alert**: %s\n", r->v[i].alert);
	if (isnan(h->noise_point))
		snprintf(noise, sizeof noise, "not measured");
	else
		snprintf(noise, sizeof noise, "%.3f [%.3f .. %.3f]", h->noise_point, h->noise_low,
			h->noise_high);
	fprintf(out,
		"\n| | |\n|---|---|\n| Commit | %s |\n| Time | %s |\n| berth | %s |\n| CPU | %s, %lld "
		"cores |\n| Memory | %s |\n| Kernel | %s |\n| File system | %s |\n| Engine | %s |\n"
		"| Load | %.2f at the start, %.2f at the end; others %.0f %%, steal %.0f %% |\n"
		"| Noise floor | %s |\n| Programs | %s |\n| Seed | %llu |\n",
		*h->commit ? h->commit : "-", format_stamp(stamp, h->started_ms), h->version,
		h->cpu, (long long)h->cores, format_bytes(memory, (uint64_t)h->memory_bytes),
		h->kernel, h->fs, *h->engine ? h->engine : "-", h->load_start, h->load_end,
		h->others_percent, h->steal_percent, noise, h->versions,
		(unsigned long long)h->seed);
	print_targets(out, r);
	if (r->baseline.id)
		print_regressions(out, r);
	fputs("\n## Figures\n", out);
	for (size_t i = 0; i < r->n; i++)
		print_arm_figures(out, &r->v[i]);
}
