/*
 * network.c - shows all that waits for a person in one queue: targets that agents ask to reach, and other approvals; and
 * each agent's rules and connections.
 *
 * A wrong key opens a door, so a row takes none before it was seen for half a second, and rows that go leave their place
 * to nobody until the cursor moves.
 */
#include "views/network/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#include "views/page.h"
#include "views/pen.h"

#define ASK_RULES_NS (900 * INT64_C(1000000))
#define ASK_PORTS_NS (5 * INT64_C(1000000000)) /* which no traffic tells of */
#define SIDE_MIN_COLUMNS 96
#define GONE_MAX 64

struct shown_line { /* a rule or a connection */
	char text[128 + EGRESS_HOST_MAX];
	enum role role;
};

struct network {
	struct table table;
	struct network_row **row; /* each stays where it is while it is shown */
	size_t nrows, cap;
	char seen[NETWORK_ID_MAX]; /* the row under the cursor, as drawn last */
	int64_t seen_ns;           /* since when it is that row without the person's doing */
	bool moved;                /* by the person, since then */
	bool went;                 /* by the person, and not drawn yet */
	char about[64];            /* the container that rules and visits are of */
	uint64_t asked;
	int64_t asked_ns;
	struct agent_egress asked_at; /* its figures when they were asked for */
	struct shown_line *rules, *visits;
	size_t nrules, nvisits;
	struct egress_rule *parsed;
	size_t nparsed;
	bool detail; /* on a small screen: instead of the list */
	struct page page;
	struct area body;
};

/* ---- rows */

static struct network_row *row_by_id(const struct network *s, const char *id)
{
	for (size_t i = 0; i < s->nrows; i++)
		if (!strcmp(s->row[i]->id, id))
			return s->row[i];
	return NULL;
}

static struct network_row *network_here(struct view *v)
{
	struct network *s = v->state;
	const struct table_row *r = table_current(&s->table);

	return r ? row_by_id(s, r->id) : NULL;
}

/* The one that is there already, with what is new in it, or a new one. */
static void put_row(
	struct network *s, struct network_row **list, size_t *n, const struct network_row *fresh)
{
	struct network_row *old = row_by_id(s, fresh->id), *r = xmalloc(sizeof *r);

	*r = *fresh;
	if (old) {
		r->born_ns = old->born_ns;
		/* Asked again after it was decided: a question of its own, to be looked at first. */
		if (old->gone || (old->answer && fresh->first_wall_ms != old->first_wall_ms))
			r->born_ns = 0;
		else
			r->answer = old->answer;
	}
	list[(*n)++] = r;
}

static bool has_row_id(struct network_row *const *list, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i]->id, id))
			return true;
	return false;
}

/* What has gone since keeps its place among the targets, up to the cursor's row. */
static size_t keep_gone(struct network *s, struct network_row **list, size_t n)
{
	size_t gone = 0, at = 0, last = 0;

	for (size_t i = 0; i < s->nrows; i++)
		if (!strcmp(s->row[i]->id, s->seen))
			last = i + 1;
	for (size_t i = 0;
		i < last && gone < GONE_MAX && (s->row[i]->target || s->row[i]->approval); i++) {
		struct network_row *copy;

		if (has_row_id(list, n, s->row[i]->id)) {
			at++;
			continue;
		}
		copy = xmalloc(sizeof *copy);
		*copy = *s->row[i];
		copy->gone = true;
		copy->held = 0;
		at = at < n ? at : n;
		memmove(&list[at + 1], &list[at], (n - at) * sizeof(struct network_row *));
		list[at++] = copy;
		n++;
		gone++;
	}
	return n;
}

static void show_rows(struct network *s)
{
	table_begin(&s->table);
	for (size_t i = 0; i < s->nrows; i++)
		table_add(&s->table,
			(struct table_row){.engine = "", .id = s->row[i]->id, .item = s->row[i]});
	table_end(&s->table);
}

static void replace_rows(struct network *s, struct network_row **list, size_t n)
{
	for (size_t i = 0; i < s->nrows; i++)
		free(s->row[i]);
	free(s->row);
	s->row = list;
	s->nrows = n;
	show_rows(s);
}

/* The oldest first; of the jobs that run the newest comes first. */
static void put_requests(
	struct network *s, struct network_row **list, size_t *n, const struct snapshot *snap)
{
	size_t i = 0, k = snap->njobs;

	for (;;) {
		struct network_row r = {.wall_ms = snap->at_wall_ms};

		while (k > 0 && !snap->jobs[k - 1].asks)
			k--;
		if (i == snap->nasks && k == 0)
			return;
		if (k > 0 &&
			(i == snap->nasks ||
				snap->jobs[k - 1].started_wall_ms <= snap->asks[i].first_wall_ms))
			network_row_of_approval(&r, &snap->jobs[--k], snap);
		else
			network_row_of_ask(&r, &snap->asks[i++]);
		if (!r.gone)
			put_row(s, list, n, &r);
	}
}

static void rebuild_network(struct network *s, const struct snapshot *snap, bool keep)
{
	struct network_row **list =
		xcalloc(snap->nasks + snap->njobs + snap->nagents + GONE_MAX + 1, sizeof *list);
	size_t n = 0;

	put_requests(s, list, &n, snap);
	if (keep)
		n = keep_gone(s, list, n);
	for (size_t i = 0; i < snap->nagents; i++) {
		struct network_row r = {.wall_ms = snap->at_wall_ms};

		if (!snap->agents[i].egress.state)
			continue;
		network_row_of_agent(&r, &snap->agents[i]);
		if (!has_row_id(list, n, r.id))
			put_row(s, list, &n, &r);
	}
	replace_rows(s, list, n);
}

/* ---- rules and connections of the agent under the cursor */

static const struct agent *agent_in_container(const struct snapshot *snap, const char *container)
{
	for (size_t i = 0; i < snap->nagents; i++)
		if (!strcmp(snap->agents[i].name, container))
			return &snap->agents[i];
	return NULL;
}

static void forget_lines(struct network *s)
{
	free(STEAL(s->rules));
	free(STEAL(s->visits));
	free(STEAL(s->parsed));
	s->nrules = s->nvisits = s->nparsed = 0;
}

static bool same_traffic(const struct agent_egress *a, const struct agent_egress *b)
{
	return a->rules == b->rules && a->open == b->open && a->held == b->held &&
		a->connections == b->connections && a->refused == b->refused &&
		a->up_bytes == b->up_bytes && a->down_bytes == b->down_bytes;
}

static void ask_for_rules(struct view *v)
{
	struct network *s = v->state;
	const struct network_row *r = network_here(v);
	const struct agent *a = r ? agent_in_container(app_snapshot(v->app), r->container) : NULL;
	struct command *c;
	bool other = r && strcmp(s->about, r->container) != 0;

	if (!a ||
		(!other &&
			(s->asked || clock_mono_ns() - s->asked_ns < ASK_RULES_NS ||
				(same_traffic(&s->asked_at, &a->egress) &&
					clock_mono_ns() - s->asked_ns < ASK_PORTS_NS))))
		return;
	if (other)
		forget_lines(s);
	snprintf(s->about, sizeof s->about, "%s", r->container);
	s->asked_at = a->egress;
	s->asked_ns = clock_mono_ns();
	c = command_new(CMD_NET);
	command_target(c, "", "", s->about);
	s->asked = app_send(v->app, c);
}

static void write_rule_line(struct shown_line *to, const struct net_line *x)
{
	char age[FORMAT_MAX] = "team file", target[EGRESS_RULE_MAX];

	if (x->at_wall_ms)
		format_span(age,
			(clock_wall_ms() > x->at_wall_ms ? clock_wall_ms() - x->at_wall_ms : 0) /
				1000);
	text_clean(target, sizeof target, x->target);
	if (!strcmp(x->what, "engine"))
		snprintf(to->text, sizeof to->text, "engine %s  its own network: by address only",
			target);
	else if (!strcmp(x->what, "ask"))
		snprintf(to->text, sizeof to->text, "ask    for anything else, waits %s s", target);
	else if (!strcmp(x->what, "port"))
		snprintf(to->text, sizeof to->text, "port   %s  %s ago, %s", target, age,
			!x->good          ? "lost"
				: x->open ? "in use"
					  : "open");
	else
		snprintf(to->text, sizeof to->text, "%-6s %s  %s%s", x->what, target, age,
			x->at_wall_ms ? " ago" : "");
	to->role = x->good ? ROLE_TEXT : ROLE_WARN;
}

static void write_visit_line(struct shown_line *to, const struct net_line *x)
{
	char at[FORMAT_MAX], up[FORMAT_MAX], down[FORMAT_MAX], target[EGRESS_HOST_MAX + 8];

	text_clean(target, sizeof target, *x->target ? x->target : "\u2013");
	if (x->good)
		snprintf(to->text, sizeof to->text, "%s  %s%s  %s up %s down",
			format_wall(at, x->at_wall_ms), target, x->open ? " open" : "",
			format_bytes(up, x->up_bytes), format_bytes(down, x->down_bytes));
	else
		snprintf(to->text, sizeof to->text, "%s  %s  %s", format_wall(at, x->at_wall_ms),
			target, x->what);
	to->role = x->good ? x->open ? ROLE_TEXT : ROLE_DIM : ROLE_WARN;
}

static void parse_shown_rules(struct network *s, const struct event *e)
{
	s->parsed = xcalloc(e->nrules + 1, sizeof *s->parsed);
	for (size_t i = 0; i < e->nrules; i++) {
		const struct net_line *x = &e->rules[i];
		struct egress_rule *to = &s->parsed[s->nparsed];
		bool decides = !strcmp(x->what, "allow") || !strcmp(x->what, "deny");

		if (decides ? !egress_parse_rule(x->target, x->good, to, NULL)
			    : !strcmp(x->what, "engine") &&
					!egress_parse_network(x->target, to, NULL))
			s->nparsed++;
	}
}

static void network_event(struct view *v, const struct event *e)
{
	struct network *s = v->state;

	if (e->kind != EV_NET || e->id != s->asked)
		return;
	s->asked = 0;
	forget_lines(s);
	s->nrules = e->nrules;
	s->nvisits = e->nvisits;
	s->rules = xcalloc(e->nrules + 1, sizeof *s->rules);
	s->visits = xcalloc(e->nvisits + 1, sizeof *s->visits);
	for (size_t i = 0; i < e->nrules; i++)
		write_rule_line(&s->rules[i], &e->rules[i]);
	for (size_t i = 0; i < e->nvisits; i++)
		write_visit_line(&s->visits[i], &e->visits[i]);
	parse_shown_rules(s, e);
	app_dirty(v->app);
}

static void network_snapshot(struct view *v, const struct snapshot *snap)
{
	struct network *s = v->state;

	rebuild_network(s, snap, !s->moved);
	s->moved = false;
	ask_for_rules(v);
}

/* ---- drawing */

static void draw_network_head(struct view *v, struct canvas *c, struct area a)
{
	const struct snapshot *snap = app_snapshot(v->app);
	size_t held = snapshot_held(snap), agents = 0;
	char text[160];
	int x = a.x + 1;

	for (size_t i = 0; i < snap->nagents; i++)
		agents += snap->agents[i].egress.state != AGENT_EGRESS_NONE;
	snprintf(text, sizeof text, "%zu wait%s", held, held == 1 ? "s" : "");
	x += canvas_clip(c, x, a.y, a.w - 2, held ? STYLE(WARN) : STYLE(DIM), text);
	snprintf(text, sizeof text, " \u00b7 %zu asked for \u00b7 %zu agent%s without a network",
		snap->nasks, agents, agents == 1 ? "" : "s");
	canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(DIM), text);
}

static void draw_question(struct network *s, struct pen *p, const struct network_row *r)
{
	const struct egress_rule *near = egress_near(s->parsed, s->nparsed, &r->to);
	const char *where = egress_leads_to(s->parsed, s->nparsed, &r->to);
	char text[EGRESS_HOST_MAX + EGRESS_REASON_MAX * 3 + 64], rule[EGRESS_RULE_MAX],
		span[FORMAT_MAX];

	egress_write_target(&r->to, rule);
	if (pen_row(p) >= 0)
		network_draw_target(p->c, p->a.x + p->x, pen_row(p), p->w, &r->to);
	pen_skip(p, 1);
	snprintf(text, sizeof text, "\"%s\"", r->process);
	pen_fact(p, "Process", STYLE(TEXT), *r->process ? text : "not known");
	if (*r->reason) {
		snprintf(text, sizeof text, "\"%s\"", r->reason);
		pen_fact(p, "It says", STYLE(TEXT), text);
	}
	snprintf(text, sizeof text, "%u\u00d7, first %s ago", r->count,
		format_span(span,
			(r->wall_ms > r->first_wall_ms ? r->wall_ms - r->first_wall_ms : 0) /
				1000));
	pen_fact(p, "Asked", STYLE(TEXT), text);
	snprintf(text, sizeof text, "allow %s%s", rule,
		egress_wants_tls(NULL, &r->to) ? " (TLS for that name only)" : "");
	pen_fact(p, "S adds", STYLE(TEXT), text);
	if (near) {
		egress_write_rule(near, rule);
		snprintf(text, sizeof text, "%s %s, which is another name", egress_rule_verb(near),
			rule);
		pen_fact(p, "Near it", STYLE(TEXT), text);
	}
	if (where)
		pen_fact(p, "Leads to", STYLE(WARN), where);
}

static void draw_approval(struct pen *p, const struct network_row *r)
{
	char text[64], span[FORMAT_MAX];

	pen_line(p, STYLE(STRONG), r->title);
	pen_fact(p, "About", STYLE(TEXT), r->about);
	snprintf(text, sizeof text, "%s ago, by process %d",
		format_span(span,
			(r->wall_ms > r->first_wall_ms ? r->wall_ms - r->first_wall_ms : 0) / 1000),
		(int)r->job.pid);
	pen_fact(p, "Asked", STYLE(TEXT), text);
	pen_fact(p, "Keys", STYLE(TEXT), "Y allows it, once; C refuses it");
}

static void draw_shown_lines(
	struct pen *p, const char *head, const struct shown_line *line, size_t n, const char *none)
{
	pen_head(p, head);
	for (size_t i = 0; i < n; i++)
		pen_line(p, (struct style){.role = (uint8_t)line[i].role}, line[i].text);
	if (!n)
		pen_line(p, STYLE(DIM), none);
}

static void draw_network_page(struct view *v, struct canvas *c, struct area a)
{
	struct network *s = v->state;
	const struct network_row *r = network_here(v);
	struct pen p = pen_on(c, (struct area){a.x + 2, a.y + 1, a.w - 4, a.h - 1}, s->page.scroll);
	bool side = a.w >= SIDE_MIN_COLUMNS;
	int top, end;

	canvas_hline(c, a.x, a.y, a.w, STYLE(RULE));
	if (!r)
		return;
	canvas_printf(c, a.x + 1, a.y, a.w - 2, STYLE(STRONG), " %s ", r->agent);
	p.key_width = 10;
	if (r->target)
		draw_question(s, &p, r);
	else if (r->approval)
		draw_approval(&p, r);
	if (r->target || r->approval)
		pen_skip(&p, 1);
	s->page.seen = a.h - 1;
	s->page.length = p.y;
	if (!*r->container || strcmp(s->about, r->container) != 0)
		return;
	top = p.y;
	if (side)
		p.w = a.w / 2 - 4;
	draw_shown_lines(&p, "RULES AND PORTS", s->rules, s->nrules, s->asked ? "\u2026" : "none");
	end = p.y;
	if (side) {
		p.x = a.w / 2;
		p.w = a.w - a.w / 2 - 4;
		p.y = top;
	} else {
		pen_skip(&p, 1);
	}
	draw_shown_lines(&p, "TRAFFIC, newest first", s->visits, s->nvisits,
		s->asked ? "\u2026" : "nothing yet");
	s->page.length = p.y > end ? p.y : end;
}

/* What is drawn now is what a key may mean in a while. */
static void note_drawn(struct view *v)
{
	struct network *s = v->state;
	const struct network_row *r = network_here(v);
	int64_t now = clock_mono_ns();

	for (size_t i = 0; i < s->nrows; i++)
		if (!s->row[i]->born_ns)
			s->row[i]->born_ns = now;
	if (r && strcmp(r->id, s->seen) != 0) {
		snprintf(s->seen, sizeof s->seen, "%s", r->id);
		s->page.scroll = 0;
		s->seen_ns = s->went ? 0 : now;
	}
	s->went = false;
}

static void network_draw(struct view *v, struct canvas *c, struct area a)
{
	struct network *s = v->state;
	struct area list = {a.x, a.y + 1, a.w, a.h - 1}, below = list;

	s->body = a;
	draw_network_head(v, c, a);
	if (s->nrows && (s->detail || a.h >= SPLIT_MIN_ROWS)) {
		if (a.h >= SPLIT_MIN_ROWS) {
			list.h = (int)s->table.nshown + 1 < list.h / 2 ? (int)s->table.nshown + 1
								       : list.h / 2;
			list.h = list.h < 4 ? 4 : list.h;
			below.y += list.h;
			below.h -= list.h;
		}
		page_draw(&s->page, v, c, below, draw_network_page);
		if (a.h < SPLIT_MIN_ROWS) {
			note_drawn(v);
			return;
		}
	}
	table_draw(&s->table, c, list);
	note_drawn(v);
}

/* ---- keys */

enum { ANSWER_FILE = 3 };
static const char *const answers[] = {"once", "session", "deny", [ANSWER_FILE] = "file"};

static bool may_answer(struct view *v, const struct network_row *r)
{
	const struct network *s = v->state;
	int64_t now = clock_mono_ns();

	if (r && r->approval)
		app_say(v->app, ROLE_DIM, "Y allows this request, C refuses it.");
	else if (!r || !r->target)
		app_say(v->app, ROLE_DIM,
			r ? "This row is an agent: go to one of its requests."
			  : "There are no requests.");
	else if (r->gone || r->answer)
		app_say(v->app, ROLE_DIM, "This request has already been decided.");
	else if (strcmp(r->id, s->seen) != 0 || now - s->seen_ns < NETWORK_YOUNG_NS ||
		!r->born_ns || now - r->born_ns < NETWORK_YOUNG_NS)
		app_say(v->app, ROLE_WARN,
			"This row has just moved here: check it, then press again.");
	else
		return true;
	return false;
}

static void answer_here(struct view *v, int answer)
{
	struct network_row *r = network_here(v);
	char target[EGRESS_HOST_MAX + 16];
	AUTO_FREE char *title = NULL;
	bool file = answer == ANSWER_FILE;

	if (!may_answer(v, r))
		return;
	snprintf(target, sizeof target, strchr(r->to.host, ':') ? "[%s]:%u" : "%s:%u", r->to.host,
		r->to.port);
	title = xasprintf("%s %s for %s%s", answer == 2 ? "deny" : "allow", target, r->agent,
		file ? ", in its team file" : "");
	if (app_run_task(v,
		    &(struct app_task){title,
			    (const char *const[]){"berth-core", "net", file ? "allow" : "ask",
				    file ? "--save" : "--answer", file ? "--" : answers[answer],
				    file ? r->container : "--", file ? target : r->container,
				    file ? NULL : target, NULL},
			    false}))
		r->answer = answers[answer];
}

/* NULL: it is decided, or has ended. */
static const struct job_info *find_asking(const struct snapshot *snap, const struct job_id *id)
{
	for (size_t i = 0; i < snap->njobs; i++) {
		const struct job_info *j = &snap->jobs[i];

		if (j->asks && j->id.pid == id->pid && j->id.started == id->started &&
			j->id.serial == id->serial)
			return j;
	}
	return NULL;
}

/* As in Jobs: by a dialog, which takes no key that was meant for another. */
static void decide_here(struct view *v, bool allow)
{
	const struct network_row *r = network_here(v);
	const struct job_info *j =
		r && r->approval ? find_asking(app_snapshot(v->app), &r->job) : NULL;

	if (j && allow)
		app_confirm_allow(v->app, j);
	else if (j)
		app_confirm_cancel(v->app, &j, 1);
	else if (r && r->approval)
		app_say(v->app, ROLE_DIM, "This request has already been decided.");
	else
		app_say(v->app, ROLE_DIM,
			r && r->target ? "A, S and W allow this connection, X denies it."
				       : "There are no requests.");
}

/* One that failed leaves the row to be decided again. */
static bool network_task(struct view *v, const struct task *t)
{
	struct network *s = v->state;

	for (size_t i = 0; t->code && i < s->nrows; i++)
		s->row[i]->answer = NULL;
	app_dirty(v->app);
	if (!t->code)
		app_say(v->app, ROLE_GOOD, "Done: %s.", t->title);
	return !t->code;
}

static bool act_on_page(struct view *v, enum action a)
{
	struct network *s = v->state;

	if (s->body.h >= SPLIT_MIN_ROWS ? a == DO_PAGE_UP || a == DO_PAGE_DOWN : s->detail)
		return page_act(&s->page, v, a);
	return false;
}

static bool network_act(struct view *v, enum action a)
{
	struct network *s = v->state;
	char was[NETWORK_ID_MAX];
	bool done;

	app_dirty(v->app);
	if (s->table.choosing)
		return table_act(&s->table, a);
	switch (a) {
	case DO_ALLOW_ONCE: answer_here(v, 0); return true;
	case DO_ALLOW_SESSION: answer_here(v, 1); return true;
	case DO_DENY_TARGET: answer_here(v, 2); return true;
	case DO_ALLOW_FILE: answer_here(v, ANSWER_FILE); return true;
	case DO_ALLOW:
	case DO_CANCEL_JOB: decide_here(v, a == DO_ALLOW); return true;
	case DO_ENTER: s->detail = !s->detail; return true;
	case DO_BACK:
		if (!s->detail || s->table.filter)
			return false;
		s->detail = false;
		return true;
	default: break;
	}
	if (act_on_page(v, a))
		return true;
	snprintf(was, sizeof was, "%s", s->table.cursor_id ? s->table.cursor_id : "");
	done = table_act(&s->table, a);
	if (done && s->table.cursor_id && strcmp(was, s->table.cursor_id) != 0) {
		s->moved = s->went = true;
		rebuild_network(s, app_snapshot(v->app), false);
		ask_for_rules(v);
	}
	return done;
}

/* What a key would only say is not for this row has no place among the keys. */
static bool network_offers(struct view *v, enum action a)
{
	const struct network *s = v->state;
	const struct network_row *r = network_here(v);

	switch (a) {
	case DO_ALLOW_ONCE:
	case DO_ALLOW_SESSION:
	case DO_ALLOW_FILE:
	case DO_DENY_TARGET: return r && r->target && !r->gone && !r->answer;
	case DO_ALLOW:
	case DO_CANCEL_JOB: return r && r->approval && !r->gone;
	case DO_FILTER: return s->nrows > 0;
	case DO_COPY:
	case DO_ENTER: return r;
	default: return true;
	}
}

static void network_open(struct view *v)
{
	struct network *s = v->state;

	table_init(&s->table, network_columns, network_ncolumns, NULL);
	s->table.empty =
		"No agent is up that has egress.  network: {allow: [pypi.org], ask: true} in the team file leaves an agent "
		"without a network, lets it reach these, and asks here for the rest.";
}

static void network_close(struct view *v)
{
	struct network *s = v->state;

	forget_lines(s);
	table_release(&s->table);
	for (size_t i = 0; i < s->nrows; i++)
		free(s->row[i]);
	free(s->row);
}

static void network_click(struct view *v, int x, int y, bool twice)
{
	struct network *s = v->state;

	s->went = table_click(&s->table, s->body.x + x, s->body.y + y);
	if (s->went && twice && y > 1)
		s->detail = !s->detail;
	ask_for_rules(v);
	app_dirty(v->app);
}

static void network_wheel(struct view *v, int lines)
{
	struct network *s = v->state;

	table_wheel(&s->table, lines);
	app_dirty(v->app);
}

static bool network_filter(struct view *v, const char *text, bool done, struct err *e)
{
	struct network *s = v->state;

	(void)done;
	return table_filter(&s->table, text, e) == 0;
}

static void network_status(struct view *v, char *buf, size_t cap)
{
	struct network *s = v->state;

	table_status(&s->table, buf, cap);
}

static bool network_copy(struct view *v, struct str *out)
{
	const struct network_row *r = network_here(v);
	char target[EGRESS_HOST_MAX + 8];

	if (!r)
		return false;
	egress_write_target(&r->to, target);
	str_adds(out, r->target ? target : r->approval ? r->title : r->container);
	return true;
}

static bool network_save(struct view *v, struct str *out)
{
	struct network *s = v->state;

	table_save(&s->table, out);
	return true;
}

const struct view_ops network_view = {
	.name = "network",
	.context = IN_NETWORK,
	.state_size = sizeof(struct network),
	.open = network_open,
	.close = network_close,
	.draw = network_draw,
	.snapshot = network_snapshot,
	.event = network_event,
	.act = network_act,
	.offers = network_offers,
	.task = network_task,
	.click = network_click,
	.wheel = network_wheel,
	.filter = network_filter,
	.status = network_status,
	.copy = network_copy,
	.save = network_save,
};
