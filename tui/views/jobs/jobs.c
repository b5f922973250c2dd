/* jobs.c - shows the jobs of all berth processes: progress, rate, time left, cancel. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/check.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>
#include <berth/users.h>

#include "app/app.h"
#include "views/jobs/jobs_total.h"
#include "views/list.h"
#include "views/pen.h"
#include "views/table_view.h"
#include "widgets/widgets.h"

#define ID_MAX 64
#define RATE_W 10
#define LEFT_W 11
#define BAR_W 20
#define PERCENT_W 6

struct jobs {
	struct table table;  /* first: table_view.h */
	char (*ids)[ID_MAX]; /* identities of the rows */
	size_t ids_cap;
	bool detail;
	struct area body;
};
TABLE_COMES_FIRST(struct jobs);

static const struct job_info *job_of(const struct table_row *r)
{
	return r->item;
}

/* Words for numbers. */

/* "412M of 1.3G", or only the first half of it. */
static void amount_text(const struct job_info *j, bool brief, char *buf, size_t cap)
{
	char a[FORMAT_MAX], b[FORMAT_MAX];
	const char *least = j->counting ? "at least " : "";

	buf[0] = '\0';
	if (j->bytes_total && !brief)
		snprintf(buf, cap, "%s of %s%s", format_bytes(a, j->bytes_done), least,
			format_bytes(b, j->bytes_total));
	else if (j->items_total && !j->bytes_total && brief && j->items_total < 1000)
		snprintf(buf, cap, "%d of %d", (int)j->items_done, (int)j->items_total);
	else if (j->items_total && !j->bytes_total && !brief)
		snprintf(buf, cap, "%s of %s%s %s", format_count(a, j->items_done), least,
			format_count(b, j->items_total), j->unit);
	else if (j->bytes_done || j->bytes_total)
		snprintf(buf, cap, "%s", format_bytes(a, j->bytes_done));
	else if (j->items_done)
		snprintf(buf, cap, "%s %s", format_count(a, j->items_done), j->unit);
}

static void rate_words(const struct job_info *j, double rate, char *buf, size_t cap)
{
	char n[FORMAT_MAX];

	buf[0] = '\0';
	if (!(rate > 0))
		return;
	if (j->bytes_total || j->bytes_done)
		snprintf(buf, cap, "%s/s", format_bytes(n, (uint64_t)rate));
	else if (rate >= 10)
		snprintf(buf, cap, "%s/s", format_count(n, (uint64_t)rate));
	else
		snprintf(buf, cap, "%.1f/s", rate);
}

/* Over its whole life, for one that ended. */
static double mean_rate(const struct job_info *j)
{
	uint64_t done = j->bytes_done ? j->bytes_done : j->items_done;

	return j->elapsed_ms > 0 ? (double)done * 1000 / (double)j->elapsed_ms : -1;
}

/* What there is to say beside the bar, or in its place once it ended. */
static void job_progress_text(const struct job_info *j, bool brief, char *buf, size_t cap)
{
	char amount[96];

	amount_text(j, brief, amount, sizeof amount);
	if (job_ended(j->state))
		snprintf(buf, cap, "%s", *j->result ? j->result : job_look[j->state].word);
	else if (j->cancelling)
		snprintf(buf, cap, "stopping…");
	else if (j->state == JOB_QUEUED)
		snprintf(buf, cap, "queued");
	else if (j->asks)
		snprintf(buf, cap, "asks you: %s", j->current);
	else
		snprintf(
			buf, cap, "%s%s%s", amount, *amount && *j->current ? "  " : "", j->current);
}

/* Columns. */

static void job_name_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = job_ended(job_of(r)->state) ? STYLE(TEXT) : STYLE(STRONG);
	snprintf(buf, cap, "%s", job_of(r)->name);
}

static void job_name_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	const struct job_info *j = job_of(r);
	struct style st;
	char name[JOB_TEXT_MAX];

	canvas_glyph(c, a.x, a.y,
		(struct style){.role = (uint8_t)(j->failed && j->state == JOB_DONE
					       ? ROLE_WARN
					       : job_looks_like(j)->role)},
		job_looks_like(j)->glyph);
	job_name_text(r, name, sizeof name, &st);
	canvas_clip(c, a.x + 2, a.y, a.w - 2, st, name);
}

static int job_name_compare(const struct table_row *a, const struct table_row *b)
{
	return strcmp(job_of(a)->name, job_of(b)->name);
}

/* Boards are of one user: a job of no agent is the person's, whatever program it is of. */
static const char *job_owner(const struct job_info *j)
{
	static _Thread_local char person[USER_NAME_MAX];

	if (!*person)
		user_name(geteuid(), person);
	return *j->owner && strcmp(j->owner, person) != 0 ? j->owner : "you";
}

static void job_owner_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = job_of(r)->ours ? STYLE(TEXT) : STYLE(DIM);
	snprintf(buf, cap, "%s", job_owner(job_of(r)));
}

static int job_owner_compare(const struct table_row *a, const struct table_row *b)
{
	return strcmp(job_owner(job_of(a)), job_owner(job_of(b)));
}

static void progress_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct job_info *j = job_of(r);

	(void)st;
	job_progress_text(j, false, buf, cap);
	if (j->fraction >= 0 && !job_ended(j->state)) {
		size_t used = strlen(buf);

		snprintf(buf + used, cap - used, " %.0f %%", 100 * j->fraction);
	}
}

static void progress_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	const struct job_info *j = job_of(r);
	int bar = a.w >= BAR_W + PERCENT_W + 12 ? BAR_W : a.w / 3, x = a.x;
	struct style st = STYLE(TEXT);
	char text[JOB_TEXT_MAX + 128], n[16];

	job_progress_text(j, false, text, sizeof text);
	if (job_ended(j->state)) {
		st.role = j->state == JOB_DONE ? ROLE_DIM : (uint8_t)job_look[j->state].role;
		canvas_clip(c, x, a.y, a.w, st, text);
		return;
	}
	if (j->state == JOB_QUEUED && j->fraction <= 0) {
		canvas_clip(c, x, a.y, a.w, STYLE(DIM), text);
		return;
	}
	/* A bar of what nobody knows would be an empty one for ever. */
	if (j->fraction < 0) {
		canvas_clip(
			c, x, a.y, a.w, j->cancelling || j->asks ? STYLE(WARN) : STYLE(TEXT), text);
		return;
	}
	meter_bar(c, x, a.y, bar, j->cancelling ? ROLE_BAR_WARN : ROLE_BAR, j->fraction);
	x += bar;
	snprintf(n, sizeof n, "%.0f %%", 100 * (j->fraction < 1 ? j->fraction : 1));
	canvas_right(c, x, a.y, PERCENT_W, STYLE(STRONG), n);
	x += PERCENT_W + 2;
	if (text_width(text, strlen(text)) > a.x + a.w - x)
		job_progress_text(j, true, text, sizeof text);
	if (a.x + a.w - x > 3)
		canvas_clip(
			c, x, a.y, a.x + a.w - x, j->cancelling ? STYLE(WARN) : STYLE(TEXT), text);
}

static int progress_compare(const struct table_row *a, const struct table_row *b)
{
	/* As they are shown; unknown is below 0. */
	double x = floor(100 * job_of(a)->fraction), y = floor(100 * job_of(b)->fraction);

	return x < y ? -1 : x > y;
}

static void rate_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct job_info *j = job_of(r);
	bool ended = job_ended(j->state);

	*st = ended ? STYLE(DIM) : STYLE(TEXT);
	if (!ended || j->state == JOB_DONE)
		rate_words(j, ended ? mean_rate(j) : j->rate, buf, cap);
}

static int rate_compare(const struct table_row *a, const struct table_row *b)
{
	double x = job_of(a)->rate, y = job_of(b)->rate;

	return x < y ? -1 : x > y;
}

/* Time left; for one that ended, how long it took. */
static void left_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct job_info *j = job_of(r);
	char n[FORMAT_MAX];

	if (job_ended(j->state)) {
		*st = STYLE(DIM);
		snprintf(buf, cap, "took %s",
			j->elapsed_ms < 10000 ? format_age(n, j->elapsed_ms)
					      : format_span(n, j->elapsed_ms / 1000));
	} else if (j->eta_ms >= 0 && j->state == JOB_RUNNING) {
		snprintf(buf, cap, "%s", format_span(n, (j->eta_ms + 999) / 1000));
	} else {
		*st = STYLE(DIM);
		snprintf(buf, cap, "–");
	}
}

static int left_compare(const struct table_row *a, const struct table_row *b)
{
	int64_t x = job_of(a)->eta_ms, y = job_of(b)->eta_ms;

	return x < y ? -1 : x > y;
}

/* clang-format off */
static const struct table_column columns[] = {
	{.name = "job", .head = "JOB", .min = 14, .ideal = 26, .grow = 2, .sign = true,
		.text = job_name_text, .draw = job_name_draw, .compare = job_name_compare},
	{.name = "owner", .head = "OWNER", .min = 8, .ideal = 10, .keep = 30, .text = job_owner_text,
		.compare = job_owner_compare},
	{.name = "progress", .head = "PROGRESS", .min = 18, .ideal = 44, .grow = 3,
		.text = progress_text, .draw = progress_draw, .compare = progress_compare},
	{.name = "rate", .head = "RATE", .min = 8, .ideal = RATE_W, .keep = 20, .right = true,
		.descending = true, .text = rate_text, .compare = rate_compare},
	{.name = "left", .head = "LEFT", .min = LEFT_W, .ideal = LEFT_W, .keep = 10,
		.right = true, .text = left_text, .compare = left_compare},
};
/* clang-format on */

/* Rows. */

static void rebuild_jobs(struct jobs *s, const struct snapshot *snap)
{
	s->ids = mem_grow(s->ids, &s->ids_cap, snap->njobs + 1, sizeof *s->ids);
	table_begin(&s->table);
	for (size_t i = 0; i < snap->njobs; i++) {
		const struct job_info *j = &snap->jobs[i];

		snprintf(s->ids[i], ID_MAX, "%d.%llu.%u", (int)j->id.pid,
			(unsigned long long)j->id.started, j->id.serial);
		table_add(&s->table, (struct table_row){.engine = "", .id = s->ids[i], .item = j});
	}
	table_end(&s->table);
}

/* Rows must not outlive the snapshot they point into. */
static void jobs_snapshot(struct view *v, const struct snapshot *snap)
{
	rebuild_jobs(v->state, snap);
}

/* One job in full. */
static void draw_job_detail(struct canvas *c, struct area a, const struct job_info *j)
{
	struct pen p = pen_on(c, (struct area){a.x + 2, a.y + 1, a.w - 4, a.h - 1}, 0);
	struct style st = {.role = (uint8_t)job_looks_like(j)->role};
	char text[256], n[FORMAT_MAX];
	int x = a.x + 1;

	canvas_hline(c, a.x, a.y, a.w, STYLE(RULE));
	canvas_text(c, x++, a.y, 1, STYLE(TEXT), " ");
	x += canvas_clip(c, x, a.y, a.w - 6, STYLE(STRONG), j->name);
	canvas_text(c, x, a.y, 1, STYLE(TEXT), " ");
	p.key_width = 11;
	pen_fact(&p, "State", st, j->cancelling ? "stopping…" : job_looks_like(j)->word);
	if (*j->result)
		pen_fact(&p, "Result", j->state == JOB_DONE ? STYLE(TEXT) : st, j->result);
	for (size_t i = 0; i < JOB_ERRORS; i++)
		if (*j->error[i])
			pen_fact(&p, i ? "" : "Errors", STYLE(BAD), j->error[i]);
	if (*j->current && !job_ended(j->state))
		pen_fact(&p, j->asks ? "About" : "In hand", STYLE(TEXT), j->current);
	amount_text(j, false, text, sizeof text);
	if (*text)
		pen_fact(&p, "Done", STYLE(TEXT), text);
	if (j->bytes_total && j->items_total) {
		char m[FORMAT_MAX];

		snprintf(text, sizeof text, "%s of %s%s %s", format_count(n, j->items_done),
			j->counting ? "at least " : "", format_count(m, j->items_total), j->unit);
		pen_fact(&p, "Items", STYLE(TEXT), text);
	}
	if (j->failed) {
		snprintf(text, sizeof text, "%s %s", format_count(n, j->failed), j->unit);
		pen_fact(&p, "Failed", STYLE(BAD), text);
	}
	rate_words(j, job_ended(j->state) ? mean_rate(j) : j->rate, text, sizeof text);
	if (*text)
		pen_fact(&p, job_ended(j->state) ? "Speed" : "Rate", STYLE(TEXT), text);
	if (j->eta_ms >= 0 && j->state == JOB_RUNNING)
		pen_fact(&p, "Left", STYLE(TEXT), format_span(n, (j->eta_ms + 999) / 1000));
	snprintf(text, sizeof text, "%s", format_age(n, j->elapsed_ms));
	pen_fact(&p, "Time", STYLE(TEXT), text);
	if (j->started_wall_ms > 0)
		pen_fact(&p, "Started", STYLE(TEXT), format_wall(n, j->started_wall_ms));
	snprintf(text, sizeof text, "%s, process %d%s", job_owner(j), (int)j->id.pid,
		j->ours                            ? " (this console)"
			: j->state == JOB_ORPHANED ? " (dead)"
						   : "");
	pen_fact(&p, "Owner", STYLE(TEXT), text);
}

static void jobs_draw(struct view *v, struct canvas *c, struct area a)
{
	struct jobs *s = v->state;
	const struct table_row *r;
	struct area list = {a.x, a.y + 1, a.w, a.h - 1};
	int kinds;

	s->body = a;
	jobs_total_draw(c, a, app_snapshot(v->app));
	kinds = jobs_kinds_draw(
		c, (struct area){a.x, a.y + 1, a.w, list.h / 3}, app_snapshot(v->app));
	list.y += kinds;
	list.h -= kinds;
	r = table_current(&s->table);
	if (s->detail && r && list.h >= 10) {
		int h = list.h - 5 < 13 ? list.h - 5 : 13;

		list.h -= h;
		draw_job_detail(c, (struct area){a.x, list.y + list.h, a.w, h}, job_of(r));
	} else if (s->detail && r) {
		draw_job_detail(c, list, job_of(r));
		return;
	}
	table_draw(&s->table, c, list);
}

/* Cancelling. */

static bool can_stop(const struct job_info *j)
{
	return !job_ended(j->state) && j->cancellable && !j->cancelling;
}

static void say_why_not(struct view *v, const struct job_info *j)
{
	char name[JOB_TEXT_MAX];

	text_clean(name, sizeof name, j->name);
	if (job_ended(j->state))
		app_say(v->app, ROLE_DIM, "%s has ended already.", name);
	else if (j->cancelling)
		app_say(v->app, ROLE_DIM, "%s is stopping already.", name);
	else
		app_say(v->app, ROLE_WARN, "%s cannot be stopped halfway.", name);
}

/* The marked ones, else the one under the cursor. */
static void cancel_marked(struct view *v)
{
	struct jobs *s = v->state;
	const struct table_row *r = table_current(&s->table);
	const struct job_info **list = xcalloc(s->table.nrows + 1, sizeof *list);
	const struct job_info *last = r ? job_of(r) : NULL;
	size_t at = 0, n = 0, hidden;

	if (table_marked(&s->table, &hidden)) {
		while ((r = table_next_marked(&s->table, &at))) {
			last = job_of(r);
			if (can_stop(last))
				list[n++] = last;
		}
	} else if (last && can_stop(last)) {
		list[n++] = last;
	}
	if (n)
		app_confirm_cancel(v->app, list, n);
	else if (last)
		say_why_not(v, last);
	free(list);
}

/* Everybody's jobs. */
static void cancel_everybody(struct view *v)
{
	const struct snapshot *snap = app_snapshot(v->app);
	const struct job_info **list = xcalloc(snap->njobs + 1, sizeof *list);
	size_t n = 0;

	for (size_t i = 0; i < snap->njobs; i++)
		if (can_stop(&snap->jobs[i]))
			list[n++] = &snap->jobs[i];
	if (n)
		app_confirm_cancel(v->app, list, n);
	else
		app_say(v->app, ROLE_DIM, "No running job can be stopped.");
	free(list);
}

/* The marked ones that ended, else the one under the cursor. */
static void dismiss_marked(struct view *v)
{
	struct jobs *s = v->state;
	const struct table_row *r = table_current(&s->table);
	const struct job_info **list = xcalloc(s->table.nrows + 1, sizeof *list);
	size_t at = 0, n = 0, hidden;

	if (table_marked(&s->table, &hidden)) {
		while ((r = table_next_marked(&s->table, &at)))
			if (job_ended(job_of(r)->state))
				list[n++] = job_of(r);
	} else if (r && job_ended(job_of(r)->state)) {
		list[n++] = job_of(r);
	}
	if (n)
		app_dismiss_jobs(v->app, list, n);
	else
		app_say(v->app, ROLE_DIM, "Only a job that ended can be dismissed; C cancels one.");
	free(list);
}

/* The one under the cursor: each is a question of its own. */
static void allow_current(struct view *v)
{
	struct jobs *s = v->state;
	const struct table_row *r = table_current(&s->table);

	if (r && job_of(r)->asks)
		app_confirm_allow(v->app, job_of(r));
	else
		app_say(v->app, ROLE_DIM, "There is no question here.");
}

static bool jobs_act(struct view *v, enum action a)
{
	struct jobs *s = v->state;
	size_t hidden;

	app_dirty(v->app);
	if (s->table.choosing)
		return table_act(&s->table, a);
	switch (a) {
	case DO_ALLOW: allow_current(v); return true;
	case DO_CANCEL_JOB: cancel_marked(v); return true;
	case DO_CANCEL_ALL: cancel_everybody(v); return true;
	case DO_DISMISS: dismiss_marked(v); return true;
	case DO_ENTER: s->detail = !s->detail; return true;
	case DO_BACK:
		if (s->detail)
			s->detail = false;
		else if (!s->table.filter && table_marked(&s->table, &hidden))
			table_unmark_all(&s->table);
		else
			return false;
		return true;
	default: return table_act(&s->table, a);
	}
}

static void jobs_open(struct view *v)
{
	struct jobs *s = v->state;

	table_init(&s->table, columns, COUNT(columns), NULL);
	s->table.empty =
		"File operations, image pulls and builds, clean-ups and benchmarks of all your "
		"berth processes are listed here while they run, and for ten minutes more.";
}

static void jobs_close(struct view *v)
{
	struct jobs *s = v->state;

	table_release(&s->table);
	free(s->ids);
}

static void jobs_click(struct view *v, int x, int y, bool twice)
{
	struct jobs *s = v->state;

	if (table_click(&s->table, s->body.x + x, s->body.y + y) && twice && y > 1)
		s->detail = !s->detail;
	app_dirty(v->app);
}

static bool jobs_copy(struct view *v, struct str *out)
{
	struct jobs *s = v->state;
	const struct table_row *r;

	r = table_current(&s->table);
	if (r)
		str_addf(out, "%s%s%s", job_of(r)->name, *job_of(r)->result ? ": " : "",
			job_of(r)->result);
	return r != NULL;
}

const struct view_ops jobs_view = {
	.name = "jobs",
	.tab = "Jobs",
	.tab_short = "Jobs",
	.context = IN_JOBS,
	.state_size = sizeof(struct jobs),
	.open = jobs_open,
	.close = jobs_close,
	.keep = table_view_keep,
	.recall = table_view_recall,
	.draw = jobs_draw,
	.snapshot = jobs_snapshot,
	.act = jobs_act,
	.click = jobs_click,
	.wheel = table_view_wheel,
	.filter = table_view_filter,
	.sort = table_view_sort,
	.status = table_view_status,
	.copy = jobs_copy,
	.save = table_view_save,
};
