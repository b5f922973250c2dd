/* agents_detail.c - draws the details of one agent: what it does, what was requested, what is in force. */
#include "views/agents/agents.h"

#include <stdio.h>
#include <string.h>

#include <berth/format.h>
#include <berth/text.h>

#include "views/journal.h"
#include "views/pane.h"
#include "views/pen.h"

#define WIDE 100 /* from here on facts and checks stand side by side */
#define KEY_W 12
#define WHAT_W 20
#define ASKED_W 20

static void agent_fact(struct pen *p, const char *key, const char *value)
{
	if (value && *value)
		pen_fact(p, key, STYLE(TEXT), value);
}

static void draw_command_line(struct pen *p, const struct agent_command *k, const struct moment *m)
{
	char text[600], n[FORMAT_MAX];
	bool ended = *k->ended;

	if (ended)
		snprintf(text, sizeof text, "%.400s · %s · %s", k->text, k->ended,
			journal_took(n, k->duration_ms));
	else
		snprintf(text, sizeof text, "%.400s · %s", k->text,
			format_age(n, m->wall_ms - k->started_wall_ms));
	pen_fact(p, ended ? "Last" : "Runs",
		ended && !k->good ? STYLE(WARN)
			: ended   ? STYLE(DIM)
				  : STYLE(TEXT),
		text);
}

static void draw_terminals(struct pen *p, const struct agent *a, const struct moment *m)
{
	for (size_t i = 0; i < a->nterminals; i++) {
		const struct agent_terminal *t = &a->terminals[i];
		char does[64], text[512];
		struct style st = STYLE(TEXT);

		agent_terminal_text(t, m->wall_ms, does, sizeof does, &st);
		snprintf(text, sizeof text, "%s %s \u00b7 %s \u00b7 %s", t->name, does, t->reason,
			t->title);
		pen_fact(p, i ? "" : "Terminals", st, text);
	}
	if (a->nterminals)
		pen_fact(p, "", STYLE(DIM), "v shows what they show.");
}

static void draw_calls_line(struct pen *p, const struct calls_now *k, const struct moment *m)
{
	char text[320], now[120], minute[FORMAT_MAX], calls[FORMAT_MAX], failed[FORMAT_MAX],
		in[FORMAT_MAX], out[FORMAT_MAX];

	if (!k->totals.servers)
		return;
	if (!agent_calling(k, m->wall_ms, now, sizeof now))
		snprintf(now, sizeof now, "idle");
	snprintf(text, sizeof text, "%s · %s a minute · %s error%s in %s · %s in, %s out", now,
		format_count(minute, k->totals.minute), format_count(failed, k->totals.failed),
		k->totals.failed == 1 ? "" : "s", format_count(calls, k->totals.calls),
		format_bytes(in, k->totals.in_bytes), format_bytes(out, k->totals.out_bytes));
	pen_fact(p, "Calls", STYLE(TEXT), text);
}

static void draw_facts(struct pen *p, const struct agent *a, const struct moment *m)
{
	char text[256];
	struct style st;

	p->key_width = KEY_W;
	agent_state_text(a, text, sizeof text, &st);
	pen_fact(p, "State", st, text);
	if (a->problem)
		pen_fact(p, "Problem", STYLE(BAD), a->problem);
	for (size_t i = 0; i < a->ncommands; i++)
		draw_command_line(p, &a->commands[i], m);
	if (a->nrunning > a->ncommands) {
		snprintf(text, sizeof text, "and %zu more", a->nrunning - a->ncommands);
		pen_fact(p, "", STYLE(DIM), text);
	}
	if (a->last)
		draw_command_line(p, a->last, m);
	draw_terminals(p, a, m);
	draw_calls_line(p, &a->calls, m);
	if (a->mounts_problem)
		pen_fact(p, "Mounts", st, a->mounts_problem);
	else if (a->state == AGENT_UP)
		pen_fact(p, "Commands",
			a->lane_lost || a->secrets_gone ? STYLE(BAD)
				: a->lane || a->no_lane ? STYLE(TEXT)
							: STYLE(WARN),
			a->lane_lost ? "cannot run: lane lost (its init does not answer); "
				       "bring it up again"
				: a->secrets_gone
				? "cannot run: a restart lost its secrets; bring it up again"
				: a->no_lane
				? "run through the engine's exec (slower): its runtime has a kernel "
				  "of its own"
				: a->lane ? "run over its lane (berth's own socket into it, fast)"
					  : "run through the engine's exec (slower): its lane "
					    "does not answer");
	agent_fact(p, "Role", a->role);
	agent_fact(p, "Workspace", a->workspace);
	agent_fact(p, "Image", a->image);
	if (a->container) {
		snprintf(text, sizeof text, "%.64s  %.12s", a->name, a->container->id);
		agent_fact(p, "Container", text);
	} else {
		agent_fact(p, "Container", a->name);
	}
	agent_fact(p, "Session", a->session);
	if (*a->file && !a->defined) {
		snprintf(text, sizeof text, "%.200s (does not define it now)", a->file);
		pen_fact(p, "Team file", STYLE(WARN), text);
	} else {
		agent_fact(p, "Team file", a->file);
	}
}

/* Why there is nothing to compare. */
static const char *why_unchecked(const struct agent *a)
{
	if (a->state == AGENT_STRANGER)
		return "berth did not create this container here, so it was not examined.";
	if (a->state != AGENT_UP)
		return "It is not up: there is nothing to compare.";
	if (!*a->file)
		return "No team file is known that defines it: start the console with -c FILE.";
	if (!a->defined)
		return "Its team file no longer defines it, or cannot be read.";
	return "Checking…";
}

static void check_line(struct pen *p, const struct agent_check *k)
{
	int y = pen_row(p), x = p->a.x + p->x, end = x + p->w, room;
	struct style st = k->same ? STYLE(TEXT) : STYLE(WARN);

	if (y >= 0) {
		canvas_glyph(p->c, x, y, k->same ? STYLE(GOOD) : STYLE(WARN),
			k->same ? GLYPH_TICK : GLYPH_BANG);
		canvas_clip(p->c, x + 2, y, WHAT_W - 2, st, k->what);
		room = end - x - WHAT_W;
		if (k->same)
			canvas_clip(p->c, x + WHAT_W, y, room, STYLE(DIM), k->actual);
		else if (room > ASKED_W + 4)
			canvas_printf(p->c, x + WHAT_W, y, room, st, "declared %s, actual %s",
				k->asked, k->actual);
		else
			canvas_clip(p->c, x + WHAT_W, y, room, st, k->actual);
	}
	pen_skip(p, 1);
}

static void draw_checks(struct pen *p, const struct agent *a, const struct moment *m)
{
	char text[128], n[FORMAT_MAX];

	if (a->checked_wall_ms)
		snprintf(text, sizeof text, "Declared / actual, %s ago",
			format_age(n, m->wall_ms - a->checked_wall_ms));
	else
		snprintf(text, sizeof text, "Declared / actual");
	pen_head(p, text);
	if (!a->nchecks)
		pen_text(p, STYLE(DIM), 0, why_unchecked(a));
	/* What differs first: that is what one looks for. */
	for (size_t i = 0; i < a->nchecks; i++)
		if (!a->checks[i].same)
			check_line(p, &a->checks[i]);
	for (size_t i = 0; i < a->nchecks; i++)
		if (a->checks[i].same)
			check_line(p, &a->checks[i]);
	if (a->ndrift)
		pen_text(p, STYLE(DIM), 0, "R recreates it as the team file says now.");
	if (a->nloosened) {
		pen_skip(p, 1);
		pen_head(p, "Loosened by its definition");
	}
	for (size_t i = 0; i < a->nloosened; i++)
		pen_text(p, STYLE(WARN), 0, a->loosened[i]);
}

void agent_detail_draw(struct page *pane, struct canvas *c, struct area a,
	const struct agent *agent, const struct moment *m)
{
	struct area page = {a.x + 1, a.y + 1, a.w - 2, a.h - 1};
	struct pen p = pen_on(c, page, pane->scroll), right;
	int x = a.x + 1;

	canvas_hline(c, a.x, a.y, a.w, STYLE(RULE));
	if (!agent) {
		p.key_width = KEY_W;
		pen_text(&p, STYLE(DIM), 0,
			"A tool's or helper's container: the Containers view shows it in full.");
		return;
	}
	canvas_text(c, x++, a.y, 1, STYLE(TEXT), " ");
	x += canvas_clip(c, x, a.y, a.w - 6, STYLE(STRONG), agent->id);
	canvas_text(c, x, a.y, 1, STYLE(TEXT), " ");
	if (a.w >= WIDE) {
		right = p;
		p.w = page.w / 2 - 1;
		right.x = page.w / 2 + 1;
		right.w = page.w - right.x;
		draw_facts(&p, agent, m);
		draw_checks(&right, agent, m);
		p.y = right.y > p.y ? right.y : p.y;
	} else if (agent->ndrift) {
		/* What is not as it was asked for is why one looks. */
		draw_checks(&p, agent, m);
		pen_skip(&p, 1);
		draw_facts(&p, agent, m);
	} else {
		draw_facts(&p, agent, m);
		pen_skip(&p, 1);
		draw_checks(&p, agent, m);
	}
	pane->length = p.y;
	pane->seen = page.h;
	page_scroll(pane, 0);
	pane_arrows(pane, c, a);
}
