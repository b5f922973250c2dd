/* agents.c - one row per agent, its tools and helpers below it, and what was asked against what is. */
#include "views/agents/agents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "app/app.h"
#include "views/audit/audit.h"
#include "views/journal.h"
#include "views/list.h"
#include "views/logs/logs.h"
#include "views/pen.h"

#define SPLIT_MIN_ROWS 15 /* below this the detail takes the whole body */

struct agents {
	struct table table;
	struct table_column *columns; /* ours: how wide names are depends on them */
	int longest;                  /* id or name of a tool, in columns */
	struct moment moment;
	struct agent_row *rows;
	size_t nrows, rows_cap;
	enum { CLOSED, SPLIT, FULL } open;
	struct agent_pane pane;
	char *shown; /* the agent the pane is of: its container's name */
	struct area body;
	int split_y; /* first row of the detail, relative to the body */
};

/* Rows. */

static void add_agent(struct agents *s, const struct agent *a)
{
	struct agent_row *r = &s->rows[s->nrows++];

	*r = (struct agent_row){.item = {.c = a->container, .moment = &s->moment}, .a = a};
	table_add(&s->table,
		(struct table_row){
			.engine = "", .id = a->name, .item = r, .stale = s->moment.lost});
}

static void add_container(struct agents *s, const struct container *c, int depth)
{
	struct agent_row *r = &s->rows[s->nrows++];

	*r = (struct agent_row){.item = {.c = c, .moment = &s->moment}};
	table_add(&s->table,
		(struct table_row){.engine = c->engine,
			.id = c->id,
			.item = r,
			.depth = (uint8_t)depth,
			.stale = s->moment.lost});
}

static bool is_helper(const struct container *c)
{
	return *c->role && strcmp(c->role, "agent") != 0;
}

static bool has_agent(const struct snapshot *snap, const char *id)
{
	for (size_t i = 0; i < snap->nagents; i++)
		if (!strcmp(snap->agents[i].id, id))
			return true;
	return false;
}

static void widen_names(struct agents *s, const char *name, int more)
{
	int w = text_width(name, strlen(name)) + more;

	s->longest = w > s->longest ? w : s->longest;
}

static void rebuild_agents(struct agents *s, const struct snapshot *snap)
{
	s->rows = mem_grow(
		s->rows, &s->rows_cap, snap->nagents + snap->ncontainers + 1, sizeof *s->rows);
	s->nrows = 0;
	s->longest = 0;
	table_begin(&s->table);
	for (size_t i = 0; i < snap->nagents; i++) {
		const struct agent *a = &snap->agents[i];

		add_agent(s, a);
		widen_names(s, a->id, 2);
		/* Two agents of one id have different containers; their tools are the first's. */
		if (i && !strcmp(snap->agents[i - 1].id, a->id))
			continue;
		for (size_t k = 0; k < snap->ncontainers; k++) {
			const struct container *c = &snap->containers[k];

			if (is_helper(c) && !strcmp(c->agent, a->id)) {
				add_container(s, c, 1);
				widen_names(s, c->name, 4);
			}
		}
	}
	/* Tools that belong to no agent: run by a person, or kept warm. */
	for (size_t k = 0; k < snap->ncontainers; k++)
		if (is_helper(&snap->containers[k]) &&
			!has_agent(snap, snap->containers[k].agent)) {
			add_container(s, &snap->containers[k], 0);
			widen_names(s, snap->containers[k].name, 2);
		}
	table_end(&s->table);
}

/* Rows must not outlive the snapshot they point into. */
static void agents_snapshot(struct view *v, const struct snapshot *snap)
{
	struct agents *s = v->state;

	s->moment = moment_of(v->app, snap);
	rebuild_agents(s, snap);
}

static const struct agent_row *current_row(struct view *v)
{
	struct agents *s = v->state;
	const struct table_row *r = table_current(&s->table);

	return r ? r->item : NULL;
}

struct agents_chosen agents_chosen(struct view *v)
{
	struct agents *s = v->state;
	const struct agent_row *at = current_row(v);
	struct agents_chosen k = {0};
	const struct table_row *r;
	size_t i = 0;

	k.a = mem_grow(k.a, &k.cap, s->nrows + 1, sizeof *k.a);
	if (table_marked(&s->table, &k.hidden)) {
		while ((r = table_next_marked(&s->table, &i)))
			if (((const struct agent_row *)r->item)->a)
				k.a[k.n++] = ((const struct agent_row *)r->item)->a;
	} else if (at && at->a) {
		k.a[k.n++] = at->a;
	}
	return k;
}

/* Drawing. */

static const char *why_no_agents(const struct snapshot *snap)
{
	if (!snap->listed)
		return snap->engine.phase == ENGINE_UP ? "Loading containers…"
						       : "No engine has answered yet.";
	return "No agent is up.  `berth -c FILE` shows those of a team file here.";
}

static void fit_agent_columns(struct agents *s, int w)
{
	int most = w / 5 + 4;

	s->columns[AGENT_NAME].ideal = (uint8_t)(s->longest < 12 ? 12
			: s->longest < most                      ? s->longest
								 : most);
}

static bool same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static void agents_draw(struct view *v, struct canvas *c, struct area a)
{
	struct agents *s = v->state;
	const struct agent_row *at = current_row(v);
	struct area list = a, below = a;

	s->body = a;
	s->moment = moment_of(v->app, app_snapshot(v->app));
	s->table.empty = why_no_agents(app_snapshot(v->app));
	if (s->open == SPLIT && at && a.h >= SPLIT_MIN_ROWS) {
		int want = (int)s->table.nshown + 1, most = a.h * 2 / 5;

		list.h = want < most ? want : most;
		list.h = list.h < 4 ? 4 : list.h;
		below.y += list.h;
		below.h -= list.h;
	} else if (s->open != CLOSED && at) {
		list.h = 0;
	}
	s->split_y = list.h;
	if (list.h) {
		list.h -= pen_problem(c, list,
			!at             ? NULL
				: at->a ? at->a->problem
					: at->item.c->problem);
		fit_agent_columns(s, list.w);
		table_draw(&s->table, c, list);
	}
	at = current_row(v);
	if (s->open == CLOSED || !at || below.h <= 0 || s->split_y == a.h)
		return;
	if (at->a && !same_text(s->shown, at->a->name)) {
		free(s->shown);
		s->shown = xstrdup(at->a->name);
		s->pane.scroll = 0;
	}
	agent_detail_draw(&s->pane, c, below, at->a, &s->moment);
}

/* Keys. */

static bool close_agent_pane(struct agents *s)
{
	size_t hidden;

	if (s->open == FULL && s->body.h >= SPLIT_MIN_ROWS)
		s->open = SPLIT;
	else if (s->open != CLOSED)
		s->open = CLOSED;
	else if (!s->table.filter && table_marked(&s->table, &hidden))
		table_unmark_all(&s->table);
	else
		return false;
	return true;
}

/* With the list out of sight, movement is the page's. */
static bool scroll_agent_page(struct agents *s, enum action a)
{
	int page = s->pane.seen > 2 ? s->pane.seen - 1 : 1;

	switch (a) {
	case DO_UP: agent_detail_scroll(&s->pane, -1); return true;
	case DO_DOWN: agent_detail_scroll(&s->pane, 1); return true;
	case DO_PAGE_UP: agent_detail_scroll(&s->pane, -page); return true;
	case DO_PAGE_DOWN: agent_detail_scroll(&s->pane, page); return true;
	case DO_TOP: agent_detail_scroll(&s->pane, -s->pane.length); return true;
	case DO_BOTTOM: agent_detail_scroll(&s->pane, s->pane.length); return true;
	default: return false;
	}
}

/* What is about the container needs one. */
static const struct container *container_here(struct view *v, enum action a)
{
	const struct agent_row *at = current_row(v);
	char id[64];

	if (!at)
		return NULL;
	if (!at->item.c) {
		app_say(v->app, ROLE_WARN, "%s is %s: there is no container.  U brings it up.",
			text_clean(id, sizeof id, at->a->id), agent_state_name(at->a->state));
	} else if (a == DO_SHELL && at->item.c->state != CONTAINER_RUNNING) {
		app_say(v->app, ROLE_WARN, "%s is %s: a shell needs it running.",
			text_clean(id, sizeof id, at->item.c->name),
			container_state_name(at->item.c->state));
		return NULL;
	}
	return at->item.c;
}

static void show_logs(struct view *v, struct target *t)
{
	struct view *logs = app_view(v->app, "logs");

	if (logs) {
		logs_open(logs, t, 1);
		app_switch(v->app, "logs");
	}
}

static void show_records(struct view *v, const struct target *t)
{
	struct view *audit = app_view(v->app, "audit");

	if (audit) {
		audit_view_about(audit, t->name, t->id);
		app_switch(v->app, "audit");
	}
}

static void show_journal(struct view *v)
{
	const struct agent_row *at = current_row(v);
	AUTO_FREE char *name = at && at->a ? xstrdup(at->a->name) : NULL;

	if (name)
		app_push(v->app, &journal_view, &(struct journal_seed){.name = name});
	else if (at)
		app_say(v->app, ROLE_DIM, "What a tool prints is in its logs: l.");
}

static bool container_act(struct view *v, enum action a)
{
	const struct container *c;
	struct target t;

	if (a != DO_SHELL && a != DO_LOGS && a != DO_INSPECT && a != DO_RECORDS)
		return false;
	/* What an agent's commands print is kept there, and nothing of it in the engine's log. */
	if (a == DO_LOGS && current_row(v) && current_row(v)->a) {
		show_journal(v);
		return true;
	}
	c = container_here(v, a);
	if (!c)
		return true;
	t = (struct target){c->engine, c->id, c->name};
	switch (a) {
	case DO_SHELL: app_shell(v->app, &t); break;
	case DO_INSPECT: app_push(v->app, &inspect_view, &t); break;
	case DO_LOGS: show_logs(v, &t); break;
	default: show_records(v, &t); break;
	}
	return true;
}

static void agents_ran(struct view *v, const char *name)
{
	app_push(v->app, &journal_view, &(struct journal_seed){.name = name, .next = true});
}

/* Once the detail, once more what it ran. */
static void enter_agent(struct view *v)
{
	struct agents *s = v->state;

	if (s->open != CLOSED) {
		show_journal(v);
		return;
	}

	s->open = s->open == CLOSED && s->body.h >= SPLIT_MIN_ROWS ? SPLIT : FULL;
}

static bool agents_act(struct view *v, enum action a)
{
	struct agents *s = v->state;

	app_dirty(v->app);
	if (s->table.choosing)
		return table_act(&s->table, a);
	switch (a) {
	case DO_BACK: return close_agent_pane(s);
	case DO_ENTER:
		if (current_row(v))
			enter_agent(v);
		return true;
	case DO_JOURNAL: show_journal(v); return true;
	case DO_ZOOM:
		s->open = s->open == FULL && s->body.h >= SPLIT_MIN_ROWS ? SPLIT : FULL;
		return true;
	default: break;
	}
	if (container_act(v, a) || agents_ask(v, a))
		return true;
	if (s->open != CLOSED && s->split_y == 0 && scroll_agent_page(s, a))
		return true;
	return table_act(&s->table, a);
}

static void agents_click(struct view *v, int x, int y, bool twice)
{
	struct agents *s = v->state;

	if (s->split_y == 0 || y >= s->split_y)
		return;
	if (table_click(&s->table, s->body.x + x, s->body.y + y) && twice && y > 0)
		enter_agent(v);
	app_dirty(v->app);
}

static void agents_wheel(struct view *v, int lines)
{
	struct agents *s = v->state;

	if (s->split_y)
		table_wheel(&s->table, lines);
	else
		agent_detail_scroll(&s->pane, lines);
	app_dirty(v->app);
}

static bool agents_filter(struct view *v, const char *text, bool done, struct err *e)
{
	struct agents *s = v->state;

	(void)done;
	return table_filter(&s->table, text, e) == 0;
}

static void agents_status(struct view *v, char *buf, size_t cap)
{
	struct agents *s = v->state;

	table_status(&s->table, buf, cap);
}

static bool agents_copy(struct view *v, struct str *out)
{
	struct agents_chosen k = agents_chosen(v);

	for (size_t i = 0; i < k.n; i++)
		str_addf(out, "%s%s", i ? "\n" : "", k.a[i]->id);
	free(k.a);
	return out->len > 0;
}

static bool agents_save(struct view *v, struct str *out)
{
	struct agents *s = v->state;

	table_save(&s->table, out);
	return true;
}

static void open_agents(struct view *v)
{
	struct agents *s = v->state;

	s->columns = xcalloc(agent_ncolumns, sizeof *s->columns);
	memcpy(s->columns, agent_columns, agent_ncolumns * sizeof *s->columns);
	table_init(&s->table, s->columns, agent_ncolumns, NULL);
}

static void close_agents(struct view *v)
{
	struct agents *s = v->state;

	table_release(&s->table);
	free(s->rows);
	free(s->columns);
	free(s->shown);
}

const struct view_ops agents_view = {
	.name = "agents",
	.tab = "Agents",
	.tab_short = "Agents",
	.context = IN_AGENTS,
	.state_size = sizeof(struct agents),
	.open = open_agents,
	.close = close_agents,
	.draw = agents_draw,
	.snapshot = agents_snapshot,
	.act = agents_act,
	.ran = agents_ran,
	.refused = agents_refused,
	.click = agents_click,
	.wheel = agents_wheel,
	.filter = agents_filter,
	.status = agents_status,
	.copy = agents_copy,
	.save = agents_save,
};
