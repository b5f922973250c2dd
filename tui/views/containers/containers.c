/* containers.c - shows one row per container, grouped by agent or project, and the detail pane below. */
#include "views/containers/containers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/arena.h>
#include <berth/check.h>
#include <berth/config.h>
#include <berth/hash.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>

#include "views/containers/detail.h"
#include "views/list.h"
#include "views/pane.h"
#include "views/past_view.h"
#include "views/pen.h"
#include "views/row_line.h"
#include "views/table_view.h"
#include "app/app.h"

struct containers {
	struct table table;           /* first: table_view.h */
	struct table_column *columns; /* ours: how wide names are depends on them */
	int longest;                  /* name, in columns */
	bool ports;                   /* some container has one */
	bool lost;                    /* the engine of some container is */
	struct moment moment;
	struct item *items;
	size_t nitems, items_cap;
	struct arena names; /* identities of heads */
	size_t hidden;      /* stopped ones that are not shown */
	bool flat, by_host, only_running;

	struct pane pane;
	int tab; /* of the detail */
	struct row_line typed;
	char *focus_engine, *focus_id; /* what CMD_FOCUS was sent for last */
	uint64_t visible_hash;         /* what CMD_VISIBLE was sent for last */
	char copied[65];               /* id of what was copied by name last */
};
TABLE_COMES_FIRST(struct containers);

/* Rows. */

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int order;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	order = text_natural(x->group, y->group);
	/* Of two hosts' agents with one name each has its own. */
	if (!order && x->kind != UNGROUPED)
		order = strcmp(x->c->host, y->c->host);
	if (order)
		return order;
	/* A container the agent lives in comes before the ones of its tools. */
	order = (strcmp(x->c->role, "tool") == 0) - (strcmp(y->c->role, "tool") == 0);
	/* By what is the same for several, in the order of their names. */
	order = order ? order : text_natural(x->c->name, y->c->name);
	return order ? order : x->c < y->c ? -1 : x->c > y->c;
}

static void add_to_head(struct item *head, const struct item *i)
{
	const struct container_stats *s = &i->c->stats;

	head->n++;
	head->running += i->c->state == CONTAINER_RUNNING;
	if (!container_has_stats(i->c))
		return;
	head->memory_bytes += s->memory_bytes;
	head->pids += s->pids;
	if (!s->rates)
		return;
	head->cpu_percent += s->cpu_percent;
	head->block_read += s->block_read_bytes_per_s;
	head->block_write += s->block_write_bytes_per_s;
	if (s->net) {
		head->net = true;
		head->net_rx += s->net_rx_bytes_per_s;
		head->net_tx += s->net_tx_bytes_per_s;
	}
}

static void add_container_item(struct containers *s, const struct item *i, int depth)
{
	table_add(&s->table,
		(struct table_row){.engine = i->c->engine,
			.id = i->c->id,
			.item = i,
			.depth = (uint8_t)depth,
			.stale = s->moment.lost || i->c->lost});
}

/* items[from..to) share a group: its head and its rows. */
static void add_group(struct containers *s, const struct snapshot *snap, struct item *head,
	size_t from, size_t to)
{
	const struct container *first = s->items[from].c;
	bool is_home = !strcmp(first->engine, snap->engine.id), any_lost = false;
	bool tools_below =
		s->items[from].kind == BY_AGENT && strcmp(s->items[from].c->role, "tool") != 0;

	*head = (struct item){.moment = &s->moment,
		.kind = s->items[from].kind,
		.group = s->items[from].group,
		.host = first->host};
	for (size_t i = 0; i < snap->nagents && is_home && head->kind == BY_AGENT && !head->agent;
		i++)
		if (!strcmp(snap->agents[i].id, head->group))
			head->agent = &snap->agents[i];
	for (size_t i = from; i < to; i++) {
		add_to_head(head, &s->items[i]);
		any_lost |= s->items[i].c->lost;
		if (head->agent && head->agent->container == s->items[i].c)
			s->items[i].agent = head->agent;
	}
	head->lost = any_lost && snap->nhosts > 1;
	table_add(&s->table,
		(struct table_row){.engine = is_home ? "" : first->engine,
			.id = arena_printf(&s->names, "%d/%s", (int)head->kind, head->group),
			.item = head,
			.group = true,
			.stale = s->moment.lost || any_lost});
	for (size_t i = from; i < to; i++)
		add_container_item(s, &s->items[i],
			tools_below && strcmp(s->items[i].c->role, "tool") == 0 ? 2 : 1);
}

static void fill_item(const struct containers *s, struct item *i, const struct container *c)
{
	*i = (struct item){
		.c = c, .moment = &s->moment, .kind = UNGROUPED, .group = "", .host = c->host};
	if (s->flat)
		return;
	if (s->by_host && *c->host) {
		i->kind = BY_HOST;
		i->group = c->host;
	} else if (*c->agent) {
		i->kind = BY_AGENT;
		i->group = c->agent;
	} else if (*c->compose_project) {
		i->kind = BY_PROJECT;
		i->group = c->compose_project;
	}
}

static void rebuild_containers(struct containers *s, const struct snapshot *snap)
{
	size_t n = 0, heads, from, to;
	int longest = 0;

	/* Every row may have a head of its own; nothing may move while rows point here. */
	s->items = mem_grow(s->items, &s->items_cap, 2 * snap->ncontainers + 1, sizeof *s->items);
	arena_reset(&s->names);
	s->hidden = 0;
	s->ports = s->lost = false;
	for (size_t i = 0; i < snap->ncontainers; i++) {
		const struct container *c = &snap->containers[i];
		int name = text_width(c->name, strlen(c->name)) + (strcmp(c->role, "tool") ? 2 : 4);
		bool stopped = c->state == CONTAINER_EXITED || c->state == CONTAINER_CREATED ||
			c->state == CONTAINER_DEAD;

		if (s->only_running && stopped)
			s->hidden++;
		else
			fill_item(s, &s->items[n++], c);
		longest = name > longest ? name : longest;
		s->ports |= *c->ports != '\0';
		s->lost |= c->lost;
	}
	s->longest = longest;
	mem_sort(s->items, n, sizeof *s->items, compare_items);
	/* Start on something to look at, not on a head. */
	if (!s->nitems && n)
		table_go(&s->table, s->items[0].c->engine, s->items[0].c->id);
	table_begin(&s->table);
	for (from = 0, heads = n; from < n; from = to) {
		for (to = from + 1; to < n && s->items[to].kind == s->items[from].kind &&
			!strcmp(s->items[to].group, s->items[from].group) &&
			!strcmp(s->items[to].c->engine, s->items[from].c->engine);
			to++)
			;
		if (s->items[from].kind != UNGROUPED)
			add_group(s, snap, &s->items[heads++], from, to);
		else
			for (size_t i = from; i < to; i++)
				add_container_item(s, &s->items[i], 0);
	}
	table_end(&s->table);
	s->nitems = heads;
}

/* Rows must not outlive the snapshot they point into. */
static void containers_snapshot(struct view *v, const struct snapshot *snap)
{
	struct containers *s = v->state;

	s->moment = moment_of(v->app, snap);
	rebuild_containers(s, snap);
}

static void show_again(struct view *v)
{
	rebuild_containers(v->state, app_snapshot(v->app));
	app_dirty(v->app);
}

static const struct item *current_item(struct view *v)
{
	struct containers *s = v->state;
	const struct table_row *r = table_current(&s->table);

	return r ? r->item : NULL;
}

static const struct container *current_container(struct view *v)
{
	const struct item *i = current_item(v);

	return i ? i->c : NULL;
}

/* What the backend is told of the screen. */

static bool is_focus(const struct containers *s, const struct container *c)
{
	return c ? s->focus_id && !strcmp(s->focus_id, c->id) && !strcmp(s->focus_engine, c->engine)
		 : !s->focus_id;
}

static void send_focus(struct view *v, const struct container *c)
{
	struct containers *s = v->state;
	struct command *cmd;

	if (is_focus(s, c))
		return;
	free(s->focus_engine);
	free(s->focus_id);
	s->focus_engine = c ? xstrdup(c->engine) : NULL;
	s->focus_id = c ? xstrdup(c->id) : NULL;
	cmd = command_new(CMD_FOCUS);
	if (c)
		command_target(cmd, c->engine, c->id, c->name);
	app_send(v->app, cmd);
}

static void send_visible(struct view *v)
{
	struct containers *s = v->state;
	uint64_t hash = HASH_START;
	struct command *cmd;
	size_t from, to;

	table_window(&s->table, &from, &to);
	for (size_t i = from; i < to; i++)
		hash = hash_string(hash, table_shown(&s->table, i)->id);
	if (hash == s->visible_hash)
		return;
	s->visible_hash = hash;
	cmd = command_new(CMD_VISIBLE);
	for (size_t i = from; i < to; i++) {
		const struct item *item = table_shown(&s->table, i)->item;

		if (item->c)
			command_target(cmd, item->c->engine, item->c->id, item->c->name);
	}
	app_send(v->app, cmd);
}

/* Choosing what to act on. */

/* Of two hosts' groups with one name: is it the one under that head? */
static bool is_under_head(const struct table_row *head, const struct item *i)
{
	return !*head->engine || !strcmp(head->engine, i->c->engine);
}

static void choose_container(struct chosen *k, const struct container *c)
{
	k->c = mem_grow(k->c, &k->cap, k->n + 1, sizeof *k->c);
	k->c[k->n++] = c;
}

/* All marked rows; without marks the row under the cursor, or all of the group it heads. */
struct chosen containers_chosen(struct view *v)
{
	struct containers *s = v->state;
	const struct item *i = current_item(v);
	const struct table_row *r;
	struct chosen k = {0};
	size_t at = 0;

	if (table_marked(&s->table, &k.hidden)) {
		while ((r = table_next_marked(&s->table, &at)))
			choose_container(&k, ((const struct item *)r->item)->c);
	} else if (i && i->c) {
		choose_container(&k, i->c);
	} else if (i) {
		r = table_current(&s->table);
		for (size_t n = 0; n < s->nitems; n++)
			if (s->items[n].c && s->items[n].kind == i->kind &&
				!strcmp(s->items[n].group, i->group) &&
				is_under_head(r, &s->items[n]))
				choose_container(&k, s->items[n].c);
	}
	return k;
}

static void open_container_shell(struct view *v)
{
	const struct container *c = current_container(v);
	char name[64];

	if (!c)
		return;
	if (c->state == CONTAINER_RUNNING)
		app_shell(v->app, &(struct target){c->engine, c->id, c->name});
	else
		app_say(v->app, ROLE_WARN, "%s is %s: a shell needs it running.",
			text_clean(name, sizeof name, c->name), container_state_name(c->state));
}

static void open_inspect(struct view *v)
{
	const struct container *c = current_container(v);
	struct target t;

	if (!c)
		return;
	t = (struct target){c->engine, c->id, c->name};
	app_push(v->app, &inspect_view, &t);
}

/* Drawing. */

static const struct detail *detail_of(const struct snapshot *snap, const struct container *c)
{
	const struct detail *d = snap->detail;

	return d && !strcmp(d->id, c->id) && !strcmp(d->engine, c->engine) ? d : NULL;
}

static const char *why_no_containers(const struct containers *s, const struct snapshot *snap)
{
	if (!snap->listed)
		return snap->engine.phase == ENGINE_UP ? "Loading containers…"
						       : "No engine has answered yet.";
	if (snapshot_lost(snap))
		return s->hidden
			? "No container was running when the engine was lost; e shows the stopped ones."
			: "There were no containers when the engine was lost.";
	return s->hidden ? "No container is running; e shows the stopped ones."
			 : "There are no containers.";
}

/* Names as wide as the longest, within a share that leaves the numbers their room. */
static void fit_container_columns(struct containers *s, int w)
{
	int most = w / 5 + 4, least;

	s->columns[CONTAINER_NAME].ideal = (uint8_t)(s->longest < most ? s->longest : most);
	/* A column of rates goes before names are cut to pieces. */
	least = container_columns[CONTAINER_NAME].min;
	if (w >= 60 && s->longest > least)
		least = s->longest < most - 2 ? s->longest : most - 2;
	s->columns[CONTAINER_NAME].min = (uint8_t)least;
	s->columns[CONTAINER_NAME].grow = s->longest > most;
	/* A few columns of curve are worth more than another column of numbers. */
	s->columns[CONTAINER_CPU].min = w >= 60 ? 12 : 6;
}

static void containers_draw(struct view *v, struct canvas *c, struct area a)
{
	struct containers *s = v->state;
	const struct snapshot *snap = app_snapshot(v->app);
	const struct container *k = current_container(v);
	struct area list, below;
	bool open;

	s->moment = moment_of(v->app, snap);
	s->table.empty = why_no_containers(s, snap);
	open = pane_part(&s->pane, v, a, k, &list, &below);
	if (list.h) {
		uint64_t chosen = s->table.chosen;

		list.h -= pen_problem(c, list, k ? k->problem : NULL);
		fit_container_columns(s, list.w);
		if (s->moment.lost || s->lost)
			s->table.chosen |= (uint64_t)1 << CONTAINER_AGE;
		if (snap->nhosts < 2)
			s->table.chosen &= ~((uint64_t)1 << CONTAINER_HOST);
		if (!s->ports)
			s->table.chosen &= ~((uint64_t)1 << CONTAINER_PORTS);
		table_draw(&s->table, c, list);
		s->table.chosen = chosen;
	}
	if (!is_focus(s, s->pane.open ? k : NULL))
		s->pane.page.scroll = 0;
	if (open && k)
		detail_draw(&s->pane.page, s->tab, c, below, k, detail_of(snap, k), &s->moment);
}

static void containers_drawn(struct view *v)
{
	struct containers *s = v->state;

	if (s->pane.split_y)
		send_visible(v);
	send_focus(v, s->pane.open ? current_container(v) : NULL);
}

/* Keys. */

static void enter_container(struct view *v)
{
	struct containers *s = v->state;

	if (!current_container(v))
		table_fold(&s->table);
	else
		pane_enter(&s->pane);
}

static void turn_detail(struct containers *s, int tabs)
{
	detail_turn(&s->tab, tabs);
	s->pane.page.scroll = 0;
}

/* By agent and project, then by host where there are several, then not at all. */
static void next_grouping(struct containers *s, const struct snapshot *snap)
{
	bool by_host = !s->flat && !s->by_host && snap->nhosts > 1;

	s->flat = !s->flat && !by_host;
	s->by_host = by_host;
}

static bool toggle_option(struct view *v, enum action a)
{
	struct containers *s = v->state;

	switch (a) {
	case DO_GROUPS: next_grouping(s, app_snapshot(v->app)); break;
	case DO_ALL: s->only_running = !s->only_running; break;
	case DO_ZOOM: pane_act(&s->pane, v, a); break;
	case DO_NEXT_PANE: turn_detail(s, 1); break;
	case DO_PREV_PANE: turn_detail(s, -1); break;
	default: return false;
	}
	show_again(v);
	return true;
}

static bool containers_typed(struct view *v, const char *text, bool done, struct err *e)
{
	struct containers *s = v->state;

	(void)e;
	if (done)
		row_line_typed(v, &s->typed, text);
	return true;
}

/* Of the row; where there is none, of all. */
static bool show_container_history(struct view *v)
{
	const struct container *c = current_container(v);

	if (c)
		app_push(v->app, &history_view,
			&(struct history_seed){.engine = c->engine, .name = c->name});
	return c != NULL;
}

static bool containers_act(struct view *v, enum action a)
{
	struct containers *s = v->state;

	app_dirty(v->app);
	if (s->table.choosing)
		return table_act(&s->table, a);
	switch (a) {
	case DO_BACK: return pane_back(&s->pane, v);
	case DO_ENTER: enter_container(v); return true;
	case DO_LOGS: containers_logs(v); return true;
	case DO_RECORDS: containers_records(v); return true;
	case DO_SHELL: open_container_shell(v); return true;
	case DO_INSPECT: open_inspect(v); return true;
	case DO_HISTORY: return show_container_history(v);
	case DO_LIMITS:
	case DO_SIGNAL: row_line_ask(v, &s->typed, a, current_container(v)); return true;
	default: break;
	}
	if (containers_ask(v, a))
		return true;
	if (s->pane.open && s->pane.split_y == 0 && (a == DO_LEFT || a == DO_RIGHT)) {
		turn_detail(s, a == DO_LEFT ? -1 : 1);
		return true;
	}
	return toggle_option(v, a) || pane_act(&s->pane, v, a) || table_act(&s->table, a);
}

static void containers_click(struct view *v, int x, int y, bool twice)
{
	struct containers *s = v->state;

	if (pane_click(&s->pane, v, x, y, twice))
		enter_container(v);
}

static void containers_wheel(struct view *v, int lines)
{
	struct containers *s = v->state;

	pane_wheel(&s->pane, v, lines);
}

static void containers_status(struct view *v, char *buf, size_t cap)
{
	struct containers *s = v->state;
	size_t used;

	table_status(&s->table, buf, cap);
	used = strlen(buf);
	if (s->hidden)
		snprintf(buf + used, cap - used, "%s%zu stopped hidden", used ? "  " : "",
			s->hidden);
}

/* The names; once more, the full ids. */
static bool containers_copy(struct view *v, struct str *out)
{
	struct containers *s = v->state;
	struct chosen k = containers_chosen(v);
	bool ids = k.n && !strncmp(s->copied, k.c[0]->id, sizeof s->copied - 1);

	for (size_t i = 0; i < k.n; i++)
		str_addf(out, "%s%s", i ? "\n" : "", ids ? k.c[i]->id : k.c[i]->name);
	snprintf(s->copied, sizeof s->copied, "%s", k.n && !ids ? k.c[0]->id : "");
	free(k.c);
	return out->len > 0;
}

static bool judge_container_row(const struct table_row *r, struct where_row *ret)
{
	const struct item *i = r->item;

	*ret = (struct where_row){.wall_ms = i->moment->wall_ms, .c = i->c, .a = i->agent};
	return i->c;
}

static void containers_open(struct view *v)
{
	const struct settings *set = app_settings(v->app);
	struct containers *s = v->state;
	struct err e = ERR_INIT;

	s->columns = xcalloc(container_ncolumns, sizeof *s->columns);
	memcpy(s->columns, container_columns, container_ncolumns * sizeof *s->columns);
	table_init(&s->table, s->columns, container_ncolumns, "name");
	s->table.row_of = judge_container_row;
	if (table_set(&s->table, set->columns.item, set->columns.n, set->sort, &e) < 0)
		app_say(v->app, ROLE_WARN, "berth.yaml: %s", e.msg);
	s->flat = !set->groups;
	s->only_running = !set->stopped;
	arena_init(&s->names, 1024);
}

static void containers_close(struct view *v)
{
	struct containers *s = v->state;

	table_release(&s->table);
	arena_release(&s->names);
	free(s->items);
	free(s->columns);
	free(s->focus_engine);
	free(s->focus_id);
}

/* Nobody looks at one container alone while another view is up. */
static void containers_hide(struct view *v)
{
	send_focus(v, NULL);
}

/* Written the other way round than the flag is here. */
static void recall_bool(const struct node *kept, const char *key, bool *ret_not)
{
	const struct node *n = node_get(kept, key);

	if (n && n->kind == NODE_SCALAR)
		*ret_not = strcmp(n->value, "false") == 0;
}

static void keep_containers(struct view *v, struct jsonw *j)
{
	struct containers *s = v->state;

	table_keep(&s->table, j);
	if (s->flat == app_settings(v->app)->groups)
		jsonw_bool(j, "groups", !s->flat);
	if (s->only_running == app_settings(v->app)->stopped)
		jsonw_bool(j, "stopped", !s->only_running);
}

static void recall_containers(struct view *v, const struct node *kept)
{
	struct containers *s = v->state;

	table_recall(&s->table, kept);
	recall_bool(kept, "groups", &s->flat);
	recall_bool(kept, "stopped", &s->only_running);
}

const struct view_ops containers_view = {
	.name = "containers",
	.tab = "Containers",
	.tab_short = "Cont",
	.context = IN_CONTAINERS,
	.state_size = sizeof(struct containers),
	.open = containers_open,
	.close = containers_close,
	.keep = keep_containers,
	.recall = recall_containers,
	.hide = containers_hide,
	.draw = containers_draw,
	.drawn = containers_drawn,
	.snapshot = containers_snapshot,
	.act = containers_act,
	.refused = containers_refused,
	.click = containers_click,
	.wheel = containers_wheel,
	.filter = table_view_filter,
	.sort = table_view_sort,
	.row = current_container,
	.typed = containers_typed,
	.status = containers_status,
	.copy = containers_copy,
	.save = table_view_save,
};
