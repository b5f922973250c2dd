/*
 * bench.c - shows benchmarks: choosing suites, progress, results against targets, the previous version and the trend.
 *
 * They run in a process of their own (bench_start.c), also when this console ends; its job is on the board
 * like any other, and what it measures comes line by line (bench_live.c).  What disturbs it is said: other
 * processes' load and this console's own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/bench.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/message.h>

#include "app/app.h"
#include "views/bench/bench_draw.h"
#include "views/bench/bench_live.h"
#include "views/bench/bench_rows.h"
#include "views/bench/bench_start.h"
#include "views/list.h"
#include "views/table_view.h"
#include "widgets/widgets.h"

#define DISTURBED 15.0 /* percent of all cores used by others from which on figures suffer */
#define OWN_LOUD 5.0   /* percent of a core that this console may use before it is said */
#define DETAIL_MIN 14  /* rows of the body from which on the detail has room below the list */

struct bench {
	struct table table; /* first: table_view.h */
	struct live_run run;
	struct bench_process process;
	struct bench_wish wish;
	struct bench_trip *trip; /* NULL: it is away */
	uint64_t asked;          /* with this command */
	bool starting;           /* a run was asked for and is not known to run yet */
	bool ended;              /* ours has, with that code; its last sentence is being read */
	int code;
	bool followed; /* the cursor goes with the case that runs, until it is moved */
	bool zoomed;
	struct area body;
	struct own_suite own[OWN_SUITES_MAX];
	size_t nown, nfound; /* all; those of the person's folder, which come first */
};
TABLE_COMES_FIRST(struct bench);

static const struct bench_entry *row_entry(const struct table_row *r)
{
	return r->item;
}

static bool add_own_suite(struct bench *s, const struct own_suite *one)
{
	for (size_t i = 0; i < s->nown; i++)
		if (!strcmp(s->own[i].path, one->path))
			return true;
	if (s->nown == COUNT(s->own))
		return false;
	s->own[s->nown++] = *one;
	return true;
}

/* The person's folder anew; files that were named otherwise stay on the list. */
static void take_folder(struct bench *s, const struct own_suite *found, size_t n)
{
	size_t nbefore = s->nown - s->nfound;
	struct own_suite *before = xreallocarray(NULL, nbefore + 1, sizeof *before);

	memcpy(before, s->own + s->nfound, nbefore * sizeof *before);
	if (n)
		memcpy(s->own, found, n * sizeof *found);
	s->nown = s->nfound = n;
	for (size_t i = 0; i < nbefore; i++)
		add_own_suite(s, &before[i]);
	free(before);
}

/* Suite files of the run that are on no list yet. */
static void wish_for_others(struct bench *s)
{
	for (size_t i = 0; i < s->run.nfiles && s->nown < COUNT(s->own); i++) {
		bool known = s->wish.nothers == COUNT(s->wish.others);

		for (size_t k = 0; k < s->nown && !known; k++)
			known = !strcmp(s->own[k].path, s->run.files[i]);
		for (size_t k = 0; k < s->wish.nothers && !known; k++)
			known = !strcmp(s->wish.others[k], s->run.files[i]);
		if (!known)
			s->wish.others[s->wish.nothers++] = xstrdup(s->run.files[i]);
	}
}

static void rebuild_bench(struct bench *s)
{
	bench_rows(&s->table, &s->run, s->own, s->nown);
	if (s->followed && s->run.current < s->run.ncases)
		table_go(&s->table, "case", s->run.cases[s->run.current].id);
}

static const struct job_info *job_of_run(const struct bench *s, const struct snapshot *snap)
{
	for (size_t i = 0; snap && i < snap->njobs; i++)
		if (s->run.pid && snap->jobs[i].id.pid == s->run.pid)
			return &snap->jobs[i];
	return NULL;
}

static bool is_running(const struct bench *s, const struct snapshot *snap)
{
	const struct job_info *j = job_of_run(s, snap);

	return s->starting || s->process.pid || (!*s->run.ended && j && !job_ended(j->state));
}

/* What has been wished for, and what the file has more; once the one before is back. */
static void send_trip(struct view *v)
{
	struct bench *s = v->state;
	struct bench_trip *t = s->trip;
	struct command *c;

	if (!t)
		return;
	s->trip = NULL;
	t->wish = s->wish;
	s->wish = (struct bench_wish){0};
	c = command_new(CMD_WORK);
	command_work(c, &t->work);
	s->asked = app_send(v->app, c);
}

static void tell_end(struct view *v, const char *sentence)
{
	struct bench *s = v->state;

	s->ended = s->followed = false;
	live_end_cases(&s->run);
	if (*sentence)
		app_say(v->app, s->code ? ROLE_WARN : ROLE_DIM, "%s", sentence);
	else
		app_say(v->app, s->code ? ROLE_WARN : ROLE_GOOD,
			s->code ? "Benchmarks: %s" : "Benchmarks done: %s",
			*s->run.ended_text ? s->run.ended_text : "it ended early.");
}

static void take_start(struct view *v, struct bench_trip *t)
{
	struct bench *s = v->state;

	s->starting = false;
	if (!t->started) {
		app_say(v->app, ROLE_BAD, "%s", t->start_err.msg);
		return;
	}
	live_release(&s->run);
	s->process = t->process;
	s->followed = true;
}

/* The suite file that a person named. */
static void take_file(struct view *v, const struct bench_trip *t)
{
	struct bench *s = v->state;
	const struct own_suite *one = t->nsuites ? &t->suite[t->nsuites - 1] : NULL;

	if (t->file_err.kind || !one) {
		app_say(v->app, ROLE_WARN, "%s", t->file_err.msg);
		return;
	}
	if (!add_own_suite(s, one)) {
		app_say(v->app, ROLE_WARN, "There are already %d suite files.", OWN_SUITES_MAX);
		return;
	}
	s->followed = false;
	rebuild_bench(s);
	table_go(&s->table, "", one->path);
	app_say(v->app, ROLE_TEXT,
		"R runs it.  Those in the folder bench next to berth.yaml are listed "
		"automatically.");
}

static void bench_event(struct view *v, const struct event *e)
{
	struct bench *s = v->state;
	struct bench_trip *t;
	bool more;

	if (e->kind != EV_WORKED || e->id != s->asked ||
		!(t = (struct bench_trip *)view_work_take(e->work)))
		return;
	if (t->wish.nwords)
		take_start(v, t);
	s->followed |= t->found;
	live_take(&s->run, t->bytes, t->nbytes);
	if (t->wish.suites)
		take_folder(s, t->suite, t->nfolder);
	for (size_t i = t->nfolder; i < t->nfolder + t->wish.nothers; i++)
		add_own_suite(s, &t->suite[i]);
	rebuild_bench(s);
	if (t->wish.file)
		take_file(v, t);
	if (t->wish.says && s->ended && !t->full)
		tell_end(v, t->sentence);
	more = t->full || t->started;
	s->wish.says |= s->ended;
	bench_trip_clear(t);
	s->trip = t;
	wish_for_others(s);
	if (more || s->wish.says || s->wish.nothers || s->wish.nwords || s->wish.file)
		send_trip(v);
	app_dirty(v->app);
}

static void bench_snapshot(struct view *v, const struct snapshot *snap)
{
	(void)snap;
	rebuild_bench(v->state);
	send_trip(v);
}

/* That it ended is told whatever is on screen, with what it wrote last. */
static void bench_pulse(struct view *v, const struct snapshot *snap)
{
	struct bench *s = v->state;

	(void)snap;
	if (!bench_ended(&s->process, &s->code))
		return;
	s->ended = s->wish.says = true;
	send_trip(v);
}

/* Drawing. */

static void progress_line(
	struct canvas *c, struct area a, struct bench *s, const struct snapshot *snap)
{
	const struct job_info *j = job_of_run(s, snap);
	double fraction = s->run.samples ? (double)s->run.done / (double)s->run.samples : 0;
	int x = a.x + 1, bar = a.w >= 100 ? 30 : a.w / 4;
	size_t done = 0, not_run = 0;
	char left[FORMAT_MAX], text[300];

	for (size_t i = 0; i < s->run.ncases; i++)
		if (s->run.cases[i].state == LIVE_NOT_RUN)
			not_run++;
		else
			done += s->run.cases[i].state >= LIVE_OK;
	if (!s->run.cases) {
		canvas_clip(c, x, a.y, a.w - 1,
			s->process.pid || s->starting ? STYLE(BUSY) : STYLE(DIM),
			s->process.pid || s->starting ? "starting…"
				: a.w < 100 ? "R runs the suite under the cursor, or those marked "
					      "with Space."
					    : "R runs the suite or case under the cursor, or those "
					      "marked with Space; o adds your own suite file.");
		return;
	}
	if (!is_running(s, snap)) {
		x += canvas_printf(c, x, a.y, a.w - 2, STYLE(STRONG), "%s", s->run.label);
		snprintf(text, sizeof text, "%s%s%s  %s", *s->run.baseline ? "against " : "",
			s->run.baseline, *s->run.ended ? "" : "  interrupted", s->run.ended_text);
		canvas_clip(c, x + 2, a.y, a.x + a.w - x - 2,
			!strcmp(s->run.ended, "done") ? STYLE(DIM) : STYLE(WARN), text);
		return;
	}
	/* Behind the last sample there are figures and pages to be made: not all of it is done. */
	fraction = fraction > 0.99 ? 0.99 : fraction;
	meter_bar(c, x, a.y, bar, ROLE_BAR, fraction);
	x += bar + 1;
	x += canvas_printf(c, x, a.y, 6, STYLE(STRONG), "%.0f %%", 100 * fraction);
	x += canvas_printf(
		c, x, a.y, a.x + a.w - x, STYLE(TEXT), "  %zu of %zu cases", done, s->run.ncases);
	if (not_run)
		x += canvas_printf(c, x, a.y, a.x + a.w - x, STYLE(WARN), ", %zu not run", not_run);
	if (j && j->eta_ms >= 0)
		x += canvas_printf(c, x, a.y, a.x + a.w - x, STYLE(TEXT), "  %s left",
			format_span(left, (j->eta_ms + 999) / 1000));
	if (*s->run.said)
		canvas_printf(c, x + 2, a.y, a.x + a.w - x - 2, STYLE(WARN), "%s", s->run.said);
	else if (*s->run.baseline)
		canvas_printf(c, x + 2, a.y, a.x + a.w - x - 2, STYLE(DIM), "against %s",
			s->run.baseline);
}

/* What makes figures worse than they are. */
static bool draw_disturbance(
	struct canvas *c, struct area a, struct bench *s, const struct snapshot *snap)
{
	bool others = s->run.others_percent > DISTURBED, own = snap->self.cpu_percent > OWN_LOUD;
	char text[200];

	if (!is_running(s, snap) || (!others && !own && !(s->run.steal_percent > 2)))
		return false;
	if (others)
		snprintf(text, sizeof text,
			a.w < 100 ? "! Other programs use %.0f %% of this machine: "
				    "figures are unreliable."
				  : "! Other programs use %.0f %% of this machine: "
				    "figures are unreliable.  Benchmark %.0f %%, this "
				    "console %.1f %%.",
			s->run.others_percent, s->run.own_percent, snap->self.cpu_percent);
	else if (own)
		snprintf(text, sizeof text,
			"! This console uses %.1f %% of a core itself: sample more slowly with -.",
			snap->self.cpu_percent);
	else
		snprintf(text, sizeof text,
			"! The hypervisor takes %.0f %% of this machine: figures are unreliable.",
			s->run.steal_percent);
	canvas_clip(c, a.x + 1, a.y, a.w - 2, STYLE(WARN), text);
	return true;
}

static void bench_draw(struct view *v, struct canvas *c, struct area a)
{
	struct bench *s = v->state;
	const struct snapshot *snap = app_snapshot(v->app);
	const struct table_row *r;
	struct area list = {a.x, a.y + 1, a.w, a.h - 1};
	const struct live_case *k;

	s->body = a;
	progress_line(c, a, s, snap);
	if (draw_disturbance(c, (struct area){a.x, a.y + 1, a.w, 1}, s, snap)) {
		list.y++;
		list.h--;
	}
	r = table_current(&s->table);
	k = r ? row_entry(r)->k : NULL;
	if (k && s->zoomed) {
		bench_case_draw(c, list, &s->run, k);
		return;
	}
	if (k && a.h >= DETAIL_MIN) {
		int want = 5 + (int)k->narms + (int)k->ntargets + 6, h = list.h * 3 / 5;

		h = want < h ? want : h;
		list.h -= h;
		bench_case_draw(c, (struct area){a.x, list.y + list.h, a.w, h}, &s->run, k);
	}
	table_draw(&s->table, c, list);
}

/* Acting. */

/* Words of `berth bench run`: each suite once, and a case only where its suite is not there already. */
struct words {
	const char *word[BENCH_WORDS_MAX];
	char cases[BENCH_WORDS_MAX][160];
	size_t n;
};

static bool add_word(struct words *w, const char *word, const char *suite)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->word[i], word) || !strcmp(w->word[i], suite))
			return true;
	if (w->n == BENCH_WORDS_MAX)
		return false;
	snprintf(w->cases[w->n], sizeof w->cases[0], "%s", word);
	/* Paths may be longer than a case's name, and stay where they are. */
	w->word[w->n] = word == suite ? word : w->cases[w->n];
	w->n++;
	return true;
}

static bool add_suite_words(struct view *v, struct words *w, const struct bench_entry *n)
{
	bool alone = n->k && !n->file;

	if (!n->word) {
		app_say(v->app, ROLE_WARN,
			"%s came from a suite file of an older berth: o adds the file to the list.",
			n->name);
		return false;
	}
	if (add_word(w, alone ? n->k->name : n->word, n->word))
		return true;
	app_say(v->app, ROLE_WARN, "Too much is marked: mark suites instead of their cases.");
	return false;
}

/* Suites before cases, for a suite has its cases. */
static bool chosen_words(struct view *v, struct words *w)
{
	struct bench *s = v->state;
	const struct table_row *r;
	size_t hidden, at;

	if (!table_marked(&s->table, &hidden)) {
		r = table_current(&s->table);
		return r && add_suite_words(v, w, row_entry(r));
	}
	for (int pass = 0; pass < 2; pass++)
		for (at = 0; (r = table_next_marked(&s->table, &at));)
			if ((row_entry(r)->k != NULL) == pass &&
				!add_suite_words(v, w, row_entry(r)))
				return false;
	return w->n > 0;
}

static void start_bench(struct view *v)
{
	struct bench *s = v->state;
	const struct snapshot *snap = app_snapshot(v->app);
	struct words w = {.n = 0};

	if (is_running(s, snap)) {
		app_say(v->app, ROLE_WARN, "Benchmarks are already running; C cancels them.");
		return;
	}
	if (app_read_only(v->app)) {
		app_say(v->app, ROLE_WARN, "Read-only: no benchmark is started.");
		return;
	}
	if (!chosen_words(v, &w))
		return;
	while (s->wish.nwords < w.n) {
		s->wish.word[s->wish.nwords] = xstrdup(w.word[s->wish.nwords]);
		s->wish.nwords++;
	}
	s->wish.engine = snap->engine.endpoint ? xstrdup(snap->engine.endpoint) : NULL;
	s->starting = true;
	table_unmark_all(&s->table);
	send_trip(v);
}

static void bench_show(struct view *v)
{
	struct bench *s = v->state;

	s->wish.suites = true;
	rebuild_bench(s);
	send_trip(v);
}

/* A suite file that is somewhere else. */
static void bench_file(struct view *v, const char *path)
{
	struct bench *s = v->state;

	free(s->wish.file);
	s->wish.file = xstrdup(path);
	send_trip(v);
}

static void cancel_bench(struct view *v)
{
	struct bench *s = v->state;
	const struct job_info *j = job_of_run(s, app_snapshot(v->app));

	if (!j || job_ended(j->state)) {
		app_say(v->app, ROLE_DIM, "No benchmark is running.");
		return;
	}
	app_cancel_job(v->app, &j->id);
	app_say(v->app, ROLE_DIM, "Stopping; completed cases stay in the history.");
}

static bool bench_act(struct view *v, enum action a)
{
	struct bench *s = v->state;
	size_t hidden;

	app_dirty(v->app);
	if (s->table.choosing)
		return table_act(&s->table, a);
	switch (a) {
	case DO_BENCH_RUN: start_bench(v); return true;
	case DO_SUITE: app_ask_file(v->app, "suite file"); return true;
	case DO_REFRESH:
		s->wish.suites = true;
		send_trip(v);
		return false;
	case DO_CANCEL_JOB: cancel_bench(v); return true;
	case DO_ENTER: s->zoomed = !s->zoomed; return true;
	case DO_BACK:
		if (s->zoomed)
			s->zoomed = false;
		else if (!s->table.filter && table_marked(&s->table, &hidden))
			table_unmark_all(&s->table);
		else
			return false;
		return true;
	default: s->followed = false; return table_act(&s->table, a);
	}
}

static void bench_open(struct view *v)
{
	struct bench *s = v->state;

	table_init(&s->table, bench_columns, bench_ncolumns, NULL);
	s->table.sort = bench_ncolumns; /* as they run */
	live_release(&s->run);
	s->trip = bench_trip_new();
	s->wish.find = true;
}

static void keep_bench(struct view *v, struct jsonw *j)
{
	const struct bench *s = v->state;

	table_keep(&s->table, j);
}

static void recall_bench(struct view *v, const struct node *kept)
{
	struct bench *s = v->state;

	table_recall(&s->table, kept);
}

static const char *bench_runs(struct view *v)
{
	const struct bench *s = v->state;

	return s->process.pid > 0 || s->starting ? "benchmarks; completed cases stay in the history"
						 : NULL;
}

static void bench_close(struct view *v)
{
	struct bench *s = v->state;

	bench_stop(&s->process);
	bench_wish_clear(&s->wish);
	if (s->trip)
		s->trip->work.drop(&s->trip->work);
	table_release(&s->table);
	live_release(&s->run);
}

static void bench_click(struct view *v, int x, int y, bool twice)
{
	struct bench *s = v->state;

	s->followed = false;
	if (table_click(&s->table, s->body.x + x, s->body.y + y) && twice)
		s->zoomed = !s->zoomed;
	app_dirty(v->app);
}

static void bench_wheel(struct view *v, int lines)
{
	struct bench *s = v->state;

	s->followed = false;
	table_wheel(&s->table, lines);
	app_dirty(v->app);
}

static bool bench_save(struct view *v, struct str *out)
{
	struct bench *s = v->state;

	table_save(&s->table, out);
	return true;
}

const struct view_ops bench_view = {
	.name = "bench",
	.tab = "Bench",
	.tab_short = "Bnch",
	.context = IN_BENCH,
	.state_size = sizeof(struct bench),
	.open = bench_open,
	.close = bench_close,
	.keep = keep_bench,
	.recall = recall_bench,
	.show = bench_show,
	.draw = bench_draw,
	.snapshot = bench_snapshot,
	.event = bench_event,
	.pulse = bench_pulse,
	.act = bench_act,
	.runs = bench_runs,
	.click = bench_click,
	.wheel = bench_wheel,
	.filter = table_view_filter,
	.sort = table_view_sort,
	.status = table_view_status,
	.save = bench_save,
	.file = bench_file,
};
