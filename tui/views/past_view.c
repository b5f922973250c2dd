/* past_view.c - shows a container's usage and events over hours and days, with a cursor in time. */
#include "views/past_view.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/past.h>
#include <berth/str.h>
#include <berth/text.h>

#include "widgets/widgets.h"

#define ASK_PAST_NS (1900 * INT64_C(1000000))
#define SCALE_W 7     /* of what the upper edge stands for */
#define SCALE_FROM 60 /* columns */
#define PANELS 5

static const int64_t spans_s[] = {600, 3600, 21600, 86400, 604800, 2592000};
enum { SPAN_HOUR = 1 };

/* What of the file is wanted, or was read. */
struct past_window {
	char engine[PAST_ENGINE_MAX], name[PAST_NAME_MAX];
	int64_t from_ms, step_ms;
	size_t n;
};

/* Read by a worker. */
struct past_look {
	struct view_work work; /* first */
	struct past_window of;
	struct past past;
	struct past_row *rows;
	size_t nrows;
	struct err err;
};

struct past_view {
	struct past_window want;
	struct past_look *had; /* NULL: nothing was read yet */
	uint64_t asked;
	int64_t asked_ns;
	size_t span;
	int64_t end_ms; /* of the window; 0: now */
	int64_t at_ms;  /* the cursor; 0: the newest */
	int points_a_column, columns;
	struct area chart; /* where it was drawn, for the mouse */
};

/* --- reading --- */

static void read_past_window(struct view_work *w)
{
	struct past_look *l = (struct past_look *)w;
	const char *engine = *l->of.engine ? l->of.engine : NULL;
	char path[PATH_MAX];

	if (past_path(path, sizeof path, &l->err) ||
		past_list(path, &l->rows, &l->nrows, &l->err) ||
		past_read(path, engine, l->of.name, l->of.from_ms, l->of.step_ms, l->of.n, &l->past,
			&l->err))
		return;
}

static void drop_past_look(struct view_work *w)
{
	struct past_look *l = (struct past_look *)w;

	past_release(&l->past);
	free(l->rows);
	free(l);
}

static void ask_for_past(struct view *v)
{
	struct past_view *s = v->state;
	struct past_look *l;
	struct command *c;

	if (s->asked || !s->want.n)
		return;
	l = xcalloc(1, sizeof *l);
	l->work = (struct view_work){read_past_window, drop_past_look};
	l->of = s->want;
	c = command_new(CMD_WORK);
	command_work(c, &l->work);
	s->asked_ns = clock_mono_ns();
	s->asked = app_send(v->app, c);
}

static void past_view_event(struct view *v, const struct event *e)
{
	struct past_view *s = v->state;
	struct view_work *w;

	if (e->kind != EV_WORKED || e->id != s->asked)
		return;
	s->asked = 0;
	w = e->work ? view_work_take(e->work) : NULL;
	if (!w)
		return;
	if (s->had)
		drop_past_look(&s->had->work);
	s->had = (struct past_look *)w;
	app_dirty(v->app);
}

/* --- time and columns --- */

static int64_t column_ms(const struct past_view *s)
{
	return s->want.step_ms * s->points_a_column;
}

/* The window for so many columns, which begins and ends with whole ones. */
static void lay_out_window(struct past_view *s, int columns, int points_a_column)
{
	int64_t points, each;

	s->points_a_column = points_a_column;
	s->columns = columns;
	points = (int64_t)columns * s->points_a_column;
	if (points > PAST_POINTS_MAX || points < 1)
		points = PAST_POINTS_MAX;
	s->want.n = (size_t)points;
	s->want.step_ms = (spans_s[s->span] + points - 1) / points * 1000;
	each = column_ms(s);
	s->want.from_ms = ((s->end_ms ? s->end_ms : clock_wall_ms()) / each + 1) * each -
		points * s->want.step_ms;
	if (s->want.from_ms < 0)
		s->want.from_ms = 0;
}

static int cursor_column(const struct past_view *s)
{
	int64_t at = (s->at_ms - s->want.from_ms) / column_ms(s);

	if (!s->at_ms || at >= s->columns)
		return s->columns - 1;
	return at < 0 || s->at_ms < s->want.from_ms ? 0 : (int)at;
}

/* The cursor to the begin of that column, also outside of the window, which follows it. */
static void move_time_cursor(struct past_view *s, int64_t column)
{
	int64_t each = column_ms(s), window = each * s->columns;
	int64_t at = s->want.from_ms + column * each, now = clock_wall_ms();

	if (!s->columns)
		return;
	if (at >= now - each) {
		s->at_ms = s->end_ms = 0;
		return;
	}
	s->at_ms = at > 0 ? at : 1;
	if (column < 0)
		s->end_ms = at + window * 3 / 4;
	else if (column >= s->columns)
		s->end_ms = at + window / 4;
	else if (!s->end_ms) /* what moves on under a cursor cannot be read */
		s->end_ms = s->want.from_ms + window - 1;
	if (s->end_ms > now)
		s->end_ms = now;
}

static void zoom_history(struct past_view *s, int by)
{
	int64_t at = s->at_ms;
	size_t to = s->span + (size_t)by;

	if (to >= COUNT(spans_s))
		return;
	s->span = to;
	if (at)
		s->end_ms = at + spans_s[to] * 500;
	if (s->end_ms > clock_wall_ms())
		s->end_ms = clock_wall_ms();
}

static void go_to_history_event(struct view *v, int by)
{
	struct past_view *s = v->state;
	const struct past *p = s->had ? &s->had->past : NULL;
	const struct past_event *found = NULL;
	int here = cursor_column(s);

	for (size_t i = 0; p && i < p->nevents; i++) {
		int64_t at = (p->event[i].at_ms - s->want.from_ms) / column_ms(s);

		if (by > 0 ? at > here && !found : at < here)
			found = &p->event[i];
	}
	if (found) {
		move_time_cursor(s, (found->at_ms - s->want.from_ms) / column_ms(s));
		s->at_ms = s->at_ms ? found->at_ms : 0;
	} else {
		app_say(v->app, ROLE_DIM, "No %s event in this window: z zooms in, Z zooms out.",
			by > 0 ? "later" : "earlier");
	}
}

static void next_history(struct view *v, int by)
{
	struct past_view *s = v->state;
	const struct past_look *l = s->had;
	size_t at = 0;

	if (!l || !l->nrows)
		return;
	while (at < l->nrows &&
		(strcmp(l->rows[at].name, s->want.name) != 0 ||
			strcmp(l->rows[at].engine, s->want.engine) != 0))
		at++;
	at = at == l->nrows ? 0 : (at + l->nrows + (size_t)by) % l->nrows;
	snprintf(s->want.engine, sizeof s->want.engine, "%s", l->rows[at].engine);
	snprintf(s->want.name, sizeof s->want.name, "%s", l->rows[at].name);
}

/* --- drawing --- */

static char *time_text(char buf[FORMAT_MAX], int64_t ms, const char *format)
{
	time_t t = (time_t)(ms / 1000);
	struct tm tm;

	if (!strftime(buf, FORMAT_MAX, format, localtime_r(&t, &tm)))
		*buf = '\0';
	return buf;
}

static char *float_bytes_text(char buf[FORMAT_MAX], double v)
{
	return format_bytes(buf, v > 0 ? (uint64_t)v : 0);
}

struct panel {
	const char *name;
	enum past_value a, b;  /* of both the sum, unless they are one */
	enum past_value limit; /* PAST_VALUES: none */
	double least;          /* the upper edge stands for this at least */
};

static const struct panel panels[PANELS] = {
	{"CPU", PAST_CPU, PAST_CPU, PAST_VALUES, 5},
	{"Memory", PAST_MEMORY_MAX, PAST_MEMORY_MAX, PAST_MEMORY_LIMIT, 1 << 20},
	{"Network", PAST_NET_RX, PAST_NET_TX, PAST_VALUES, 4096},
	{"Disk", PAST_BLOCK_READ, PAST_BLOCK_WRITE, PAST_VALUES, 4096},
	{"Processes", PAST_PIDS, PAST_PIDS, PAST_PIDS_LIMIT, 4},
};

static float panel_value(const struct panel *k, const struct past_point *p)
{
	return k->a == k->b ? p->v[k->a] : p->v[k->a] + p->v[k->b];
}

/* By the point that is seen in that column; NULL: a gap. */
static const struct past_point *point_of_column(const struct past_view *s, int column)
{
	const struct past *p = &s->had->past;

	for (int i = s->points_a_column; i-- > 0;) {
		size_t at = (size_t)(column * s->points_a_column + i);

		if (at < p->npoints && p->point[at].seen)
			return &p->point[at];
	}
	return NULL;
}

static void panel_text(const struct panel *k, const struct past_point *p, char *buf, size_t cap)
{
	char a[FORMAT_MAX], b[FORMAT_MAX];

	*buf = '\0';
	if (!p)
		return;
	if (k->a == PAST_CPU && p->v[PAST_THROTTLED] >= 0.05F)
		snprintf(buf, cap, "%s %%, throttled in %s %% of periods",
			format_percent(a, p->v[PAST_CPU]), format_percent(b, p->v[PAST_THROTTLED]));
	else if (k->a == PAST_CPU)
		snprintf(buf, cap, "%s %%, highest second %s %%", format_percent(a, p->v[PAST_CPU]),
			format_percent(b, p->v[PAST_CPU_MAX]));
	else if (k->a == PAST_MEMORY_MAX && p->v[PAST_MEMORY_LIMIT] > 0)
		snprintf(buf, cap, "%s of %s", float_bytes_text(a, p->v[PAST_MEMORY_MAX]),
			float_bytes_text(b, p->v[PAST_MEMORY_LIMIT]));
	else if (k->a == PAST_MEMORY_MAX)
		snprintf(buf, cap, "%s, no limit", float_bytes_text(a, p->v[PAST_MEMORY_MAX]));
	else if (k->a == PAST_PIDS && p->v[PAST_PIDS_LIMIT] > 0)
		snprintf(buf, cap, "%.0f of %.0f", (double)p->v[PAST_PIDS],
			(double)p->v[PAST_PIDS_LIMIT]);
	else if (k->a == PAST_PIDS)
		snprintf(buf, cap, "%.0f", (double)p->v[PAST_PIDS]);
	else
		snprintf(buf, cap,
			k->a == PAST_NET_RX ? "\u2193 %s/s  \u2191 %s/s" : "r %s/s  w %s/s",
			float_bytes_text(a, p->v[k->a]), float_bytes_text(b, p->v[k->b]));
}

static char *scale_text(char buf[FORMAT_MAX], const struct panel *k, double v)
{
	if (k->a == PAST_CPU)
		snprintf(buf, FORMAT_MAX, "%.0f %%", v);
	else if (k->a == PAST_PIDS)
		snprintf(buf, FORMAT_MAX, "%.0f", v);
	else
		float_bytes_text(buf, v);
	return buf;
}

/* Against the limit where there is one that matters. */
static double panel_top(const struct panel *k, const struct past *p, double peak, bool *limited)
{
	double limit = 0;

	for (size_t i = 0; k->limit != PAST_VALUES && i < p->npoints; i++)
		if (p->point[i].v[k->limit] > limit)
			limit = p->point[i].v[k->limit];
	*limited = limit > 0 && peak >= limit / 4;
	if (*limited)
		return limit > peak ? limit : peak;
	return peak > k->least ? peak : k->least;
}

static void draw_panel(
	const struct past_view *s, const struct panel *k, struct canvas *c, struct area a)
{
	const struct past *p = &s->had->past;
	float v[PAST_POINTS_MAX];
	char value[128], text[FORMAT_MAX];
	double peak = 0, top;
	int x = a.x, gutter = a.w - s->columns;
	bool limited;

	for (size_t i = 0; i < p->npoints; i++) {
		v[i] = p->point[i].seen ? panel_value(k, &p->point[i]) : NAN;
		peak = v[i] > peak ? v[i] : peak;
	}
	top = panel_top(k, p, peak, &limited);
	panel_text(k, point_of_column(s, cursor_column(s)), value, sizeof value);
	x += canvas_text(c, x, a.y, a.w, STYLE(COLUMN), k->name) + 1;
	canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(STRONG), value);
	if (gutter > 0)
		canvas_right(c, a.x, a.y + 1, gutter - 1, STYLE(DIM), scale_text(text, k, top));
	a = (struct area){a.x + gutter, a.y + 1, s->columns, a.h - 1};
	if (limited)
		meter_level_line(c, a, STYLE(RULE), METER_NEAR);
	meter_chart(c, a, STYLE(CHART), v, (int)p->npoints, top);
}

static const struct {
	enum glyph glyph;
	enum role role;
	int weight; /* of several in a column the gravest is seen */
} event_looks[PAST_WHATS] = {[PAST_STARTED] = {GLYPH_RIGHT, ROLE_GOOD, 1},
	[PAST_ENDED] = {GLYPH_CROSS, ROLE_WARN, 4},
	[PAST_OOM] = {GLYPH_BANG, ROLE_BAD, 6},
	[PAST_PAUSED] = {GLYPH_PAUSE, ROLE_DIM, 2},
	[PAST_UNPAUSED] = {GLYPH_RIGHT, ROLE_DIM, 0},
	[PAST_UNHEALTHY] = {GLYPH_BANG, ROLE_WARN, 5},
	[PAST_HEALTHY] = {GLYPH_TICK, ROLE_GOOD, 3}};

/* A line where something is kept, and marks of what happened. */
static void draw_marks(const struct past_view *s, struct canvas *c, int x, int y)
{
	const struct past *p = &s->had->past;
	int weight[1000] = {0};

	for (int i = 0; i < s->columns; i++)
		if (point_of_column(s, i))
			canvas_glyph(c, x + i, y, STYLE(RULE), GLYPH_HLINE);
	for (size_t i = 0; i < p->nevents; i++) {
		int64_t at = (p->event[i].at_ms - p->from_ms) / column_ms(s);
		int w = event_looks[p->event[i].what].weight + 1;

		if (at < 0 || at >= s->columns || at >= (int64_t)COUNT(weight) || w <= weight[at])
			continue;
		weight[at] = w;
		canvas_glyph(c, x + (int)at, y,
			(struct style){.role = (uint8_t)event_looks[p->event[i].what].role},
			event_looks[p->event[i].what].glyph);
	}
}

static void draw_axis(const struct past_view *s, struct canvas *c, int x, int y)
{
	int64_t window = column_ms(s) * s->columns;
	const char *format = window <= 2 * 3600000 ? "%H:%M:%S"
		: window <= 2 * 86400000           ? "%H:%M"
						   : "%m-%d %H:%M";
	char text[FORMAT_MAX];
	int w = (int)strlen(time_text(text, s->want.from_ms, format)) + 4;

	for (int i = 0; i + w - 3 <= s->columns; i += w) {
		canvas_glyph(c, x + i, y, STYLE(RULE), GLYPH_VLINE);
		canvas_text(c, x + i + 1, y, w, STYLE(DIM),
			time_text(text, s->want.from_ms + i * column_ms(s), format));
	}
}

static void add_event_words(struct str *out, const struct past_view *s, const struct past_event *x)
{
	char name[PAST_NAME_MAX], at[FORMAT_MAX];

	str_addf(out, "%s%s ", out->len ? " \u00b7 " : "", time_text(at, x->at_ms, "%H:%M:%S"));
	if (!*s->want.name)
		str_addf(out, "%s ", text_clean(name, sizeof name, x->name));
	switch (x->what) {
	case PAST_STARTED: str_adds(out, "started"); break;
	case PAST_ENDED: str_adds(out, "exited"); break;
	case PAST_OOM: str_adds(out, "ran out of memory"); break;
	case PAST_PAUSED: str_adds(out, "paused"); break;
	case PAST_UNPAUSED: str_adds(out, "unpaused"); break;
	case PAST_UNHEALTHY: str_adds(out, "became unhealthy"); break;
	default: str_adds(out, "became healthy");
	}
	if ((x->what == PAST_ENDED || x->what == PAST_OOM) && x->value >= 0)
		str_addf(out, " with %d", (int)x->value);
}

/* What happened in the column of the cursor. */
static void draw_moment(const struct past_view *s, struct canvas *c, struct area a)
{
	const struct past *p = &s->had->past;
	AUTO_STR struct str text = STR_INIT;
	int64_t from = s->want.from_ms + cursor_column(s) * column_ms(s);
	char at[FORMAT_MAX];
	int x = a.x;

	for (size_t i = 0; i < p->nevents; i++)
		if (p->event[i].at_ms >= from && p->event[i].at_ms < from + column_ms(s))
			add_event_words(&text, s, &p->event[i]);
	x += canvas_text(c, x, a.y, a.w, STYLE(STRONG), time_text(at, from, "%m-%d %H:%M:%S")) + 2;
	if (text.len)
		canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(TEXT), text.s);
	else
		canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(DIM),
			point_of_column(s, cursor_column(s))
				? "nothing happened"
				: "no data: it was not running, or nothing recorded it");
}

static void draw_history_head(const struct past_view *s, struct canvas *c, struct area a)
{
	const struct past_row *r = s->had ? &s->had->past.row : NULL;
	char text[160], name[PAST_NAME_MAX], agent[PAST_NAME_MAX], window[FORMAT_MAX];
	char each[FORMAT_MAX];
	int x = a.x, w;

	x += canvas_clip(c, x, a.y, a.w, STYLE(STRONG),
		*s->want.name ? text_clean(name, sizeof name, s->want.name) : "All containers");
	if (r && *r->agent) {
		snprintf(text, sizeof text, "  %s", text_clean(agent, sizeof agent, r->agent));
		x += canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(DIM), text);
	}
	if (!s->want.step_ms)
		return;
	snprintf(text, sizeof text, "%s, %s a column%s",
		format_span(window, column_ms(s) * s->columns / 1000),
		format_span(each, column_ms(s) / 1000), s->end_ms ? "" : ", until now");
	w = text_width(text, strlen(text));
	if (a.x + a.w - x > w + 1)
		canvas_right(c, x, a.y, a.x + a.w - x, STYLE(DIM), text);
}

static void draw_panels(struct past_view *s, struct canvas *c, struct area a)
{
	int n = a.h / 2 < PANELS ? a.h / 2 : PANELS, y = a.y;

	for (int i = 0; i < n; i++) {
		int h = a.h / n + (i < a.h % n);

		draw_panel(s, &panels[i], c, (struct area){a.x, y, a.w, h});
		y += h;
	}
	canvas_under(c, (struct area){s->chart.x + cursor_column(s), a.y + 1, 1, a.h}, ROLE_CURSOR);
}

/* Was what is shown read for where the view is now? */
static bool is_current(const struct past_view *s)
{
	return s->had && s->had->of.n == s->want.n && s->had->of.step_ms == s->want.step_ms &&
		s->had->of.from_ms == s->want.from_ms && !strcmp(s->had->of.name, s->want.name) &&
		!strcmp(s->had->of.engine, s->want.engine);
}

static void past_view_draw(struct view *v, struct canvas *c, struct area body)
{
	struct past_view *s = v->state;
	struct area a = {body.x + 1, body.y, body.w - 2, body.h};
	int gutter = a.w >= SCALE_FROM ? SCALE_W : 0;

	lay_out_window(s, a.w - gutter, meter_each(c));
	draw_history_head(s, c, a);
	a.y++;
	a.h--;
	if (!s->had) {
		canvas_clip(c, a.x, a.y, a.w, STYLE(BUSY), "Looking\u2026");
		return;
	}
	if (s->had->err.kind) {
		canvas_wrap(c, a, STYLE(DIM), s->had->err.msg);
		return;
	}
	/* One of another window is not shown: its columns mean other times. */
	if (s->had->of.n != s->want.n || s->had->of.step_ms != s->want.step_ms || a.h < 5)
		return;
	s->want.from_ms = s->had->of.from_ms;
	s->chart = (struct area){a.x + gutter, a.y, s->columns, a.h - 1};
	draw_marks(s, c, s->chart.x, a.y + a.h - 3);
	draw_axis(s, c, s->chart.x, a.y + a.h - 2);
	draw_moment(s, c, (struct area){a.x, a.y + a.h - 1, a.w, 1});
	draw_panels(s, c, (struct area){a.x, a.y, a.w, a.h - 3});
}

/* --- the view --- */

static void past_view_drawn(struct view *v)
{
	struct past_view *s = v->state;

	if (!s->columns)
		return;
	lay_out_window(s, s->columns, s->points_a_column);
	if (!is_current(s) &&
		(!s->had || s->end_ms || s->had->of.n != s->want.n ||
			s->had->of.step_ms != s->want.step_ms ||
			strcmp(s->had->of.name, s->want.name) != 0 ||
			strcmp(s->had->of.engine, s->want.engine) != 0))
		ask_for_past(v);
}

static void past_view_snapshot(struct view *v, const struct snapshot *snap)
{
	struct past_view *s = v->state;

	(void)snap;
	if (!s->end_ms && clock_mono_ns() - s->asked_ns >= ASK_PAST_NS && s->columns) {
		lay_out_window(s, s->columns, s->points_a_column);
		ask_for_past(v);
	}
}

static bool past_view_act(struct view *v, enum action a)
{
	struct past_view *s = v->state;
	int at = cursor_column(s);

	switch (a) {
	case DO_LEFT: move_time_cursor(s, at - 1); break;
	case DO_RIGHT: move_time_cursor(s, at + 1); break;
	case DO_HALF_UP: move_time_cursor(s, at - s->columns / 4); break;
	case DO_HALF_DOWN: move_time_cursor(s, at + s->columns / 4); break;
	case DO_PAGE_UP: move_time_cursor(s, at - s->columns); break;
	case DO_PAGE_DOWN: move_time_cursor(s, at + s->columns); break;
	case DO_TOP: move_time_cursor(s, 0); break;
	case DO_BOTTOM: s->at_ms = s->end_ms = 0; break;
	case DO_UP:
	case DO_ZOOM_IN: zoom_history(s, -1); break;
	case DO_DOWN:
	case DO_ZOOM_OUT: zoom_history(s, 1); break;
	case DO_NEXT_EVENT: go_to_history_event(v, 1); break;
	case DO_PREV_EVENT: go_to_history_event(v, -1); break;
	case DO_NEXT_PANE: next_history(v, 1); break;
	case DO_PREV_PANE: next_history(v, -1); break;
	case DO_REFRESH: ask_for_past(v); break;
	default: return false;
	}
	app_dirty(v->app);
	return true;
}

static void past_view_click(struct view *v, int x, int y, bool twice)
{
	struct past_view *s = v->state;
	int column = x - s->chart.x;

	(void)y;
	if (column < 0 || column >= s->columns)
		return;
	move_time_cursor(s, column);
	if (twice)
		zoom_history(s, -1);
	app_dirty(v->app);
}

static void past_view_wheel(struct view *v, int lines)
{
	struct past_view *s = v->state;

	zoom_history(s, lines < 0 ? -1 : 1);
	app_dirty(v->app);
}

static void past_view_open(struct view *v)
{
	struct past_view *s = v->state;
	const struct history_seed *seed = v->seed;

	s->span = SPAN_HOUR;
	snprintf(s->want.engine, sizeof s->want.engine, "%s",
		seed && seed->engine ? seed->engine : "");
	snprintf(s->want.name, sizeof s->want.name, "%s", seed ? seed->name : "");
}

static void past_view_close(struct view *v)
{
	struct past_view *s = v->state;

	if (s->had)
		drop_past_look(&s->had->work);
}

/* As of the cursor. */
static bool past_view_copy(struct view *v, struct str *out)
{
	struct past_view *s = v->state;
	const struct past_point *p =
		s->had && !s->had->err.kind ? point_of_column(s, cursor_column(s)) : NULL;
	char at[FORMAT_MAX], text[128];

	if (!p)
		return false;
	str_addf(out, "%s %s", *s->want.name ? s->want.name : "all", format_stamp(at, p->at_ms));
	for (size_t i = 0; i < PANELS; i++) {
		panel_text(&panels[i], p, text, sizeof text);
		str_addf(out, "\n%s: %s", panels[i].name, text);
	}
	return true;
}

static bool past_view_save(struct view *v, struct str *out)
{
	struct past_view *s = v->state;
	const struct past *p = s->had && !s->had->err.kind ? &s->had->past : NULL;
	char at[FORMAT_MAX];

	for (size_t i = 0; p && i < p->npoints; i++)
		if (p->point[i].seen)
			str_addf(out, "%s\t%.2f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\n",
				format_stamp(at, p->point[i].at_ms),
				(double)p->point[i].v[PAST_CPU],
				(double)p->point[i].v[PAST_MEMORY_MAX],
				(double)p->point[i].v[PAST_NET_RX],
				(double)p->point[i].v[PAST_NET_TX],
				(double)p->point[i].v[PAST_BLOCK_READ],
				(double)p->point[i].v[PAST_BLOCK_WRITE],
				(double)p->point[i].v[PAST_PIDS]);
	return p != NULL;
}

const struct view_ops history_view = {
	.name = "history",
	.context = IN_HISTORY,
	.state_size = sizeof(struct past_view),
	.open = past_view_open,
	.close = past_view_close,
	.draw = past_view_draw,
	.drawn = past_view_drawn,
	.snapshot = past_view_snapshot,
	.event = past_view_event,
	.act = past_view_act,
	.click = past_view_click,
	.wheel = past_view_wheel,
	.copy = past_view_copy,
	.save = past_view_save,
};
