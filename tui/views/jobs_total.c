/* jobs_total.c - all jobs in one line. */
#include "views/jobs_total.h"

#include <stdio.h>
#include <string.h>

#include <berth/check.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "widgets/meter.h"

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

struct total {
	size_t state[JOB_ORPHANED + 1];
	uint64_t bytes_done, bytes_total;
	double fraction; /* mean over those whose progress is known; -1 none */
	double rate;     /* bytes/s */
	int64_t eta_ms;
};

static struct total add_up(const struct snapshot *snap)
{
	struct total t = {.fraction = -1, .eta_ms = -1};
	double fractions = 0;
	size_t known = 0;

	for (size_t i = 0; i < snap->njobs; i++) {
		const struct job_info *j = &snap->jobs[i];

		CHECK(j->state <= JOB_ORPHANED);
		t.state[j->state]++;
		if (job_ended(j->state))
			continue;
		if (j->fraction >= 0) {
			fractions += j->fraction;
			known++;
		}
		if (j->bytes_total) {
			t.bytes_done += j->bytes_done;
			t.bytes_total += j->bytes_total;
			t.rate += j->rate > 0 ? j->rate : 0;
		}
		if (j->eta_ms > t.eta_ms)
			t.eta_ms = j->eta_ms;
	}
	if (known)
		t.fraction = fractions / (double)known;
	return t;
}

/* "4 running · 12 queued": the parts that are not zero. */
static int draw_counts(const struct total *t, struct canvas *c, struct area a)
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
	int x = draw_counts(&t, c, a) + 3, left = a.x + a.w - x - 1, bar, used, need;
	char part[3][64] = {"", "", ""}, text[256], one[FORMAT_MAX], two[FORMAT_MAX];

	if (t.fraction < 0 || left < 6)
		return;
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
