/* bench_live.c - parses the lines of a run, even of a damaged file. */
#include "views/bench/bench_live.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

#define FIELDS_MAX 10

struct fields {
	char *at[FIELDS_MAX];
	size_t n;
};

static const char *field_at(const struct fields *f, size_t i)
{
	return i < f->n ? f->at[i] : "";
}

static double parse_number_at(const struct fields *f, size_t i)
{
	char *end;
	double v = strtod(field_at(f, i), &end);

	return end == field_at(f, i) || !isfinite(v) ? NAN : v;
}

static long whole_at(const struct fields *f, size_t i, long max)
{
	double v = parse_number_at(f, i);

	return v >= 0 && v <= (double)max ? (long)v : 0;
}

static void copy_field(const struct fields *f, size_t i, char *buf, size_t cap)
{
	snprintf(buf, cap, "%s", strcmp(field_at(f, i), "-") != 0 ? field_at(f, i) : "");
}

static struct live_interval interval_at(const struct fields *f, size_t i)
{
	struct live_interval v = {
		parse_number_at(f, i), parse_number_at(f, i + 1), parse_number_at(f, i + 2), false};

	v.known = !isnan(v.low) && !isnan(v.point) && !isnan(v.high);
	return v;
}

static struct live_case *case_at(struct live_run *r, const struct fields *f)
{
	double i = parse_number_at(f, 1);

	return i >= 0 && i < (double)r->ncases ? &r->cases[(size_t)i] : NULL;
}

static struct live_arm *arm_at(struct live_case *c, const struct fields *f)
{
	double i = parse_number_at(f, 2);

	return c && i >= 0 && i < (double)c->narms ? &c->arm[(size_t)i] : NULL;
}

static void take_run(struct live_run *r, const struct fields *f)
{
	if (r->cases)
		return;
	r->pid = (int)whole_at(f, 1, 1 << 30);
	copy_field(f, 2, r->label, sizeof r->label);
	copy_field(f, 3, r->commit, sizeof r->commit);
	copy_field(f, 4, r->baseline, sizeof r->baseline);
	r->threshold = parse_number_at(f, 5);
	r->cases = xcalloc((size_t)whole_at(f, 6, LIVE_CASES_MAX) + 1, sizeof *r->cases);
	r->samples = whole_at(f, 7, 100000000);
}

static const char *file_of(struct live_run *r, const char *path)
{
	size_t i = 0;

	if (*path != '/')
		return "";
	while (i < r->nfiles && strcmp(r->files[i], path) != 0)
		i++;
	if (i == LIVE_FILES_MAX)
		return "";
	if (i == r->nfiles)
		r->files[r->nfiles++] = xstrdup(path);
	return r->files[i];
}

static void take_case(struct live_run *r, const struct fields *f)
{
	struct live_case *c;

	if (!r->cases || r->ncases == LIVE_CASES_MAX || parse_number_at(f, 1) != (double)r->ncases)
		return;
	r->cases = xreallocarray(r->cases, r->ncases + 1, sizeof *r->cases);
	c = &r->cases[r->ncases++];
	memset(c, 0, sizeof *c);
	snprintf(c->id, sizeof c->id, "%zu", r->ncases - 1);
	copy_field(f, 2, c->name, sizeof c->name);
	copy_field(f, 3, c->about, sizeof c->about);
	copy_field(f, 4, c->unit, sizeof c->unit);
	c->samples = whole_at(f, 5, 100000000);
	c->file = file_of(r, field_at(f, 6));
}

static void take_value(struct live_run *r, struct live_case *c, const struct fields *f)
{
	struct live_arm *a = arm_at(c, f);
	double v = parse_number_at(f, 3);
	long done = whole_at(f, 4, 100000000);

	if (!a || isnan(v))
		return;
	if (done > c->done && done <= c->samples) {
		r->done += done - c->done;
		c->done = done;
	}
	if (a->n == LIVE_VALUES_MAX)
		return;
	a->v = mem_grow(a->v, &a->cap, a->n + 1, sizeof *a->v);
	a->v[a->n++] = v;
}

static void take_state(struct live_run *r, struct live_case *c, const struct fields *f)
{
	const char *word = field_at(f, 2);

	c->state = !strcmp(word, "ok")    ? LIVE_OK
		: !strcmp(word, "failed") ? LIVE_FAILED
					  : LIVE_NOT_RUN;
	copy_field(f, 3, c->text, sizeof c->text);
	/* The samples of a case that was not run are neither done nor to be done. */
	if (c->state == LIVE_NOT_RUN) {
		long left = c->samples - c->done;

		r->samples -= left < r->samples ? left : r->samples;
		c->samples = c->done;
	}
	r->done += c->samples - c->done;
	c->done = c->samples;
}

void live_end_cases(struct live_run *r)
{
	for (size_t i = 0; i < r->ncases; i++) {
		struct live_case *c = &r->cases[i];

		if (c->state >= LIVE_OK)
			continue;
		snprintf(c->text, sizeof c->text, "%s",
			c->state == LIVE_WAITS ? "The run ended before its turn."
				: strcmp(r->ended, "cancelled")
				? "The run ended while it was measured."
				: "Cancelled while it was measured.");
		c->state = LIVE_NOT_RUN;
	}
}

static void take_live_line(struct live_run *r, char *line)
{
	struct fields f = {.n = 0};
	struct live_case *c;
	struct live_arm *a;
	const char *what;

	for (char *at = line; f.n < FIELDS_MAX;) {
		char *tab = strchr(at, '\t');

		f.at[f.n++] = at;
		if (!tab)
			break;
		*tab = '\0';
		at = tab + 1;
	}
	what = field_at(&f, 0);
	c = case_at(r, &f);
	a = arm_at(c, &f);
	if (!strcmp(what, "run")) {
		take_run(r, &f);
	} else if (!strcmp(what, "case")) {
		take_case(r, &f);
	} else if (!strcmp(what, "load")) {
		r->own_percent = parse_number_at(&f, 1);
		r->others_percent = parse_number_at(&f, 2);
		r->steal_percent = parse_number_at(&f, 3);
	} else if (!strcmp(what, "say")) {
		copy_field(&f, 1, r->said, sizeof r->said);
	} else if (!strcmp(what, "end")) {
		snprintf(r->ended, sizeof r->ended, "%s",
			*field_at(&f, 1) ? field_at(&f, 1) : "done");
		copy_field(&f, 2, r->ended_text, sizeof r->ended_text);
		live_end_cases(r);
	} else if (!c) {
		return;
	} else if (!strcmp(what, "begin")) {
		c->state = LIVE_RUNS;
		r->said[0] = '\0';
		r->current = (size_t)(c - r->cases);
	} else if (!strcmp(what, "arm")) {
		if (c->narms < LIVE_ARMS_MAX && parse_number_at(&f, 2) == (double)c->narms) {
			a = &c->arm[c->narms++];
			copy_field(&f, 3, a->name, sizeof a->name);
			a->baseline = !strcmp(field_at(&f, 4), "baseline");
		}
	} else if (!strcmp(what, "v")) {
		take_value(r, c, &f);
	} else if (!strcmp(what, "ratio") && a) {
		a->ratio = interval_at(&f, 3);
	} else if (!strcmp(what, "change") && a) {
		a->change = interval_at(&f, 3);
		copy_field(&f, 6, a->change_word, sizeof a->change_word);
	} else if (!strcmp(what, "trend") && a && a->ntrend < LIVE_TREND_MAX) {
		struct live_trend *t = &a->trend[a->ntrend];

		copy_field(&f, 3, t->label, sizeof t->label);
		t->low = parse_number_at(&f, 4);
		t->median = parse_number_at(&f, 5);
		t->high = parse_number_at(&f, 6);
		a->ntrend += !isnan(t->low) && !isnan(t->median) && !isnan(t->high);
	} else if (!strcmp(what, "target") && c->ntargets < LIVE_TARGETS_MAX) {
		struct live_target *t = &c->target[c->ntargets++];

		copy_field(&f, 2, t->verdict, sizeof t->verdict);
		copy_field(&f, 3, t->figure, sizeof t->figure);
		copy_field(&f, 4, t->requirement, sizeof t->requirement);
	} else if (!strcmp(what, "alert")) {
		copy_field(&f, 2, c->alert, sizeof c->alert);
	} else if (!strcmp(what, "state")) {
		take_state(r, c, &f);
	}
}

void live_release(struct live_run *r)
{
	for (size_t i = 0; i < r->ncases; i++)
		for (size_t a = 0; a < r->cases[i].narms; a++)
			free(r->cases[i].arm[a].v);
	for (size_t i = 0; i < r->nfiles; i++)
		free(r->files[i]);
	free(r->cases);
	memset(r, 0, sizeof *r);
	r->current = SIZE_MAX;
}

void live_take(struct live_run *r, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n') {
			r->part[r->npart] = '\0';
			if (!r->skipping)
				take_live_line(r, r->part);
			r->npart = 0;
			r->skipping = false;
		} else if (r->npart + 1 < sizeof r->part) {
			r->part[r->npart++] = bytes[i];
		} else {
			r->skipping = true;
		}
	}
}

const char *live_value(char *buf, size_t cap, const char *unit, double v)
{
	if (isnan(v))
		snprintf(buf, cap, "–");
	else if (strcmp(unit, "s") != 0 && *unit)
		snprintf(buf, cap, fabs(v) < 100 ? "%.3g %s" : "%.0f %s", v, unit);
	else if (fabs(v) >= 1)
		snprintf(buf, cap, "%.3g s", v);
	else if (fabs(v) >= 1e-3)
		snprintf(buf, cap, "%.3g ms", v * 1e3);
	else
		snprintf(buf, cap, "%.3g us", v * 1e6);
	return buf;
}

static int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double live_median(const struct live_arm *a)
{
	AUTO_FREE double *v = NULL;

	if (!a->n)
		return NAN;
	v = xreallocarray(NULL, a->n, sizeof *v);
	memcpy(v, a->v, a->n * sizeof *v);
	mem_sort(v, a->n, sizeof *v, compare_values);
	return a->n % 2 ? v[a->n / 2] : (v[a->n / 2 - 1] + v[a->n / 2]) / 2;
}
