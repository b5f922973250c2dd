/*
 * report_html.c - one page without anything outside of it: tables, distributions and trends as SVG.
 *
 * Each sample is a dot, on one axis for all arms of a case, over a band from quartile to quartile with
 * the median as a line: a mean and a bar would hide what matters, two humps or a long tail.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "report.h"

#define WIDE 720     /* of a picture */
#define LEFT 190     /* names of the arms */
#define ROW 44       /* of one arm */
#define DOTS_MAX 400 /* of an arm; more are thinned out */
#define TREND_W 340
#define TREND_H 120

static void print_escaped(FILE *out, const char *s)
{
	char clean[600];

	text_clean(clean, sizeof clean, s);
	for (const char *p = clean; *p; p++)
		switch (*p) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '"': fputs("&quot;", out); break;
		default: fputc(*p, out);
		}
}

static const char style[] =
	"<style>\n"
	":root{--bg:#fbfcfd;--card:#fff;--ink:#1b2733;--dim:#66778a;--line:#dfe6ec;--good:#15803d;"
	"--bad:#c02626;--warn:#a16207;--c0:#7a8ea3;--c1:#0b74c4;--c2:#0f9b8e;--c3:#8a5cd1;--c4:#c26a12;"
	"--c5:#b83280;--c6:#5b7d1e;--c7:#475569}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#0e1419;--card:#151d25;--ink:#dce6ee;--dim:#8699ab;"
	"--line:#26323d;--good:#4ade80;--bad:#f87171;--warn:#facc15;--c0:#8ea3b8;--c1:#4aa8f0;--c2:#3dd4c4;"
	"--c3:#b794f6;--c4:#f0a04b;--c5:#f472b6;--c6:#a3c94a;--c7:#94a3b8}}\n"
	"*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);"
	"font:15px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}"
	"main{max-width:1180px;margin:0 auto;padding:32px 20px 80px}"
	"h1{font-size:27px;margin:0 0 2px}h2{font-size:19px;margin:38px 0 12px}h3{font-size:16px;margin:0}"
	".dim{color:var(--dim)}.small{font-size:13px}"
	".tiles{display:flex;flex-wrap:wrap;gap:12px;margin:20px 0}"
	".tile{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 18px;"
	"min-width:118px}.tile b{display:block;font-size:25px;line-height:1.2}"
	".good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}"
	".card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:16px 18px;"
	"margin:14px 0;overflow-x:auto}"
	".alert{border-left:4px solid var(--bad)}"
	"table{border-collapse:collapse;width:100%;font-size:13.5px}"
	"th{text-align:left;color:var(--dim);font-weight:500}"
	"td,th{padding:5px 10px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}"
	"tr:last-child td{border-bottom:0}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;"
	"white-space:nowrap}"
	".pill{display:inline-block;border-radius:20px;padding:0 9px;font-size:12px;font-weight:600;"
	"border:1px solid currentColor;white-space:nowrap}"
	"svg{display:block;max-width:100%;height:auto}svg text{fill:var(--ink);font-size:12px}"
	"svg .t{fill:var(--dim);font-size:11px}svg .g{stroke:var(--line)}"
	".pill{margin:2px 0}.trends{display:flex;flex-wrap:wrap;gap:14px;margin-top:8px}"
	"</style>\n";

static void print_pill(FILE *out, const char *class, const char *text)
{
	fprintf(out, "<span class=\"pill %s\">%s</span>", class, text);
}

static void verdict_pill(FILE *out, enum verdict v)
{
	static const char *const classes[] = {"dim", "good", "bad", "bad", "dim"};
	static const char *const words[] = {"not run", "met", "missed", "failed", ""};

	print_pill(out, classes[v], words[v]);
}

static void print_tile(FILE *out, const char *class, size_t n, const char *text)
{
	fprintf(out,
		"<div class=\"tile\"><b class=\"%s\">%zu</b><span class=\"dim small\">%s</span></div>",
		class, n, text);
}

/* A round step for about `want` ticks over `span`. */
static double step_of(double span, int want)
{
	double raw = span / want, ten = pow(10, floor(log10(raw))), f = raw / ten;

	return ten * (f <= 1 ? 1 : f <= 2 ? 2 : f <= 5 ? 5 : 10);
}

struct axis {
	double low, high, x0, x1;
	bool logarithmic;
};

static double place_on_axis(const struct axis *a, double v)
{
	double t = a->logarithmic ? (log(v) - log(a->low)) / (log(a->high) - log(a->low))
				  : (v - a->low) / (a->high - a->low);

	t = t < 0 ? 0 : t > 1 ? 1 : t;
	return a->x0 + t * (a->x1 - a->x0);
}

/* From the fastest sample to the slowest but one in a hundred; arms a decade apart share a log axis. */
static bool make_axis(const struct history_case *c, struct axis *a)
{
	double low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < c->narms; i++) {
		struct summary s;

		if (!c->arms[i].n)
			continue;
		arm_summary(&c->arms[i], &s);
		low = fmin(low, s.min);
		high = fmax(high, fmin(s.max, s.p95 + 2 * (s.p95 - s.median)));
	}
	if (!isfinite(low) || !isfinite(high))
		return false;
	if (!(high > low)) {
		low = low > 0 ? low * 0.9 : low - 1;
		high = high > 0 ? high * 1.1 : high + 1;
	}
	a->logarithmic = low > 0 && high / low > 12;
	if (a->logarithmic) {
		a->low = low / 1.15;
		a->high = high * 1.15;
	} else {
		double pad = 0.06 * (high - low);

		a->low = low - pad > 0 || low < 0 ? low - pad : 0;
		a->high = high + pad;
	}
	return true;
}

static void print_tick(FILE *out, const struct axis *a, double v, int bottom, const char *unit)
{
	char text[VALUE_MAX];

	fprintf(out,
		"<line class=\"g\" x1=\"%.1f\" x2=\"%.1f\" y1=\"4\" y2=\"%d\"/><text class=\"t\" x=\"%.1f\" "
		"y=\"%d\" text-anchor=\"middle\">%s</text>",
		place_on_axis(a, v), place_on_axis(a, v), bottom, place_on_axis(a, v), bottom + 15,
		report_value(text, unit, v));
}

static void print_ticks(FILE *out, const struct axis *a, int bottom, const char *unit)
{
	if (a->logarithmic) {
		static const double at[] = {1, 2, 5};
		bool dense = a->high / a->low < 120;

		double ten = pow(10, floor(log10(a->low)));

		while (ten < a->high) {
			for (int k = 0; k < (dense ? 3 : 1); k++)
				if (ten * at[k] > a->low && ten * at[k] < a->high)
					print_tick(out, a, ten * at[k], bottom, unit);
			ten *= 10;
		}
		return;
	}
	{
		double step = step_of(a->high - a->low, 5);

		for (int k = 0; k < 12; k++) {
			double v = (ceil(a->low / step) + k) * step;

			if (v > a->high)
				break;
			print_tick(out, a, v, bottom, unit);
		}
	}
}

static void print_arm_row(FILE *out, const struct history_case *c, size_t i, const struct axis *a)
{
	const struct history_arm *arm = &c->arms[i];
	AUTO_FREE double *v = xreallocarray(NULL, arm->n + 1, sizeof *v);
	double mid = 8 + ROW * (double)i + ROW / 2.0, q1, q3;
	struct prng random = {i + 1};
	size_t skip = arm->n > DOTS_MAX ? arm->n / DOTS_MAX : 1, color = i % 8;
	char text[VALUE_MAX], name[40];

	text_clean(name, sizeof name, arm->name);
	fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 14, mid + 1);
	print_escaped(out, name);
	fputs("</text>", out);
	if (!arm->n)
		return;
	for (size_t k = 0; k < arm->n; k++)
		v[k] = arm->v[k].value;
	quartiles(v, arm->n, &q1, &q3);
	fprintf(out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"3\" fill=\"var(--c%zu)\" "
		"opacity=\".18\"/>",
		place_on_axis(a, q1), mid - 15,
		fmax(place_on_axis(a, q3) - place_on_axis(a, q1), 2), 30, color);
	for (size_t k = 0; k < arm->n; k += skip)
		fprintf(out,
			"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\" fill=\"var(--c%zu)\" opacity=\".5\"/>",
			place_on_axis(a, v[k]), mid + (double)prng_below(&random, 2001) / 100 - 10,
			color);
	fprintf(out,
		"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"var(--c%zu)\" "
		"stroke-width=\"3\"/><text class=\"t\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
		place_on_axis(a, median_of(v, arm->n)), place_on_axis(a, median_of(v, arm->n)),
		mid - 17, mid + 17, color, LEFT - 14, mid + 15,
		report_value(text, c->unit, median_of(v, arm->n)));
}

static void print_distribution(FILE *out, const struct history_case *c)
{
	int bottom = 8 + ROW * (int)c->narms;
	struct axis a = {.x0 = LEFT, .x1 = WIDE - 30};

	if (!make_axis(c, &a))
		return;
	fprintf(out, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\">", WIDE, bottom + 22,
		WIDE);
	print_ticks(out, &a, bottom, c->unit);
	for (size_t i = 0; i < c->narms; i++)
		print_arm_row(out, c, i, &a);
	fputs("</svg>\n", out);
}

static void print_trend(FILE *out, const struct result *x, size_t i)
{
	const struct trend_point *p = x->trend[i];
	size_t n = x->ntrend[i], color = i % 8;
	double low = INFINITY, high = 0, left = 62, right = TREND_W - 14, top = 26,
	       bottom = TREND_H - 22;
	char text[VALUE_MAX];

	for (size_t k = 0; k < n; k++) {
		low = fmin(low, p[k].low);
		high = fmax(high, p[k].high);
	}
	low = fmin(low, 0.75 * high) > 0 ? fmin(low, 0.75 * high) * 0.97 : 0;
	high = high > low ? high * 1.03 : low + 1;
#define X(k) (left + (n > 1 ? (right - left) * (double)(k) / (double)(n - 1) : 0))
#define Y(v) (bottom - (bottom - top) * ((v)-low) / (high - low))
	fprintf(out, "<svg viewBox=\"0 0 %d %d\" width=\"%d\"><text x=\"%.0f\" y=\"14\">", TREND_W,
		TREND_H, TREND_W, left);
	print_escaped(out, x->c.arms[i].name);
	fputs("</text>", out);
	for (int k = 0; k < 3; k++) {
		double v = low + (high - low) * k / 2;

		fprintf(out,
			"<line class=\"g\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"t\" "
			"x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
			left, right, Y(v), Y(v), left - 6, Y(v) + 4,
			report_value(text, x->c.unit, v));
	}
	fputs("<path d=\"M", out);
	for (size_t k = 0; k < n; k++)
		fprintf(out, "%s%.1f,%.1f", k ? "L" : "", X(k), Y(p[k].high));
	for (size_t k = n; k-- > 0;)
		fprintf(out, "L%.1f,%.1f", X(k), Y(p[k].low));
	fprintf(out,
		"Z\" fill=\"var(--c%zu)\" opacity=\".18\"/><polyline fill=\"none\" stroke=\"var(--c%zu)\" "
		"stroke-width=\"2\" points=\"",
		color, color);
	for (size_t k = 0; k < n; k++)
		fprintf(out, "%.1f,%.1f ", X(k), Y(p[k].median));
	fputs("\"/>", out);
	for (size_t k = 0; k < n; k++) {
		fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"var(--c%zu)\"><title>",
			X(k), Y(p[k].median), color);
		print_escaped(out, p[k].label);
		fprintf(out, " %s</title></circle>", report_value(text, x->c.unit, p[k].median));
		if (k == 0 || k + 1 == n) {
			fprintf(out, "<text class=\"t\" x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">",
				X(k), TREND_H - 6, k == 0 ? "start" : "end");
			print_escaped(out, p[k].label);
			fputs("</text>", out);
		}
	}
	fputs("</svg>\n", out);
#undef X
#undef Y
}

static void change_cells(FILE *out, const struct results *r, const struct result *x, size_t i)
{
	const struct compared *k = &x->changes[i];

	if (!r->baseline.id)
		return;
	if (!x->compared || k->change == CHANGE_MISSING) {
		fputs("<td class=\"n dim\">no figure before</td><td></td>", out);
		return;
	}
	fprintf(out, "<td class=\"n\">%.3f <span class=\"dim\">%.3f – %.3f</span></td><td>",
		k->speed.point, k->speed.low, k->speed.high);
	if (k->change == CHANGE_SLOWER)
		print_pill(out, x->unconfirmed ? "warn" : "bad",
			x->unconfirmed ? "not confirmed" : "slower");
	else if (k->change == CHANGE_FASTER)
		print_pill(out, "good", "faster");
	else
		fprintf(out, "<span class=\"dim\">%s</span>", change_word(k->change));
	fputs("</td>", out);
}

static void print_figures(FILE *out, const struct results *r, const struct result *x)
{
	char v[6][VALUE_MAX];

	fprintf(out,
		"<table><tr><th>arm<th class=n>n<th class=n>median<th class=n>MAD<th class=n>min<th class=n>p95"
		"<th class=n>max<th class=n>ratio to baseline%s</tr>",
		r->baseline.id ? "<th class=n>speed against before<th>" : "");
	for (size_t i = 0; i < x->c.narms; i++) {
		struct interval q = arm_ratio(&x->c, i);
		struct summary s;

		arm_summary(&x->c.arms[i], &s);
		fputs("<tr><td>", out);
		print_escaped(out, x->c.arms[i].name);
		fprintf(out,
			"<td class=n>%zu<td class=n>%s<td class=n>%s<td class=n>%s<td class=n>%s<td class=n>%s"
			"<td class=n>",
			s.n, report_value(v[0], x->c.unit, s.median),
			report_value(v[1], x->c.unit, s.mad), report_value(v[2], x->c.unit, s.min),
			report_value(v[3], x->c.unit, s.p95), report_value(v[4], x->c.unit, s.max));
		if (!isnan(q.point))
			fprintf(out, "<b>%.2f×</b> <span class=\"dim\">%.2f – %.2f</span>", q.point,
				q.low, q.high);
		else
			fputs((int)i == x->c.baseline ? "<span class=dim>baseline</span>" : "",
				out);
		change_cells(out, r, x, i);
		fputs("</tr>\n", out);
	}
	fputs("</table>\n", out);
}

static void print_case(FILE *out, const struct results *r, const struct result *x)
{
	bool any = false;

	fprintf(out, "<div class=\"card%s\"><h3>", *x->alert ? " alert" : "");
	print_escaped(out, x->c.suite);
	fputs(" / ", out);
	print_escaped(out, x->c.name);
	fputs("</h3><div class=\"dim small\">", out);
	print_escaped(out, x->what ? x->what->about : "");
	fputs("</div>\n", out);
	if (*x->alert) {
		fputs("<p class=bad><b>Alert:</b> ", out);
		print_escaped(out, x->alert);
		fputs("</p>\n", out);
	}
	if (strcmp(x->c.state, "ok") != 0) {
		bool failed = !strcmp(x->c.state, "failed");

		print_pill(out, failed ? "bad" : "dim", failed ? "failed" : "not run");
		fputs(" ", out);
		print_escaped(out, x->c.error);
		fputs("</div>\n", out);
		return;
	}
	print_distribution(out, &x->c);
	print_figures(out, r, x);
	for (size_t i = 0; i < x->ntargets; i++) {
		char figure[96];

		fputs("<div class=small>", out);
		verdict_pill(out, x->targets[i].verdict);
		fputs(" ", out);
		print_escaped(out, x->targets[i].requirement);
		fprintf(out, ": <b>%s</b></div>\n",
			target_figure(figure, sizeof figure, &x->targets[i], x->c.unit));
	}
	if (*x->c.notes) {
		fputs("<div class=\"dim small\">", out);
		print_escaped(out, x->c.notes);
		fputs("</div>\n", out);
	}
	for (size_t i = 0; i < x->c.narms; i++)
		any |= x->ntrend[i] > 1;
	if (any) {
		fputs("<div class=trends>", out);
		for (size_t i = 0; i < x->c.narms; i++)
			if (x->ntrend[i] > 1)
				print_trend(out, x, i);
		fputs("</div>", out);
	}
	fputs("</div>\n", out);
}

static void print_machine(FILE *out, const struct history_run *h)
{
	char memory[FORMAT_MAX];

	fputs("<h2>Machine</h2><div class=\"card small\">", out);
	print_escaped(out, h->cpu);
	fprintf(out, ", %lld cores, %s memory, Linux ", (long long)h->cores,
		format_bytes(memory, (uint64_t)h->memory_bytes));
	print_escaped(out, h->kernel);
	fputs(", ", out);
	print_escaped(out, h->fs);
	if (*h->engine) {
		fputs(", ", out);
		print_escaped(out, h->engine);
	}
	fprintf(out,
		"<br>Load %.2f at the start and %.2f at the end; other processes used %.0f %% of it, the "
		"hypervisor took %.0f %%.",
		h->load_start, h->load_end, h->others_percent, h->steal_percent);
	if (!isnan(h->noise_point))
		fprintf(out, "<br>Noise floor: two equal arms differ by %.3f× (%.3f – %.3f).",
			h->noise_point, h->noise_low, h->noise_high);
	if (*h->versions) {
		fputs("<br>Compared with ", out);
		print_escaped(out, h->versions);
	}
	fprintf(out, "<br>Seed %llu.</div>\n", (unsigned long long)h->seed);
}

void report_html(FILE *out, const struct results *r)
{
	struct tally t = results_tally(r);
	char label[64], stamp[FORMAT_MAX], figure[96];
	size_t targets = t.met + t.missed;

	fputs("<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
	      "content=\"width=device-width,initial-scale=1\">\n<title>Benchmarks of ",
		out);
	print_escaped(out, run_label(&r->run, label, sizeof label));
	fputs("</title>\n", out);
	fputs(style, out);
	fputs("<main><h1>Benchmarks of ", out);
	print_escaped(out, label);
	fputs("</h1><div class=dim>", out);
	fprintf(out, "%.16s UTC, commit ", format_stamp(stamp, r->run.started_ms));
	print_escaped(out, *r->run.commit ? r->run.commit : "unknown");
	if (r->baseline.id) {
		fputs(", compared with ", out);
		print_escaped(out, r->baseline_word);
	}
	fputs("</div>\n<div class=tiles>", out);
	print_tile(out, "", t.ok, t.ok == 1 ? "case measured" : "cases measured");
	if (targets)
		print_tile(out, t.missed ? "" : "good", t.met, "targets met");
	if (t.missed)
		print_tile(out, "bad", t.missed, "targets missed");
	if (r->baseline.id) {
		print_tile(out, t.slower ? "bad" : "good", t.slower, "slower than before");
		print_tile(out, t.faster ? "good" : "", t.faster, "faster than before");
	}
	if (t.failed)
		print_tile(out, "bad", t.failed, "failed");
	if (t.not_run)
		print_tile(out, "warn", t.not_run, "not run");
	if (t.alerts)
		print_tile(out, "bad", t.alerts, "alerts");
	fputs("</div>\n", out);
	if (targets) {
		fputs("<h2>Targets</h2><div class=card><table><tr><th><th class=n>figure, 95 %<th "
		      "class=n>n<th>case<th>target</tr>\n",
			out);
		for (size_t i = 0; i < r->n; i++)
			for (size_t k = 0; k < r->v[i].ntargets; k++) {
				const struct target_result *g = &r->v[i].targets[k];

				fputs("<tr><td>", out);
				verdict_pill(out, g->verdict);
				fprintf(out, "<td class=n>%s<td class=n>%zu<td>",
					target_figure(figure, sizeof figure, g, r->v[i].c.unit),
					g->n);
				print_escaped(out, r->v[i].c.suite);
				fputs("/", out);
				print_escaped(out, r->v[i].c.name);
				fputs("<td>", out);
				print_escaped(out, g->requirement);
				fputs("</tr>\n", out);
			}
		fputs("</table></div>\n", out);
	}
	fputs("<h2>Figures</h2>\n<p class=\"dim small\">A dot is a sample, the band spans the middle half of "
	      "them, the line is the median. Trends run over the versions measured on machines like this "
	      "one.</p>\n",
		out);
	for (size_t i = 0; i < r->n; i++)
		print_case(out, r, &r->v[i]);
	print_machine(out, &r->run);
	fputs("</main></html>\n", out);
}
