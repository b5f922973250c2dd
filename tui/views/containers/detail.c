/* detail.c - draws the detail pane of a container. */
#include "views/containers/detail.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "views/pane.h"
#include "views/pen.h"
#include "widgets/widgets.h"

#define LABEL_W 11
#define CHART_ROWS 10 /* at most: beyond, a curve is not easier to read */
#define WIDE 96       /* from here on charts and facts stand side by side */
#define POSTURE_W 22
#define GRID 56 /* from here on two charts do */

/* Charts. */

struct chart {
	const char *name;
	char value[80]; /* "412M of 2.0G" */
	char peak[48];
	const struct series *a, *b; /* b: drawn below a, or NULL */
	const char *sign_a, *sign_b;
	double top; /* its limit, to which a line is near; 0: the largest value, but at least `least` */
	double least; /* what would be noise beside it stays low; 0: 4 KiB */
};

static float series_peak(const struct series *s)
{
	float peak = 0;

	for (int i = 0; i < s->len; i++)
		peak = s->v[i] > peak ? s->v[i] : peak;
	return peak;
}

static char *bytes_of(char *buf, double v)
{
	return format_bytes(buf, v > 0 ? (uint64_t)v : 0);
}

/* "38.4 % of 200.0 %, throttled 12.0 %" */
static void write_cpu_value(const struct container_stats *s, char *buf, size_t cap)
{
	char a[FORMAT_MAX], b[FORMAT_MAX];
	int n = snprintf(buf, cap, "%s %%", format_percent(a, s->cpu_percent));

	if (s->cpu_limit_percent > 0)
		n += snprintf(buf + n, cap - (size_t)n, " of %s %%",
			format_percent(b, s->cpu_limit_percent));
	if (s->throttles && s->throttled_percent >= 0.05)
		snprintf(buf + n, cap - (size_t)n, ", throttled %s %%",
			format_percent(a, s->throttled_percent));
}

static size_t make_charts(struct chart *k, const struct container *c, const struct detail *d)
{
	const struct container_stats *s = &c->stats;
	char a[FORMAT_MAX], b[FORMAT_MAX];
	size_t n = 0;

	k[n] = (struct chart){.name = "CPU", .a = &d->cpu_percent, .least = 5};
	write_cpu_value(s, k[n].value, sizeof k[n].value);
	k[n].top = s->cpu_limit_percent;
	snprintf(k[n].peak, sizeof k[n].peak, "peak %s %% in %s",
		format_percent(a, series_peak(&d->cpu_percent)),
		format_span(b, (int64_t)(d->cpu_percent.len * d->interval_s)));
	n++;
	k[n] = (struct chart){.name = "Memory", .a = &d->memory_bytes, .least = 1 << 20};
	if (s->memory_limited) {
		snprintf(k[n].value, sizeof k[n].value, "%s of %s",
			format_bytes(a, s->memory_bytes), format_bytes(b, s->memory_limit_bytes));
		k[n].top = (double)s->memory_limit_bytes;
	} else {
		snprintf(k[n].value, sizeof k[n].value, "%s, no limit",
			format_bytes(a, s->memory_bytes));
	}
	snprintf(
		k[n].peak, sizeof k[n].peak, "peak %s", bytes_of(a, series_peak(&d->memory_bytes)));
	n++;
	k[n] = (struct chart){.name = "Disk",
		.a = &d->block_read,
		.b = &d->block_write,
		.sign_a = "r",
		.sign_b = "w"};
	snprintf(k[n].value, sizeof k[n].value, "r %s/s  w %s/s",
		bytes_of(a, s->block_read_bytes_per_s), bytes_of(b, s->block_write_bytes_per_s));
	snprintf(k[n].peak, sizeof k[n].peak, "total r %s  w %s",
		format_bytes(a, s->block_read_bytes), format_bytes(b, s->block_write_bytes));
	n++;
	if (!s->net)
		return n;
	k[n] = (struct chart){
		.name = "Network", .a = &d->net_rx, .b = &d->net_tx, .sign_a = "↓", .sign_b = "↑"};
	snprintf(k[n].value, sizeof k[n].value, "↓ %s/s  ↑ %s/s",
		bytes_of(a, s->net_rx_bytes_per_s), bytes_of(b, s->net_tx_bytes_per_s));
	snprintf(k[n].peak, sizeof k[n].peak, "total ↓ %s  ↑ %s", format_bytes(a, s->net_rx_bytes),
		format_bytes(b, s->net_tx_bytes));
	return n + 1;
}

static void draw_series(const struct chart *k, const struct series *s, struct canvas *c,
	struct area a, struct style st)
{
	double peak = series_peak(s), least = k->least > 0 ? k->least : 4096;

	if (k->top > 0)
		meter_level_line(c, a, STYLE(RULE), METER_NEAR);
	meter_chart(c, a, st, s->v, s->len, k->top > 0 ? k->top : peak > least ? peak : least);
}

static void draw_chart(struct canvas *c, struct area a, const struct chart *k, bool old)
{
	struct style st = old ? STYLE(STALE) : STYLE(CHART);
	int x = a.x, left;

	x += canvas_text(c, x, a.y, a.w, STYLE(COLUMN), k->name) + 1;
	x += canvas_clip(c, x, a.y, a.x + a.w - x, old ? STYLE(STALE) : STYLE(STRONG), k->value) +
		2;
	left = a.x + a.w - x;
	if (left >= text_width(k->peak, strlen(k->peak)))
		canvas_right(c, x, a.y, left, STYLE(DIM), k->peak);
	a.y++;
	a.h--;
	if (k->b && a.h >= 2) {
		struct area upper = a, lower = a;

		canvas_text(c, a.x, a.y, 1, STYLE(DIM), k->sign_a);
		canvas_text(c, a.x, a.y + a.h - a.h / 2, 1, STYLE(DIM), k->sign_b);
		upper.x += 2;
		upper.w -= 2;
		lower.x += 2;
		lower.w -= 2;
		upper.h = a.h - a.h / 2;
		lower.y += upper.h;
		lower.h = a.h / 2;
		draw_series(k, k->a, c, upper, st);
		draw_series(k, k->b, c, lower, old ? st : STYLE(CHART_ALT));
	} else {
		draw_series(k, k->a, c, a, st);
	}
}

/* Charts from the top of the area, `across` beside each other; returns the rows used. */
static int draw_charts(struct canvas *c, struct area a, const struct chart *k, size_t n,
	size_t across, int rows, bool old)
{
	int w = (a.w - 2 * ((int)across - 1)) / (int)across, y = 0;

	for (size_t i = 0; i < n; i++) {
		int column = (int)(i % across);

		draw_chart(c, (struct area){a.x + column * (w + 2), a.y + y, w, rows}, &k[i], old);
		if (column + 1 == (int)across || i + 1 == n)
			y += rows;
	}
	return y;
}

/* Facts. */

/* The label stands beside the first row of what follows. */
static void put_label(struct pen *p, const char *text)
{
	int y = pen_row(p);

	if (y >= 0)
		canvas_clip(p->c, p->a.x, y, LABEL_W - 1, STYLE(COLUMN), text);
	p->x = LABEL_W;
	p->w = p->a.w - LABEL_W;
}

static void add_since(
	char *buf, size_t cap, const char *what, int64_t from_ms, const struct moment *m)
{
	char span[FORMAT_MAX];
	size_t used = strlen(buf);

	if (from_ms > 0)
		snprintf(buf + used, cap - used, ", %s %s ago", what,
			format_span(span, (m->wall_ms - from_ms) / 1000));
}

static void state_facts(struct pen *p, const struct container *k, const struct moment *m)
{
	char text[256], age[FORMAT_MAX];
	struct style st = STYLE(TEXT); /* whose role the state sets */
	size_t used;

	container_state_text(k, text, sizeof text, &st);
	if (k->state == CONTAINER_RUNNING || k->state == CONTAINER_PAUSED)
		add_since(text, sizeof text, "started", k->started_wall_ms, m);
	else if (k->state == CONTAINER_EXITED || k->state == CONTAINER_DEAD)
		add_since(text, sizeof text, "ended", k->finished_wall_ms, m);
	if (k->started_wall_ms <= 0 || k->started_wall_ms - k->created_wall_ms > 60000)
		add_since(text, sizeof text, "created", k->created_wall_ms, m);
	used = strlen(text);
	if (k->restarts > 0)
		snprintf(text + used, sizeof text - used, ", restarted %d times", k->restarts);
	put_label(p, "State");
	pen_text(p, st, 0, text);
	if (k->oom_killed)
		pen_text(p, STYLE(BAD), 0, "It was killed for using more memory than its limit.");
	if (k->problem)
		pen_text(p, STYLE(BAD), 0, k->problem);
	if (!container_has_stats(k) || !container_stats_old(k, m))
		return;
	snprintf(text, sizeof text, "These numbers are %s old.",
		format_age(age, (m->now_ns - k->stats.at_ns) / 1000000));
	pen_text(p, STYLE(STALE), 0, text);
}

static void posture_facts(struct pen *p, const struct detail *d)
{
	static const struct {
		enum role role;
		enum glyph glyph;
	} sign[] = {{ROLE_GOOD, GLYPH_TICK}, {ROLE_WARN, GLYPH_BANG}, {ROLE_DIM, GLYPH_DASH}};
	int cells, w, cell = 0;

	if (!d->nposture)
		return;
	put_label(p, "Isolation");
	cells = p->w / POSTURE_W < 1 ? 1 : p->w / POSTURE_W > 3 ? 3 : p->w / POSTURE_W;
	w = p->w / cells;
	for (size_t i = 0; i < d->nposture; i++) {
		const struct posture_item *item = &d->posture[i];
		struct style st = {.role = (uint8_t)sign[item->verdict].role};
		/* A long one takes two cells or the whole row. */
		int need = (text_width(item->what, strlen(item->what)) + 4 + w - 1) / w, x, y;

		need = need > cells ? cells : need;
		if (cell + need > cells) {
			pen_skip(p, 1);
			cell = 0;
		}
		x = p->a.x + p->x + cell * w;
		y = pen_row(p);
		if (y >= 0) {
			canvas_glyph(p->c, x, y, st, sign[item->verdict].glyph);
			canvas_clip(p->c, x + 2, y, need * w - 3,
				item->verdict == POSTURE_GOOD ? STYLE(TEXT) : st, item->what);
		}
		cell += need;
	}
	pen_skip(p, 1);
}

static void value_facts(struct pen *p, const char *name, const struct key_value *kv, size_t n)
{
	int w = 0;

	put_label(p, name);
	for (size_t i = 0; i < n; i++) {
		int k = text_width(kv[i].key, strlen(kv[i].key)) + 2;

		w = k > w ? k : w;
	}
	p->key_width = w < 24 ? w : 24;
	for (size_t i = 0; i < n; i++)
		pen_fact(p, kv[i].key, kv[i].secret ? STYLE(DIM) : STYLE(TEXT), kv[i].value);
	if (!n)
		pen_line(p, STYLE(DIM), "none");
}

/* Those that are set, one a line; those that are not, together. */
static void limit_facts(struct pen *p, const struct detail *d)
{
	char none[160] = "";
	int w = 0;

	put_label(p, "Limits");
	for (size_t i = 0; i < d->nlimits; i++) {
		int k = text_width(d->limits[i].key, strlen(d->limits[i].key)) + 2;
		size_t used = strlen(none);

		if (strcmp(d->limits[i].value, "none") != 0)
			w = k > w ? k : w;
		else
			snprintf(none + used, sizeof none - used, "%s%s", used ? ", " : "none for ",
				d->limits[i].key);
	}
	p->key_width = w < 24 ? w : 24;
	for (size_t i = 0; i < d->nlimits; i++)
		if (strcmp(d->limits[i].value, "none") != 0)
			pen_fact(p, d->limits[i].key, STYLE(TEXT), d->limits[i].value);
	if (*none || !d->nlimits)
		pen_text(p, STYLE(DIM), 0, *none ? none : "none");
}

static void mount_facts(struct pen *p, const struct detail *d)
{
	put_label(p, "Mounts");
	for (size_t i = 0; i < d->nmounts; i++) {
		const struct mount_info *m = &d->mounts[i];
		char text[600];
		bool same = !strcmp(m->source, m->target) || !*m->source;
		int y = pen_row(p);

		snprintf(text, sizeof text, "%s%s%s%s%s", m->target, same ? "" : " ← ",
			same ? "" : m->source, strcmp(m->type, "bind") ? "  " : "",
			strcmp(m->type, "bind") ? m->type : "");
		if (y >= 0)
			canvas_text(p->c, p->a.x + p->x, y, 2,
				m->read_only ? STYLE(GOOD) : STYLE(WARN),
				m->read_only ? "ro" : "rw");
		pen_text(p, STYLE(TEXT), 3, text);
	}
	if (!d->nmounts)
		pen_line(p, STYLE(DIM), "none");
}

/* Pages. */

static void identity_facts(struct pen *p, const struct container *k)
{
	char text[160];

	put_label(p, "Image");
	pen_text(p, STYLE(TEXT), 0, k->image);
	if (*k->agent) {
		put_label(p, "Agent");
		snprintf(text, sizeof text, "%s%s%s%s%s", k->agent, *k->role ? ", role " : "",
			k->role, *k->session ? ", session " : "", k->session);
		pen_text(p, STYLE(TEXT), 0, text);
	}
	if (*k->compose_project) {
		put_label(p, "Compose");
		snprintf(text, sizeof text, "%s / %s", k->compose_project, k->compose_service);
		pen_text(p, STYLE(TEXT), 0, text);
	}
}

static void overview_facts(
	struct pen *p, const struct container *k, const struct detail *d, const struct moment *m)
{
	state_facts(p, k, m);
	if (d && d->inspected) {
		posture_facts(p, d);
		limit_facts(p, d);
		mount_facts(p, d);
	}
	identity_facts(p, k);
	if (d && d->problem) {
		put_label(p, "Detail");
		pen_text(p, STYLE(WARN), 0, d->problem);
	} else if (!d || !d->inspected) {
		pen_line(p, STYLE(DIM), "Asking the engine…");
	}
}

static void draw_overview(
	struct pen *p, const struct container *k, const struct detail *d, const struct moment *m)
{
	struct area a = p->a;
	struct chart chart[4];
	bool old = container_stats_old(k, m);
	size_t n = 0, across = a.w >= GRID ? 2 : 1;
	int rows;

	if (d && container_has_stats(k) && d->cpu_percent.len)
		n = make_charts(chart, k, d);
	if (!n) {
		overview_facts(p, k, d, m);
		return;
	}
	if (a.w >= WIDE) {
		int w = a.w * 9 / 20;

		if (a.h < (int)n * 3)
			n = 2;
		rows = a.h / (int)n;
		draw_charts(p->c, (struct area){a.x, a.y, w, a.h}, chart, n, 1,
			rows > CHART_ROWS ? CHART_ROWS : rows, old);
		p->a = (struct area){a.x + w + 3, a.y, a.w - w - 3, a.h};
		p->w = p->a.w;
		overview_facts(p, k, d, m);
		return;
	}
	/* Charts keep their place, the facts below scroll. */
	rows = a.h >= 20 ? 4 : 3;
	if (across == 1 || a.h < 16)
		n = 2;
	if (a.h < 9)
		n = 0;
	rows = draw_charts(p->c, a, chart, n, across, rows, old);
	p->a.y += rows;
	p->a.h -= rows;
	overview_facts(p, k, d, m);
}

/* As ps has it; a stopped one is a T there. */
static char process_letter(const char *state)
{
	return strcmp(state, "stopped") == 0 ? 'T' : (char)toupper((unsigned char)state[0]);
}

static void process_line(struct pen *p, const struct process_info *i)
{
	char cpu[FORMAT_MAX] = "", memory[FORMAT_MAX], time[FORMAT_MAX];
	int y = pen_row(p), x = p->a.x, wide = p->a.w >= 56;

	pen_skip(p, 1);
	if (y < 0)
		return;
	if (i->cpu_percent >= 0)
		format_percent(cpu, i->cpu_percent);
	canvas_printf(p->c, x, y, 7, STYLE(DIM), "%7d", i->pid);
	x += 9;
	if (wide) {
		canvas_clip(p->c, x, y, 9, STYLE(TEXT), i->user);
		/* "S" from one engine, "sleeping" from /proc and others: the letter says enough */
		canvas_printf(p->c, x + 10, y, 1, STYLE(DIM), "%c", process_letter(i->state));
		x += 13;
	}
	canvas_right(p->c, x, y, 6, STYLE(TEXT), cpu);
	canvas_right(p->c, x + 7, y, 5, STYLE(TEXT), format_bytes(memory, i->memory_bytes));
	x += 14;
	if (wide) {
		canvas_right(p->c, x, y, 6, STYLE(DIM), format_span(time, i->cpu_ms / 1000));
		x += 8;
	}
	canvas_clip(p->c, x, y, p->a.x + p->a.w - x, STYLE(STRONG), i->command);
}

static void draw_processes(
	struct pen *p, const struct container *k, const struct detail *d, const struct moment *m)
{
	(void)m;
	if (!d || !d->nprocesses) {
		pen_line(p, STYLE(DIM),
			k->state == CONTAINER_RUNNING ? "Not known yet." : "It is not running.");
		return;
	}
	pen_head(p,
		p->a.w >= 56 ? "    PID  USER      S   CPU %   MEM      TIME  COMMAND"
			     : "    PID   CPU %   MEM  COMMAND");
	for (size_t i = 0; i < d->nprocesses; i++)
		process_line(p, &d->processes[i]);
}

static bool not_here(struct pen *p, const struct detail *d)
{
	if (d && d->inspected)
		return false;
	pen_text(p, STYLE(DIM), 0, d && d->problem ? d->problem : "Asking the engine…");
	return true;
}

static void draw_config(
	struct pen *p, const struct container *k, const struct detail *d, const struct moment *m)
{
	(void)m;
	put_label(p, "Id");
	pen_text(p, STYLE(TEXT), 0, k->id);
	if (not_here(p, d))
		return;
	value_facts(p, "Config", d->config, d->nconfig);
	value_facts(p, "Labels", d->labels, d->nlabels);
}

static void draw_environment(
	struct pen *p, const struct container *k, const struct detail *d, const struct moment *m)
{
	(void)k;
	(void)m;
	if (not_here(p, d))
		return;
	value_facts(p, "Env", d->env, d->nenv);
	for (size_t i = 0; i < d->nenv; i++)
		if (d->env[i].secret) {
			pen_line(p, STYLE(DIM), "Values whose names look secret are masked.");
			break;
		}
}

static const struct {
	const char *name;
	void (*write)(struct pen *p, const struct container *k, const struct detail *d,
		const struct moment *m);
} pages[] = {
	{"Overview", draw_overview},
	{"Processes", draw_processes},
	{"Config", draw_config},
	{"Env", draw_environment},
};

void detail_turn(int *tab, int tabs)
{
	*tab = (*tab + tabs + (int)COUNT(pages)) % (int)COUNT(pages);
}

/* The line between list and detail: whose it is, the tabs, how far it is scrolled. */
static void draw_title(int tab, struct canvas *c, struct area a, const struct container *k)
{
	struct style sign = STYLE(TEXT);
	enum glyph glyph = container_glyph(k, &sign);
	int tabs = 0, x = a.x + 1, room;

	for (size_t i = 0; i < COUNT(pages); i++)
		tabs += (int)strlen(pages[i].name) + 2;
	canvas_hline(c, a.x, a.y, a.w, STYLE(RULE));
	x += canvas_text(c, x, a.y, -1, STYLE(TEXT), " ");
	x += canvas_glyph(c, x, a.y, sign, glyph);
	x += canvas_text(c, x, a.y, -1, STYLE(TEXT), " ");
	room = a.x + a.w - x - tabs - 6;
	if (room < 12)
		room = a.x + a.w - x - 14;
	x += canvas_clip(c, x, a.y, room, STYLE(STRONG), k->name);
	x += canvas_text(c, x, a.y, -1, STYLE(TEXT), " ") + 1;
	for (size_t i = 0; i < COUNT(pages); i++) {
		bool active = (int)i == tab;

		if (!active && a.x + a.w - x < tabs)
			continue;
		x += canvas_printf(c, x, a.y, a.x + a.w - x,
			active ? STYLE(TAB_ACTIVE) : STYLE(TAB), "%s%s ", active ? "\u25b8" : " ",
			pages[i].name);
		tabs -= (int)strlen(pages[i].name) + 2;
	}
}

void detail_draw(struct page *p, int tab, struct canvas *c, struct area a,
	const struct container *k, const struct detail *d, const struct moment *m)
{
	struct area inner = {a.x + 2, a.y + 1, a.w - 4, a.h - 1};

	draw_title(tab, c, a, k);
	if (inner.h <= 0)
		return;
	for (int was = -1; was != p->scroll;) {
		struct pen pen = pen_on(c, inner, p->scroll);

		canvas_fill(c, inner, STYLE(TEXT), ' ');
		pages[tab].write(&pen, k, d, m);
		p->length = pen.y;
		p->seen = pen.a.h;
		/* The page may have become shorter than where it was scrolled to. */
		was = p->scroll;
		page_scroll(p, 0);
	}
	pane_arrows(p, c, a);
}
