/* agents.c - shows one row per agent, with its tools and helpers below it. */
#include "views/agents/agents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "views/audit/audit.h"
#include "views/calls.h"
#include "views/preview.h"
#include "views/journal.h"
#include "views/list.h"
#include "views/logs/logs.h"
#include "views/pane.h"
#include "views/past_view.h"
#include "views/pen.h"
#include "views/row_line.h"
#include "views/table_view.h"
#include "app/app.h"

struct agents {
	struct table table;           /* first: table_view.h */
	struct table_column *columns; /* ours: how wide names are depends on them */
	int longest;                  /* id or name of a tool, in columns */
	struct moment moment;
	struct agent_row *rows;
	size_t nrows, rows_cap;
	struct pane pane;
	struct agent_ports ports;
	struct row_line typed;
	bool types_port; /* what the line that is typed is about: a port, not the container */
	char *shown;     /* the agent the pane is of: its container's name */
};
TABLE_COMES_FIRST(struct agents);

/* Rows. */

static void add_agent(struct agents *s, const struct agent *a)
{
	struct agent_row *r = &s->rows[s->nrows++];

	*r = (struct agent_row){
		.item = {.c = a->container, .moment = &s->moment, .host = ""}, .a = a};
	table_add(&s->table,
		(struct table_row){.engine = "",
			.id = a->name,
			.item = r,
			.stale = s->moment.lost || (a->container && a->container->lost)});
}

static void add_container(struct agents *s, const struct container *c, int depth)
{
	struct agent_row *r = &s->rows[s->nrows++];

	*r = (struct agent_row){.item = {.c = c, .moment = &s->moment, .host = c->host}};
	table_add(&s->table,
		(struct table_row){.engine = c->engine,
			.id = c->id,
			.item = r,
			.depth = (uint8_t)depth,
			.stale = s->moment.lost || c->lost});
}

/* Of the engine whose agents these are: another host may use their names. */
static bool is_helper(const struct snapshot *snap, const struct container *c)
{
	return !strcmp(c->engine, snap->engine.id) && *c->role && strcmp(c->role, "agent") != 0;
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
	s->columns[AGENT_TERMINALS].nothing = true;
	table_begin(&s->table);
	for (size_t i = 0; i < snap->nagents; i++) {
		const struct agent *a = &snap->agents[i];

		add_agent(s, a);
		if (a->nterminals)
			s->columns[AGENT_TERMINALS].nothing = false;
		widen_names(s, a->id, 2);
		/* Two agents of one id have different containers; their tools are the first's. */
		if (i && !strcmp(snap->agents[i - 1].id, a->id))
			continue;
		for (size_t k = 0; k < snap->ncontainers; k++) {
			const struct container *c = &snap->containers[k];

			if (is_helper(snap, c) && !strcmp(c->agent, a->id)) {
				add_container(s, c, 1);
				widen_names(s, c->name, 4);
			}
		}
	}
	/* Tools that belong to no agent: run by a person, or kept warm. */
	for (size_t k = 0; k < snap->ncontainers; k++)
		if (is_helper(snap, &snap->containers[k]) &&
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
	if (snapshot_lost(snap))
		return "No agent was up when the engine was lost.";
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
	struct area list, below;
	bool open;

	s->moment = moment_of(v->app, app_snapshot(v->app));
	s->table.empty = why_no_agents(app_snapshot(v->app));
	open = pane_part(&s->pane, v, a, at, &list, &below);
	if (list.h) {
		list.h -= pen_problem(c, list,
			!at             ? NULL
				: at->a ? at->a->problem
					: at->item.c->problem);
		fit_agent_columns(s, list.w);
		table_draw(&s->table, c, list);
	}
	at = current_row(v);
	if (!open || !at)
		return;
	if (at->a && !same_text(s->shown, at->a->name)) {
		free(s->shown);
		s->shown = xstrdup(at->a->name);
		s->pane.page.scroll = 0;
	}
	agent_detail_draw(&s->pane.page, c, below, at->a, &s->moment);
}

/* Keys. */

/* What is about the container needs one. */
static const struct container *agent_container(struct view *v)
{
	const struct agent_row *at = current_row(v);

	return at ? at->item.c : NULL;
}

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
		app_say(v->app, ROLE_DIM, "Its output is in its logs: l.");
}

/* Of one agent; where there is no row, of all. */
static void show_calls(struct view *v)
{
	const struct agent_row *at = current_row(v);

	app_push(v->app, &calls_view,
		&(struct calls_seed){.agent = !at ? NULL
				: at->a           ? at->a->id
						  : at->item.c->agent});
}

/* The terminal that waits longest, else the first one. */
static void show_preview(struct view *v)
{
	const struct agent_row *at = current_row(v);

	if (at && at->a && at->a->nterminals)
		app_push(v->app, &preview_view,
			&(struct preview_seed){.id = at->a->id,
				.container = at->a->name,
				.name = at->a->terminals[0].name});
	else if (at && at->a)
		app_say(v->app, ROLE_DIM,
			"%s has no terminal: `berth terminal start` starts one, or terminal: in its team file.",
			at->a->id);
	else if (at)
		app_say(v->app, ROLE_DIM, "Only agents have terminals.");
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

	if (s->pane.open)
		show_journal(v);
	else
		pane_enter(&s->pane);
}

/* From the cursor on, and round. */
static void next_attention(struct view *v)
{
	struct agents *s = v->state;
	size_t n = s->table.nshown;
	char why[TABLE_CELL_MAX], age[FORMAT_MAX];

	for (size_t i = 1; i <= n; i++) {
		const struct table_row *r = table_shown(&s->table, (s->table.cursor + i) % n);
		const struct agent *a = ((const struct agent_row *)r->item)->a;

		if (!a || !agent_attention(a, why, sizeof why))
			continue;
		if (a->need_wall_ms > 0 && s->moment.wall_ms >= a->need_wall_ms)
			app_say(v->app, ROLE_WARN, "%s: %s, for %s", a->id, why,
				format_span(age, (s->moment.wall_ms - a->need_wall_ms) / 1000));
		else
			app_say(v->app, ROLE_WARN, "%s: %s", a->id, why);
		table_go(&s->table, r->engine, r->id);
		return;
	}
	app_say(v->app, ROLE_DIM, "No agent needs attention.");
}

/* Also of an agent that is down: what is kept is kept.  Where there is no row, of all. */
static bool show_agent_history(struct view *v)
{
	const struct agent_row *at = current_row(v);
	const struct container *c = at ? at->item.c : NULL;

	if (at && (c || at->a))
		app_push(v->app, &history_view,
			&(struct history_seed){
				.engine = c ? c->engine : NULL, .name = c ? c->name : at->a->name});
	return at && (c || at->a);
}

static bool agents_act(struct view *v, enum action a)
{
	struct agents *s = v->state;

	app_dirty(v->app);
	if (s->table.choosing)
		return table_act(&s->table, a);
	switch (a) {
	case DO_BACK: return pane_back(&s->pane, v);
	case DO_ENTER:
		if (current_row(v))
			enter_agent(v);
		return true;
	case DO_JOURNAL: show_journal(v); return true;
	case DO_CALLS: show_calls(v); return true;
	case DO_PREVIEW: show_preview(v); return true;
	case DO_ATTENTION: next_attention(v); return true;
	case DO_HISTORY: return show_agent_history(v);
	case DO_LIMITS:
	case DO_SIGNAL:
		s->types_port = false;
		row_line_ask(v, &s->typed, a, agent_container(v));
		return true;
	default: break;
	}
	s->types_port = true;
	if (container_act(v, a) || agents_ask(v, a) ||
		agents_port_act(v, &s->ports, a, current_row(v) ? current_row(v)->a : NULL))
		return true;
	return pane_act(&s->pane, v, a) || table_act(&s->table, a);
}

static bool agents_typed(struct view *v, const char *text, bool done, struct err *e)
{
	struct agents *s = v->state;

	(void)e;
	if (done && s->types_port)
		agents_port_typed(v, &s->ports, text);
	else if (done)
		row_line_typed(v, &s->typed, text);
	return true;
}

static void agents_click(struct view *v, int x, int y, bool twice)
{
	struct agents *s = v->state;

	if (pane_click(&s->pane, v, x, y, twice))
		enter_agent(v);
}

static void agents_wheel(struct view *v, int lines)
{
	struct agents *s = v->state;

	pane_wheel(&s->pane, v, lines);
}

static bool agents_copy(struct view *v, struct str *out)
{
	struct agents_chosen k = agents_chosen(v);

	for (size_t i = 0; i < k.n; i++)
		str_addf(out, "%s%s", i ? "\n" : "", k.a[i]->id);
	free(k.a);
	return out->len > 0;
}

static bool judge_agent_row(const struct table_row *r, struct where_row *ret)
{
	const struct agent_row *i = r->item;

	*ret = (struct where_row){.wall_ms = i->item.moment->wall_ms, .c = i->item.c, .a = i->a};
	return i->item.c || i->a;
}

static void open_agents(struct view *v)
{
	struct agents *s = v->state;

	s->columns = xcalloc(agent_ncolumns, sizeof *s->columns);
	memcpy(s->columns, agent_columns, agent_ncolumns * sizeof *s->columns);
	table_init(&s->table, s->columns, agent_ncolumns, NULL);
	s->table.row_of = judge_agent_row;
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
	.keep = table_view_keep,
	.recall = table_view_recall,
	.draw = agents_draw,
	.snapshot = agents_snapshot,
	.act = agents_act,
	.ran = agents_ran,
	.typed = agents_typed,
	.refused = agents_refused,
	.click = agents_click,
	.wheel = agents_wheel,
	.filter = table_view_filter,
	.sort = table_view_sort,
	.row = agent_container,
	.status = table_view_status,
	.copy = agents_copy,
	.save = table_view_save,
};
