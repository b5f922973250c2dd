/* bench_draw.c - draws the detail of a case: all arms over one axis, the fastest furthest left. */
#include "views/bench/bench_draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "views/pen.h"
#include "widgets/widgets.h"

#define NAME_W 24
#define FIGURE_W 9
#define RATIO_W 24
#define BINS_MAX 200
#define TREND_H 3
#define TAIL \
	3.0 /* the axis ends so many times the median away: a single late sample is in the last bin */

struct axis {
	double low, high;
};

static bool find_axis(const struct live_case *k, struct axis *x)
{
	double low = INFINITY, high = -INFINITY, middle = 0;

	for (size_t i = 0; i < k->narms; i++) {
		double m = live_median(&k->arm[i]);

		if (m > middle)
			middle = m;
		for (size_t n = 0; n < k->arm[i].n; n++) {
			low = fmin(low, k->arm[i].v[n]);
			high = fmax(high, k->arm[i].v[n]);
		}
	}
	if (!isfinite(low) || !isfinite(high))
		return false;
	if (middle > 0)
		high = fmin(high, TAIL * middle);
	if (!(high > low)) {
		low -= fabs(low) * 0.05 + 1e-12;
		high += fabs(high) * 0.05 + 1e-12;
	}
	*x = (struct axis){low, high};
	return true;
}

static void draw_histogram(struct canvas *c, int x, int y, int w, struct style st,
	const struct live_arm *arm, const struct axis *axis)
{
	uint16_t bins[BINS_MAX] = {0};

	if (w > BINS_MAX)
		w = BINS_MAX;
	for (size_t i = 0; i < arm->n; i++) {
		double t = (arm->v[i] - axis->low) / (axis->high - axis->low) * w;
		int at = t < 0 ? 0 : t >= w ? w - 1 : (int)t;

		if (bins[at] < UINT16_MAX)
			bins[at]++;
	}
	meter_spark(c, x, y, w, st, bins, w, 0);
	for (int i = 0; i < w; i++)
		if (!bins[i])
			canvas_text(c, x + i, y, 1, STYLE(DIM), " ");
}

static struct style change_style(const char *word)
{
	return !strcmp(word, "SLOWER")    ? STYLE(BAD)
		: !strcmp(word, "faster") ? STYLE(GOOD)
					  : STYLE(DIM);
}

static void draw_arm_row(struct canvas *c, struct area a, const struct live_case *k, size_t i,
	const struct axis *axis)
{
	static const uint8_t roles[] = {ROLE_DIM, ROLE_SOURCE1, ROLE_SOURCE2, ROLE_SOURCE3,
		ROLE_SOURCE4, ROLE_SOURCE5, ROLE_SOURCE6};
	const struct live_arm *arm = &k->arm[i];
	int x = a.x, right = a.x + a.w, name = a.w < 70 ? 14 : NAME_W;
	bool ratio = a.w >= 70;
	char text[64];

	canvas_clip(c, x, a.y, name - 1, arm->baseline ? STYLE(TEXT) : STYLE(STRONG), arm->name);
	x += name;
	canvas_right(c, x, a.y, FIGURE_W, STYLE(TEXT),
		live_value(text, sizeof text, k->unit, live_median(arm)));
	x += FIGURE_W + 1;
	if (ratio) {
		right -= RATIO_W;
		if (arm->baseline)
			canvas_text(c, right + 1, a.y, RATIO_W - 1, STYLE(DIM), "baseline");
		else if (arm->ratio.known)
			canvas_printf(c, right + 1, a.y, RATIO_W - 1, STYLE(TEXT),
				"%.2fx [%.2f .. %.2f]", arm->ratio.point, arm->ratio.low,
				arm->ratio.high);
		else
			canvas_printf(
				c, right + 1, a.y, RATIO_W - 1, STYLE(DIM), "n = %zu", arm->n);
	}
	if (right - x > 6)
		draw_histogram(c, x, a.y, right - x - 1,
			(struct style){.role = roles[i % sizeof roles]}, arm, axis);
}

static void axis_row(
	struct canvas *c, struct area a, const struct live_case *k, const struct axis *x)
{
	int name = a.w < 70 ? 14 : NAME_W, from = a.x + name + FIGURE_W + 1;
	int to = a.x + a.w - (a.w >= 70 ? RATIO_W : 0) - 1;
	char low[32], high[32];

	if (to - from < 24)
		return;
	canvas_text(c, from, a.y, -1, STYLE(DIM), live_value(low, sizeof low, k->unit, x->low));
	canvas_right(c, from, a.y, to - from, STYLE(DIM),
		live_value(high, sizeof high, k->unit, x->high));
}

/* Medians over the versions, one arm: the one that is judged and moved most, else the first. */
static const struct live_arm *trend_arm(const struct live_case *k)
{
	const struct live_arm *best = NULL;

	for (size_t i = 0; i < k->narms; i++)
		if (k->arm[i].ntrend > 1 && (!best || (best->baseline && !k->arm[i].baseline)))
			best = &k->arm[i];
	return best;
}

static void draw_trend(
	struct canvas *c, struct area a, const struct live_case *k, const struct live_arm *arm)
{
	float v[LIVE_TREND_MAX * 8];
	int n = (int)arm->ntrend, wide = (a.w - 26) * 2 / n, count = 0;
	double top = 0;
	char first[32], last[32];

	wide = wide < 1 ? 1 : wide > 8 ? 8 : wide;
	for (int i = 0; i < n; i++) {
		top = fmax(top, arm->trend[i].median);
		for (int s = 0; s < wide; s++)
			v[count++] = (float)arm->trend[i].median;
	}
	canvas_printf(c, a.x, a.y, 25, STYLE(STRONG), "%.22s", arm->name);
	canvas_text(c, a.x, a.y + 1, 25, STYLE(DIM), "over the versions");
	canvas_printf(c, a.x, a.y + 2, 25, STYLE(DIM), "%+.1f %% since the first",
		100 * (arm->trend[n - 1].median / arm->trend[0].median - 1));
	meter_chart(c, (struct area){a.x + 26, a.y, (count + 1) / 2, TREND_H}, STYLE(CHART), v,
		count, top * 1.1);
	if (a.w - 26 - (count + 1) / 2 < 24)
		return;
	canvas_printf(c, a.x + 27 + (count + 1) / 2, a.y, -1, STYLE(DIM), "%s %s",
		arm->trend[0].label,
		live_value(first, sizeof first, k->unit, arm->trend[0].median));
	canvas_printf(c, a.x + 27 + (count + 1) / 2, a.y + 2, -1, STYLE(TEXT), "%s %s",
		arm->trend[n - 1].label,
		live_value(last, sizeof last, k->unit, arm->trend[n - 1].median));
}

static struct style verdict_style(const char *word)
{
	return !strcmp(word, "met")        ? STYLE(GOOD)
		: !strcmp(word, "not run") ? STYLE(DIM)
					   : STYLE(BAD);
}

static void draw_judgements(struct pen *p, const struct live_run *r, const struct live_case *k)
{
	char text[400];

	if (*k->alert) {
		snprintf(text, sizeof text, "Alert: %s", k->alert);
		pen_text(p, STYLE(BAD), 0, text);
	}
	for (size_t i = 0; i < k->ntargets; i++) {
		const struct live_target *t = &k->target[i];

		snprintf(text, sizeof text, "%s  %s%s%s", t->verdict, t->requirement,
			*t->figure ? ": " : "", t->figure);
		pen_line(p, verdict_style(t->verdict), text);
	}
	for (size_t i = 0; i < k->narms; i++) {
		const struct live_arm *a = &k->arm[i];

		if (!a->change.known)
			continue;
		snprintf(text, sizeof text, "%s: %.3fx as fast as %s [%.3f .. %.3f] %s", a->name,
			a->change.point, r->baseline, a->change.low, a->change.high,
			a->change_word);
		pen_line(p, change_style(a->change_word), text);
	}
	if (*k->text)
		pen_text(p, k->state == LIVE_FAILED ? STYLE(BAD) : STYLE(DIM), 0, k->text);
}

void bench_case_draw(
	struct canvas *c, struct area a, const struct live_run *r, const struct live_case *k)
{
	struct pen p = pen_on(c, (struct area){a.x + 1, a.y, a.w - 2, a.h}, 0);
	const struct live_arm *over = trend_arm(k);
	struct axis axis;
	int x = a.x + 1;

	canvas_hline(c, a.x, a.y, a.w, STYLE(RULE));
	canvas_text(c, x++, a.y, 1, STYLE(TEXT), " ");
	x += canvas_clip(c, x, a.y, a.w - 6, STYLE(STRONG), k->name);
	x += canvas_text(c, x, a.y, 2, STYLE(TEXT), "  ");
	if (a.x + a.w - x > 6)
		x += canvas_clip(c, x, a.y, a.x + a.w - x - 4, STYLE(DIM), k->about);
	canvas_text(c, x, a.y, 1, STYLE(TEXT), " ");
	pen_skip(&p, 1);
	if (find_axis(k, &axis)) {
		for (size_t i = 0; i < k->narms; i++) {
			int y = pen_row(&p);

			if (y >= 0)
				draw_arm_row(c, (struct area){p.a.x, y, p.a.w, 1}, k, i, &axis);
			pen_skip(&p, 1);
		}
		if (pen_row(&p) >= 0)
			axis_row(c, (struct area){p.a.x, pen_row(&p), p.a.w, 1}, k, &axis);
		pen_skip(&p, 1);
	} else if (k->state == LIVE_WAITS) {
		pen_line(&p, STYLE(DIM), "Waiting for its turn.");
	}
	draw_judgements(&p, r, k);
	if (over && a.h - p.y > TREND_H && a.w >= 60)
		draw_trend(c,
			(struct area){
				p.a.x, p.a.y + p.y + (a.h - p.y > TREND_H + 1), p.a.w, TREND_H},
			k, over);
}
