/*
 * holdings.c - shows Images, Volumes and Networks: what the engine holds, who uses it, removal by a plan.
 *
 * The engine is asked while the view is on screen: when it opens, and again after an event that can have changed the
 * list.  Sizes take the engine a while, so they come behind the list, and stay until `r`, or something new needs them.
 */
#include "views/holdings/holdings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>

#include "views/list.h"
#include "views/page.h"
#include "views/pen.h"
#include "views/table_view.h"

#define MEASURE_GAP_NS (30 * INT64_C(1000000000))

struct holdings_view {
	struct table table; /* first: table_view.h */
	enum holding_kind kind;
	struct arena mem, one_mem;
	const struct holdings *all; /* in mem; NULL: not told yet */
	const struct holdings *one; /* in one_mem: the image whose layers are known */
	struct held_row *rows;
	bool stale; /* something happened since it was asked for */
	bool up;    /* the engine was, in the last snapshot */
	uint64_t asked, one_asked;
	char one_id[80]; /* asked for, or known */
	bool measuring;  /* what is awaited are the sizes */
	int64_t measured_ns;
	uint64_t plan_asked;
	bool pruning;       /* of the plan only what is of this kind is meant */
	char plan[16];      /* that was asked about last */
	char left[240];     /* why something of it was left alone */
	struct str problem; /* why there is no list */
	bool detail;
	struct page page;
	char *shown; /* the row that the page is of */
	struct area body;
};
TABLE_COMES_FIRST(struct holdings_view);

/* ---- asking */

static uint64_t send_look(struct view *v, const char *id, bool measure)
{
	struct holdings_view *s = v->state;
	struct command *c = command_new(CMD_HOLDINGS);

	c->holdings.kind = s->kind;
	c->holdings.measure = measure;
	if (id)
		command_target(c, "", id, "");
	return app_send(v->app, c);
}

static void ask_for_list(struct view *v, bool measure)
{
	struct holdings_view *s = v->state;

	if (s->asked)
		return;
	s->stale = false;
	s->measuring = measure;
	s->asked = send_look(v, NULL, measure);
	app_dirty(v->app);
}

/* The image under the cursor, when its page is open. */
static void ask_for_layers(struct view *v)
{
	struct holdings_view *s = v->state;
	const struct table_row *r = table_current(&s->table);

	if (s->kind != HOLDING_IMAGES || !s->detail || !r || !strcmp(s->one_id, r->id))
		return;
	snprintf(s->one_id, sizeof s->one_id, "%s", r->id);
	s->one = NULL;
	s->one_asked = send_look(v, r->id, false);
}

static bool sizes_missing(const struct holdings_view *s)
{
	for (size_t i = 0; i < s->all->n; i++)
		if (s->all->item[i].bytes < 0 ||
			(s->kind == HOLDING_IMAGES && s->all->item[i].shared < 0))
			return true;
	return false;
}

static void take_holdings_list(struct view *v, const struct holdings *h)
{
	struct holdings_view *s = v->state;
	struct arena was = s->mem;
	struct held_row *old = s->rows;
	struct holdings *all;

	arena_init(&s->mem, 4096);
	all = holdings_copy(h, &s->mem);
	if (s->all)
		holdings_keep_sizes(all, s->all);
	s->all = all;
	s->rows = xcalloc(all->n + 1, sizeof *s->rows);
	table_begin(&s->table);
	for (size_t i = 0; i < all->n; i++) {
		s->rows[i] = (struct held_row){&all->item[i], clock_wall_ms()};
		table_add(&s->table,
			(struct table_row){
				.engine = "", .id = all->item[i].id, .item = &s->rows[i]});
	}
	table_end(&s->table);
	free(old);
	arena_release(&was);
}

static void take_held_image(struct view *v, const struct holdings *h)
{
	struct holdings_view *s = v->state;

	arena_release(&s->one_mem);
	arena_init(&s->one_mem, 1024);
	s->one = h->n ? holdings_copy(h, &s->one_mem) : NULL;
}

static void on_list(struct view *v, const struct event *e)
{
	struct holdings_view *s = v->state;
	int64_t now = clock_mono_ns();

	s->asked = 0;
	str_clear(&s->problem);
	if (!e->holdings) {
		str_adds(&s->problem, e->err.msg);
		return;
	}
	if (s->measuring)
		s->measured_ns = now;
	take_holdings_list(v, e->holdings);
	ask_for_layers(v);
	if (!s->measuring && s->kind != HOLDING_NETWORKS && sizes_missing(s) &&
		(!s->measured_ns || now - s->measured_ns > MEASURE_GAP_NS))
		ask_for_list(v, true);
}

/* ---- removing */

/* In the words of the list: what a plan takes as long as it is measured only here. */
static void fill_sizes(const struct holdings_view *s, struct clean_plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < s->all->n; k++)
			if (!strcmp(p->item[i].id, s->all->item[k].id))
				p->item[i].bytes = s->kind == HOLDING_NETWORKS
					? 0
					: holding_own_bytes(&s->all->item[k]);
}

static void say_nothing_to_remove(struct view *v, const struct clean_plan *p)
{
	struct holdings_view *s = v->state;

	if (!p->n)
		app_say(v->app, ROLE_DIM,
			s->pruning ? "No %s is unused, by the rules of clean-up."
				   : "The %s is no longer there.",
			holding_kind_one(s->kind));
	else if (p->n == 1)
		app_say(v->app, ROLE_WARN, "%s stays: %s.", p->item[0].name, p->item[0].keep);
	else
		app_say(v->app, ROLE_WARN, "All %zu stay.  %s: %s.", p->n, p->item[0].name,
			p->item[0].keep);
}

static void on_plan(struct view *v, const struct event *e)
{
	struct holdings_view *s = v->state;
	struct clean_plan *p;
	AUTO_ARENA struct arena mem = ARENA_INIT(4096);

	s->plan_asked = 0;
	if (!e->plan) {
		app_say(v->app, ROLE_BAD, "%s", e->err.msg);
		return;
	}
	p = clean_plan_copy(e->plan, &mem);
	clean_plan_only(p, holding_clean_type(s->kind));
	if (s->all)
		fill_sizes(s, p);
	if (clean_totals(p).marked) {
		snprintf(s->plan, sizeof s->plan, "%s", p->name);
		s->left[0] = '\0';
		app_confirm_clean(v->app, p);
	} else {
		say_nothing_to_remove(v, p);
	}
}

static void on_removed(struct view *v, const struct event *e)
{
	struct holdings_view *s = v->state;
	char bytes[FORMAT_MAX];

	s->plan[0] = '\0';
	table_unmark_all(&s->table);
	s->stale = true;
	if (e->err.kind)
		app_say(v->app, ROLE_BAD, "%s", e->err.msg);
	else if (*s->left)
		app_say(v->app, ROLE_WARN, "%zu removed.  %s", e->done, s->left);
	else
		app_say(v->app, ROLE_GOOD, "Removed %zu %s%s%s.", e->done,
			e->done == 1 ? holding_kind_one(s->kind) : holding_kind_name(s->kind),
			e->freed_bytes ? ", freed " : "",
			e->freed_bytes ? format_bytes(bytes, e->freed_bytes) : "");
}

static void ask_to_remove(struct view *v)
{
	struct holdings_view *s = v->state;
	size_t at = 0, hidden;
	const struct table_row *r;
	struct command *c;

	if (s->plan_asked || !s->all)
		return;
	c = command_new(CMD_CLEAN_PLAN);
	c->clean.type = (int)holding_clean_type(s->kind);
	table_marked(&s->table, &hidden);
	while ((r = table_next_marked(&s->table, &at)))
		command_target(c, "", r->id, held_item(r)->name);
	r = table_current(&s->table);
	if (!c->ntargets && r)
		command_target(c, "", r->id, held_item(r)->name);
	if (!c->ntargets) {
		command_free(c);
		return;
	}
	if (hidden)
		app_say(v->app, ROLE_WARN, "%zu marked but hidden: they stay.", hidden);
	s->pruning = false;
	s->plan_asked = app_send(v->app, c);
}

static void ask_to_prune(struct view *v)
{
	struct holdings_view *s = v->state;
	struct command *c;

	if (s->plan_asked || !s->all)
		return;
	c = command_new(CMD_CLEAN_PLAN);
	c->clean.foreign = true;
	s->pruning = true;
	s->plan_asked = app_send(v->app, c);
	app_say(v->app, ROLE_TEXT, "Looking for unused ones\u2026");
}

/* ---- what comes */

/* Of a container's events those that change who uses what. */
static bool changes_list(const struct engine_event *ev)
{
	static const char *const words[] = {
		"create", "destroy", "start", "die", "rename", "connect", "disconnect"};

	if (strcmp(ev->type, "container") != 0)
		return true;
	for (size_t i = 0; i < COUNT(words); i++)
		if (!strcmp(ev->action, words[i]))
			return true;
	return false;
}

static bool is_of_our_plan(const struct holdings_view *s, const struct event *e)
{
	return *s->plan && e->plan_name && !strcmp(e->plan_name, s->plan);
}

static void holdings_event(struct view *v, const struct event *e)
{
	struct holdings_view *s = v->state;

	switch (e->kind) {
	case EV_ENGINE: s->stale |= changes_list(&e->engine_event); return;
	case EV_HOLDINGS:
		if (e->id && e->id == s->asked) {
			on_list(v, e);
		} else if (e->id && e->id == s->one_asked) {
			s->one_asked = 0;
			if (e->holdings)
				take_held_image(v, e->holdings);
		}
		break;
	case EV_CLEAN_PLAN:
		if (e->id && e->id == s->plan_asked)
			on_plan(v, e);
		break;
	case EV_RESULT: /* refused before it began */
		if (e->id && e->id == s->plan_asked)
			s->plan_asked = 0;
		break;
	case EV_CLEAN_ITEM:
		if (is_of_our_plan(s, e) && clean_ended(e->outcome->state) &&
			e->outcome->state > CLEAN_GONE)
			snprintf(s->left, sizeof s->left, "%s", e->outcome->said);
		break;
	case EV_CLEAN_END:
		if (is_of_our_plan(s, e))
			on_removed(v, e);
		break;
	default: return;
	}
	app_dirty(v->app);
}

static void holdings_snapshot(struct view *v, const struct snapshot *snap)
{
	struct holdings_view *s = v->state;
	bool up = snap->engine.phase == ENGINE_UP;

	s->stale |= up && !s->up;
	s->up = up;
	if (s->stale && up)
		ask_for_list(v, false);
}

/* ---- drawing */

static void draw_holdings_head(struct view *v, struct canvas *c, struct area a)
{
	struct holdings_view *s = v->state;
	uint64_t bytes = 0;
	size_t unused = 0;
	char text[160], n[FORMAT_MAX];
	int x = a.x + 1;

	if (!s->all) {
		canvas_clip(c, x, a.y, a.w - 2, s->problem.len ? STYLE(WARN) : STYLE(BUSY),
			s->problem.len ? s->problem.s : "Looking\u2026");
		return;
	}
	for (size_t i = 0; i < s->all->n; i++) {
		int64_t own = holding_own_bytes(&s->all->item[i]);

		unused += !s->all->item[i].nusers;
		bytes += own > 0 ? (uint64_t)own : 0;
	}
	snprintf(text, sizeof text, "%zu %s", s->all->n,
		s->all->n == 1 ? holding_kind_one(s->kind) : holding_kind_name(s->kind));
	x += canvas_clip(c, x, a.y, a.w - 2, STYLE(STRONG), text);
	snprintf(text, sizeof text, " \u00b7 %zu without a container", unused);
	x += canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(DIM), text);
	if (bytes && s->kind != HOLDING_NETWORKS) {
		snprintf(text, sizeof text, " \u00b7 %s%s", format_bytes(n, bytes),
			s->kind == HOLDING_IMAGES ? " in layers of their own" : "");
		x += canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(TEXT), text);
	}
	if (s->asked && s->measuring)
		canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(BUSY), "  measuring\u2026");
	else if (s->problem.len)
		canvas_clip(c, x + 2, a.y, a.x + a.w - x - 2, STYLE(WARN), s->problem.s);
}

static void draw_holding(struct view *v, struct canvas *c, struct area a)
{
	struct holdings_view *s = v->state;
	const struct table_row *r = table_current(&s->table);
	struct pen p = pen_on(c, (struct area){a.x + 2, a.y + 1, a.w - 4, a.h - 1}, s->page.scroll);
	char text[200];

	canvas_hline(c, a.x, a.y, a.w, STYLE(RULE));
	if (!r)
		return;
	snprintf(text, sizeof text, " %s %.150s ", holding_kind_one(s->kind),
		held_name(s->kind, held_item(r)));
	canvas_clip(c, a.x + 1, a.y, a.w - 2, STYLE(STRONG), text);
	held_write_page(&p, s->kind, held_item(r),
		s->one && !strcmp(s->one_id, r->id) ? &s->one->item[0] : NULL);
	s->page.length = p.y;
	s->page.seen = a.h - 1;
}

static void holdings_draw(struct view *v, struct canvas *c, struct area a)
{
	struct holdings_view *s = v->state;
	struct area list = {a.x, a.y + 1, a.w, a.h - 1};
	const struct table_row *r = table_current(&s->table);

	s->body = a;
	draw_holdings_head(v, c, a);
	if (!s->all)
		return;
	if (s->detail && r &&
		!page_draw_below(&s->page, &s->shown, r->id, v, c, &list, 5, draw_holding))
		return;
	table_draw(&s->table, c, list);
}

/* ---- keys */

static bool act_on_list(struct view *v, enum action a)
{
	struct holdings_view *s = v->state;

	switch (a) {
	case DO_ENTER: s->detail = !s->detail; return true;
	case DO_REFRESH:
		s->measured_ns = 0;
		ask_for_list(v, s->kind != HOLDING_NETWORKS);
		return false; /* and whatever else the app asks for */
	case DO_REMOVE_HELD: ask_to_remove(v); return true;
	case DO_PRUNE: ask_to_prune(v); return true;
	case DO_BACK:
		if (s->detail && !s->table.filter) {
			s->detail = false;
			return true;
		}
		return table_view_back(v);
	case DO_PAGE_UP:
	case DO_PAGE_DOWN:
		if (s->detail)
			return page_act(&s->page, v, a);
		break;
	default: break;
	}
	if (s->detail && s->body.h < SPLIT_MIN_ROWS && page_act(&s->page, v, a))
		return true;
	return table_act(&s->table, a);
}

static bool holdings_act(struct view *v, enum action a)
{
	struct holdings_view *s = v->state;
	bool done;

	app_dirty(v->app);
	if (s->table.choosing)
		return table_act(&s->table, a);
	done = act_on_list(v, a);
	ask_for_layers(v);
	return done;
}

static void holdings_click(struct view *v, int x, int y, bool twice)
{
	struct holdings_view *s = v->state;

	if (table_click(&s->table, s->body.x + x, s->body.y + y) && twice && y > 1)
		s->detail = !s->detail;
	ask_for_layers(v);
	app_dirty(v->app);
}

static bool holdings_copy_row(struct view *v, struct str *out)
{
	struct holdings_view *s = v->state;
	const struct table_row *r = table_current(&s->table);

	if (r)
		str_adds(out, *held_item(r)->name ? held_item(r)->name : r->id);
	return r != NULL;
}

static void show_kind(struct view *v, enum holding_kind k, const char *empty)
{
	struct holdings_view *s = v->state;

	s->kind = k;
	s->up = true;
	table_init(&s->table, held_columns[k].column, held_columns[k].n, "name");
	s->table.empty = empty;
	arena_init(&s->mem, 0);
	arena_init(&s->one_mem, 0);
	str_init(&s->problem);
	ask_for_list(v, false);
}

static void open_images(struct view *v)
{
	show_kind(v, HOLDING_IMAGES,
		"The engine has no image.  P pulls one, B builds one; so do `berth image pull` and "
		"`berth image build`.");
}

static void open_volumes(struct view *v)
{
	show_kind(v, HOLDING_VOLUMES, "The engine has no volume.");
}

static void open_networks(struct view *v)
{
	show_kind(v, HOLDING_NETWORKS, "The engine has no network.");
}

static void holdings_close(struct view *v)
{
	struct holdings_view *s = v->state;

	table_release(&s->table);
	arena_release(&s->mem);
	arena_release(&s->one_mem);
	str_release(&s->problem);
	free(s->rows);
	free(s->shown);
}

#define HOLDINGS_VIEW(id, word)                             \
	const struct view_ops word##_view = {               \
		.name = #word,                              \
		.context = IN_##id,                         \
		.state_size = sizeof(struct holdings_view), \
		.open = open_##word,                        \
		.close = holdings_close,                    \
		.draw = holdings_draw,                      \
		.snapshot = holdings_snapshot,              \
		.event = holdings_event,                    \
		.act = holdings_act,                        \
		.click = holdings_click,                    \
		.wheel = table_view_wheel,                  \
		.filter = table_view_filter,                \
		.sort = table_view_sort,                    \
		.status = table_view_status,                \
		.copy = holdings_copy_row,                  \
		.save = table_view_save,                    \
	}

HOLDINGS_VIEW(IMAGES, images);
HOLDINGS_VIEW(VOLUMES, volumes);
HOLDINGS_VIEW(NETWORKS, networks);
