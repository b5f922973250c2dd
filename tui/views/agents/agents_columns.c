/* agents_columns.c - lists the columns of the Agents view. */
#include "views/agents/agents.h"

#include <stdio.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "views/journal.h"

static const struct agent_row *row_of(const struct table_row *r)
{
	return r->item;
}

static const struct container *container_of(const struct table_row *r)
{
	return row_of(r)->item.c;
}

/* Nothing runs in it. */
static bool mounts_refused(const struct agent *a)
{
	return a->state == AGENT_UP && (a->mounts == MOUNTS_CHANGED || a->mounts == MOUNTS_UNKNOWN);
}

static bool secrets_gone(const struct agent *a)
{
	return a->state == AGENT_UP && a->secrets_gone;
}

/* Somebody waits to be let out, or nothing gets out any more. */
static bool egress_presses(const struct agent *a, char *buf, size_t cap)
{
	if (a->state != AGENT_UP || (!a->egress.held && a->egress.state != AGENT_EGRESS_LOST))
		return false;
	if (a->egress.held)
		snprintf(buf, cap, "asks, %u wait%s", a->egress.held,
			a->egress.held == 1 ? "s" : "");
	else
		snprintf(buf, cap, "egress lost");
	return true;
}

static void agent_egress_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct agent *a = row_of(r)->a;

	*st = STYLE(DIM);
	if (!a || a->state != AGENT_UP || !a->egress.state || egress_presses(a, buf, cap))
		return;
	snprintf(buf, cap, "%llu, %llu refused", (unsigned long long)a->egress.connections,
		(unsigned long long)a->egress.refused);
}

enum glyph agent_glyph(const struct agent *a, struct style *st)
{
	static const struct {
		enum glyph glyph;
		enum role role;
	} of[] = {
		[AGENT_DOWN] = {GLYPH_RING, ROLE_DIM},
		[AGENT_UP] = {GLYPH_DOT, ROLE_GOOD},
		[AGENT_STOPPED] = {GLYPH_CROSS, ROLE_BAD},
		[AGENT_GONE] = {GLYPH_CROSS, ROLE_BAD},
		[AGENT_STRANGER] = {GLYPH_BANG, ROLE_WARN},
	};

	const struct container *c = a->container;
	bool ended_well = a->state == AGENT_STOPPED && c && c->state == CONTAINER_EXITED &&
		!c->exit_code && !c->oom_killed;

	st->role = (uint8_t)(ended_well ? ROLE_DIM : of[a->state].role);
	if (a->state == AGENT_UP && a->ndrift)
		st->role = ROLE_WARN;
	if (a->pending) {
		st->role = ROLE_BUSY;
		return GLYPH_RING;
	}
	if (a->problem) {
		st->role = ROLE_BAD;
		return GLYPH_BANG;
	}
	if (mounts_refused(a)) {
		st->role = a->mounts == MOUNTS_CHANGED ? ROLE_BAD : ROLE_WARN;
		return GLYPH_BANG;
	}
	if (a->lane_lost || secrets_gone(a)) {
		st->role = ROLE_BAD;
		return GLYPH_BANG;
	}
	return ended_well ? GLYPH_TICK : of[a->state].glyph;
}

void agent_state_text(const struct agent *a, char *buf, size_t cap, struct style *st)
{
	agent_glyph(a, st);
	if (a->pending)
		snprintf(buf, cap, "%s…", agent_act_doing(a->pending));
	else if (a->state == AGENT_UP && a->asleep_wall_ms)
		snprintf(buf, cap, "idle, paused");
	else if (a->state == AGENT_UP && a->container && a->container->state == CONTAINER_PAUSED)
		snprintf(buf, cap, "paused");
	else if (mounts_refused(a))
		snprintf(buf, cap, "mounts %s", mounts_state_name(a->mounts));
	else if (a->lane_lost)
		snprintf(buf, cap, "lane lost");
	else if (secrets_gone(a))
		snprintf(buf, cap, "secrets gone");
	else if (egress_presses(a, buf, cap))
		st->role = ROLE_WARN;
	else if (a->state == AGENT_UP && a->nwaiting) {
		st->role = ROLE_WARN;
		snprintf(buf, cap, "waiting");
	} else if (a->state == AGENT_UP && a->ndrift)
		snprintf(buf, cap, "up, %zu drift", a->ndrift);
	else if (a->state == AGENT_STOPPED && a->container &&
		a->container->state == CONTAINER_EXITED)
		container_state_text(a->container, buf, cap, st);
	else
		snprintf(buf, cap, "%s", agent_state_name(a->state));
	/* The usual case needs no colour: the sign has it. */
	if (a->state == AGENT_UP && !a->pending && !a->ndrift && !a->problem &&
		!mounts_refused(a) && !a->lane_lost && !secrets_gone(a) && st->role != ROLE_WARN)
		st->role = ROLE_TEXT;
}

/* AGENT */

static void agent_name_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct agent *a = row_of(r)->a;

	if (a) {
		st->role = a->state == AGENT_UP ? ROLE_STRONG : ROLE_TEXT;
		snprintf(buf, cap, "%s", a->id);
	} else {
		st->role = ROLE_TEXT;
		snprintf(buf, cap, "%s", container_of(r)->name);
	}
}

static void agent_name_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	const struct agent_row *i = row_of(r);
	struct style sign = STYLE(TEXT), st = STYLE(TEXT);
	char name[TABLE_CELL_MAX];
	enum glyph glyph;
	int x = a.x;

	if (r->depth) {
		canvas_glyph(c, x, a.y, STYLE(DIM), GLYPH_BRANCH);
		x += 2;
	}
	glyph = i->a ? agent_glyph(i->a, &sign) : container_glyph(i->item.c, &sign);
	canvas_glyph(c, x, a.y, sign, glyph);
	x += 2;
	agent_name_text(r, name, sizeof name, &st);
	if (i->a)
		canvas_clip_name(c, x, a.y, a.x + a.w - x, st, name);
	else
		container_name_draw(
			i->item.c, c, (struct area){x, a.y, a.x + a.w - x, 1}, st, name);
}

static int agent_name_compare(const struct table_row *a, const struct table_row *b)
{
	const struct agent_row *x = row_of(a), *y = row_of(b);

	return text_natural(x->a ? x->a->id : x->item.c->name, y->a ? y->a->id : y->item.c->name);
}

/* ROLE: what the definition calls it; for tools what they are for berth. */

static void role_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = STYLE(DIM);
	snprintf(buf, cap, "%s", row_of(r)->a ? row_of(r)->a->role : container_of(r)->role);
}

static int role_compare(const struct table_row *a, const struct table_row *b)
{
	const struct agent *x = row_of(a)->a, *y = row_of(b)->a;

	return strcmp(x ? x->role : "", y ? y->role : "");
}

/* STATE */

static void agent_row_state_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	if (row_of(r)->a)
		agent_state_text(row_of(r)->a, buf, cap, st);
	else
		container_state_text(container_of(r), buf, cap, st);
}

static int agent_state_compare(const struct table_row *a, const struct table_row *b)
{
	const struct agent *x = row_of(a)->a, *y = row_of(b)->a;

	return x && y ? (int)x->state - (int)y->state : 0;
}

/* COMMAND: what it runs; of several the oldest, which is what it is about. */

static void idle_text(const struct agent *a, int64_t wall_ms, char *buf, size_t cap)
{
	char n[FORMAT_MAX];
	int64_t idle;

	if (!a->last || a->last->started_wall_ms <= 0) {
		snprintf(buf, cap, "idle");
		return;
	}
	idle = wall_ms - a->last->started_wall_ms - a->last->duration_ms;
	snprintf(buf, cap, "idle %s", format_span(n, idle > 0 ? idle / 1000 : 0));
}

bool agent_doing(const struct agent *a, int64_t wall_ms, char *buf, size_t cap)
{
	int64_t ms = a->ncommands ? wall_ms - a->commands[0].started_wall_ms : 0;
	char n[FORMAT_MAX];

	if (a->state != AGENT_UP || a->pending)
		return false;
	if (a->ncommands)
		snprintf(buf, cap, "%s  %s", a->commands[0].text,
			format_span(n, ms > 0 ? ms / 1000 : 0));
	else
		idle_text(a, wall_ms, buf, cap);
	return true;
}

/* The program of a tool's container is berth's init, which says nothing: alone in a container of the pool
 * it waits. */
static const char *tool_doing(const struct container *c)
{
	if (strcmp(c->command, "/.berth/init") != 0 || c->state != CONTAINER_RUNNING)
		return c->command;
	if (!strcmp(c->role, "pool") && container_has_stats(c) && c->stats.pids <= 1)
		return "warm, waiting";
	return "in a call";
}

static void agent_command_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct agent *a = row_of(r)->a;

	if (!a) {
		*st = STYLE(DIM);
		snprintf(buf, cap, "%s", tool_doing(container_of(r)));
	} else if (a->problem && !a->pending) {
		*st = STYLE(BAD);
		snprintf(buf, cap, "%s", a->problem);
	} else if (mounts_refused(a)) {
		st->role = a->mounts == MOUNTS_CHANGED ? ROLE_BAD : ROLE_WARN;
		snprintf(buf, cap, "nothing runs in it until it is brought up again");
	} else if (a->lane_lost) {
		*st = STYLE(BAD);
		snprintf(buf, cap, "its init does not answer; bring it up again");
	} else if (secrets_gone(a)) {
		*st = STYLE(BAD);
		snprintf(buf, cap, "a restart lost its secrets; bring it up again");
	} else if (a->ncommands) {
		snprintf(buf, cap, "%s", a->commands[0].text);
	} else if (a->state == AGENT_UP) {
		*st = STYLE(DIM);
		idle_text(a, row_of(r)->item.moment->wall_ms, buf, cap);
	}
}

static int command_compare(const struct table_row *a, const struct table_row *b)
{
	const struct agent *x = row_of(a)->a, *y = row_of(b)->a;

	return (int)(x ? x->nrunning : 0) - (int)(y ? y->nrunning : 0);
}

/* FOR: how long the oldest one runs. */

static int64_t for_ms(const struct table_row *r)
{
	const struct agent *a = row_of(r)->a;

	return a && a->ncommands && a->commands[0].started_wall_ms > 0
		? row_of(r)->item.moment->wall_ms - a->commands[0].started_wall_ms
		: -1;
}

static void for_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	char n[FORMAT_MAX];

	(void)st;
	if (for_ms(r) >= 0)
		snprintf(buf, cap, "%s", format_span(n, for_ms(r) / 1000));
}

static int for_compare(const struct table_row *a, const struct table_row *b)
{
	return for_ms(a) < for_ms(b) ? -1 : for_ms(a) > for_ms(b);
}

/* COMMANDS: how many at once. */

static void runs_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct agent *a = row_of(r)->a;

	if (!a || a->state != AGENT_UP)
		return;
	if (!a->nrunning)
		*st = STYLE(DIM);
	snprintf(buf, cap, "%zu", a->nrunning);
}

/* ATTENTION: why a person should look at it, the gravest reason. */

static void attention_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct agent *a = row_of(r)->a;
	int64_t ms = a ? row_of(r)->item.moment->wall_ms - a->need_wall_ms : 0;
	char why[TABLE_CELL_MAX - FORMAT_MAX], n[FORMAT_MAX];
	enum attention what = a ? agent_attention(a, why, sizeof why) : ATTENTION_NONE;

	if (!what)
		return;
	*st = what >= ATTENTION_PIDS ? STYLE(BAD) : STYLE(WARN);
	/* The age first: what is clipped is the end. */
	if (a->need_wall_ms > 0)
		snprintf(buf, cap, "%s  %s", format_span(n, ms > 0 ? ms / 1000 : 0), why);
	else
		snprintf(buf, cap, "%s", why);
}

/* Among equals who waits longest. */
static int attention_compare(const struct table_row *a, const struct table_row *b)
{
	char why[8];
	const struct agent *x = row_of(a)->a, *y = row_of(b)->a;
	int order = (int)(x ? agent_attention(x, why, sizeof why) : 0) -
		(int)(y ? agent_attention(y, why, sizeof why) : 0);

	if (order || !x || !y)
		return order;
	return (x->need_wall_ms < y->need_wall_ms) - (x->need_wall_ms > y->need_wall_ms);
}

/* TERMINALS: what each does, those that wait first. */

static enum role terminal_role(const struct agent_terminal *t)
{
	return t->does == TERMINAL_WAITING                 ? ROLE_WARN
		: t->does == TERMINAL_WORKING              ? ROLE_BUSY
		: t->does == TERMINAL_OVER && t->exit_code ? ROLE_BAD
							   : ROLE_DIM;
}

void agent_terminal_text(
	const struct agent_terminal *t, int64_t wall_ms, char *buf, size_t cap, struct style *st)
{
	int64_t ms = t->since_wall_ms > 0 ? wall_ms - t->since_wall_ms : -1;
	char n[FORMAT_MAX] = "", code[16] = "";

	st->role = (uint8_t)terminal_role(t);
	if (t->does == TERMINAL_OVER)
		snprintf(code, sizeof code, " (%d)", t->exit_code);
	if (ms >= 0)
		format_span(n, ms / 1000);
	snprintf(buf, cap, "%s%s%s%s", terminal_does_name(t->does), code, *n ? " " : "", n);
}

static void agent_terminals_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct agent *a = row_of(r)->a;
	char one[64];
	size_t used = 0;

	if (!a || a->state != AGENT_UP)
		return;
	for (size_t i = 0; i < a->nterminals && used + 1 < cap; i++) {
		struct style its = STYLE(TEXT);

		agent_terminal_text(
			&a->terminals[i], row_of(r)->item.moment->wall_ms, one, sizeof one, &its);
		if (!i)
			*st = its;
		used += (size_t)snprintf(buf + used, cap - used, "%s%s %s", i ? ", " : "", one,
			a->terminals[i].name);
	}
}

static int agent_terminals_compare(const struct table_row *a, const struct table_row *b)
{
	const struct agent *x = row_of(a)->a, *y = row_of(b)->a;
	size_t waits[] = {x ? x->nwaiting : 0, y ? y->nwaiting : 0};

	if (waits[0] != waits[1])
		return waits[0] < waits[1] ? -1 : 1;
	return (int)(x ? x->nterminals : 0) - (int)(y ? y->nterminals : 0);
}

/* CALL and its neighbours: what it asks of `berth mcp`, which for most of them needs no command. */

static const struct calls_now *calls_of_row(const struct table_row *r)
{
	const struct agent *a = row_of(r)->a;

	return a && a->calls.totals.servers ? &a->calls : NULL;
}

bool agent_calling(const struct calls_now *k, int64_t wall_ms, char *buf, size_t cap)
{
	int64_t ms = wall_ms - k->started_wall_ms;
	char n[FORMAT_MAX], more[24] = "";

	if (!k->totals.running)
		return false;
	if (k->totals.running > 1)
		snprintf(more, sizeof more, ", %u more", k->totals.running - 1);
	snprintf(buf, cap, "%s  %s%s", *k->tool ? k->tool : "calls",
		*k->tool ? format_span(n, ms > 0 ? ms / 1000 : 0) : "", more);
	return true;
}

static void agent_call_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct calls_now *k = calls_of_row(r);

	*st = STYLE(DIM);
	if (k && agent_calling(k, row_of(r)->item.moment->wall_ms, buf, cap))
		*st = STYLE(BUSY);
	else if (k)
		snprintf(buf, cap, "idle");
}

static int agent_call_compare(const struct table_row *a, const struct table_row *b)
{
	const struct calls_now *x = calls_of_row(a), *y = calls_of_row(b);

	return (x ? (int)x->totals.running + 1 : 0) - (y ? (int)y->totals.running + 1 : 0);
}

static void calls_count_text(const struct table_row *r, uint64_t n, enum role role, char *buf,
	size_t cap, struct style *st)
{
	char text[FORMAT_MAX];

	st->role = n ? (uint8_t)role : ROLE_DIM;
	if (calls_of_row(r))
		snprintf(buf, cap, "%s", format_count(text, n));
}

#define CALLS_COUNT(name, value, role)                                                  \
	static uint64_t name##_of(const struct table_row *r)                            \
	{                                                                               \
		const struct calls_now *k = calls_of_row(r);                            \
		return k ? (value) : 0;                                                 \
	}                                                                               \
	static void name##_text(                                                        \
		const struct table_row *r, char *buf, size_t cap, struct style *st)     \
	{                                                                               \
		calls_count_text(r, name##_of(r), role, buf, cap, st);                  \
	}                                                                               \
	static int name##_compare(const struct table_row *a, const struct table_row *b) \
	{                                                                               \
		return (name##_of(a) > name##_of(b)) - (name##_of(a) < name##_of(b));   \
	}
CALLS_COUNT(calls_minute, k->totals.minute, ROLE_TEXT)
CALLS_COUNT(calls_failed, k->totals.failed, ROLE_BAD)

static void calls_bytes_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct calls_now *k = calls_of_row(r);
	char in[FORMAT_MAX], out[FORMAT_MAX];

	*st = STYLE(DIM);
	if (k)
		snprintf(buf, cap, "%s/%s", format_bytes(in, k->totals.in_bytes),
			format_bytes(out, k->totals.out_bytes));
}

static int calls_bytes_compare(const struct table_row *a, const struct table_row *b)
{
	const struct calls_now *x = calls_of_row(a), *y = calls_of_row(b);
	uint64_t left = x ? x->totals.in_bytes + x->totals.out_bytes : 0,
		 right = y ? y->totals.in_bytes + y->totals.out_bytes : 0;

	return (left > right) - (left < right);
}

/* LAST: how the last command ended. */

static void last_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct agent *a = row_of(r)->a;
	char n[FORMAT_MAX];

	if (!a || !a->last)
		return;
	*st = a->last->good ? STYLE(DIM) : STYLE(WARN);
	snprintf(buf, cap, "%s  %s", a->last->ended, journal_took(n, a->last->duration_ms));
}

/* PATH: how commands get in, and whether a program relays what goes out. */

static void agent_path_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct agent *a = row_of(r)->a;
	const char *path = a ? agent_path(a) : NULL;

	if (!path)
		return;
	*st = a->lane_lost ? STYLE(BAD) : a->lane || a->no_lane ? STYLE(DIM) : STYLE(WARN);
	snprintf(buf, cap, "%s", path);
}

/* COST: dollars and tokens, as the answers to its routes with keys say. */

static void cost_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct agent *a = row_of(r)->a;
	char tokens[FORMAT_MAX];

	if (!a || !a->routes)
		return;
	*st = a->budget_spent ? STYLE(BAD) : STYLE(DIM);
	snprintf(buf, cap, "$%.2f %s", (double)a->nano_dollars / 1e9,
		format_count(tokens, a->tokens));
}

static int cost_compare(const struct table_row *a, const struct table_row *b)
{
	const struct agent *x = row_of(a)->a, *y = row_of(b)->a;
	uint64_t left = x ? x->nano_dollars : 0, right = y ? y->nano_dollars : 0;

	return (left > right) - (left < right);
}

static void drift_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct agent *a = row_of(r)->a;

	if (!a || !a->checked_wall_ms)
		return;
	*st = a->ndrift ? STYLE(WARN) : STYLE(DIM);
	if (a->ndrift)
		snprintf(buf, cap, "%zu of %zu", a->ndrift, a->nchecks);
	else
		snprintf(buf, cap, "none");
}

static void health_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct container *c = container_of(r);

	/* An agent's own check takes the place of any other. */
	enum health health = !c ? HEALTH_NONE : c->own_health ? c->own_health : c->health;

	*st = health == HEALTH_UNHEALTHY ? STYLE(BAD) : STYLE(DIM);
	if (c)
		snprintf(buf, cap, "%s", health_name(health));
}

static void agent_image_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = STYLE(DIM);
	snprintf(buf, cap, "%s", row_of(r)->a ? row_of(r)->a->image : container_of(r)->image);
}

static int agent_image_compare(const struct table_row *a, const struct table_row *b)
{
	char x[TABLE_CELL_MAX], y[TABLE_CELL_MAX];
	struct style st;

	agent_image_text(a, x, sizeof x, &st);
	agent_image_text(b, y, sizeof y, &st);
	return strcmp(x, y);
}

/* Texts of the agent as they are. */
#define TEXT_COLUMN(field)                                                          \
	static void field##_text(                                                   \
		const struct table_row *r, char *buf, size_t cap, struct style *st) \
	{                                                                           \
		*st = STYLE(DIM);                                                   \
		if (row_of(r)->a)                                                   \
			snprintf(buf, cap, "%s", row_of(r)->a->field);              \
	}
TEXT_COLUMN(session)
TEXT_COLUMN(workspace)
TEXT_COLUMN(file)

/* What the Containers view shows of a container, where there is one. */
#define BORROW(name, index)                                                             \
	static void name##_text(                                                        \
		const struct table_row *r, char *buf, size_t cap, struct style *st)     \
	{                                                                               \
		if (container_of(r))                                                    \
			container_columns[index].text(r, buf, cap, st);                 \
	}                                                                               \
	static int name##_compare(const struct table_row *a, const struct table_row *b) \
	{                                                                               \
		if (!container_of(a) || !container_of(b))                               \
			return !!container_of(a) - !!container_of(b);                   \
		return container_columns[index].compare(a, b);                          \
	}
#define BORROW_DRAWN(name, index)                                                           \
	BORROW(name, index)                                                                 \
	static void name##_draw(const struct table_row *r, struct canvas *c, struct area a) \
	{                                                                                   \
		if (container_of(r))                                                        \
			container_columns[index].draw(r, c, a);                             \
	}
BORROW_DRAWN(cpu, CONTAINER_CPU)
BORROW(mem, CONTAINER_MEM)
BORROW_DRAWN(limit, CONTAINER_LIMIT)
BORROW_DRAWN(pids, CONTAINER_PIDS)
BORROW(up, CONTAINER_UP)

/* clang-format off */
const struct table_column agent_columns[] = {
	[AGENT_NAME] = {.name = "agent", .head = "AGENT", .min = 14, .ideal = 16, .sign = true,
		.text = agent_name_text, .draw = agent_name_draw, .compare = agent_name_compare},
	[AGENT_STATE] = {.name = "state", .head = "STATE", .min = 14, .ideal = 14, .text = agent_row_state_text,
		.compare = agent_state_compare},
	[AGENT_COMMAND] = {.name = "command", .head = "COMMAND", .min = 16, .ideal = 24, .grow = 3,
		.keep = 20, .descending = true, .text = agent_command_text, .compare = command_compare},
	[AGENT_TERMINALS] = {.name = "terminals", .head = "TERMINALS", .min = 12, .ideal = 26, .keep = 45,
		.descending = true, .text = agent_terminals_text, .compare = agent_terminals_compare},
	{.name = "attention", .head = "ATTENTION", .min = 14, .ideal = 28, .grow = 1, .keep = 64,
		.optional = true, .descending = true, .text = attention_text, .compare = attention_compare},
	{.name = "for", .head = "FOR", .min = 6, .ideal = 6, .keep = 46, .right = true,
		.descending = true, .text = for_text, .compare = for_compare},
	{.name = "last", .head = "LAST", .min = 14, .ideal = 15, .keep = 60, .text = last_text},
	{.name = "commands", .head = "CMDS", .min = 4, .ideal = 4, .keep = 62, .right = true,
		.descending = true, .text = runs_text, .compare = command_compare},
	{.name = "call", .head = "CALL", .min = 20, .ideal = 22, .keep = 67, .descending = true,
		.text = agent_call_text, .compare = agent_call_compare},
	{.name = "calls", .head = "CALLS/MIN", .min = 9, .ideal = 9, .keep = 94, .right = true,
		.descending = true, .text = calls_minute_text, .compare = calls_minute_compare},
	{.name = "errors", .head = "ERRORS", .min = 6, .ideal = 6, .keep = 93, .right = true,
		.descending = true, .text = calls_failed_text, .compare = calls_failed_compare},
	{.name = "bytes", .head = "IN/OUT", .min = 9, .ideal = 11, .keep = 95, .right = true,
		.descending = true, .text = calls_bytes_text, .compare = calls_bytes_compare},
	{.name = "cpu", .head = " CPU %", .min = 6, .ideal = 15, .grow = 1, .descending = true,
		.text = cpu_text, .draw = cpu_draw, .compare = cpu_compare},
	{.name = "mem", .head = "MEM", .min = 5, .ideal = 5, .right = true, .descending = true,
		.text = mem_text, .compare = mem_compare},
	{.name = "limit", .head = "LIMIT", .min = 5, .ideal = 12, .keep = 56, .descending = true,
		.text = limit_text, .draw = limit_draw, .compare = limit_compare},
	{.name = "pids", .head = "PIDS", .min = 4, .ideal = 9, .keep = 58, .descending = true,
		.text = pids_text, .draw = pids_draw, .compare = pids_compare},
	{.name = "up", .head = "UP", .min = 6, .ideal = 6, .keep = 40, .right = true,
		.text = up_text, .compare = up_compare},
	{.name = "path", .head = "PATH", .min = 6, .ideal = 6, .keep = 66, .text = agent_path_text},
	{.name = "role", .head = "ROLE", .min = 8, .ideal = 12, .keep = 64, .text = role_text,
		.compare = role_compare},
	{.name = "image", .head = "IMAGE", .min = 12, .ideal = 18, .grow = 1, .keep = 90,
		.text = agent_image_text, .compare = agent_image_compare},
	{.name = "drift", .head = "DRIFT", .min = 8, .ideal = 8, .keep = 100, .optional = true,
		.text = drift_text},
	{.name = "health", .head = "HEALTH", .min = 9, .ideal = 9, .keep = 101, .optional = true,
		.text = health_text},
	{.name = "session", .head = "SESSION", .min = 8, .ideal = 12, .keep = 92,
		.text = session_text},
	{.name = "workspace", .head = "WORKSPACE", .min = 12, .ideal = 24, .grow = 1, .keep = 102,
		.optional = true, .text = workspace_text},
	{.name = "file", .head = "TEAM FILE", .min = 12, .ideal = 24, .grow = 1, .keep = 103,
		.optional = true, .text = file_text},
	{.name = "egress", .head = "EGRESS", .min = 12, .ideal = 16, .keep = 104, .optional = true,
		.text = agent_egress_text},
	{.name = "cost", .head = "COST", .min = 10, .ideal = 16, .keep = 105, .right = true, .optional = true,
		.descending = true, .text = cost_text, .compare = cost_compare},
};
/* clang-format on */
const size_t agent_ncolumns = COUNT(agent_columns);
