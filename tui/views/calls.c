/* calls.c - shows the tool calls of agents that use `berth mcp`, and one call in detail. */
#include "views/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/calls.h>
#include <berth/clock.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/str.h>
#include <berth/text.h>

#include "views/list.h"
#include "views/page.h"
#include "views/pen.h"
#include "views/table_view.h"
#include "widgets/widgets.h"

#define CALL_ID_MAX 40
#define ASK_CALLS_NS (900 * (int64_t)1000000)

struct calls {
	struct table table;        /* first: table_view.h */
	char agent[CALL_NAME_MAX]; /* "": all */
	struct table_column
		*columns; /* ours: whose call it is goes without saying on an agent's page */
	struct call_info *call;
	char (*ids)[CALL_ID_MAX];
	size_t n;
	struct call_totals totals;
	bool told, detail;
	uint64_t asked;
	int64_t asked_ns;
	struct page page; /* of the one in full */
	char *shown;      /* its id */
	struct area body;
};
TABLE_COMES_FIRST(struct calls);

static const struct call_info *call_of(const struct table_row *r)
{
	return r->item;
}

/* --- columns --- */

static const struct {
	const char *word;
	enum role role;
} call_looks[] = {
	[CALL_RUNS] = {"runs", ROLE_BUSY},
	[CALL_DONE] = {"ok", ROLE_DIM},
	[CALL_FAILED] = {"error", ROLE_BAD},
	[CALL_CANCELLED] = {"cancelled", ROLE_WARN},
	[CALL_LOST] = {"lost", ROLE_WARN},
};

static void call_time_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	char n[FORMAT_MAX];

	*st = STYLE(DIM);
	snprintf(buf, cap, "%s", format_wall(n, call_of(r)->started_wall_ms));
}

static int call_time_compare(const struct table_row *a, const struct table_row *b)
{
	const struct call_info *x = call_of(a), *y = call_of(b);

	if (x->started_wall_ms != y->started_wall_ms)
		return x->started_wall_ms < y->started_wall_ms ? -1 : 1;
	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

static void call_agent_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	(void)st;
	snprintf(buf, cap, "%s", call_of(r)->agent);
}

static void call_tool_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = call_of(r)->state == CALL_RUNS ? STYLE(STRONG) : STYLE(TEXT);
	snprintf(buf, cap, "%s", call_of(r)->tool);
}

static int call_tool_compare(const struct table_row *a, const struct table_row *b)
{
	return strcmp(call_of(a)->tool, call_of(b)->tool);
}

static void call_ended_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = (struct style){.role = (uint8_t)call_looks[call_of(r)->state].role};
	snprintf(buf, cap, "%s", call_looks[call_of(r)->state].word);
}

static int call_ended_compare(const struct table_row *a, const struct table_row *b)
{
	return (int)call_of(a)->state - (int)call_of(b)->state;
}

static char *call_took(char buf[FORMAT_MAX], int64_t us)
{
	if (us < 0)
		snprintf(buf, FORMAT_MAX, "\u2013");
	else if (us < 1000)
		snprintf(buf, FORMAT_MAX, "%d us", (int)us);
	else if (us < 1000000)
		snprintf(buf, FORMAT_MAX, us < 10000 ? "%.1f ms" : "%.0f ms", (double)us / 1000);
	else
		format_age(buf, us / 1000);
	return buf;
}

static void call_took_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	char n[FORMAT_MAX];

	*st = call_of(r)->state == CALL_RUNS ? STYLE(BUSY) : STYLE(TEXT);
	snprintf(buf, cap, "%s", call_took(n, call_of(r)->duration_us));
}

static int call_took_compare(const struct table_row *a, const struct table_row *b)
{
	int64_t x = call_of(a)->duration_us, y = call_of(b)->duration_us;

	return x < y ? -1 : x > y;
}

static void call_bytes_text(uint64_t bytes, char *buf, size_t cap, struct style *st)
{
	char n[FORMAT_MAX];

	*st = STYLE(DIM);
	snprintf(buf, cap, "%s", format_bytes(n, bytes));
}

static void call_in_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	call_bytes_text(call_of(r)->in_bytes, buf, cap, st);
}

static void call_out_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	if (call_of(r)->state != CALL_RUNS && call_of(r)->state != CALL_LOST)
		call_bytes_text(call_of(r)->out_bytes, buf, cap, st);
}

static int call_out_compare(const struct table_row *a, const struct table_row *b)
{
	uint64_t x = call_of(a)->out_bytes, y = call_of(b)->out_bytes;

	return x < y ? -1 : x > y;
}

/* In one line: the values are what tells calls apart. */
static void call_arguments_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	(void)st;
	snprintf(buf, cap, "%s", call_of(r)->arguments);
	for (char *at = buf; *at; at++)
		if (*at == '\n')
			*at = ' ';
}

enum { CALLS_AGENT = 1 };

/* clang-format off */
static const struct table_column columns[] = {
	{.name = "when", .head = "WHEN", .min = 8, .ideal = 8, .keep = 40, .descending = true,
		.text = call_time_text, .compare = call_time_compare},
	{.name = "agent", .head = "AGENT", .min = 8, .ideal = 12, .keep = 30, .text = call_agent_text},
	{.name = "tool", .head = "TOOL", .min = 14, .ideal = 20, .text = call_tool_text,
		.compare = call_tool_compare},
	{.name = "ended", .head = "ENDED", .min = 5, .ideal = 9, .text = call_ended_text,
		.compare = call_ended_compare},
	{.name = "took", .head = "TOOK", .min = 6, .ideal = 7, .right = true, .descending = true,
		.text = call_took_text, .compare = call_took_compare},
	{.name = "in", .head = "IN", .min = 5, .ideal = 5, .keep = 60, .right = true, .text = call_in_text},
	{.name = "out", .head = "OUT", .min = 5, .ideal = 5, .keep = 50, .right = true, .descending = true,
		.text = call_out_text, .compare = call_out_compare},
	{.name = "arguments", .head = "ARGUMENTS", .min = 12, .ideal = 40, .grow = 1, .keep = 20,
		.text = call_arguments_text},
};
/* clang-format on */

/* --- asking --- */

static void ask_for_calls(struct view *v)
{
	struct calls *s = v->state;
	struct command *c;

	if (s->asked)
		return;
	c = command_new(CMD_CALLS);
	if (*s->agent)
		command_target(c, "", "", s->agent);
	s->asked_ns = clock_mono_ns();
	s->asked = app_send(v->app, c);
}

static void take_calls(struct calls *s, const struct event *e)
{
	struct call_info *old = s->call;
	char(*ids)[CALL_ID_MAX] = s->ids;

	s->n = e->ncalls;
	s->totals = e->call_totals;
	s->call = xcalloc(s->n + 1, sizeof *s->call);
	s->ids = xcalloc(s->n + 1, sizeof *s->ids);
	if (s->n)
		memcpy(s->call, e->calls, s->n * sizeof *s->call);
	table_begin(&s->table);
	for (size_t i = 0; i < s->n; i++) {
		snprintf(s->ids[i], CALL_ID_MAX, "%d.%llu", (int)s->call[i].pid,
			(unsigned long long)s->call[i].serial);
		table_add(&s->table,
			(struct table_row){.engine = "", .id = s->ids[i], .item = &s->call[i]});
	}
	table_end(&s->table);
	s->told = true;
	free(old);
	free(ids);
}

static void calls_event(struct view *v, const struct event *e)
{
	struct calls *s = v->state;

	if (e->kind != EV_CALLS || e->id != s->asked)
		return;
	s->asked = 0;
	take_calls(s, e);
	app_dirty(v->app);
}

static void calls_snapshot(struct view *v, const struct snapshot *snap)
{
	struct calls *s = v->state;

	(void)snap;
	if (clock_mono_ns() - s->asked_ns >= ASK_CALLS_NS)
		ask_for_calls(v);
}

/* --- drawing --- */

static void draw_calls_head(const struct calls *s, struct canvas *c, struct area a)
{
	char text[160], in[FORMAT_MAX], out[FORMAT_MAX], calls[FORMAT_MAX], rate[FORMAT_MAX];
	uint32_t runs = s->totals.running;
	int x = a.x + 1;

	x += canvas_clip(c, x, a.y, a.w / 3, STYLE(STRONG), *s->agent ? s->agent : "All agents");
	if (!s->told) {
		canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(BUSY), "  Looking\u2026");
		return;
	}
	if (!s->totals.servers) {
		canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(DIM), "  no server runs");
		return;
	}
	snprintf(text, sizeof text, "  %u running \u00b7 %s a minute", runs,
		format_count(rate, s->totals.minute));
	x += canvas_clip(c, x, a.y, a.x + a.w - x, runs ? STYLE(BUSY) : STYLE(TEXT), text);
	snprintf(text, sizeof text, " \u00b7 %s error%s", format_count(calls, s->totals.failed),
		s->totals.failed == 1 ? "" : "s");
	x += canvas_clip(
		c, x, a.y, a.x + a.w - x, s->totals.failed ? STYLE(BAD) : STYLE(DIM), text);
	snprintf(text, sizeof text, " \u00b7 %s call%s, %s in, %s out",
		format_count(calls, s->totals.calls), s->totals.calls == 1 ? "" : "s",
		format_bytes(in, s->totals.in_bytes), format_bytes(out, s->totals.out_bytes));
	canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(DIM), text);
}

static void write_call_text(struct pen *p, const char *head, const char *text)
{
	AUTO_FREE char *copy = xstrdup(text);
	char *rest = copy, *line;

	pen_skip(p, 1);
	pen_head(p, head);
	while ((line = strsep(&rest, "\n")))
		pen_text(p, STYLE(TEXT), 0, *line ? line : " ");
}

static void draw_call(struct view *v, struct canvas *c, struct area a)
{
	struct calls *s = v->state;
	const struct table_row *r = table_current(&s->table);
	const struct call_info *k = r ? call_of(r) : NULL;
	struct pen p = pen_on(c, (struct area){a.x + 2, a.y + 1, a.w - 4, a.h - 1}, s->page.scroll);
	char text[200], n[FORMAT_MAX], in[FORMAT_MAX], out[FORMAT_MAX];

	canvas_hline(c, a.x, a.y, a.w, STYLE(RULE));
	if (!k)
		return;
	snprintf(text, sizeof text, " %.60s ", k->tool);
	canvas_clip(c, a.x + 1, a.y, a.w - 2, STYLE(STRONG), text);
	p.key_width = 10;
	snprintf(text, sizeof text, "%s%s%s", call_looks[k->state].word,
		k->duration_us < 0              ? ""
			: k->state == CALL_RUNS ? " for "
						: " after ",
		k->duration_us < 0 ? "" : call_took(n, k->duration_us));
	pen_fact(&p, "Ended", (struct style){.role = (uint8_t)call_looks[k->state].role}, text);
	pen_fact(&p, "Agent", STYLE(TEXT), k->agent);
	snprintf(text, sizeof text, "%s, process %d", format_stamp(n, k->started_wall_ms),
		(int)k->pid);
	pen_fact(&p, "Began", STYLE(TEXT), text);
	snprintf(text, sizeof text, "%s in, %s out", format_bytes(in, k->in_bytes),
		format_bytes(out, k->out_bytes));
	pen_fact(&p, "Bytes", STYLE(TEXT), text);
	write_call_text(&p, "ARGUMENTS", *k->arguments ? k->arguments : "none");
	if (k->state != CALL_RUNS && k->state != CALL_LOST)
		write_call_text(&p, k->state == CALL_FAILED ? "ERROR" : "RESULT, its beginning",
			*k->result ? k->result : "empty");
	s->page.length = p.y;
	s->page.seen = a.h - 1;
}

static void calls_draw(struct view *v, struct canvas *c, struct area a)
{
	struct calls *s = v->state;
	struct area list = {a.x, a.y + 1, a.w, a.h - 1};
	const struct table_row *r = table_current(&s->table);

	s->body = a;
	draw_calls_head(s, c, a);
	if (s->detail && r &&
		!page_draw_below(&s->page, &s->shown, r->id, v, c, &list, 4, draw_call))
		return;
	if (s->told)
		table_draw(&s->table, c, list);
}

/* --- keys --- */

static bool calls_act(struct view *v, enum action a)
{
	struct calls *s = v->state;

	app_dirty(v->app);
	if (s->table.choosing)
		return table_act(&s->table, a);
	switch (a) {
	case DO_ENTER: s->detail = !s->detail; return true;
	case DO_REFRESH: ask_for_calls(v); return true;
	case DO_BACK:
		if (!s->detail || s->table.filter)
			return false;
		s->detail = false;
		return true;
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

static void calls_open(struct view *v)
{
	struct calls *s = v->state;
	const struct calls_seed *seed = v->seed;

	snprintf(s->agent, sizeof s->agent, "%s", seed->agent ? seed->agent : "");
	s->columns = xcalloc(COUNT(columns), sizeof *s->columns);
	memcpy(s->columns, columns, sizeof columns);
	s->columns[CALLS_AGENT].optional = *s->agent != '\0';
	table_init(&s->table, s->columns, COUNT(columns), NULL);
	s->table.empty =
		"No call yet.  An agent's client starts `berth mcp` as its server of tools; what it "
		"calls is listed here as it happens (berth help berth-mcp).";
	ask_for_calls(v);
}

static void calls_close(struct view *v)
{
	struct calls *s = v->state;

	table_release(&s->table);
	free(s->columns);
	free(s->call);
	free(s->ids);
	free(s->shown);
}

static void calls_click(struct view *v, int x, int y, bool twice)
{
	struct calls *s = v->state;

	if (table_click(&s->table, s->body.x + x, s->body.y + y) && twice && y > 1)
		s->detail = !s->detail;
	app_dirty(v->app);
}

static bool calls_copy(struct view *v, struct str *out)
{
	struct calls *s = v->state;
	const struct table_row *r = table_current(&s->table);

	if (r)
		str_addf(out, "%s\n%s", call_of(r)->tool, call_of(r)->arguments);
	return r != NULL;
}

const struct view_ops calls_view = {
	.name = "calls",
	.context = IN_CALLS,
	.state_size = sizeof(struct calls),
	.open = calls_open,
	.close = calls_close,
	.draw = calls_draw,
	.snapshot = calls_snapshot,
	.event = calls_event,
	.act = calls_act,
	.click = calls_click,
	.wheel = table_view_wheel,
	.filter = table_view_filter,
	.sort = table_view_sort,
	.status = table_view_status,
	.copy = calls_copy,
	.save = table_view_save,
};
