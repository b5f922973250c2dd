/*
 * report_html.c - writes a self-contained HTML report: tables, distributions and trends as SVG. What it looks like
 * stands in configs/bench-report.html; here is what is on it, and where the dots go.
 *
 * Each sample is a dot, on one axis for all arms of a case, over a band from quartile to quartile with
 * the median as a line: a mean and a bar would hide what matters, two humps or a long tail.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/template.h>
#include <berth/text.h>

#include "report.h"

#define WIDE 720     /* of a picture */
#define LEFT 190     /* names of the arms */
#define ROW 44       /* of one arm */
#define DOTS_MAX 400 /* of an arm; more are thinned out */
#define TREND_W 340
#define TREND_H 120

#define TEXT SLOT_TEXT
#define NUMBER SLOT_NUMBER
#define COUNTED SLOT_COUNT

/* A piece with these slots filled; plain() has none. */
#define fill(out, piece, ...) \
	template_fill(        \
		out, "configs/bench-report.html", piece, (const struct slot[]){__VA_ARGS__, {0}})
#define plain(out, piece) template_fill(out, "configs/bench-report.html", piece, NULL)

static const char *verdict_class(enum verdict v)
{
	static const char *const classes[] = {"dim", "good", "bad", "bad", "dim"};

	return classes[v];
}

static const char *verdict_name(enum verdict v)
{
	static const char *const words[] = {"not run", "met", "missed", "failed", ""};

	return words[v];
}

static void print_tile(FILE *out, const char *class, size_t n, const char *text)
{
	fill(out, "tile", TEXT("class", class), COUNTED("n", n), TEXT("text", text));
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

	fill(out, "picture-tick", NUMBER("x", place_on_axis(a, v), 1), COUNTED("bottom", bottom),
		COUNTED("below", bottom + 15), TEXT("value", report_value(text, unit, v)));
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
	double mid = 8 + ROW * (double)i + ROW / 2.0, q1, q3, median;
	struct prng random = {i + 1};
	size_t skip = arm->n > DOTS_MAX ? arm->n / DOTS_MAX : 1, color = i % 8;
	char text[VALUE_MAX], name[40];

	fill(out, "picture-arm", COUNTED("left", LEFT - 14), NUMBER("y", mid + 1, 1),
		TEXT("arm", text_clean(name, sizeof name, arm->name)));
	if (!arm->n)
		return;
	for (size_t k = 0; k < arm->n; k++)
		v[k] = arm->v[k].value;
	quartiles(v, arm->n, &q1, &q3);
	fill(out, "picture-band", NUMBER("x", place_on_axis(a, q1), 1), NUMBER("y", mid - 15, 1),
		NUMBER("width", fmax(place_on_axis(a, q3) - place_on_axis(a, q1), 2), 1),
		COUNTED("color", color));
	for (size_t k = 0; k < arm->n; k += skip)
		fill(out, "picture-dot", NUMBER("x", place_on_axis(a, v[k]), 1),
			NUMBER("y", mid + (double)prng_below(&random, 2001) / 100 - 10, 1),
			COUNTED("color", color));
	median = median_of(v, arm->n);
	fill(out, "picture-median", NUMBER("x", place_on_axis(a, median), 1),
		NUMBER("top", mid - 17, 1), NUMBER("bottom", mid + 17, 1), COUNTED("color", color),
		COUNTED("left", LEFT - 14), NUMBER("y", mid + 15, 1),
		TEXT("value", report_value(text, c->unit, median)));
}

static void print_distribution(FILE *out, const struct history_case *c)
{
	int bottom = 8 + ROW * (int)c->narms;
	struct axis a = {.x0 = LEFT, .x1 = WIDE - 30};

	if (!make_axis(c, &a))
		return;
	fill(out, "picture", COUNTED("width", WIDE), COUNTED("height", bottom + 22));
	print_ticks(out, &a, bottom, c->unit);
	for (size_t i = 0; i < c->narms; i++)
		print_arm_row(out, c, i, &a);
	plain(out, "picture-end");
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
	fill(out, "trend", COUNTED("width", TREND_W), COUNTED("height", TREND_H),
		COUNTED("left", left), TEXT("arm", x->c.arms[i].name));
	for (int k = 0; k < 3; k++) {
		double v = low + (high - low) * k / 2;

		fill(out, "trend-grid", NUMBER("left", left, 1), NUMBER("right", right, 1),
			NUMBER("y", Y(v), 1), NUMBER("before", left - 6, 1),
			NUMBER("below", Y(v) + 4, 1),
			TEXT("value", report_value(text, x->c.unit, v)));
	}
	fill(out, "trend-band", COUNTED("color", color));
	for (size_t k = 0; k < n; k++)
		fill(out, "trend-place", NUMBER("x", X(k), 1), NUMBER("y", Y(p[k].high), 1));
	for (size_t k = n; k-- > 0;)
		fill(out, "trend-place", NUMBER("x", X(k), 1), NUMBER("y", Y(p[k].low), 1));
	fill(out, "trend-line", COUNTED("color", color));
	for (size_t k = 0; k < n; k++)
		fill(out, "trend-place", NUMBER("x", X(k), 1), NUMBER("y", Y(p[k].median), 1));
	plain(out, "trend-dots");
	for (size_t k = 0; k < n; k++) {
		fill(out, "trend-dot", NUMBER("x", X(k), 1), NUMBER("y", Y(p[k].median), 1),
			COUNTED("color", color), TEXT("version", p[k].label),
			TEXT("value", report_value(text, x->c.unit, p[k].median)));
		if (k == 0 || k + 1 == n)
			fill(out, "trend-label", NUMBER("x", X(k), 1), COUNTED("y", TREND_H - 6),
				TEXT("anchor", k == 0 ? "start" : "end"),
				TEXT("version", p[k].label));
	}
	plain(out, "trend-end");
#undef X
#undef Y
}

static void change_cells(FILE *out, const struct results *r, const struct result *x, size_t i)
{
	const struct compared *k = &x->changes[i];
	const char *class = "dim", *word = change_word(k->change);

	if (!r->baseline.id)
		return;
	if (!x->compared || k->change == CHANGE_MISSING) {
		plain(out, "row-unknown");
		return;
	}
	if (k->change == CHANGE_SLOWER) {
		class = x->unconfirmed ? "pill warn" : "pill bad";
		word = x->unconfirmed ? "not confirmed" : "slower";
	} else if (k->change == CHANGE_FASTER) {
		class = "pill good";
		word = "faster";
	}
	fill(out, "row-speed", NUMBER("point", k->speed.point, 3), NUMBER("low", k->speed.low, 3),
		NUMBER("high", k->speed.high, 3), TEXT("class", class), TEXT("change", word));
}

static void print_figures(FILE *out, const struct results *r, const struct result *x)
{
	char v[5][VALUE_MAX];

	plain(out, "table");
	if (r->baseline.id)
		plain(out, "table-compared");
	for (size_t i = 0; i < x->c.narms; i++) {
		struct interval q = arm_ratio(&x->c, i);
		struct summary s;

		arm_summary(&x->c.arms[i], &s);
		fill(out, "table-row", TEXT("arm", x->c.arms[i].name), COUNTED("n", s.n),
			TEXT("median", report_value(v[0], x->c.unit, s.median)),
			TEXT("mad", report_value(v[1], x->c.unit, s.mad)),
			TEXT("min", report_value(v[2], x->c.unit, s.min)),
			TEXT("p95", report_value(v[3], x->c.unit, s.p95)),
			TEXT("max", report_value(v[4], x->c.unit, s.max)));
		if (!isnan(q.point))
			fill(out, "row-ratio", NUMBER("point", q.point, 2), NUMBER("low", q.low, 2),
				NUMBER("high", q.high, 2));
		else if ((int)i == x->c.baseline)
			plain(out, "row-baseline");
		change_cells(out, r, x, i);
	}
	plain(out, "table-end");
}

static void print_trends(FILE *out, const struct result *x)
{
	bool any = false;

	for (size_t i = 0; i < x->c.narms; i++)
		any |= x->ntrend[i] > 1;
	if (!any)
		return;
	plain(out, "trends");
	for (size_t i = 0; i < x->c.narms; i++)
		if (x->ntrend[i] > 1)
			print_trend(out, x, i);
	plain(out, "trends-end");
}

static void print_measured(FILE *out, const struct results *r, const struct result *x)
{
	print_distribution(out, &x->c);
	print_figures(out, r, x);
	for (size_t i = 0; i < x->ntargets; i++) {
		const struct target_result *g = &x->targets[i];
		char figure[96];

		fill(out, "case-target", TEXT("class", verdict_class(g->verdict)),
			TEXT("verdict", verdict_name(g->verdict)),
			TEXT("requirement", g->requirement),
			TEXT("figure", target_figure(figure, sizeof figure, g, x->c.unit)));
	}
	if (*x->c.notes)
		fill(out, "case-notes", TEXT("notes", x->c.notes));
	print_trends(out, x);
}

static void print_case(FILE *out, const struct results *r, const struct result *x)
{
	bool failed = !strcmp(x->c.state, "failed");

	fill(out, "case", TEXT("class", *x->alert ? "alert" : ""), TEXT("suite", x->c.suite),
		TEXT("case", x->c.name), TEXT("about", x->what ? x->what->about : ""));
	if (*x->alert)
		fill(out, "case-alert", TEXT("alert", x->alert));
	if (strcmp(x->c.state, "ok") != 0)
		fill(out, "case-failed", TEXT("class", failed ? "bad" : "dim"),
			TEXT("state", failed ? "failed" : "not run"), TEXT("error", x->c.error));
	else
		print_measured(out, r, x);
	plain(out, "case-end");
}

static void print_machine(FILE *out, const struct history_run *h)
{
	char memory[FORMAT_MAX];

	fill(out, "machine", TEXT("cpu", h->cpu), COUNTED("cores", h->cores),
		TEXT("memory", format_bytes(memory, (uint64_t)h->memory_bytes)),
		TEXT("kernel", h->kernel), TEXT("fs", h->fs));
	if (*h->engine)
		fill(out, "machine-engine", TEXT("engine", h->engine));
	fill(out, "machine-load", NUMBER("start", h->load_start, 2), NUMBER("end", h->load_end, 2),
		COUNTED("others", h->others_percent), COUNTED("stolen", h->steal_percent));
	if (!isnan(h->noise_point))
		fill(out, "machine-noise", NUMBER("point", h->noise_point, 3),
			NUMBER("low", h->noise_low, 3), NUMBER("high", h->noise_high, 3));
	if (*h->versions)
		fill(out, "machine-versions", TEXT("versions", h->versions));
}

static void print_tiles(FILE *out, const struct results *r, const struct tally *t)
{
	plain(out, "tiles");
	print_tile(out, "", t->ok, t->ok == 1 ? "case measured" : "cases measured");
	if (t->met + t->missed)
		print_tile(out, t->missed ? "" : "good", t->met, "targets met");
	if (t->missed)
		print_tile(out, "bad", t->missed, "targets missed");
	if (r->baseline.id) {
		print_tile(out, t->slower ? "bad" : "good", t->slower, "slower than before");
		print_tile(out, t->faster ? "good" : "", t->faster, "faster than before");
	}
	if (t->failed)
		print_tile(out, "bad", t->failed, "failed");
	if (t->not_run)
		print_tile(out, "warn", t->not_run, "not run");
	if (t->alerts)
		print_tile(out, "bad", t->alerts, "alerts");
	plain(out, "tiles-end");
}

static void list_targets(FILE *out, const struct results *r)
{
	char figure[96];

	plain(out, "targets");
	for (size_t i = 0; i < r->n; i++)
		for (size_t k = 0; k < r->v[i].ntargets; k++) {
			const struct target_result *g = &r->v[i].targets[k];
			const struct history_case *c = &r->v[i].c;

			fill(out, "target", TEXT("class", verdict_class(g->verdict)),
				TEXT("verdict", verdict_name(g->verdict)),
				TEXT("figure", target_figure(figure, sizeof figure, g, c->unit)),
				COUNTED("n", g->n), TEXT("suite", c->suite), TEXT("case", c->name),
				TEXT("requirement", g->requirement));
		}
	plain(out, "targets-end");
}

void report_html(FILE *out, const struct results *r)
{
	struct tally t = results_tally(r);
	char label[64], stamp[FORMAT_MAX], seed[32];

	format_stamp(stamp, r->run.started_ms)[16] = '\0';
	run_label(&r->run, label, sizeof label);
	fill(out, "page", TEXT("label", label));
	template_fill(out, "configs/page-style.html", "style", NULL);
	fill(out, "page-body", TEXT("label", label), TEXT("started", stamp),
		TEXT("commit", *r->run.commit ? r->run.commit : "unknown"));
	if (r->baseline.id)
		fill(out, "page-compared", TEXT("baseline", r->baseline_word));
	print_tiles(out, r, &t);
	if (t.met + t.missed)
		list_targets(out, r);
	plain(out, "figures");
	for (size_t i = 0; i < r->n; i++)
		print_case(out, r, &r->v[i]);
	print_machine(out, &r->run);
	snprintf(seed, sizeof seed, "%llu", (unsigned long long)r->run.seed);
	fill(out, "page-end", TEXT("seed", seed));
}
