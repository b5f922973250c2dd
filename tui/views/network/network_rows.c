/* network_rows.c - builds the rows and columns of the Network view. */
#include "views/network/network.h"

#include <stdio.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

static const struct network_row *network_of(const struct table_row *r)
{
	return r->item;
}

void network_row_of_ask(struct network_row *r, const struct agent_ask *k)
{
	char target[EGRESS_HOST_MAX + 16];

	r->target = true;
	r->gone = false;
	snprintf(target, sizeof target, strchr(k->host, ':') ? "[%s]:%u" : "%s:%u", k->host,
		k->port);
	if (egress_parse_target(target, strlen(target), 0, &r->to, NULL))
		r->gone = true; /* what cannot be named cannot be decided on */
	snprintf(r->id, sizeof r->id, "t/%.63s/%s", k->container, target);
	text_clean(r->agent, sizeof r->agent, k->agent);
	snprintf(r->container, sizeof r->container, "%s", k->container);
	text_clean(r->process, sizeof r->process, k->process);
	text_clean(r->reason, sizeof r->reason, k->reason);
	r->first_wall_ms = k->first_wall_ms;
	r->last_wall_ms = k->last_wall_ms;
	r->count = k->count;
	r->held = k->held;
}

void network_row_of_approval(
	struct network_row *r, const struct job_info *j, const struct snapshot *snap)
{
	r->approval = true;
	r->job = j->id;
	snprintf(r->id, sizeof r->id, "j/%d.%llu.%u", (int)j->id.pid,
		(unsigned long long)j->id.started, j->id.serial);
	text_clean(r->agent, sizeof r->agent, j->owner);
	for (size_t i = 0; i < snap->nagents; i++)
		if (!strcmp(snap->agents[i].id, j->owner))
			snprintf(r->container, sizeof r->container, "%s", snap->agents[i].name);
	text_clean(r->title, sizeof r->title, j->name);
	text_clean(r->about, sizeof r->about, j->current);
	r->first_wall_ms = r->last_wall_ms = j->started_wall_ms;
	r->count = r->held = 1;
}

void network_row_of_agent(struct network_row *r, const struct agent *a)
{
	snprintf(r->id, sizeof r->id, "c/%.63s", a->name);
	text_clean(r->agent, sizeof r->agent, a->id);
	snprintf(r->container, sizeof r->container, "%s", a->name);
	r->egress = a->egress;
}

int network_draw_target(struct canvas *c, int x, int y, int w, const struct egress_target *to)
{
	size_t owner = egress_registrable(to);
	bool v6 = to->literal.family == AF_INET6;
	char tail[16] = "", host[EGRESS_HOST_MAX + 4];
	int begin = x, length;
	const char *from = host;

	if (to->port != EGRESS_TLS_PORT)
		snprintf(tail, sizeof tail, ":%u", to->port);
	snprintf(host, sizeof host, v6 ? "[%s]" : "%s", to->host);
	length = (int)(strlen(host) + strlen(tail));
	if (length > w && w > 1) {
		from += length - w + 1;
		x += canvas_text(c, x, y, 1, STYLE(DIM), glyph_text(c, GLYPH_ELLIPSIS));
	}
	if (from < host + owner)
		x += canvas_textn(
			c, x, y, begin + w - x, STYLE(DIM), from, (size_t)(host + owner - from));
	if (from < host + owner)
		from = host + owner;
	x += canvas_text(c, x, y, begin + w - x, STYLE(STRONG), from);
	x += canvas_text(c, x, y, begin + w - x, STYLE(TEXT), tail);
	return x - begin;
}

static void net_agent_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = network_of(r)->gone ? STYLE(DIM) : STYLE(TEXT);
	snprintf(buf, cap, "%s", network_of(r)->agent);
}

static void net_process_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct network_row *x = network_of(r);

	*st = STYLE(DIM);
	if (x->target && *x->process)
		snprintf(buf, cap, "\"%s\"", x->process);
	else
		snprintf(buf, cap, "%s", x->target && *x->reason ? "asks" : "");
}

static void write_agent_egress(const struct agent_egress *e, char *buf, size_t cap)
{
	char asks[64] = "";

	if (e->ask_s)
		snprintf(asks, sizeof asks, ", asks for the rest (%u s)", e->ask_s);
	if (e->state == AGENT_EGRESS_LOST)
		snprintf(buf, cap, "egress lost: it reaches nothing");
	else
		snprintf(buf, cap, "%u rule%s%s%s", e->rules, e->rules == 1 ? "" : "s", asks,
			e->relayed ? ", by a relay" : "");
}

static void net_target_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct network_row *x = network_of(r);
	char target[EGRESS_HOST_MAX + 8];

	*st = x->egress.state == AGENT_EGRESS_LOST ? STYLE(BAD) : STYLE(TEXT);
	if (x->approval) {
		*st = x->gone ? STYLE(DIM) : STYLE(STRONG);
		snprintf(buf, cap, "%s", x->title);
		return;
	}
	if (!x->target) {
		write_agent_egress(&x->egress, buf, cap);
		return;
	}
	egress_write_target(&x->to, target);
	snprintf(buf, cap, "%s", target);
}

static void net_target_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	const struct network_row *x = network_of(r);
	char text[TABLE_CELL_MAX];
	struct style st;

	if (x->target) {
		network_draw_target(c, a.x, a.y, a.w, &x->to);
		if (x->gone)
			canvas_restyle(c, a, ROLE_DIM);
		return;
	}
	net_target_text(r, text, sizeof text, &st);
	canvas_clip(c, a.x, a.y, a.w, st, text);
}

static void net_seen_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct network_row *x = network_of(r);
	char age[FORMAT_MAX];

	*st = STYLE(DIM);
	if (x->target || x->approval)
		snprintf(buf, cap, "%s",
			format_span(age,
				(x->wall_ms > x->first_wall_ms ? x->wall_ms - x->first_wall_ms
							       : 0) /
					1000));
}

static void net_count_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct network_row *x = network_of(r);
	char n[FORMAT_MAX];

	*st = STYLE(TEXT);
	snprintf(buf, cap, "%s",
		format_count(n, x->target || x->approval ? x->count : x->egress.connections));
}

static void net_state_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct network_row *x = network_of(r);

	*st = STYLE(DIM);
	if (!x->target && !x->approval) {
		snprintf(buf, cap, "%u open", x->egress.open);
	} else if (x->answer) {
		snprintf(buf, cap, "%s", strcmp(x->answer, "deny") != 0 ? "allowed" : "denied");
	} else if (x->gone) {
		snprintf(buf, cap, "decided");
	} else if (x->held) {
		*st = STYLE(WARN);
		snprintf(buf, cap, "%u wait%s", x->held, x->held == 1 ? "s" : "");
	} else {
		snprintf(buf, cap, "refused");
	}
}

static void net_up_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	char n[FORMAT_MAX];

	*st = STYLE(DIM);
	if (!network_of(r)->target && !network_of(r)->approval)
		snprintf(buf, cap, "%s", format_bytes(n, network_of(r)->egress.up_bytes));
}

static void net_down_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	char n[FORMAT_MAX];

	*st = STYLE(DIM);
	if (!network_of(r)->target && !network_of(r)->approval)
		snprintf(buf, cap, "%s", format_bytes(n, network_of(r)->egress.down_bytes));
}

/* clang-format off */
/* None can be sorted by: rows stand where they came, so that none moves under the cursor. */
const struct table_column network_columns[] = {
	{.name = "agent", .head = "AGENT", .min = 8, .ideal = 14, .text = net_agent_text},
	{.name = "state", .head = "STATE", .min = 7, .ideal = 8, .text = net_state_text},
	{.name = "target", .head = "TARGET", .min = 14, .ideal = 34, .grow = 3, .text = net_target_text,
		.draw = net_target_draw},
	{.name = "process", .head = "PROCESS", .min = 8, .ideal = 12, .grow = 1, .keep = 30, .text = net_process_text},
	{.name = "asked", .head = "ASKED", .min = 5, .ideal = 5, .keep = 20, .right = true, .text = net_count_text},
	{.name = "since", .head = "SINCE", .min = 6, .ideal = 6, .keep = 40, .right = true, .text = net_seen_text},
	{.name = "up", .head = "UP", .min = 5, .ideal = 5, .keep = 60, .right = true, .text = net_up_text},
	{.name = "down", .head = "DOWN", .min = 5, .ideal = 5, .keep = 50, .right = true, .text = net_down_text},
};
/* clang-format on */
const size_t network_ncolumns = COUNT(network_columns);
