/*
 * workspaces.c - shows the workspaces by kind: usage, holders, status, checkpoints.
 *
 * While it is on screen it asks every two seconds whether anything changed, which costs the backend a
 * few calls; hidden, nothing.  Sizes are those counted last: a job counts what is old when the view
 * comes on screen, and everything on request.
 */
#include "views/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/str.h>
#include <berth/sum.h>

#include "views/table_view.h"
#include "views/workspaces/workspaces.h"

#define OLD_NS (5 * 60 * (int64_t)1000000000) /* a count older than this is made anew */
#define COUNT_JOB "count workspaces"

/* --- asking --- */

static void look_at_workspaces(struct view *v)
{
	struct workspaces_view *s = v->state;
	struct command *c;

	if (s->looking)
		return;
	c = command_new(CMD_WORKSPACES);
	c->workspaces.seen = s->known ? s->o.stamp : 0;
	s->looked_ns = clock_mono_ns();
	s->looking = app_send(v->app, c);
}

static void workspaces_show(struct view *v)
{
	struct workspaces_view *s = v->state;

	s->came = true;
	look_at_workspaces(v);
}

/* What was counted long ago, or never. */
static void count_what_is_old(struct view *v)
{
	struct workspaces_view *s = v->state;
	int64_t older = clock_wall_ms() * 1000000 - OLD_NS;

	s->came = false;
	for (size_t i = 0; i < s->o.n; i++)
		if (s->o.rows[i].usage.counted_ns < older) {
			workspaces_count(v, older);
			return;
		}
}

/* --- rows --- */

static void add_to_sum(struct workspace_sum *sum, const struct overview_row *w)
{
	sum->n++;
	sum->state[w->usage.info.state]++;
	sum->uncounted += !w->usage.counted_ns;
	sum_add(&sum->bytes, w->usage.bytes);
	sum->files += w->usage.files;
}

static void add_workspace_row(struct workspaces_view *s, struct workspace_row *r, uint8_t depth)
{
	static const char *const archives[] = {
		[WORKSPACE_TASK] = "archives/tasks", [WORKSPACE_PROJECT] = "archives/projects"};
	const char *engine = r->group ? ""
		: r->shared           ? "shared"
		: r->archive          ? archives[r->archive->kind]
		: r->w                ? workspace_kind_folder(r->w->usage.info.kind)
				      : "";
	const char *id = r->group ? r->group
		: r->shared       ? r->shared->name
		: r->archive      ? r->archive->name
		: r->w            ? r->w->usage.info.name
				  : "";

	table_add(&s->table,
		(struct table_row){.engine = engine,
			.id = id,
			.item = r,
			.depth = depth,
			.group = r->group != NULL});
}

static void add_kind(struct workspaces_view *s, int kind, struct workspace_row *head)
{
	*head = (struct workspace_row){.group = workspace_kind_folder((enum workspace_kind)kind)};
	for (size_t i = 0; i < s->o.n; i++)
		if ((int)s->o.rows[i].usage.info.kind == kind)
			add_to_sum(&head->sum, &s->o.rows[i]);
	if (!head->sum.n)
		return;
	add_workspace_row(s, head, 0);
	for (size_t i = 0; i < s->o.n; i++)
		if ((int)s->o.rows[i].usage.info.kind == kind)
			add_workspace_row(s, &s->rows[i], 1);
}

/* Its folders are always there: those with nothing in them need no row. */
static void add_shared(struct workspaces_view *s, struct workspace_row *head)
{
	*head = (struct workspace_row){.group = "shared"};
	for (size_t i = 0; i < s->o.nshared; i++)
		head->sum.files += s->o.shared[i].entries;
	if (s->o.nshared)
		add_workspace_row(s, head, 0);
	for (size_t i = 0; i < s->o.nshared; i++)
		if (s->o.shared[i].entries)
			add_workspace_row(s, &s->rows[s->o.n + i], 1);
}

static void add_archives(struct workspaces_view *s, struct workspace_row *head)
{
	*head = (struct workspace_row){
		.group = "archives", .packed = true, .sum = {.n = s->o.narchives}};
	for (size_t i = 0; i < s->o.narchives; i++)
		head->sum.bytes += s->o.archives[i].packed;
	if (s->o.narchives)
		add_workspace_row(s, head, 0);
	for (size_t i = 0; i < s->o.narchives; i++)
		add_workspace_row(s, &s->rows[s->o.n + s->o.nshared + i], 1);
}

/* rows[0..o.n) as in the overview, then the folders of shared/, the archives, the heads. */
static void rebuild_workspaces(struct workspaces_view *s)
{
	struct workspace_row *heads = s->rows + s->o.n + s->o.nshared + s->o.narchives;

	table_begin(&s->table);
	if (s->o.n || s->o.narchives) {
		for (int k = 0; k < WORKSPACE_KINDS; k++)
			add_kind(s, k, &heads[k]);
		add_shared(s, &heads[WORKSPACE_KINDS]);
		add_archives(s, &heads[WORKSPACE_KINDS + 1]);
	}
	table_end(&s->table);
}

static void take_overview(struct view *v, const struct overview *o)
{
	struct workspaces_view *s = v->state;
	struct arena was = s->mem;
	struct workspace_row *old = s->rows;

	arena_init(&s->mem, 4096);
	s->o = overview_keep(o, &s->mem);
	s->known = true;
	str_clear(&s->problem);
	s->nrows = s->o.n + s->o.nshared + s->o.narchives + WORKSPACE_KINDS + 2;
	s->rows = xcalloc(s->nrows, sizeof *s->rows);
	for (size_t i = 0; i < s->o.n; i++) {
		s->rows[i].w = &s->o.rows[i];
		s->rows[i].limits = workspace_row_limits(app_settings(v->app), &s->o.rows[i]);
	}
	for (size_t i = 0; i < s->o.narchives; i++)
		s->rows[s->o.n + s->o.nshared + i].archive = &s->o.archives[i];
	for (size_t i = 0; i < s->o.nshared; i++)
		s->rows[s->o.n + i].shared = &s->o.shared[i];
	workspaces_hold(&s->o, app_snapshot(v->app), s->rows, s->o.n);
	rebuild_workspaces(s);
	free(old);
	arena_release(&was);
}

/* Holders point into the snapshot. */
static void workspaces_snapshot(struct view *v, const struct snapshot *snap)
{
	struct workspaces_view *s = v->state;

	if (!s->known)
		return;
	workspaces_hold(&s->o, snap, s->rows, s->o.n);
	rebuild_workspaces(s);
	if (clock_mono_ns() - s->looked_ns >= WORKSPACE_LOOK_NS)
		look_at_workspaces(v);
}

static void workspaces_event(struct view *v, const struct event *e)
{
	struct workspaces_view *s = v->state;
	bool looked = e->id && e->id == s->looking, counted = e->id && e->id == s->counting;

	if (looked)
		s->looking = 0;
	if (looked && e->kind == EV_WORKSPACES)
		take_overview(v, e->overview);
	if (looked && e->err.kind) {
		str_clear(&s->problem);
		str_adds(&s->problem, e->err.msg);
	}
	if (looked && s->came && s->known)
		count_what_is_old(v);
	if (counted) {
		s->counting = 0;
		look_at_workspaces(v);
	}
	if (looked || counted)
		app_dirty(v->app);
}

static bool workspaces_task(struct view *v, const struct task *t)
{
	(void)t;
	look_at_workspaces(v);
	return false;
}

/* --- drawing --- */

static const struct job_info *count_job(const struct snapshot *snap)
{
	for (size_t i = 0; i < snap->njobs; i++)
		if (snap->jobs[i].own && !job_ended(snap->jobs[i].state) &&
			!strcmp(snap->jobs[i].name, COUNT_JOB))
			return &snap->jobs[i];
	return NULL;
}

static int64_t oldest_count(const struct workspaces_view *s)
{
	int64_t oldest = 0;

	for (size_t i = 0; i < s->o.n; i++) {
		int64_t at = s->o.rows[i].usage.counted_ns;

		if (at && (!oldest || at < oldest))
			oldest = at;
	}
	return oldest;
}

/* What there is in all, and how old that is. */
static void draw_workspaces_head(struct view *v, struct canvas *c, struct area a)
{
	struct workspaces_view *s = v->state;
	const struct job_info *job = count_job(app_snapshot(v->app));
	struct workspace_sum all = {0};
	char text[128], bytes[FORMAT_MAX], files[FORMAT_MAX], age[FORMAT_MAX + 8];
	int x = a.x + 1;

	if (!s->known) {
		canvas_clip(c, x, a.y, a.w - 2, s->problem.len ? STYLE(WARN) : STYLE(BUSY),
			s->problem.len ? s->problem.s : "Looking at the workspaces\u2026");
		return;
	}
	for (size_t i = 0; i < s->o.n; i++)
		add_to_sum(&all, &s->o.rows[i]);
	snprintf(text, sizeof text, "%s workspace%s", format_count(files, all.n),
		all.n == 1 ? "" : "s");
	x += canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(STRONG), text);
	if (all.n > all.uncounted) {
		snprintf(text, sizeof text, " \u00b7 %s in %s files",
			format_bytes(bytes, all.bytes), format_count(files, all.files));
		x += canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(TEXT), text);
	}
	if (job && job->items_total)
		snprintf(text, sizeof text, " \u00b7 counting %llu of %llu",
			(unsigned long long)job->items_done, (unsigned long long)job->items_total);
	else if (job || s->counting)
		snprintf(text, sizeof text, " \u00b7 counting\u2026");
	else if (oldest_count(s))
		snprintf(text, sizeof text, " \u00b7 counted %s",
			(workspace_row_age(age, sizeof age, clock_wall_ms(), oldest_count(s)),
				age));
	else
		text[0] = '\0';
	canvas_clip(c, x, a.y, a.x + a.w - x, job || s->counting ? STYLE(BUSY) : STYLE(DIM), text);
}

/* Who counts what agents may hold, and what; returns the lines that took. */
static int draw_keeper(const struct workspaces_view *s, struct canvas *c, struct area a)
{
	size_t held = 0;
	char text[160];

	for (size_t i = 0; i < s->o.n; i++)
		held += s->o.rows[i].nheld > 0;
	if (!s->o.keeper && !held)
		return 0;
	if (s->o.keeper)
		snprintf(text, sizeof text, "keeper counts %zu workspace%s (process %d)", held,
			held == 1 ? "" : "s", (int)s->o.keeper);
	else
		snprintf(text, sizeof text,
			"keeper lost: nothing counts %zu workspace%s, `berth up` starts one", held,
			held == 1 ? "" : "s");
	canvas_clip(c, a.x + 1, a.y, a.w - 2, s->o.keeper ? STYLE(DIM) : STYLE(BAD), text);
	return 1;
}

static void workspaces_draw(struct view *v, struct canvas *c, struct area a)
{
	struct workspaces_view *s = v->state;
	int64_t now = clock_wall_ms();
	int top = 1;

	s->body = a;
	draw_workspaces_head(v, c, a);
	if (!s->known)
		return;
	for (size_t i = 0; i < s->nrows; i++)
		s->rows[i].now_ms = now;
	top += draw_keeper(s, c, (struct area){a.x, a.y + 1, a.w, 1});
	s->top = top;
	table_draw(&s->table, c, (struct area){a.x, a.y + top, a.w, a.h - top});
}

/* --- the view --- */

static void workspaces_open_view(struct view *v)
{
	struct workspaces_view *s = v->state;

	table_init(&s->table, workspace_columns, workspace_ncolumns, "name");
	s->table.empty =
		"There are no workspaces yet.  N makes one, as does `berth workspace create task "
		"NAME`: a place of its own for one task of an agent, with checkpoints to go back to.";
	str_init(&s->problem);
	arena_init(&s->mem, 0);
}

static void workspaces_close_view(struct view *v)
{
	struct workspaces_view *s = v->state;

	table_release(&s->table);
	arena_release(&s->mem);
	str_release(&s->problem);
	free(s->rows);
}

static void workspaces_click(struct view *v, int x, int y, bool twice)
{
	struct workspaces_view *s = v->state;

	if (table_click(&s->table, s->body.x + x, s->body.y + y) && twice && y > s->top)
		workspaces_enter(v);
	app_dirty(v->app);
}

static bool workspaces_copy(struct view *v, struct str *out)
{
	struct workspaces_view *s = v->state;
	const struct table_row *r = table_current(&s->table);
	const struct workspace_row *x = r ? workspace_of(r) : NULL;

	if (!x || x->group)
		return false;
	if (x->archive) {
		str_addf(out, "%s/archives/%s/%s.tar.zst", s->o.dir,
			workspace_kind_folder(x->archive->kind), x->archive->name);
		return true;
	}
	str_addf(out, "%s/%s/%s", s->o.dir,
		x->w ? workspace_kind_folder(x->w->usage.info.kind) : "shared",
		x->w ? x->w->usage.info.name : x->shared->name);
	return true;
}

const struct view_ops workspaces_view = {
	.name = "workspaces",
	.tab = "Workspaces",
	.tab_short = "Work",
	.context = IN_WORKSPACES,
	.state_size = sizeof(struct workspaces_view),
	.open = workspaces_open_view,
	.close = workspaces_close_view,
	.keep = table_view_keep,
	.recall = table_view_recall,
	.show = workspaces_show,
	.draw = workspaces_draw,
	.snapshot = workspaces_snapshot,
	.event = workspaces_event,
	.act = workspaces_act,
	.task = workspaces_task,
	.typed = workspaces_typed,
	.click = workspaces_click,
	.wheel = table_view_wheel,
	.filter = table_view_filter,
	.sort = table_view_sort,
	.status = table_view_status,
	.copy = workspaces_copy,
	.save = table_view_save,
};
