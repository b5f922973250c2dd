/* workspace_page.c - shows the details of one workspace and its checkpoints: compare, restore, drop. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/hash.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/str.h>
#include <berth/text.h>

#include "views/list.h"
#include "views/pen.h"
#include "views/table_view.h"
#include "views/workspaces/flags_work.h"
#include "views/workspaces/workspaces.h"

#define FLAGS_NS (10 * (int64_t)1000000000) /* they are not looked for more often */
#define LIMIT_BAR 24
#define PLAN_LINES 2000 /* of what a restore changes, at most so many are listed */

struct point_row {
	const struct checkpoint_info *p;
	int64_t now_ms;
};

struct workspace_page {
	struct table table; /* first: table_view.h */
	enum workspace_kind kind;
	char name[WORKSPACE_NAME_MAX + 1], path[WORKSPACE_PATH_MAX];
	struct arena mem; /* of one */
	struct overview_one one;
	bool known;
	struct str problem;
	struct point_row *rows;
	uint64_t looking;
	int64_t looked_ns;
	struct flags_work *flags; /* NULL: not looked for yet */
	uint64_t flagging;        /* 0: not asked */
	uint64_t flags_stamp;     /* of what was known when they were asked for: stamp_flags */
	int64_t flags_ns;
	char restoring[CHECKPOINT_NAME_MAX +
		1]; /* the plan that is being made is for this; "": none */
	struct area body;
};
TABLE_COMES_FIRST(struct workspace_page);

/* --- columns --- */

static const struct point_row *point_of(const struct table_row *r)
{
	return r->item;
}

static void point_name_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = point_of(r)->p->damaged ? STYLE(BAD) : STYLE(STRONG);
	snprintf(buf, cap, "%s", point_of(r)->p->name);
}

static int point_name_compare(const struct table_row *a, const struct table_row *b)
{
	return text_natural(point_of(a)->p->name, point_of(b)->p->name);
}

static void point_made_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	(void)st;
	if (!point_of(r)->p->damaged)
		workspace_row_age(buf, cap, point_of(r)->now_ms, point_of(r)->p->made_ns);
}

static int point_made_compare(const struct table_row *a, const struct table_row *b)
{
	uint64_t x = point_of(a)->p->serial, y = point_of(b)->p->serial;

	return x < y ? -1 : x > y;
}

static void point_files_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	char n[FORMAT_MAX];

	(void)st;
	if (!point_of(r)->p->damaged)
		snprintf(buf, cap, "%s", format_count(n, point_of(r)->p->files));
}

static void point_size_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	char n[FORMAT_MAX];

	(void)st;
	if (!point_of(r)->p->damaged)
		snprintf(buf, cap, "%s", format_bytes(n, point_of(r)->p->bytes));
}

static void point_stored_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	char n[FORMAT_MAX];

	*st = STYLE(DIM);
	if (!point_of(r)->p->damaged)
		snprintf(buf, cap, "%s", format_bytes(n, point_of(r)->p->stored));
}

static void point_note_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct checkpoint_info *p = point_of(r)->p;

	*st = STYLE(WARN);
	if (p->damaged) {
		*st = STYLE(BAD);
		snprintf(buf, cap, "damaged");
	} else if (p->moving) {
		snprintf(buf, cap, "%llu changed while read", (unsigned long long)p->moving);
	} else if (p->unread) {
		snprintf(buf, cap, "%llu not readable", (unsigned long long)p->unread);
	} else if (!p->synced) {
		snprintf(buf, cap, "not synced");
	} else if (p->mounts) {
		*st = STYLE(DIM);
		snprintf(buf, cap, "without %llu mount%s", (unsigned long long)p->mounts,
			p->mounts == 1 ? "" : "s");
	}
}

/* clang-format off */
static const struct table_column columns[] = {
	{.name = "checkpoint", .head = "CHECKPOINT", .min = 16, .ideal = 28, .grow = 2,
		.text = point_name_text, .compare = point_name_compare},
	{.name = "made", .head = "MADE", .min = 8, .ideal = 9, .right = true, .descending = true,
		.text = point_made_text, .compare = point_made_compare},
	{.name = "files", .head = "FILES", .min = 7, .ideal = 8, .keep = 20, .right = true,
		.text = point_files_text},
	{.name = "size", .head = "SIZE", .min = 6, .ideal = 6, .right = true, .text = point_size_text},
	{.name = "stored", .head = "STORED", .min = 6, .ideal = 6, .keep = 30, .right = true,
		.text = point_stored_text},
	{.name = "note", .head = "", .min = 7, .ideal = 20, .grow = 1, .keep = 10, .text = point_note_text},
};
/* clang-format on */

/* --- asking --- */

static void look_at_workspace(struct view *v)
{
	struct workspace_page *s = v->state;
	struct command *c;

	if (s->looking)
		return;
	c = command_new(CMD_WORKSPACES);
	c->workspaces.whole = true;
	c->workspaces.seen = s->known ? s->one.stamp : 0;
	c->workspaces.kind = s->kind;
	c->workspaces.name = arena_strdup(&c->mem, s->name);
	s->looked_ns = clock_mono_ns();
	s->looking = app_send(v->app, c);
}

/* The same as long as another look would find nothing new.  While an agent writes, something always changes: then only
 * what the keeper sees counts. */
static uint64_t stamp_flags(const struct overview_one *one)
{
	const struct overview_row *r = &one->row;
	uint64_t hash = hash_more(HASH_START, &r->flags, sizeof r->flags);

	return r->live ? hash_more(hash, &r->newest_ns, sizeof r->newest_ns) : one->stamp;
}

/* Once, and again when something is known to have changed. */
static void look_at_flags(struct view *v)
{
	struct workspace_page *s = v->state;
	struct command *c;

	if (!s->known || s->flagging || s->one.row.usage.info.unmounted ||
		s->flags_stamp == stamp_flags(&s->one) ||
		(s->flags && clock_mono_ns() - s->flags_ns < FLAGS_NS))
		return;
	c = command_new(CMD_WORK);
	command_work(c, &flags_work_new(&s->one)->work);
	s->flags_stamp = stamp_flags(&s->one);
	s->flagging = app_send(v->app, c);
}

static void take_flags(struct workspace_page *s, const struct event *e)
{
	struct view_work *w = e->work ? view_work_take(e->work) : NULL;

	s->flagging = 0;
	s->flags_ns = clock_mono_ns();
	if (!w)
		return;
	flags_work_drop(s->flags);
	s->flags = (struct flags_work *)w;
}

static void rebuild_points(struct workspace_page *s)
{
	table_begin(&s->table);
	for (size_t i = 0; i < s->one.npoints; i++)
		table_add(&s->table,
			(struct table_row){
				.engine = "", .id = s->one.points[i].name, .item = &s->rows[i]});
	table_end(&s->table);
}

static void take_workspace(struct workspace_page *s, const struct overview_one *one)
{
	struct arena was = s->mem;
	struct point_row *old = s->rows;
	struct checkpoint_info *points;

	arena_init(&s->mem, 4096);
	points = arena_array(&s->mem, one->npoints + 1, sizeof *points);
	memcpy(points, one->points, one->npoints * sizeof *points);
	s->one = *one;
	s->one.points = points;
	s->one.path = arena_strdup(&s->mem, one->path);
	s->one.start = arena_strdup(&s->mem, one->start);
	s->one.pending = arena_strdup(&s->mem, one->pending);
	s->one.row.branch = arena_strdup(&s->mem, one->row.branch);
	s->known = true;
	str_clear(&s->problem);
	s->rows = xcalloc(one->npoints + 1, sizeof *s->rows);
	for (size_t i = 0; i < one->npoints; i++)
		s->rows[i].p = &points[i];
	rebuild_points(s);
	free(old);
	arena_release(&was);
}

static void page_event(struct view *v, const struct event *e)
{
	struct workspace_page *s = v->state;

	if (e->kind == EV_WORKED && e->id && e->id == s->flagging) {
		take_flags(s, e);
		app_dirty(v->app);
		return;
	}
	if (!e->id || e->id != s->looking)
		return;
	s->looking = 0;
	if (e->workspace)
		take_workspace(s, e->workspace);
	else if (e->err.kind) {
		str_clear(&s->problem);
		str_adds(&s->problem, e->err.msg);
	}
	look_at_flags(v);
	app_dirty(v->app);
}

static void page_snapshot(struct view *v, const struct snapshot *snap)
{
	struct workspace_page *s = v->state;

	(void)snap;
	if (clock_mono_ns() - s->looked_ns >= WORKSPACE_LOOK_NS)
		look_at_workspace(v);
	look_at_flags(v);
}

/* --- drawing --- */

static struct workspace_row row_of_page(struct view *v)
{
	struct workspace_page *s = v->state;
	struct workspace_row r = {.w = &s->one.row,
		.now_ms = clock_wall_ms(),
		.limits = workspace_row_limits(app_settings(v->app), &s->one.row)};
	AUTO_FREE char *dir = xstrdup(s->one.path);
	struct overview o = {.dir = dir, .n = 1, .rows = &s->one.row};

	if (strlen(dir) > strlen(s->path))
		dir[strlen(dir) - strlen(s->path) - 1] = '\0';
	workspaces_hold(&o, app_snapshot(v->app), &r, 1);
	return r;
}

static void draw_git_facts(const struct workspace_page *s, struct pen *p, int64_t now_ms)
{
	const struct workspace_git *g = &s->one.row.git;
	char text[256], words[160], age[FORMAT_MAX + 8];

	if (*s->one.row.branch)
		pen_fact(p, "Branch", STYLE(TEXT), s->one.row.branch);
	if (!g->looked_ns)
		return;
	repo_words(&g->state, words, sizeof words);
	workspace_row_age(age, sizeof age, now_ms, g->looked_ns);
	snprintf(text, sizeof text, "%s, seen %s", words, age);
	pen_fact(p, "Git", repo_has_work(&g->state) ? STYLE(WARN) : STYLE(TEXT), text);
}

/* "412M of 1.0G", and that as a bar where there is room. */
static void draw_limit_fact(struct pen *p, const char *key, const char *text, double fill)
{
	int y = pen_row(p), x = p->a.x + p->x + p->key_width + (int)strlen(text) + 1;
	int w = p->a.x + p->x + p->w - x;

	pen_fact(p, key, fill > 1 ? STYLE(BAD) : STYLE(TEXT), text);
	if (y >= 0 && w >= 6)
		meter_level(p->c, x, y, w < LIMIT_BAR ? w : LIMIT_BAR, fill, 0.8, 0.95);
}

static void draw_limits(
	const struct workspace_page *s, struct pen *p, const struct workspace_row *r)
{
	const struct workspace_limits *l = &r->limits;
	bool known = r->w->usage.counted_ns;
	char text[160], used[FORMAT_MAX], most[FORMAT_MAX];

	snprintf(text, sizeof text, "%s of %s on disk, %s",
		known ? format_bytes(used, r->w->usage.disk) : "unknown",
		l->bytes ? format_bytes(most, l->bytes) : "any size",
		s->one.row.usage.info.unmounted ? "its image is not mounted"
						: workspace_limit_kind(s->one.kept));
	if (l->bytes)
		draw_limit_fact(p, "Limits", text, workspace_fill_bytes(r));
	else
		pen_fact(p, "Limits", STYLE(TEXT), text);
	snprintf(text, sizeof text, "%s of %s files",
		known ? format_count(used, workspace_names(&r->w->usage)) : "unknown",
		l->files ? format_count(most, l->files) : "any number of");
	if (l->files)
		draw_limit_fact(p, "", text, workspace_fill_files(r));
	else
		pen_fact(p, "", STYLE(TEXT), text);
	if (!r->w->nheld)
		return;
	if (s->one.keeper)
		snprintf(text, sizeof text, "counts it (process %d), over the limit: %s",
			(int)s->one.keeper, workspace_breach_name(l->breach));
	else
		snprintf(
			text, sizeof text, "keeper lost: nothing counts it, `berth up` starts one");
	pen_fact(p, "Keeper", s->one.keeper ? STYLE(TEXT) : STYLE(BAD), text);
}

struct flag_drawing {
	struct pen *p;
	bool any;
};

static void draw_flag(void *ctx, const char *line)
{
	struct flag_drawing *d = ctx;

	pen_fact(d->p, d->any ? "" : "Flags", STYLE(WARN), line);
	d->any = true;
}

static void draw_flags(const struct workspace_page *s, struct pen *p, int64_t now_ms)
{
	struct flag_drawing d = {p, false};

	if (!s->flags || s->flags->err.sys == ENOENT) /* it is gone, which is said above */
		return;
	if (s->flags->err.kind)
		draw_flag(&d, s->flags->err.msg);
	else if (!flags_lines(&s->flags->flags, now_ms, draw_flag, &d))
		pen_fact(p, "Flags", STYLE(DIM), "none");
}

static void draw_workspace_facts(struct view *v, struct pen *p)
{
	struct workspace_page *s = v->state;
	const struct workspace_row r = row_of_page(v);
	const struct workspace_usage *u = &s->one.row.usage;
	char text[256], bytes[FORMAT_MAX], count[FORMAT_MAX], age[FORMAT_MAX + 8];
	struct style st;
	enum glyph sign;
	const char *word = workspace_row_word(&r, &st, &sign);

	if (s->problem.len)
		pen_fact(p, "Problem", STYLE(WARN), s->problem.s);
	if (*s->one.pending) {
		snprintf(text, sizeof text,
			"a restore of %s was interrupted: restore it again to finish",
			s->one.pending);
		pen_fact(p, "Problem", STYLE(BAD), text);
	}
	snprintf(text, sizeof text, "%s%s%s%s%s", word, r.holder.name ? ", held by " : "",
		r.holder.name ? r.holder.name : "",
		r.holder.name && !r.holder.runs ? ", which does not run" : "",
		r.holder.more ? ", and others" : "");
	pen_fact(p, "State", r.holder.runs || u->info.state ? st : STYLE(TEXT), text);
	if (u->counted_ns) {
		snprintf(text, sizeof text, "%s in %s files", format_bytes(bytes, u->bytes),
			format_count(count, u->files));
		workspace_row_age(age, sizeof age, r.now_ms, u->counted_ns);
		snprintf(text + strlen(text), sizeof text - strlen(text), ", counted %s", age);
		if (u->unread)
			snprintf(text + strlen(text), sizeof text - strlen(text),
				"; %llu directories could not be read",
				(unsigned long long)u->unread);
		pen_fact(p, "Size", STYLE(TEXT), text);
		workspace_row_age(text, sizeof text, r.now_ms, u->used_ns);
		pen_fact(p, "Last use", STYLE(TEXT), text);
	}
	draw_limits(s, p, &r);
	draw_flags(s, p, r.now_ms);
	if (*s->one.start)
		pen_fact(p, "Forked from", STYLE(TEXT), s->one.start);
	draw_git_facts(s, p, r.now_ms);
	pen_fact(p, "Path", STYLE(DIM), s->one.path);
}

static void page_draw_workspace(struct view *v, struct canvas *c, struct area a)
{
	struct workspace_page *s = v->state;
	struct pen p = pen_on(c, (struct area){a.x + 1, a.y + 1, a.w - 2, a.h - 1}, 0);
	int64_t now = clock_wall_ms();
	int top;

	s->body = a;
	canvas_clip(c, a.x + 1, a.y, a.w - 2, STYLE(STRONG), s->path);
	if (!s->known) {
		canvas_clip(c, a.x + 1, a.y + 1, a.w - 2,
			s->problem.len ? STYLE(WARN) : STYLE(BUSY),
			s->problem.len ? s->problem.s : "Looking\u2026");
		return;
	}
	p.key_width = 12;
	draw_workspace_facts(v, &p);
	top = 2 + p.y;
	for (size_t i = 0; i < s->one.npoints; i++)
		s->rows[i].now_ms = now;
	if (a.h - top >= 2)
		table_draw(&s->table, c, (struct area){a.x, a.y + top, a.w, a.h - top});
}

/* --- acting --- */

static const struct checkpoint_info *point_here(struct view *v)
{
	struct workspace_page *s = v->state;
	const struct table_row *r = table_current(&s->table);

	if (!r)
		app_say(v->app, ROLE_DIM, "There is no checkpoint yet: S makes one.");
	return r ? point_of(r)->p : NULL;
}

/* Of two checkpoints, or what changed since the one under the cursor. */
static void diff_points(struct view *v)
{
	struct workspace_page *s = v->state;
	size_t hidden, at = 0, marked = table_marked(&s->table, &hidden);
	const struct checkpoint_info *p = marked ? NULL : point_here(v), *pair[2] = {0};
	AUTO_FREE char *one = NULL, *two = NULL;
	const struct table_row *r;

	for (size_t n = 0; marked == 2 && n < 2 && (r = table_next_marked(&s->table, &at));)
		pair[n++] = point_of(r)->p;
	if (pair[1]) {
		bool swap = pair[0]->serial > pair[1]->serial;

		one = xasprintf("%s@%s", s->path, pair[swap]->name);
		two = xasprintf("%s@%s", s->path, pair[!swap]->name);
		workspace_run(v, true, (const char *const[]){"diff", one, two, NULL});
	} else if (p) {
		one = xasprintf("%s@%s", s->path, p->name);
		workspace_run(v, true, (const char *const[]){"diff", one, s->path, NULL});
	} else if (marked) {
		app_say(v->app, ROLE_DIM, "Mark two checkpoints to compare, or none.");
	}
}

/* First what it would change: from what is there now to the checkpoint. */
static void plan_restore(struct view *v)
{
	struct workspace_page *s = v->state;
	const struct checkpoint_info *p = point_here(v);
	AUTO_FREE char *point = NULL;

	if (!p)
		return;
	if (p->damaged) {
		app_say(v->app, ROLE_BAD, "%s is damaged: it cannot be restored.", p->name);
		return;
	}
	snprintf(s->restoring, sizeof s->restoring, "%s", p->name);
	point = xasprintf("%s@%s", s->path, p->name);
	app_say(v->app, ROLE_TEXT, "Working out what that would change\u2026");
	app_run_task(v,
		&(struct app_task){"restore, its plan",
			(const char *const[]){"berth-image", "workspace", "diff", "--stat", "--",
				s->path, point, NULL},
			false});
}

static const char *effect_of_restore(struct view *v, struct str *text, const char *sum)
{
	const struct workspace_row r = row_of_page(v);

	str_addf(text, "%s.\n", sum);
	if (r.holder.runs)
		str_addf(text, "%s runs with it: what it writes meanwhile may be lost.\n",
			r.holder.name);
	str_adds(text,
		"What is there now is saved first, as checkpoint before-TIME: restoring that undoes this.");
	return text->s;
}

static void ask_restore(struct view *v, const struct task *t)
{
	struct workspace_page *s = v->state;
	AUTO_FREE char *copy = xstrdup(t->text.s), *title = NULL;
	AUTO_FREE const char **item = xcalloc(PLAN_LINES, sizeof *item);
	AUTO_STR struct str effect = STR_INIT;
	char *rest = NULL;
	const char *sum = "";
	size_t n = 0;

	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		sum = line;
		if (n < PLAN_LINES)
			item[n++] = line;
	}
	if (n && item[n - 1] == sum)
		n--; /* the last one is the sum */
	title = xasprintf("Restore %s to %s", s->path, s->restoring);
	workspace_confirm(v,
		&(struct dialog_ask){.title = title,
			.where = "what restoring does to it:",
			.effect = effect_of_restore(v, &effect, sum),
			.nitems = n,
			.items = item,
			.verb = "Restore",
			.word = s->name,
			.danger = true},
		(const char *const[]){"restore", s->path, s->restoring, NULL});
}

static bool page_task(struct view *v, const struct task *t)
{
	struct workspace_page *s = v->state;

	if (!*s->restoring || strcmp(t->title, "restore, its plan") != 0) {
		look_at_workspace(v);
		return false;
	}
	if (t->code == 0 && t->text.len) {
		ask_restore(v, t);
		app_say(v->app, ROLE_TEXT, "%s", "");
	} else if (t->code == 0) {
		app_say(v->app, ROLE_DIM,
			"It holds exactly what is in %s: there is nothing to restore.",
			s->restoring);
	}
	s->restoring[0] = '\0';
	return t->code == 0;
}

static void ask_drop(struct view *v)
{
	struct workspace_page *s = v->state;
	const struct checkpoint_info *p = point_here(v);
	AUTO_FREE char *title = NULL;

	if (!p)
		return;
	title = xasprintf("Drop the checkpoint %s of %s", p->name, s->path);
	workspace_confirm(v,
		&(struct dialog_ask){.title = title,
			.where = "on this machine",
			.effect =
				"This cannot be undone.  The workspace and other checkpoints stay.",
			.verb = "Drop",
			.word = "drop",
			.danger = true},
		(const char *const[]){"drop", s->path, p->name, NULL});
}

static bool page_typed(struct view *v, const char *text, bool done, struct err *e)
{
	struct workspace_page *s = v->state;

	(void)e;
	if (done)
		workspace_make_checkpoint(v, s->path, text);
	return true;
}

static bool page_act_workspace(struct view *v, enum action a)
{
	struct workspace_page *s = v->state;

	app_dirty(v->app);
	if (s->table.choosing)
		return table_act(&s->table, a);
	switch (a) {
	case DO_ENTER:
	case DO_DIFF: diff_points(v); return true;
	case DO_CHECKPOINT: workspace_ask_checkpoint(v, s->name); return true;
	case DO_RESTORE: plan_restore(v); return true;
	case DO_DROP: ask_drop(v); return true;
	case DO_VERIFY_KEPT:
		workspace_run(v, true, (const char *const[]){"verify", s->path, NULL});
		return true;
	case DO_BACK: return table_view_back(v);
	default: return table_act(&s->table, a);
	}
}

static void page_open(struct view *v)
{
	struct workspace_page *s = v->state;
	const struct workspace_seed *seed = v->seed;

	s->kind = seed->kind;
	snprintf(s->name, sizeof s->name, "%s", seed->name);
	workspace_path(s->path, s->kind, s->name);
	table_init(&s->table, columns, COUNT(columns), NULL);
	s->table.empty = "There are no checkpoints yet: S saves what it holds now.";
	str_init(&s->problem);
	arena_init(&s->mem, 0);
	look_at_workspace(v);
	if (seed->said)
		app_say(v->app, ROLE_TEXT, "%s", seed->said);
}

static void page_close(struct view *v)
{
	struct workspace_page *s = v->state;

	table_release(&s->table);
	arena_release(&s->mem);
	str_release(&s->problem);
	flags_work_drop(s->flags);
	free(s->rows);
}

static void page_click(struct view *v, int x, int y, bool twice)
{
	struct workspace_page *s = v->state;

	if (table_click(&s->table, s->body.x + x, s->body.y + y) && twice)
		diff_points(v);
	app_dirty(v->app);
}

static bool page_copy(struct view *v, struct str *out)
{
	struct workspace_page *s = v->state;

	str_adds(out, s->known ? s->one.path : s->path);
	return true;
}

const struct view_ops workspace_view = {
	.name = "workspace",
	.context = IN_WORKSPACE,
	.state_size = sizeof(struct workspace_page),
	.open = page_open,
	.close = page_close,
	.draw = page_draw_workspace,
	.snapshot = page_snapshot,
	.event = page_event,
	.act = page_act_workspace,
	.task = page_task,
	.typed = page_typed,
	.click = page_click,
	.wheel = table_view_wheel,
	.filter = table_view_filter,
	.sort = table_view_sort,
	.status = table_view_status,
	.copy = page_copy,
	.save = table_view_save,
};
