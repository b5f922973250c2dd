/*
 * bench.c - benchmarks: choose suites, watch them run, see what they gave against targets, the version
 * before and the trend.
 *
 * They run in a process of their own (bench_start.c), also when this console ends; its job is on the board
 * like any other, and what it measures comes line by line (bench_live.c).  What disturbs it is said: other
 * processes' load and this console's own.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/bench.h>
#include <berth/format.h>
#include <berth/mem.h>

#include "app.h"
#include "views/bench_draw.h"
#include "views/bench_live.h"
#include "views/bench_start.h"
#include "views/list.h"
#include "widgets/meter.h"
#include "widgets/table.h"

#define DISTURBED 15.0 /* percent of all cores used by others from which on figures suffer */
#define OWN_LOUD 5.0   /* percent of a core that this console may use before it is said */
#define BAR_W 14
#define DETAIL_MIN 14 /* rows of the body from which on the detail has room below the list */

static const char *const suites[] = {
#define SUITE(name) #name,
	SUITES(SUITE)
#undef SUITE
};

struct bench {
	struct table table;
	struct live_run run;
	struct bench_process process;
	bool looked;   /* for what an earlier console left */
	bool followed; /* the cursor goes with the case that runs, until it is moved */
	bool zoomed;
	struct area body;
};

/* Rows: a suite, or a case of the run below its suite. */
struct entry {
	const char *suite;
	const struct live_case *k; /* NULL: the suite itself */
	size_t cases, done, bad;   /* of a suite */
};

static struct entry entries[COUNT(suites) + 64 + LIVE_CASES_MAX];

static const struct entry *entry_of(const struct table_row *r)
{
	return r->item;
}

static const struct live_arm *judged_arm(const struct live_case *k)
{
	for (size_t i = 0; i < k->narms; i++)
		if (!k->arm[i].baseline)
			return &k->arm[i];
	return k->narms ? &k->arm[0] : NULL;
}

/* Columns. */

static void name_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct entry *n = entry_of(r);
	const char *slash = n->k ? strchr(n->k->name, '/') : NULL;

	*st = n->k ? STYLE(TEXT) : STYLE(STRONG);
	snprintf(buf, cap, "%s", !n->k ? n->suite : slash ? slash + 1 : n->k->name);
}

static void name_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	static const struct {
		enum glyph glyph;
		uint8_t role;
	} look[] = {{GLYPH_RING, ROLE_DIM}, {GLYPH_RIGHT, ROLE_BUSY}, {GLYPH_TICK, ROLE_GOOD},
		{GLYPH_CROSS, ROLE_BAD}, {GLYPH_DASH, ROLE_DIM}};
	const struct live_case *k = entry_of(r)->k;
	struct style st;
	char text[160];
	int x = a.x + (k ? 2 : 0);

	if (k) {
		canvas_glyph(c, x, a.y, (struct style){.role = look[k->state].role},
			look[k->state].glyph);
		x += 2;
	}
	name_text(r, text, sizeof text, &st);
	canvas_clip(c, x, a.y, a.x + a.w - x, st, text);
}

static void state_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct entry *n = entry_of(r);
	const struct live_arm *arm = n->k ? judged_arm(n->k) : NULL;

	*st = STYLE(DIM);
	buf[0] = '\0';
	if (!n->k && n->cases)
		snprintf(buf, cap, "%zu/%zu cases", n->done, n->cases);
	else if (n->k && n->k->state == LIVE_RUNS)
		snprintf(buf, cap, "%ld of %ld", n->k->done, n->k->samples);
	else if (n->k && n->k->state == LIVE_OK && arm)
		live_value(buf, cap, n->k->unit, live_median(arm)), *st = STYLE(TEXT);
	else if (n->k)
		snprintf(buf, cap, "%s",
			n->k->state == LIVE_FAILED            ? "failed"
				: n->k->state == LIVE_NOT_RUN ? "not run"
							      : "waits");
	if (n->k && n->k->state == LIVE_FAILED)
		*st = STYLE(BAD);
}

static void state_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	const struct live_case *k = entry_of(r)->k;
	struct style st;
	char text[64];

	state_text(r, text, sizeof text, &st);
	if (k && k->state == LIVE_RUNS && k->samples && a.w > BAR_W + 2) {
		meter_bar(c, a.x, a.y, BAR_W, ROLE_BAR, (double)k->done / (double)k->samples);
		canvas_clip(c, a.x + BAR_W + 1, a.y, a.w - BAR_W - 1, STYLE(TEXT), text);
		return;
	}
	canvas_clip(c, a.x, a.y, a.w, st, text);
}

static void ratio_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct live_case *k = entry_of(r)->k;
	const struct live_arm *arm = k ? judged_arm(k) : NULL;

	(void)st;
	buf[0] = '\0';
	if (arm && arm->ratio.known)
		snprintf(buf, cap, "%.2fx [%.2f .. %.2f]", arm->ratio.point, arm->ratio.low,
			arm->ratio.high);
}

static void target_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct live_case *k = entry_of(r)->k;
	size_t met = 0, missed = 0;

	for (size_t i = 0; k && i < k->ntargets; i++) {
		met += !strcmp(k->target[i].verdict, "met");
		missed += !strcmp(k->target[i].verdict, "MISSED") ||
			!strcmp(k->target[i].verdict, "FAILED");
	}
	buf[0] = '\0';
	*st = missed ? STYLE(BAD) : STYLE(GOOD);
	if (missed && met)
		snprintf(buf, cap, "%zu of %zu", met, met + missed);
	else if (missed || met)
		snprintf(buf, cap, "%s", missed ? "missed" : "met");
}

static void before_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct live_case *k = entry_of(r)->k;
	const struct live_arm *arm = k ? judged_arm(k) : NULL;

	buf[0] = '\0';
	for (size_t i = 0; k && i < k->narms; i++)
		if (!strcmp(k->arm[i].change_word, "SLOWER"))
			arm = &k->arm[i];
	if (!arm || !arm->change.known)
		return;
	*st = !strcmp(arm->change_word, "SLOWER")     ? STYLE(BAD)
		: !strcmp(arm->change_word, "faster") ? STYLE(GOOD)
						      : STYLE(DIM);
	snprintf(buf, cap, "%.2f %s", arm->change.point, arm->change_word);
}

/* clang-format off */
static const struct table_column columns[] = {
	{.name = "suite", .head = "SUITE AND CASE", .min = 16, .ideal = 30, .grow = 2, .text = name_text,
		.draw = name_draw},
	{.name = "state", .head = "MEDIAN", .min = 10, .ideal = BAR_W + 14, .text = state_text,
		.draw = state_draw},
	{.name = "ratio", .head = "RATIO [95 %]", .min = 20, .ideal = 24, .keep = 10, .text = ratio_text},
	{.name = "target", .head = "TARGET", .min = 7, .ideal = 8, .keep = 0, .text = target_text},
	{.name = "before", .head = "AGAINST BEFORE", .min = 12, .ideal = 18, .keep = 20,
		.text = before_text},
};
/* clang-format on */

/* Rows. */

static bool of_suite(const struct live_case *k, const char *suite)
{
	size_t n = strlen(suite);

	return !strncmp(k->name, suite, n) && k->name[n] == '/';
}

static void add_suite(struct bench *s, struct entry *at, size_t *n, const char *suite)
{
	struct entry *head = &at[(*n)++];

	*head = (struct entry){.suite = suite};
	table_add(&s->table, (struct table_row){.engine = "", .id = suite, .item = head});
	for (size_t i = 0; i < s->run.ncases; i++) {
		const struct live_case *k = &s->run.cases[i];

		if (!of_suite(k, suite) || *n == COUNT(entries))
			continue;
		head->cases++;
		head->done += k->state >= LIVE_OK;
		at[*n] = (struct entry){.suite = suite, .k = k};
		table_add(&s->table,
			(struct table_row){
				.engine = "case", .id = k->id, .item = &at[*n], .depth = 1});
		(*n)++;
	}
}

static bool built_in(const char *name)
{
	for (size_t i = 0; i < COUNT(suites); i++) {
		size_t n = strlen(suites[i]);

		if (!strncmp(name, suites[i], n) && name[n] == '/')
			return true;
	}
	return false;
}

static void rebuild(struct bench *s)
{
	static char others[32][64]; /* groups of suite files */
	size_t n = 0, nothers = 0;

	table_begin(&s->table);
	for (size_t i = 0; i < s->run.ncases && nothers < COUNT(others); i++) {
		const char *name = s->run.cases[i].name;
		bool known = built_in(name);

		for (size_t k = 0; k < nothers && !known; k++)
			known = of_suite(&s->run.cases[i], others[k]);
		if (known)
			continue;
		snprintf(others[nothers], sizeof others[0], "%.*s", (int)strcspn(name, "/"), name);
		add_suite(s, entries, &n, others[nothers++]);
	}
	for (size_t i = 0; i < COUNT(suites); i++)
		add_suite(s, entries, &n, suites[i]);
	table_end(&s->table);
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

static bool runs(const struct bench *s, const struct snapshot *snap)
{
	const struct job_info *j = job_of_run(s, snap);

	return s->process.pid || (!*s->run.ended && j && !job_ended(j->state));
}

static void look(struct bench *s)
{
	const char *told = getenv("BERTH_BENCH_LIVE"); /* another file; "": none */
	char path[PATH_MAX];

	if (s->looked)
		return;
	s->looked = true;
	if (told ? *told != '\0' && live_follow(&s->run, told) == 0
		 : bench_newest(path, sizeof path) && live_follow(&s->run, path) == 0) {
		live_read(&s->run);
		s->followed = true;
	}
}

static void refresh(struct bench *s)
{
	look(s);
	if (s->process.pid && s->run.fd <= 0)
		live_follow(&s->run, s->process.live);
	live_read(&s->run);
	rebuild(s);
}

static void bench_snapshot(struct view *v, const struct snapshot *snap)
{
	struct bench *s = v->state;
	char sentence[256];
	int code;

	(void)snap;
	refresh(s);
	if (!bench_ended(&s->process, &code, sentence, sizeof sentence))
		return;
	live_read(&s->run);
	rebuild(s);
	s->followed = false;
	if (*sentence)
		app_say(v->app, code ? ROLE_WARN : ROLE_DIM, "%s", sentence);
	else
		app_say(v->app, code ? ROLE_WARN : ROLE_GOOD,
			code ? "Benchmarks: %s" : "Benchmarks done: %s",
			*s->run.ended_text ? s->run.ended_text : "it ended early.");
}

/* Drawing. */

static void progress_line(
	struct canvas *c, struct area a, struct bench *s, const struct snapshot *snap)
{
	const struct job_info *j = job_of_run(s, snap);
	double fraction = s->run.samples ? (double)s->run.done / (double)s->run.samples : 0;
	int x = a.x + 1, bar = a.w >= 100 ? 30 : a.w / 4;
	size_t done = 0;
	char left[FORMAT_MAX];

	for (size_t i = 0; i < s->run.ncases; i++)
		done += s->run.cases[i].state >= LIVE_OK;
	if (!s->run.cases) {
		canvas_clip(c, x, a.y, a.w - 1, s->process.pid ? STYLE(BUSY) : STYLE(DIM),
			s->process.pid
				? "starting…"
				: "Mark suites with Space and run them with R; without a mark, the one below "
				  "the cursor.");
		return;
	}
	if (!runs(s, snap)) {
		x += canvas_printf(c, x, a.y, a.w - 2, STYLE(STRONG), "%s", s->run.label);
		canvas_printf(c, x + 2, a.y, a.x + a.w - x - 2,
			!strcmp(s->run.ended, "done") ? STYLE(DIM) : STYLE(WARN), "%s%s%s  %s",
			*s->run.baseline ? "against " : "", s->run.baseline,
			*s->run.ended ? "" : "  interrupted", s->run.ended_text);
		return;
	}
	meter_bar(c, x, a.y, bar, ROLE_BAR, fraction);
	x += bar + 1;
	x += canvas_printf(c, x, a.y, 6, STYLE(STRONG), "%.0f %%", 100 * fraction);
	x += canvas_printf(
		c, x, a.y, a.x + a.w - x, STYLE(TEXT), "  %zu of %zu cases", done, s->run.ncases);
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
static bool disturbance(
	struct canvas *c, struct area a, struct bench *s, const struct snapshot *snap)
{
	bool others = s->run.others_percent > DISTURBED, own = snap->self.cpu_percent > OWN_LOUD;

	if (!runs(s, snap) || (!others && !own && !(s->run.steal_percent > 2)))
		return false;
	if (others)
		canvas_printf(c, a.x + 1, a.y, a.w - 2, STYLE(WARN),
			"! Others use %.0f %% of this machine: figures are disturbed.  Benchmark %.0f %%, this "
			"console %.1f %%.",
			s->run.others_percent, s->run.own_percent, snap->self.cpu_percent);
	else if (own)
		canvas_printf(c, a.x + 1, a.y, a.w - 2, STYLE(WARN),
			"! This console uses %.1f %% of a core itself: sample more slowly with -.",
			snap->self.cpu_percent);
	else
		canvas_printf(c, a.x + 1, a.y, a.w - 2, STYLE(WARN),
			"! The hypervisor takes %.0f %% of this machine: figures are disturbed.",
			s->run.steal_percent);
	return true;
}

static void bench_draw(struct view *v, struct canvas *c, struct area a)
{
	struct bench *s = v->state;
	const struct snapshot *snap = app_snapshot(v->app);
	const struct table_row *r;
	struct area list = {a.x, a.y + 1, a.w, a.h - 1};
	const struct live_case *k;

	refresh(s);
	s->body = a;
	progress_line(c, a, s, snap);
	if (disturbance(c, (struct area){a.x, a.y + 1, a.w, 1}, s, snap)) {
		list.y++;
		list.h--;
	}
	r = table_current(&s->table);
	k = r ? entry_of(r)->k : NULL;
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

static void start(struct view *v)
{
	struct bench *s = v->state;
	const struct snapshot *snap = app_snapshot(v->app);
	const struct table_row *r;
	const char *words[COUNT(suites) + 1];
	struct err e = ERR_INIT;
	size_t n = 0, at = 0, hidden;

	if (runs(s, snap)) {
		app_say(v->app, ROLE_WARN, "Benchmarks run already; C cancels them.");
		return;
	}
	if (app_read_only(v->app)) {
		app_say(v->app, ROLE_WARN, "Read-only: no benchmark is started.");
		return;
	}
	if (table_marked(&s->table, &hidden))
		while ((r = table_next_marked(&s->table, &at)) && n < COUNT(suites)) {
			bool twice = false;

			for (size_t i = 0; i < n; i++)
				twice |= words[i] == entry_of(r)->suite;
			if (!twice)
				words[n++] = entry_of(r)->suite;
		}
	else if ((r = table_current(&s->table)))
		words[n++] = entry_of(r)->suite;
	for (size_t i = 0; i < n; i++) {
		char slashed[80];

		snprintf(slashed, sizeof slashed, "%s/", words[i]);
		if (!built_in(slashed)) {
			app_say(v->app, ROLE_WARN,
				"%s came from a suite file: berth bench run FILE runs it again.",
				words[i]);
			return;
		}
	}
	if (!n || bench_start(&s->process, words, n, snap->engine.endpoint, &e) < 0) {
		app_say(v->app, ROLE_BAD, "%s", n ? e.msg : "There is nothing to run.");
		return;
	}
	live_release(&s->run);
	s->looked = s->followed = true;
	table_unmark_all(&s->table);
	rebuild(s);
}

static void cancel(struct view *v)
{
	struct bench *s = v->state;
	const struct job_info *j = job_of_run(s, app_snapshot(v->app));
	struct command *c;

	if (!j || job_ended(j->state)) {
		app_say(v->app, ROLE_DIM, "No benchmark is running.");
		return;
	}
	c = command_new(CMD_JOB_CANCEL);
	c->jobs = arena_array(&c->mem, 1, sizeof *c->jobs);
	c->jobs[0] = j->id;
	c->njobs = 1;
	app_send(v->app, c);
	app_say(v->app, ROLE_DIM, "Stopping; what is complete stays in the history.");
}

static bool bench_act(struct view *v, enum action a)
{
	struct bench *s = v->state;
	size_t hidden;

	refresh(s);
	app_dirty(v->app);
	if (s->table.choosing)
		return table_act(&s->table, a);
	switch (a) {
	case DO_BENCH_RUN: start(v); return true;
	case DO_CANCEL_JOB: cancel(v); return true;
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

	table_init(&s->table, columns, COUNT(columns), NULL);
	s->table.sort = COUNT(columns); /* as they run */
	live_release(&s->run);
}

static void bench_close(struct view *v)
{
	struct bench *s = v->state;

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

static bool bench_filter(struct view *v, const char *text, bool done, struct err *e)
{
	struct bench *s = v->state;

	(void)done;
	return table_filter(&s->table, text, e) == 0;
}

static void bench_status(struct view *v, char *buf, size_t cap)
{
	struct bench *s = v->state;

	table_status(&s->table, buf, cap);
}

static bool bench_save(struct view *v, struct str *out)
{
	struct bench *s = v->state;

	refresh(s);
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
	.draw = bench_draw,
	.snapshot = bench_snapshot,
	.act = bench_act,
	.click = bench_click,
	.wheel = bench_wheel,
	.filter = bench_filter,
	.status = bench_status,
	.save = bench_save,
};
