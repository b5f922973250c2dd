/*
 * clean.c - shows a clean-up plan: what would be removed and why, what is kept and why, and the progress.
 *
 * The plan shown stands still until a new one is asked for; its marks are the table's.  While it is
 * carried out the rows show how each item ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clean.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>

#include "app/app.h"
#include "views/clean/clean_rows.h"
#include "views/list.h"
#include "views/table_view.h"
#include "widgets/widgets.h"

#define BAR_W 20

enum phase { NONE, PLANNING, PLANNED, RUNNING, ENDED };

struct clean {
	struct table table; /* first: table_view.h */
	enum phase phase;
	bool foreign; /* as asked for */
	bool detail;
	uint64_t ref; /* of the command that is answered */
	struct arena mem, asked_mem;
	const struct clean_plan *plan;
	struct clean_plan *asked; /* as it stood in the dialog; shown once it runs */
	struct shown *rows;
	struct str problem; /* why there is no plan */
	size_t done, failed;
	uint64_t freed;
	struct area body;
};
TABLE_COMES_FIRST(struct clean);

/* The plan and its rows. */

static bool item_marked(const struct clean *s, size_t i)
{
	return idset_has(
		&s->table.marks, clean_type_name(s->plan->item[i].type), s->plan->item[i].id);
}

static void rebuild_clean(struct clean *s)
{
	table_begin(&s->table);
	for (size_t i = 0; s->plan && i < s->plan->n; i++)
		table_add(&s->table,
			(struct table_row){.engine = clean_type_name(s->plan->item[i].type),
				.id = s->plan->item[i].id,
				.item = &s->rows[i]});
	table_end(&s->table);
}

/* What is protected cannot be marked, by whatever key. */
static void unmark_kept(struct clean *s)
{
	for (size_t i = 0; i < s->table.nrows; i++) {
		struct table_row *r = &s->table.rows[i];

		if (r->marked && clean_row(r)->item->keep) {
			idset_remove(&s->table.marks, r->engine, r->id);
			r->marked = false;
		}
	}
}

static void take_rows(struct clean *s, int64_t now_ms)
{
	free(s->rows);
	s->rows = xcalloc(s->plan->n + 1, sizeof *s->rows);
	for (size_t i = 0; i < s->plan->n; i++)
		s->rows[i] = (struct shown){.item = &s->plan->item[i], .now_ms = now_ms};
}

/* A new plan.  What was there before keeps its mark; of what is new, other people's needs one. */
static void take_plan(struct clean *s, const struct clean_plan *p)
{
	const struct clean_plan *old = s->plan;
	struct arena was = s->mem;
	bool *mark = xcalloc(p->n + 1, sizeof *mark);

	for (size_t i = 0; i < p->n; i++) {
		const struct clean_item *it = &p->item[i];

		mark[i] = it->marked && !it->foreign;
		for (size_t k = 0; old && k < old->n; k++)
			if (old->item[k].type == it->type && !strcmp(old->item[k].id, it->id))
				mark[i] = !it->keep && item_marked(s, k);
	}
	arena_init(&s->mem, 4096);
	s->plan = clean_plan_copy(p, &s->mem);
	take_rows(s, p->made_ms);
	for (size_t i = 0; i < p->n; i++)
		if (mark[i])
			idset_add(&s->table.marks, clean_type_name(p->item[i].type), p->item[i].id);
	rebuild_clean(s);
	free(mark);
	arena_release(&was);
}

static void ask_for_plan(struct view *v)
{
	struct clean *s = v->state;
	struct command *c;

	if (s->phase == RUNNING || s->phase == PLANNING)
		return;
	c = command_new(CMD_CLEAN_PLAN);
	c->clean.foreign = s->foreign;
	s->phase = PLANNING;
	s->ref = app_send(v->app, c);
	app_dirty(v->app);
}

static void clean_show(struct view *v)
{
	struct clean *s = v->state;

	if (s->phase == NONE || s->phase == ENDED)
		ask_for_plan(v);
}

/* Events. */

static void begin_running(struct clean *s, uint64_t ref)
{
	arena_release(&s->mem);
	s->mem = s->asked_mem;
	s->plan = STEAL(s->asked);
	arena_init(&s->asked_mem, 0);
	take_rows(s, s->plan->made_ms);
	for (size_t i = 0; i < s->plan->n; i++)
		s->rows[i].run = s->plan->item[i].marked;
	rebuild_clean(s);
	s->ref = ref;
	s->phase = RUNNING;
	s->done = s->failed = 0;
	s->freed = 0;
}

static void on_clean_end(struct view *v, const struct event *e)
{
	struct clean *s = v->state;
	char bytes[FORMAT_MAX];

	s->phase = ENDED;
	s->asked = NULL;
	s->done = e->done;
	s->failed = e->failed;
	s->freed = e->freed_bytes;
	table_unmark_all(&s->table);
	if (e->err.kind)
		app_say(v->app, ROLE_BAD, "%s", e->err.msg);
	else
		app_say(v->app, ROLE_GOOD, "Cleaned up: %zu removed%s%s.", e->done,
			e->freed_bytes ? ", freed " : "",
			e->freed_bytes ? format_bytes(bytes, e->freed_bytes) : "");
}

/* Other views have plans carried out, too. */
static bool is_of_plan(const struct event *e, const struct clean_plan *p)
{
	return !e->plan_name || (p && !strcmp(e->plan_name, p->name));
}

static void clean_event(struct view *v, const struct event *e)
{
	struct clean *s = v->state;

	switch (e->kind) {
	case EV_CLEAN_PLAN:
		if (e->id != s->ref || s->phase != PLANNING)
			return;
		s->phase = PLANNED;
		str_clear(&s->problem);
		if (e->plan)
			take_plan(s, e->plan);
		else
			str_adds(&s->problem, e->err.msg);
		break;
	case EV_RESULT: /* refused before it began */
		if (e->id != s->ref || s->phase != PLANNING)
			return;
		s->phase = NONE;
		str_clear(&s->problem);
		str_adds(&s->problem, e->err.msg);
		break;
	case EV_CLEAN_ITEM:
		if (s->phase != RUNNING && s->asked && is_of_plan(e, s->asked))
			begin_running(s, e->id);
		if (s->phase != RUNNING || e->id != s->ref || e->item >= s->plan->n)
			return;
		s->rows[e->item].outcome = *e->outcome;
		break;
	case EV_CLEAN_END:
		/* It may have failed before the first item. */
		if (s->phase == RUNNING ? e->id == s->ref
					: s->asked != NULL && is_of_plan(e, s->asked))
			on_clean_end(v, e);
		break;
	default: return;
	}
	app_dirty(v->app);
}

/* Drawing. */

static void draw_progress(struct clean *s, struct canvas *c, struct area a, int x)
{
	size_t all = 0, ended = 0, stopped = 0, bar = (size_t)BAR_W;
	char text[96];

	for (size_t i = 0; i < s->plan->n; i++) {
		all += s->rows[i].run;
		ended += s->rows[i].run && clean_ended(s->rows[i].outcome.state);
		stopped += s->rows[i].run && s->rows[i].outcome.state == CLEAN_STOPPED;
	}
	if (a.w < 60)
		bar = 8;
	meter_bar(c, x, a.y, (int)bar, ROLE_BAR, all ? (double)ended / (double)all : 1);
	x += (int)bar + 1;
	snprintf(text, sizeof text, "%zu of %zu", ended, all);
	x += canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(STRONG), text) + 2;
	if (stopped) {
		snprintf(text, sizeof text, "%zu stopped: C starts %s again", stopped,
			stopped == 1 ? "it" : "them");
		canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(WARN), text);
	}
}

/* What the plan comes to, in one line. */
static void draw_clean_head(struct view *v, struct canvas *c, struct area a)
{
	struct clean *s = v->state;
	struct clean_totals t = {0};
	char bytes[FORMAT_MAX], at[FORMAT_MAX], text[256];
	int x = a.x + 1;

	if (!s->plan) {
		canvas_clip(c, x, a.y, a.w - 2, s->problem.len ? STYLE(WARN) : STYLE(BUSY),
			s->problem.len ? s->problem.s : "Looking for candidates…");
		return;
	}
	for (size_t i = 0; i < s->plan->n; i++) {
		const struct clean_item *it = &s->plan->item[i];

		t.kept += it->keep != NULL;
		if (!item_marked(s, i))
			continue;
		t.marked++;
		t.running += it->running;
		t.bytes += it->bytes > 0 ? (uint64_t)it->bytes : 0;
		t.bytes_unknown |= it->bytes < 0;
	}
	snprintf(text, sizeof text, "Plan %.4s", s->plan->name);
	x += canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(STRONG), text);
	if (a.w >= 60) {
		snprintf(text, sizeof text, " made %s", format_wall(at, s->plan->made_ms));
		x += canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(DIM), text);
	}
	x += 2;
	if (s->phase == RUNNING) {
		draw_progress(s, c, a, x);
		return;
	}
	if (s->phase == ENDED)
		snprintf(text, sizeof text, "%zu removed%s%s%s", s->done,
			s->freed ? ", freed " : "", s->freed ? format_bytes(bytes, s->freed) : "",
			a.w >= 60 ? "; r makes a new plan" : "");
	else if (s->phase == PLANNING)
		snprintf(text, sizeof text, "looking again…");
	else
		snprintf(text, sizeof text, "%zu of %zu marked%s%s%s%s", t.marked, s->plan->n,
			t.bytes || t.bytes_unknown ? " · " : "",
			t.bytes                   ? format_bytes(bytes, t.bytes)
				: t.bytes_unknown ? "?"
						  : "",
			t.bytes || t.bytes_unknown ? " to free" : "",
			s->plan->foreign ? " · foreign too" : "");
	x += canvas_clip(c, x, a.y, a.x + a.w - x,
		s->phase == ENDED && s->failed ? STYLE(BAD)
			: s->phase == ENDED    ? STYLE(GOOD)
			: s->phase == PLANNING ? STYLE(BUSY)
					       : STYLE(TEXT),
		text);
	if (t.kept && s->phase == PLANNED) {
		snprintf(text, sizeof text, " · %zu protected", t.kept);
		canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(DIM), text);
	}
}

static void clean_draw(struct view *v, struct canvas *c, struct area a)
{
	struct clean *s = v->state;
	struct area list = {a.x, a.y + 1, a.w, a.h - 1};
	const struct table_row *r = table_current(&s->table);

	s->body = a;
	draw_clean_head(v, c, a);
	if (!s->plan)
		return;
	s->table.empty = s->foreign
		? "There is nothing to clean up."
		: "There is nothing of berth's to clean up; f includes what berth did not make.";
	if (s->detail && r && list.h >= 10) {
		int h = list.h / 2 < 10 ? list.h / 2 : 10;

		list.h -= h;
		clean_draw_item(c, (struct area){a.x, list.y + list.h, a.w, h}, clean_row(r));
	} else if (s->detail && r) {
		clean_draw_item(c, list, clean_row(r));
		return;
	}
	table_draw(&s->table, c, list);
}

/* Acting. */

/* The dialog, about exactly what is marked now. */
static void ask_to_carry_out(struct view *v)
{
	struct clean *s = v->state;

	if (s->phase != PLANNED || !s->plan) {
		app_say(v->app, ROLE_DIM, "%s",
			s->phase == RUNNING         ? "The plan is being carried out; C stops it."
				: s->phase == ENDED ? "Done: r makes a new plan."
						    : "There is no plan yet.");
		return;
	}
	arena_release(&s->asked_mem);
	arena_init(&s->asked_mem, 4096);
	s->asked = clean_plan_copy(s->plan, &s->asked_mem);
	for (size_t i = 0; i < s->plan->n; i++)
		s->asked->item[i].marked = item_marked(s, i);
	if (!clean_totals(s->asked).marked) {
		s->asked = NULL;
		app_say(v->app, ROLE_DIM, "Nothing is marked: Space marks the row.");
		return;
	}
	app_confirm_clean(v->app, s->asked);
}

static void cancel_clean(struct view *v)
{
	struct clean *s = v->state;
	const struct snapshot *snap = app_snapshot(v->app);

	for (size_t i = 0; i < snap->njobs && s->phase == RUNNING; i++) {
		const struct job_info *j = &snap->jobs[i];

		if (!j->own || job_ended(j->state) || strncmp(j->name, "clean up ", 9) != 0)
			continue;
		app_cancel_job(v->app, &j->id);
		app_say(v->app, ROLE_WARN,
			"Stopping; what was stopped but not removed is started again.");
		return;
	}
	app_say(v->app, ROLE_DIM, "No clean-up is running here.");
}

static void toggle_foreign(struct view *v)
{
	struct clean *s = v->state;

	if (s->phase == RUNNING || s->phase == PLANNING)
		return;
	s->foreign = !s->foreign;
	ask_for_plan(v);
	app_say(v->app, ROLE_TEXT, "%s",
		s->foreign ? "Including exited containers, unused networks and dangling "
			     "images that berth did not make."
			   : "Only what berth made.");
}

static bool mark_items(struct view *v, enum action a)
{
	struct clean *s = v->state;
	const struct table_row *r = table_current(&s->table);

	if (s->phase != PLANNED) {
		app_say(v->app, ROLE_DIM, "The plan is frozen while it is carried out.");
		return true;
	}
	if (a == DO_MARK && r && clean_row(r)->item->keep) {
		app_say(v->app, ROLE_WARN, "Protected: %s.", clean_row(r)->item->keep);
		return true;
	}
	table_act(&s->table, a);
	unmark_kept(s);
	return true;
}

static bool clean_act(struct view *v, enum action a)
{
	struct clean *s = v->state;

	app_dirty(v->app);
	if (s->table.choosing)
		return table_act(&s->table, a);
	switch (a) {
	case DO_CLEAN: ask_to_carry_out(v); return true;
	case DO_FOREIGN: toggle_foreign(v); return true;
	case DO_REFRESH:
		if (s->phase == RUNNING)
			return false;
		ask_for_plan(v);
		return true;
	case DO_CANCEL_JOB: cancel_clean(v); return true;
	case DO_ENTER: s->detail = !s->detail; return true;
	case DO_MARK:
	case DO_MARK_RANGE:
	case DO_MARK_ALL:
	case DO_UNMARK: return mark_items(v, a);
	case DO_BACK:
		if (!s->detail)
			return false;
		s->detail = false;
		return true;
	default: return table_act(&s->table, a);
	}
}

static void clean_open_view(struct view *v)
{
	struct clean *s = v->state;

	table_init(&s->table, clean_columns, clean_ncolumns, NULL);
	arena_init(&s->mem, 0);
	arena_init(&s->asked_mem, 0);
	str_init(&s->problem);
}

static void clean_close_view(struct view *v)
{
	struct clean *s = v->state;

	table_release(&s->table);
	arena_release(&s->mem);
	arena_release(&s->asked_mem);
	str_release(&s->problem);
	free(s->rows);
}

static void clean_click(struct view *v, int x, int y, bool twice)
{
	struct clean *s = v->state;

	if (table_click(&s->table, s->body.x + x, s->body.y + y) && twice && y > 1)
		s->detail = !s->detail;
	app_dirty(v->app);
}

static bool clean_copy(struct view *v, struct str *out)
{
	struct clean *s = v->state;
	const struct table_row *r = table_current(&s->table);

	if (r)
		str_adds(out, clean_row(r)->item->id);
	return r != NULL;
}

/* The plan itself, with the marks as they are: `berth clean --plan` takes it. */
static bool clean_save(struct view *v, struct str *out)
{
	struct clean *s = v->state;
	struct clean_plan p;
	AUTO_ARENA struct arena mem = ARENA_INIT(4096);

	if (!s->plan)
		return false;
	p = *clean_plan_copy(s->plan, &mem);
	for (size_t i = 0; i < p.n; i++)
		p.item[i].marked = item_marked(s, i);
	clean_plan_json(&p, out);
	return true;
}

const struct view_ops clean_view = {
	.name = "clean",
	.tab = "Clean-up",
	.tab_short = "Clean",
	.context = IN_CLEAN,
	.state_size = sizeof(struct clean),
	.open = clean_open_view,
	.close = clean_close_view,
	.keep = table_view_keep,
	.recall = table_view_recall,
	.show = clean_show,
	.draw = clean_draw,
	.act = clean_act,
	.event = clean_event,
	.click = clean_click,
	.wheel = table_view_wheel,
	.filter = table_view_filter,
	.sort = table_view_sort,
	.status = table_view_status,
	.copy = clean_copy,
	.save = clean_save,
};
