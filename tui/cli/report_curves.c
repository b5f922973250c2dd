/*
 * report_curves.c - draws the recorded CPU and memory usage of each agent (berth/past.h) as bars. A column in which
 * nobody looked is blank.
 */
#include "cli/report.h"

#include <limits.h>
#include <math.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/text.h>

#define COLUMNS 120
#define ROWS_MOST 24
#define LEFT 150 /* as the time line */
#define RIGHT 15
#define BAR 4    /* of a column, the space behind it included */
#define APART 10 /* of CPU and memory */
#define HIGH 36
#define ROW 58

struct curve_chart {
	enum past_value value;
	int left;
	const char *color;
};

static const struct curve_chart charts[] = {
	{PAST_CPU_MAX, LEFT, "c1"},
	{PAST_MEMORY_MAX, LEFT + COLUMNS *BAR + APART, "c2"},
};

static bool has_seen_point(const struct past *p)
{
	for (size_t i = 0; p->point && i < p->npoints; i++)
		if (p->point[i].seen)
			return true;
	return false;
}

void report_read_curves(struct report *r)
{
	int64_t span = r->until_ms - r->since_ms;
	int64_t step = (span / COLUMNS / 1000 + 1) * 1000;
	struct err why = ERR_INIT;
	char path[PATH_MAX];

	if (past_path(path, sizeof path, &r->no_curves))
		return;
	for (size_t i = 0; i < r->nagents && r->ncurves < ROWS_MOST; i++) {
		const struct report_agent *a = &r->agent[i];
		struct report_curve *k = &r->curve[r->ncurves];

		k->agent = a->name;
		if (past_read(path, NULL, *a->container ? a->container : a->name, r->since_ms, step,
			    COLUMNS, &k->past, &why) &&
			why.kind != ERR_NOT_FOUND)
			r->no_curves = why;
		if (has_seen_point(&k->past))
			r->ncurves++;
		else
			past_release(&k->past);
	}
}

static double highest_value(const struct past *p, enum past_value value)
{
	double top = 0;

	for (size_t i = 0; i < p->npoints; i++)
		top = fmax(top, (double)p->point[i].v[value]);
	return top;
}

static void print_curve_bars(FILE *out, const struct past *p, const struct curve_chart *c, int y)
{
	double top = fmax(highest_value(p, c->value), 1e-9);

	for (size_t i = 0; i < p->npoints; i++) {
		double high = (double)p->point[i].v[c->value] / top * HIGH;

		if (!p->point[i].seen)
			continue;
		high = high < 1 ? 1 : high;
		fill(out, "curve-bar", SLOT_COUNT("x", c->left + (int)i * BAR),
			SLOT_NUMBER("y", y + HIGH - high, 1), SLOT_NUMBER("height", high, 1),
			SLOT_TEXT("color", c->color));
	}
}

/* What the highest bars stand for. */
static void print_curve_words(FILE *out, const struct report_curve *k, int y)
{
	double limit = highest_value(&k->past, PAST_MEMORY_LIMIT);
	char name[24], cpu[64], memory[96], bytes[FORMAT_MAX], most[FORMAT_MAX];

	snprintf(cpu, sizeof cpu, "CPU, highest second %.1f %%",
		highest_value(&k->past, PAST_CPU_MAX));
	snprintf(memory, sizeof memory,
		limit > 0 ? "memory, highest %s of %s" : "memory, highest %s",
		format_bytes(bytes, (uint64_t)highest_value(&k->past, PAST_MEMORY_MAX)),
		format_bytes(most, (uint64_t)limit));
	text_clean(name, sizeof name, k->agent);
	fill(out, "curve", SLOT_COUNT("left", LEFT - 10), SLOT_COUNT("y", y + HIGH),
		SLOT_TEXT("agent", name), SLOT_COUNT("above", y - 5),
		SLOT_COUNT("x-cpu", charts[0].left), SLOT_TEXT("cpu", cpu),
		SLOT_COUNT("x-memory", charts[1].left), SLOT_TEXT("memory", memory));
}

void report_print_curves(FILE *out, const struct report *r)
{
	char step[FORMAT_MAX];

	if (r->no_curves.kind)
		fill(out, "no-curves", SLOT_TEXT("why", r->no_curves.msg));
	if (!r->ncurves)
		return;
	fill(out, "curves", SLOT_TEXT("step", format_age(step, r->curve[0].past.step_ms)),
		SLOT_COUNT("width", charts[1].left + COLUMNS * BAR + RIGHT),
		SLOT_COUNT("height", (int)r->ncurves * ROW));
	for (size_t i = 0; i < r->ncurves; i++) {
		int y = (int)i * ROW + ROW - HIGH - 4;

		print_curve_words(out, &r->curve[i], y);
		for (size_t j = 0; j < sizeof charts / sizeof *charts; j++)
			print_curve_bars(out, &r->curve[i].past, &charts[j], y);
	}
	plain(out, "curves-end");
}
