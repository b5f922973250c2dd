/* jobs_total.c - summarises all jobs in one line. */
#include "views/jobs/jobs_total.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/check.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "widgets/widgets.h"

#define BAR_W 20
#define BAR_MIN 6

const struct job_look job_look[] = {
	[JOB_QUEUED] = {"queued", ROLE_DIM, GLYPH_RING},
	[JOB_RUNNING] = {"running", ROLE_BUSY, GLYPH_DOT},
	[JOB_DONE] = {"done", ROLE_GOOD, GLYPH_TICK},
	[JOB_FAILED] = {"failed", ROLE_BAD, GLYPH_CROSS},
	[JOB_CANCELLED] = {"cancelled", ROLE_WARN, GLYPH_CROSS},
	[JOB_ORPHANED] = {"its process died", ROLE_BAD, GLYPH_CROSS},
};

const struct job_look *job_looks_like(const struct job_info *j)
{
	static const struct job_look asks = {
		"asks for a person\u2019s word", ROLE_WARN, GLYPH_RING};

	return j->asks ? &asks : &job_look[j->state];
}

struct total {
	size_t state[JOB_ORPHANED + 1];
	uint64_t bytes_done, bytes_total;
	double fraction; /* their mean; -1: of one at work it is not known, so of all it is not */
	double rate;     /* bytes/s */
	int64_t eta_ms;
};

static struct total add_up(const struct snapshot *snap)
{
	struct total t = {.fraction = snapshot_progress(snap), .eta_ms = -1};

	for (size_t i = 0; i < snap->njobs; i++) {
		const struct job_info *j = &snap->jobs[i];

		CHECK(j->state <= JOB_ORPHANED);
		t.state[j->state]++;
		if (job_ended(j->state))
			continue;
		if (j->bytes_total) {
			t.bytes_done += j->bytes_done;
			t.bytes_total += j->bytes_total;
			t.rate += j->rate > 0 ? j->rate : 0;
		}
		if (j->eta_ms > t.eta_ms)
			t.eta_ms = j->eta_ms;
	}
	return t;
}

/* "4 running · 12 queued": the parts that are not zero. */
static int draw_job_counts(const struct total *t, struct canvas *c, struct area a)
{
	int x = a.x + 1;
	bool any = false;

	for (size_t i = 0; i <= JOB_ORPHANED; i++) {
		static const enum job_state order[] = {
			JOB_RUNNING, JOB_QUEUED, JOB_DONE, JOB_FAILED, JOB_CANCELLED, JOB_ORPHANED};
		enum job_state state = order[i];
		struct style st = {.role = (uint8_t)job_look[state].role};
		char n[FORMAT_MAX];

		if (!t->state[state])
			continue;
		if (any)
			x += canvas_text(c, x, a.y, a.x + a.w - x, STYLE(DIM), " · ");
		if (state == JOB_DONE)
			st = STYLE(DIM);
		x += canvas_printf(c, x, a.y, a.x + a.w - x, st, "%s %s",
			format_count(n, t->state[state]),
			state == JOB_ORPHANED ? "abandoned" : job_look[state].word);
		any = true;
	}
	if (!any)
		x += canvas_text(c, x, a.y, a.w, STYLE(DIM), "no jobs");
	return x;
}

void jobs_total_draw(struct canvas *c, struct area a, const struct snapshot *snap)
{
	struct total t = add_up(snap);
	int x = draw_job_counts(&t, c, a) + 3, left = a.x + a.w - x - 1, bar, used, need;
	char part[3][64] = {"", "", ""}, text[256], one[FORMAT_MAX], two[FORMAT_MAX];

	if (left < 6)
		return;
	if (t.fraction < 0) {
		/* Until when, and how much of it: what nobody knows is not guessed from the others. */
		if (t.rate > 0) {
			snprintf(text, sizeof text, "%s/s", format_bytes(one, (uint64_t)t.rate));
			canvas_right(c, x, a.y, left, STYLE(TEXT), text);
		}
		return;
	}
	if (t.bytes_total)
		snprintf(part[0], sizeof part[0], "%s of %s", format_bytes(one, t.bytes_done),
			format_bytes(two, t.bytes_total));
	if (t.rate > 0)
		snprintf(part[1], sizeof part[1], "%s/s", format_bytes(one, (uint64_t)t.rate));
	if (t.eta_ms >= 0)
		snprintf(part[2], sizeof part[2], "%s left",
			format_span(one, (t.eta_ms + 999) / 1000));
	used = snprintf(text, sizeof text, "%3.0f %%", 100 * t.fraction);
	/* When it ends is worth more than how much there is. */
	need = *part[2] ? (int)strlen(part[2]) + 3 : 0;
	for (size_t i = 0; i < COUNT(part); i++)
		if (*part[i] &&
			used + 3 + (int)strlen(part[i]) + (i < 2 ? need : 0) + BAR_MIN < left)
			used += snprintf(text + used, sizeof text - (size_t)used, "   %s", part[i]);
	canvas_right(c, x, a.y, left, STYLE(TEXT), text);
	bar = left - used - 1;
	bar = bar > BAR_W ? BAR_W : bar;
	if (bar >= BAR_MIN)
		meter_bar(c, x + left - used - 1 - bar, a.y, bar, ROLE_BAR, t.fraction);
}

/* By kind. */

#define KINDS_MAX 24
#define MANY 8 /* jobs at work from which on they are added up by kind */

struct kind {
	char name[24];
	size_t running, queued;
	double fractions; /* of those that know theirs */
	size_t known;     /* running ones */
	double rate, bytes_rate;
	int64_t eta_ms;
};

/* The first word of a job's name says what it does; of images the second one does. */
static void kind_of(const struct job_info *j, char name[24])
{
	size_t n = strcspn(j->name, " ");

	if (!strncmp(j->name, "image ", 6))
		n += 1 + strcspn(j->name + n + 1, " ");
	snprintf(name, 24, "%.*s", (int)(n < 23 ? n : 23), j->name);
}

static struct kind *find_kind(struct kind *all, size_t *n, const char *name)
{
	for (size_t i = 0; i < *n; i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	if (*n == KINDS_MAX)
		return &all[KINDS_MAX - 1];
	all[*n] = (struct kind){.eta_ms = -1};
	memcpy(all[*n].name, name, sizeof all[*n].name);
	return &all[(*n)++];
}

static size_t kinds_of(const struct snapshot *snap, struct kind *all, size_t *active)
{
	size_t n = 0;

	*active = 0;
	for (size_t i = 0; i < snap->njobs; i++) {
		const struct job_info *j = &snap->jobs[i];
		char name[24];
		struct kind *k;

		if (job_ended(j->state))
			continue;
		kind_of(j, name);
		k = find_kind(all, &n, name);
		++*active;
		k->running += j->state == JOB_RUNNING;
		k->queued += j->state == JOB_QUEUED;
		if (j->fraction >= 0 && j->state == JOB_RUNNING) {
			k->fractions += j->fraction;
			k->known++;
		}
		if (j->rate > 0 && (j->bytes_total || j->bytes_done))
			k->bytes_rate += j->rate;
		else if (j->rate > 0)
			k->rate += j->rate;
		if (j->eta_ms > k->eta_ms)
			k->eta_ms = j->eta_ms;
	}
	return n;
}

static int compare_kinds(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;
	size_t m = x->running + x->queued, n = y->running + y->queued;

	return m != n ? (m < n) - (m > n) : strcmp(x->name, y->name);
}

static void draw_kind(struct canvas *c, struct area a, const struct kind *k)
{
	char text[64], n[FORMAT_MAX];
	int x = a.x + 1, counts = a.w >= 70 ? 24 : 0, bar = a.w >= 60 ? BAR_W : BAR_MIN;

	canvas_clip(c, x, a.y, 13, STYLE(STRONG), k->name);
	x += 14;
	if (k->queued)
		snprintf(text, sizeof text, "%zu running, %zu queued", k->running, k->queued);
	else
		snprintf(text, sizeof text, "%zu running", k->running);
	if (counts)
		canvas_clip(c, x, a.y, counts - 1, STYLE(TEXT), text);
	x += counts;
	/* Those that wait have done nothing yet, whatever is known of them. */
	if (k->known < k->running)
		canvas_text(c, x, a.y, 1, STYLE(DIM), "–");
	else
		meter_bar(
			c, x, a.y, bar, ROLE_BAR, k->fractions / (double)(k->running + k->queued));
	x += bar;
	if (k->known == k->running) {
		snprintf(text, sizeof text, "%.0f %%",
			100 * k->fractions / (double)(k->running + k->queued));
		canvas_right(c, x, a.y, 6, STYLE(STRONG), text);
	}
	x += 6;
	if (k->bytes_rate > 0)
		snprintf(text, sizeof text, "%s/s", format_bytes(n, (uint64_t)k->bytes_rate));
	else if (k->rate > 0)
		snprintf(text, sizeof text, "%s/s", format_count(n, (uint64_t)k->rate));
	else
		text[0] = '\0';
	if (a.x + a.w - x > 18) {
		canvas_right(c, x, a.y, 10, STYLE(TEXT), text);
		x += 10;
	}
	if (k->eta_ms >= 0 && k->known == k->running)
		canvas_right(c, x, a.y, a.x + a.w - x, STYLE(TEXT),
			format_span(n, (k->eta_ms + 999) / 1000));
}

int jobs_kinds_draw(struct canvas *c, struct area a, const struct snapshot *snap)
{
	struct kind all[KINDS_MAX];
	size_t active, n = kinds_of(snap, all, &active);

	if (active <= MANY || n < 2)
		return 0;
	mem_sort(all, n, sizeof *all, compare_kinds);
	if (n > (size_t)(a.h > 0 ? a.h : 0))
		n = (size_t)(a.h > 0 ? a.h : 0);
	for (size_t i = 0; i < n; i++)
		draw_kind(c, (struct area){a.x, a.y + (int)i, a.w, 1}, &all[i]);
	return (int)n;
}
