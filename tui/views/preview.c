/*
 * preview.c - shows what one of an agent's terminals shows, live and read-only.
 *
 * A worker reads the screen's file, at most four times a second and only while this page is open.  It is drawn from cells, so
 * that nothing raw reaches the person's terminal.
 */
#include "views/preview.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/terminal.h>
#include <berth/text.h>
#include <berth/view_work.h>

#include "views/agents/agents.h"
#include "views/moment.h"

#define AGAIN_MS 250
#define AGAIN_NS (AGAIN_MS * INT64_C(1000000))
#define SIDE_STEP 8

/* One look at a screen. */
struct reading {
	struct view_work work; /* first */
	char container[64], name[TERMINAL_NAME_MAX];
	int wait_ms; /* before it */
	struct terminal_screen screen;
	bool there;
};

struct preview {
	char id[64], container[64], name[TERMINAL_NAME_MAX];
	struct reading *shown; /* NULL: none came yet */
	uint64_t asked;        /* id of the command that is not answered; 0: none */
	int64_t asked_ns;
	int side, up; /* columns and rows that a person moved it by */
};

/* --- reading --- */

static void do_read(struct view_work *w)
{
	struct reading *r = (struct reading *)w;

	if (r->wait_ms)
		poll(NULL, 0, r->wait_ms);
	r->there = !terminals_read(r->container, r->name, &r->screen, NULL);
}

static void drop_reading(struct view_work *w)
{
	struct reading *r = (struct reading *)w;

	terminal_screen_release(&r->screen);
	free(r);
}

static void ask_for_screen(struct view *v, int wait_ms)
{
	struct preview *s = v->state;
	struct reading *r = xcalloc(1, sizeof *r);
	struct command *c = command_new(CMD_WORK);

	r->work = (struct view_work){do_read, drop_reading};
	memcpy(r->container, s->container, sizeof r->container);
	memcpy(r->name, s->name, sizeof r->name);
	r->wait_ms = wait_ms;
	command_work(c, &r->work);
	s->asked_ns = clock_mono_ns();
	s->asked = app_send(v->app, c);
}

static void preview_event(struct view *v, const struct event *e)
{
	struct preview *s = v->state;

	if (e->kind != EV_WORKED || e->id != s->asked)
		return;
	s->asked = 0;
	if (s->shown)
		drop_reading(&s->shown->work);
	s->shown = (struct reading *)view_work_take(e->work);
	app_dirty(v->app);
	/* The first comes without waiting; the next one follows with a snapshot. */
	if (clock_mono_ns() - s->asked_ns >= AGAIN_NS)
		ask_for_screen(v, AGAIN_MS);
}

static void preview_snapshot(struct view *v, const struct snapshot *snap)
{
	struct preview *s = v->state;

	(void)snap;
	if (!s->asked)
		ask_for_screen(v, AGAIN_MS);
}

/* --- drawing --- */

/* One of 256 colours, black as 16, which 0 is not. */
static uint8_t nearest_colour(uint32_t colour)
{
	uint32_t n = colour & 255;

	if (colour & TERMINAL_RGB)
		return (uint8_t)(16 + 36 * (((colour >> 16 & 255) + 25) / 51) +
			6 * (((colour >> 8 & 255) + 25) / 51) + (n + 25) / 51);
	if (!(colour & TERMINAL_INDEXED))
		return 0;
	return (uint8_t)(n ? n : 16);
}

static struct style style_of(const struct terminal_cell *k, bool cursor)
{
	struct style st = STYLE(TEXT);

	st.ink = nearest_colour(k->ink);
	st.paper = nearest_colour(k->paper);
	st.attrs = (uint8_t)((k->flags & TERMINAL_BOLD ? ATTR_BOLD : 0) |
		(k->flags & TERMINAL_UNDERLINE ? ATTR_UNDERLINE : 0) |
		(k->flags & TERMINAL_ITALIC ? ATTR_ITALIC : 0));
	if (!(k->flags & TERMINAL_REVERSE) != !cursor)
		st.attrs |= ATTR_REVERSE;
	return st;
}

static void draw_cell(
	struct canvas *c, int x, int y, int w, const struct terminal_cell *k, bool cursor)
{
	char text[TERMINAL_CELL_CHARS * 4];
	size_t n = 0;

	for (int i = 0; i < TERMINAL_CELL_CHARS && k->ch[i]; i++)
		n += utf8_put(k->ch[i], text + n);
	if (!n)
		text[n++] = ' ';
	canvas_textn(c, x, y, w, style_of(k, cursor), text, n);
}

/* Of a screen that is larger than the area the part with the cursor. */
static void draw_screen(struct preview *s, struct canvas *c, struct area a)
{
	const struct terminal_screen *t = &s->shown->screen;
	int below = t->rows - a.h, beyond = t->columns - a.w, top, left;

	s->up = terminal_within(0, s->up, below > 0 ? below : 0);
	s->side = terminal_within(0, s->side, beyond > 0 ? beyond : 0);
	top = below > 0 ? terminal_within(0, t->cursor_y - a.h + 1, below) : 0;
	top = terminal_within(0, top - s->up, below > 0 ? below : 0);
	left = s->side;
	for (int y = 0; y < a.h && top + y < t->rows; y++)
		for (int x = 0; x < a.w && left + x < t->columns; x++) {
			const struct terminal_cell *k =
				&t->cells[(size_t)(top + y) * (size_t)t->columns +
					(size_t)(left + x)];

			if (k->width && x + k->width <= a.w)
				draw_cell(c, a.x + x, a.y + y, a.w - x, k,
					t->cursor_shown && t->cursor_y == top + y &&
						t->cursor_x == left + x);
		}
}

static const struct agent *find_agent(const struct preview *s, const struct snapshot *snap)
{
	for (size_t i = 0; i < snap->nagents; i++)
		if (!strcmp(snap->agents[i].name, s->container))
			return &snap->agents[i];
	return NULL;
}

static const struct agent_terminal *find_terminal(
	const struct preview *s, const struct agent *a, size_t *ret_i)
{
	for (size_t i = 0; a && i < a->nterminals; i++)
		if (!strcmp(a->terminals[i].name, s->name)) {
			*ret_i = i;
			return &a->terminals[i];
		}
	return NULL;
}

static void draw_head(struct view *v, struct canvas *c, struct area a)
{
	struct preview *s = v->state;
	const struct snapshot *snap = app_snapshot(v->app);
	struct moment m = moment_of(v->app, snap);
	const struct agent *agent = find_agent(s, snap);
	size_t i = 0;
	const struct agent_terminal *t = find_terminal(s, agent, &i);
	struct style st = STYLE(DIM);
	char text[512], does[64];
	int x = a.x + 1;

	canvas_hline(c, a.x, a.y + 1, a.w, STYLE(RULE));
	snprintf(text, sizeof text, "%s %s", s->id, s->name);
	x += canvas_clip(c, x, a.y, a.w / 2, STYLE(STRONG), text);
	if (!t) {
		canvas_clip(c, x + 2, a.y, a.x + a.w - x - 2, st, "not running");
		return;
	}
	agent_terminal_text(t, m.wall_ms, does, sizeof does, &st);
	x += 2 + canvas_clip(c, x + 2, a.y, a.x + a.w - x - 2, st, does);
	if (agent->nterminals > 1)
		snprintf(text, sizeof text, "%zu of %zu \u00b7 %s", i + 1, agent->nterminals,
			t->reason);
	else
		snprintf(text, sizeof text, "%s", t->reason);
	if (x + 3 < a.x + a.w)
		canvas_clip(c, x + 2, a.y, a.x + a.w - x - 2, STYLE(DIM), text);
	snprintf(text, sizeof text, " %s ", t->title);
	canvas_clip(c, a.x + 1, a.y + 1, a.w - 2, STYLE(DIM), text);
}

static void preview_draw(struct view *v, struct canvas *c, struct area a)
{
	struct preview *s = v->state;
	struct area screen = {a.x, a.y + 2, a.w, a.h - 2};

	draw_head(v, c, a);
	if (!s->shown)
		canvas_clip(c, screen.x + 1, screen.y, screen.w - 2, STYLE(BUSY), "Looking\u2026");
	else if (!s->shown->there)
		canvas_clip(c, screen.x + 1, screen.y, screen.w - 2, STYLE(DIM),
			"There is no terminal of that name any more.");
	else
		draw_screen(s, c, screen);
}

/* --- keys --- */

static void go_to_terminal(struct view *v, int by)
{
	struct preview *s = v->state;
	const struct agent *a = find_agent(s, app_snapshot(v->app));
	size_t i = 0;

	if (!a || !a->nterminals)
		return;
	if (find_terminal(s, a, &i))
		i = (i + a->nterminals + (size_t)by) % a->nterminals;
	snprintf(s->name, sizeof s->name, "%s", a->terminals[i].name);
	s->side = s->up = 0;
	if (s->shown)
		drop_reading(&STEAL(s->shown)->work);
	ask_for_screen(v, 0);
}

static void enter_terminal(struct view *v)
{
	const struct preview *s = v->state;

	app_say(v->app, ROLE_DIM,
		"`berth terminal attach %s %s` types into it; this page is read-only.", s->id,
		s->name);
}

static bool preview_act(struct view *v, enum action a)
{
	struct preview *s = v->state;

	app_dirty(v->app);
	switch (a) {
	case DO_ENTER: enter_terminal(v); return true;
	case DO_NEXT_PANE: go_to_terminal(v, 1); return true;
	case DO_PREV_PANE: go_to_terminal(v, -1); return true;
	case DO_LEFT: s->side -= SIDE_STEP; return true;
	case DO_RIGHT: s->side += SIDE_STEP; return true;
	case DO_UP: s->up++; return true;
	case DO_DOWN: s->up--; return true;
	case DO_PREVIEW: app_pop(v->app); return true;
	default: return false;
	}
}

static bool preview_copy(struct view *v, struct str *out)
{
	struct preview *s = v->state;

	for (int y = 0; s->shown && s->shown->there && y < s->shown->screen.rows; y++) {
		terminal_row_text(&s->shown->screen, y, false, out);
		str_addc(out, '\n');
	}
	return out->len > 0;
}

static void preview_open(struct view *v)
{
	struct preview *s = v->state;
	const struct preview_seed *seed = v->seed;

	snprintf(s->id, sizeof s->id, "%s", seed->id);
	snprintf(s->container, sizeof s->container, "%s", seed->container);
	snprintf(s->name, sizeof s->name, "%s", seed->name);
	ask_for_screen(v, 0);
}

static void preview_close(struct view *v)
{
	struct preview *s = v->state;

	if (s->shown)
		drop_reading(&s->shown->work);
}

const struct view_ops preview_view = {
	.name = "preview",
	.context = IN_PREVIEW,
	.state_size = sizeof(struct preview),
	.open = preview_open,
	.close = preview_close,
	.draw = preview_draw,
	.snapshot = preview_snapshot,
	.event = preview_event,
	.act = preview_act,
	.copy = preview_copy,
	.save = preview_copy,
};
