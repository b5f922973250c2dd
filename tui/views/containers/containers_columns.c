/* containers_columns.c - lists the columns of the Containers view. */
#include "views/agents/agents.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "widgets/widgets.h"

#define NUMBER_W 6 /* "1234.5" */
#define RATE_W 5   /* "1.2M" and a blank before it */
#define MEMORY_W 5

static const struct item *item_of(const struct table_row *r)
{
	return r->item;
}

/* NAME */

static void container_name_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	static const char *const what[] = {"agent", "compose", "host", ""};
	const struct item *i = item_of(r);
	char doing[TABLE_CELL_MAX / 2];

	if (i->c) {
		st->role = i->c->state == CONTAINER_RUNNING ? ROLE_STRONG : ROLE_TEXT;
		snprintf(buf, cap, "%s", i->c->name);
	} else if (i->agent && agent_doing(i->agent, i->moment->wall_ms, doing, sizeof doing)) {
		bool role = i->n == 1 && *i->agent->role && strcmp(i->agent->role, i->group) != 0;

		snprintf(buf, cap, "%s  %s%s%s", i->group, role ? i->agent->role : "",
			role ? "  " : "", doing);
	} else if (i->lost) {
		snprintf(buf, cap, "%s  %s · lost", i->group, what[i->kind]);
	} else if (i->running == i->n) {
		snprintf(buf, cap, "%s  %s · %zu up", i->group, what[i->kind], i->n);
	} else {
		snprintf(
			buf, cap, "%s  %s · %zu/%zu up", i->group, what[i->kind], i->running, i->n);
	}
}

static void container_item_name_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	const struct item *i = item_of(r);
	struct style sign = STYLE(TEXT), st = STYLE(TEXT);
	char name[TABLE_CELL_MAX];
	int x = a.x;

	if (r->depth >= 2) {
		canvas_glyph(c, x, a.y, STYLE(DIM), GLYPH_BRANCH);
		x += 2;
	}
	canvas_glyph(c, x, a.y, sign, container_glyph(i->c, &sign));
	x += 2;
	container_name_text(r, name, sizeof name, &st);
	container_name_draw(i->c, c, (struct area){x, a.y, a.x + a.w - x, 1}, st, name);
}

/* berth-tool-NAME-HEX: of those the beginning says more. */
void container_name_draw(const struct container *k, struct canvas *c, struct area a,
	struct style st, const char *name)
{
	bool made = !strcmp(k->role, "tool") || !strcmp(k->role, "pool");

	(made ? canvas_clip : canvas_clip_name)(c, a.x, a.y, a.w, st, name);
}

/* Signs that mean their order: what needs a person first. */
static int container_name_compare(const struct table_row *a, const struct table_row *b)
{
	const struct item *x = item_of(a), *y = item_of(b);

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return text_natural(x->c ? x->c->name : x->group, y->c ? y->c->name : y->group);
}

/* STATE */

static void container_row_state_text(
	const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	if (item_of(r)->c)
		container_state_text(item_of(r)->c, buf, cap, st);
}

static int compare_int(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_double(double a, double b)
{
	return a < b ? -1 : a > b;
}

static int container_state_compare(const struct table_row *a, const struct table_row *b)
{
	const struct container *x = item_of(a)->c, *y = item_of(b)->c;

	return compare_int(x ? (int)x->state : -1, y ? (int)y->state : -1);
}

/* The numbers of a head over a single row would only say them twice. */
static bool said_below(const struct table_row *r)
{
	return r->group && !r->folded && item_of(r)->n == 1;
}

/* Numbers: dim when zero, old when old, a dash when there is none. */

/* Of what a head has below, on an engine that answers. */
static bool head_has_numbers(const struct item *i)
{
	return i->running && !i->lost;
}

static void dash_text(const struct item *i, char *buf, size_t cap, int w)
{
	if (i->lost)
		snprintf(buf, cap, "%*s–", w - 1, "");
}

static struct style number_style(const struct item *i, bool zero)
{
	if (i->c && container_stats_old(i->c, i->moment))
		return STYLE(STALE);
	if (!i->c)
		return STYLE(GROUP);
	return zero ? STYLE(DIM) : STYLE(TEXT);
}

static void draw_dash(const struct item *i, struct canvas *c, int x, int y, int w)
{
	/* What does not run has no numbers, and need not say so in every column. */
	if (!i->c || container_has_stats(i->c) || i->c->state == CONTAINER_RUNNING)
		canvas_glyph(c, x + w - 1, y, STYLE(DIM), GLYPH_DASH);
}

/* CPU */

static double cpu_percent_of(const struct item *i)
{
	if (!i->c)
		return head_has_numbers(i) ? i->cpu_percent : -1;
	return container_has_stats(i->c) && i->c->stats.rates ? i->c->stats.cpu_percent : -1;
}

static void cpu_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	char n[FORMAT_MAX];
	double cpu = cpu_percent_of(item_of(r));

	(void)st;
	if (said_below(r))
		return;
	if (cpu >= 0)
		snprintf(buf, cap, "%*s", NUMBER_W, format_percent(n, cpu));
	else
		dash_text(item_of(r), buf, cap, NUMBER_W);
}

/* One scale for all rows, so that they can be compared: full is the container's limit, or a core. */
static void draw_spark(
	const struct container_stats *s, struct canvas *c, struct area a, struct style st)
{
	double top = 10 * (s->cpu_limit_percent > 0 ? s->cpu_limit_percent : 100);

	meter_spark(c, a.x, a.y, a.w, st, s->spark, s->spark_len, top);
}

/* Its limit keeps it from its CPU so often that it is slower for it. */
static bool container_is_throttled(const struct container *c)
{
	return c->stats.throttles && c->stats.throttled_percent >= 10;
}

static void cpu_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	const struct item *i = item_of(r);
	const struct container_stats *s = &i->c->stats;
	double cpu = cpu_percent_of(i);
	char n[FORMAT_MAX];

	if (cpu < 0) {
		draw_dash(i, c, a.x, a.y, NUMBER_W);
		return;
	}
	canvas_right(c, a.x, a.y, NUMBER_W, number_style(i, cpu < 0.05), format_percent(n, cpu));
	if (container_is_throttled(i->c) && a.w > NUMBER_W)
		canvas_glyph(c, a.x + NUMBER_W, a.y, STYLE(WARN), GLYPH_BANG);
	if (a.w > NUMBER_W + 3)
		draw_spark(s, c, (struct area){a.x + NUMBER_W + 1, a.y, a.w - NUMBER_W - 1, 1},
			container_stats_old(i->c, i->moment) ? STYLE(STALE) : STYLE(CHART));
}

static int cpu_compare(const struct table_row *a, const struct table_row *b)
{
	/* As they are shown: equal ones do not change places with every sample. */
	return compare_double(nearbyint(10 * cpu_percent_of(item_of(a))),
		nearbyint(10 * cpu_percent_of(item_of(b))));
}

/* THROTTLED, PRESSURE: -1 where it is not known. */

static double throttled_of(const struct item *i)
{
	return i->c && container_has_stats(i->c) && i->c->stats.throttles
		? i->c->stats.throttled_percent
		: -1;
}

static void throttled_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	double v = throttled_of(item_of(r));
	char n[FORMAT_MAX];

	if (v < 0)
		return;
	*st = v >= 10 ? STYLE(WARN) : number_style(item_of(r), v < 0.05);
	snprintf(buf, cap, "%s %%", format_percent(n, v));
}

static int throttled_compare(const struct table_row *a, const struct table_row *b)
{
	return compare_double(throttled_of(item_of(a)), throttled_of(item_of(b)));
}

/* The highest of the three, and which it is. */
static double pressure_of(const struct item *i, const char **ret)
{
	const struct container_stats *s = i->c ? &i->c->stats : NULL;

	*ret = "cpu";
	if (!s || !container_has_stats(i->c) || !s->pressed)
		return -1;
	if (s->pressure_memory > s->pressure_cpu && s->pressure_memory >= s->pressure_io)
		return *ret = "mem", s->pressure_memory;
	if (s->pressure_io > s->pressure_cpu)
		return *ret = "io", s->pressure_io;
	return s->pressure_cpu;
}

static void pressure_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const char *what;
	double v = pressure_of(item_of(r), &what);
	char n[FORMAT_MAX];

	if (v < 0)
		return;
	*st = v >= 20 ? STYLE(WARN) : number_style(item_of(r), v < 0.05);
	snprintf(buf, cap, "%s%s%s", v < 0.05 ? "" : what, v < 0.05 ? "" : " ",
		format_percent(n, v));
}

static int pressure_compare(const struct table_row *a, const struct table_row *b)
{
	const char *what;

	return compare_double(pressure_of(item_of(a), &what), pressure_of(item_of(b), &what));
}

/* A number of bytes as format_bytes rounds it: what looks equal keeps its order. */
static double as_shown(double v)
{
	double unit = 1;

	while (v / unit >= 999.5)
		unit *= 1024;
	if (unit > 1 && v / unit < 9.95)
		return nearbyint(10 * v / unit) * unit / 10;
	return nearbyint(v / unit) * unit;
}

/* MEM, LIMIT */

static int64_t memory_of(const struct item *i)
{
	if (!i->c)
		return head_has_numbers(i) ? (int64_t)i->memory_bytes : -1;
	return container_has_stats(i->c) ? (int64_t)i->c->stats.memory_bytes : -1;
}

static void memory_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	int64_t memory = memory_of(item_of(r));
	char n[FORMAT_MAX];

	*st = memory < 0 ? STYLE(DIM) : number_style(item_of(r), memory == 0);
	if (said_below(r))
		return;
	if (memory >= 0)
		snprintf(buf, cap, "%s", format_bytes(n, (uint64_t)memory));
	else if (item_of(r)->lost || (item_of(r)->c && item_of(r)->c->state == CONTAINER_RUNNING))
		snprintf(buf, cap, "–");
}

static int memory_compare(const struct table_row *a, const struct table_row *b)
{
	return compare_double(
		as_shown((double)memory_of(item_of(a))), as_shown((double)memory_of(item_of(b))));
}

static uint64_t limit_of(const struct item *i)
{
	return i->c && container_has_stats(i->c) && i->c->stats.memory_limited
		? i->c->stats.memory_limit_bytes
		: 0;
}

static void limit_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	uint64_t limit = limit_of(item_of(r));
	char n[FORMAT_MAX];

	(void)st;
	if (limit)
		snprintf(buf, cap, "%s", format_bytes(n, limit));
}

static void limit_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	const struct item *i = item_of(r);
	uint64_t limit = limit_of(i);
	char n[FORMAT_MAX];

	if (!limit) {
		draw_dash(i, c, a.x, a.y, MEMORY_W);
		return;
	}
	canvas_right(c, a.x, a.y, MEMORY_W, STYLE(DIM), format_bytes(n, limit));
	if (a.w > MEMORY_W + 3)
		meter_level(c, a.x + MEMORY_W + 1, a.y, a.w - MEMORY_W - 1,
			(double)i->c->stats.memory_bytes / (double)limit, 0.8, 0.95);
}

/* By how full it is: that is what one looks for. */
static int limit_compare(const struct table_row *a, const struct table_row *b)
{
	uint64_t x = limit_of(item_of(a)), y = limit_of(item_of(b));

	return compare_double(x ? nearbyint(100 * (double)memory_of(item_of(a)) / (double)x) : -1,
		y ? nearbyint(100 * (double)memory_of(item_of(b)) / (double)y) : -1);
}

/* NET, IO: two rates side by side. */

struct rates {
	bool known;
	double a, b;
};

static struct rates net_of(const struct item *i)
{
	if (!i->c)
		return (struct rates){i->net && !i->lost, i->net_rx, i->net_tx};
	return (struct rates){container_has_stats(i->c) && i->c->stats.net && i->c->stats.rates,
		i->c->stats.net_rx_bytes_per_s, i->c->stats.net_tx_bytes_per_s};
}

static struct rates block_of(const struct item *i)
{
	if (!i->c)
		return (struct rates){head_has_numbers(i), i->block_read, i->block_write};
	return (struct rates){container_has_stats(i->c) && i->c->stats.rates,
		i->c->stats.block_read_bytes_per_s, i->c->stats.block_write_bytes_per_s};
}

static char *format_rate(char *buf, double bytes_per_s)
{
	return format_bytes(buf, bytes_per_s > 0 ? (uint64_t)bytes_per_s : 0);
}

static void rates_text(const struct table_row *r, struct rates v, char *buf, size_t cap)
{
	char a[FORMAT_MAX], b[FORMAT_MAX];

	if (said_below(r))
		return;
	if (v.known)
		snprintf(buf, cap, "%*s %*s", RATE_W, format_rate(a, v.a), RATE_W,
			format_rate(b, v.b));
	else
		dash_text(item_of(r), buf, cap, RATE_W);
}

static void rates_draw(const struct item *i, struct rates v, struct canvas *c, struct area a)
{
	char n[FORMAT_MAX];

	if (!v.known) {
		draw_dash(i, c, a.x, a.y, RATE_W);
		return;
	}
	canvas_right(c, a.x, a.y, RATE_W, number_style(i, v.a < 1), format_rate(n, v.a));
	canvas_right(
		c, a.x + RATE_W + 1, a.y, RATE_W, number_style(i, v.b < 1), format_rate(n, v.b));
}

static int rates_compare(struct rates a, struct rates b)
{
	return compare_double(a.known ? as_shown(a.a) + as_shown(a.b) : -1,
		b.known ? as_shown(b.a) + as_shown(b.b) : -1);
}

static void net_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	(void)st;
	rates_text(r, net_of(item_of(r)), buf, cap);
}

static void net_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	rates_draw(item_of(r), net_of(item_of(r)), c, a);
}

static int net_compare(const struct table_row *a, const struct table_row *b)
{
	return rates_compare(net_of(item_of(a)), net_of(item_of(b)));
}

static void block_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	(void)st;
	rates_text(r, block_of(item_of(r)), buf, cap);
}

static void block_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	rates_draw(item_of(r), block_of(item_of(r)), c, a);
}

static int block_compare(const struct table_row *a, const struct table_row *b)
{
	return rates_compare(block_of(item_of(a)), block_of(item_of(b)));
}

/* PIDS */

#define PIDS_W 4

static int64_t pids_of(const struct item *i)
{
	if (!i->c)
		return head_has_numbers(i) ? (int64_t)i->pids : -1;
	return container_has_stats(i->c) ? (int64_t)i->c->stats.pids : -1;
}

static void pids_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct item *i = item_of(r);

	(void)st;
	if (said_below(r))
		return;
	if (pids_of(i) >= 0)
		snprintf(buf, cap, "%*lld", PIDS_W, (long long)pids_of(i));
	else
		dash_text(i, buf, cap, PIDS_W);
	if (i->c && pids_of(i) >= 0 && i->c->stats.pids_limit)
		snprintf(buf + strlen(buf), cap - strlen(buf), "/%llu",
			(unsigned long long)i->c->stats.pids_limit);
}

static void pids_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	const struct item *i = item_of(r);
	char n[FORMAT_MAX];

	if (pids_of(i) < 0) {
		draw_dash(i, c, a.x, a.y, PIDS_W);
		return;
	}
	snprintf(n, sizeof n, "%lld", (long long)pids_of(i));
	canvas_right(c, a.x, a.y, PIDS_W, number_style(i, false), n);
	if (i->c->stats.pids_limit && a.w > PIDS_W + 2)
		canvas_printf(c, a.x + PIDS_W, a.y, a.w - PIDS_W, STYLE(DIM), "/%llu",
			(unsigned long long)i->c->stats.pids_limit);
}

static int pids_compare(const struct table_row *a, const struct table_row *b)
{
	return compare_int(pids_of(item_of(a)), pids_of(item_of(b)));
}

/* UP: since its start; for those that ended, since their end. */

static int64_t up_ms(const struct item *i)
{
	const struct container *c = i->c;
	int64_t from;

	if (!c)
		return -1;
	from = c->state == CONTAINER_EXITED || c->state == CONTAINER_DEAD ||
			c->state == CONTAINER_RESTARTING
		? c->finished_wall_ms
		: c->state == CONTAINER_CREATED ? c->created_wall_ms
						: c->started_wall_ms;
	return from > 0 ? i->moment->wall_ms - from : -1;
}

static void up_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct item *i = item_of(r);
	int64_t ms = up_ms(i);
	char n[FORMAT_MAX];

	if (ms < 0)
		return;
	if (i->c->state != CONTAINER_RUNNING)
		*st = STYLE(DIM);
	snprintf(buf, cap, "%s", format_span(n, ms / 1000));
}

static int up_compare(const struct table_row *a, const struct table_row *b)
{
	return compare_int(up_ms(item_of(a)), up_ms(item_of(b)));
}

/* IMAGE: what is left of it when it must be short is its end. */

static void container_image_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = STYLE(DIM);
	if (item_of(r)->c)
		snprintf(buf, cap, "%s", item_of(r)->c->image);
}

static void image_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	const char *image = item_of(r)->c->image, *slash;

	size_t len;

	while (text_width(image, strlen(image)) > a.w && (slash = strchr(image, '/')))
		image = slash + 1;
	len = strlen(image);
	if (len > (size_t)a.w && len > 7 && !strcmp(image + len - 7, ":latest"))
		len -= 7;
	/* A bare digest says nothing beyond its beginning. */
	if (!strncmp(image, "sha256:", 7))
		canvas_textn(c, a.x, a.y, a.w, STYLE(DIM), image + 7, strnlen(image + 7, 12));
	else if (len <= (size_t)a.w)
		canvas_textn(c, a.x, a.y, a.w, STYLE(DIM), image, len);
	else
		canvas_clip(c, a.x, a.y, a.w, STYLE(DIM), image);
}

/* Texts of the container as they are: one function each, one comparison for all. */
#define TEXT_COLUMN(field)                                                               \
	static void field##_text(                                                        \
		const struct table_row *r, char *buf, size_t cap, struct style *st)      \
	{                                                                                \
		*st = STYLE(DIM);                                                        \
		if (item_of(r)->c)                                                       \
			snprintf(buf, cap, "%s", item_of(r)->c->field);                  \
	}                                                                                \
	static int field##_compare(const struct table_row *a, const struct table_row *b) \
	{                                                                                \
		const struct item *x = item_of(a), *y = item_of(b);                      \
		return strcmp(x->c ? x->c->field : "", y->c ? y->c->field : "");         \
	}
TEXT_COLUMN(command)
TEXT_COLUMN(session)
TEXT_COLUMN(ports)
TEXT_COLUMN(networks)
TEXT_COLUMN(role)

/* Of a head it tells two groups of one name apart. */
static void host_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = item_of(r)->c ? STYLE(DIM) : STYLE(GROUP);
	if (item_of(r)->c || item_of(r)->kind != BY_HOST)
		snprintf(buf, cap, "%s", item_of(r)->host);
}

static int host_compare(const struct table_row *a, const struct table_row *b)
{
	return strcmp(item_of(a)->host, item_of(b)->host);
}

static int container_image_compare(const struct table_row *a, const struct table_row *b)
{
	const struct item *x = item_of(a), *y = item_of(b);

	return strcmp(x->c ? x->c->image : "", y->c ? y->c->image : "");
}

static void id_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = STYLE(DIM);
	if (item_of(r)->c)
		snprintf(buf, cap, "%.12s", item_of(r)->c->id);
}

static void restarts_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct container *c = item_of(r)->c;

	if (!c || c->restarts < 0)
		return;
	*st = c->restarts ? STYLE(WARN) : STYLE(DIM);
	snprintf(buf, cap, "%d", c->restarts);
}

static int restarts_compare(const struct table_row *a, const struct table_row *b)
{
	const struct item *x = item_of(a), *y = item_of(b);

	return compare_int(x->c ? x->c->restarts : -1, y->c ? y->c->restarts : -1);
}

static void created_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct item *i = item_of(r);
	char n[FORMAT_MAX];

	*st = STYLE(DIM);
	if (i->c && i->c->created_wall_ms > 0)
		snprintf(buf, cap, "%s",
			format_span(n, (i->moment->wall_ms - i->c->created_wall_ms) / 1000));
}

static int created_compare(const struct table_row *a, const struct table_row *b)
{
	const struct item *x = item_of(a), *y = item_of(b);

	return compare_int(y->c ? y->c->created_wall_ms : 0, x->c ? x->c->created_wall_ms : 0);
}

/* AGE of the numbers. */

static int64_t age_ms(const struct item *i)
{
	return i->c && container_has_stats(i->c) ? (i->moment->now_ns - i->c->stats.at_ns) / 1000000
						 : -1;
}

static void container_age_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct item *i = item_of(r);
	char n[FORMAT_MAX];

	if (age_ms(i) < 0)
		return;
	*st = number_style(i, true);
	snprintf(buf, cap, "%s", format_age(n, age_ms(i)));
}

static int container_age_compare(const struct table_row *a, const struct table_row *b)
{
	return compare_int(age_ms(item_of(a)), age_ms(item_of(b)));
}

/* `keep`: what an 80-column screen leaves out goes first; a 40-column one has the zeroes. */
/* clang-format off */
const struct table_column container_columns[] = {
	[CONTAINER_NAME] = {.name = "name", .head = "NAME", .min = 16, .ideal = 16, .sign = true,
		.text = container_name_text, .draw = container_item_name_draw, .compare = container_name_compare},
	[CONTAINER_STATE] = {.name = "state", .head = "STATE", .min = 10, .ideal = 14, .text = container_row_state_text,
		.compare = container_state_compare},
	[CONTAINER_CPU] = {.name = "cpu", .head = " CPU %", .min = NUMBER_W, .ideal = NUMBER_W + 9, .grow = 2,
		.descending = true, .text = cpu_text, .draw = cpu_draw, .compare = cpu_compare},
	[CONTAINER_MEM] = {.name = "mem", .head = "MEM", .min = MEMORY_W, .ideal = MEMORY_W, .right = true,
		.descending = true, .text = memory_text, .compare = memory_compare},
	[CONTAINER_LIMIT] = {.name = "limit", .head = "LIMIT", .min = MEMORY_W, .ideal = MEMORY_W + 7, .keep = 45,
		.descending = true, .text = limit_text, .draw = limit_draw,
		.compare = limit_compare},
	{.name = "net", .head = "↓  NET/s  ↑", .min = 2 * RATE_W + 1, .ideal = 2 * RATE_W + 1,
		.keep = 60, .descending = true, .text = net_text, .draw = net_draw,
		.compare = net_compare},
	{.name = "io", .head = "r   IO/s  w", .min = 2 * RATE_W + 1, .ideal = 2 * RATE_W + 1,
		.keep = 80, .descending = true, .text = block_text, .draw = block_draw,
		.compare = block_compare},
	[CONTAINER_PIDS] = {.name = "pids", .head = "PIDS", .min = PIDS_W, .ideal = PIDS_W + 5, .keep = 50,
		.descending = true, .text = pids_text, .draw = pids_draw,
		.compare = pids_compare},
	[CONTAINER_UP] = {.name = "up", .head = "UP", .min = 6, .ideal = 6, .keep = 40, .right = true,
		.text = up_text, .compare = up_compare},
	{.name = "image", .head = "IMAGE", .min = 14, .ideal = 18, .grow = 1, .keep = 90,
		.text = container_image_text, .draw = image_draw, .compare = container_image_compare},
	{.name = "id", .head = "ID", .min = 12, .ideal = 12, .keep = 100, .optional = true,
		.text = id_text},
	{.name = "created", .head = "CREATED", .min = 7, .ideal = 7, .keep = 101,
		.optional = true, .right = true, .text = created_text,
		.compare = created_compare},
	{.name = "restarts", .head = "RESTARTS", .min = 8, .ideal = 8, .keep = 102,
		.optional = true, .right = true, .descending = true, .text = restarts_text,
		.compare = restarts_compare},
	{.name = "role", .head = "ROLE", .min = 6, .ideal = 8, .keep = 103, .optional = true,
		.text = role_text, .compare = role_compare},
	{.name = "session", .head = "SESSION", .min = 8, .ideal = 12, .keep = 104,
		.optional = true, .text = session_text, .compare = session_compare},
	{.name = "command", .head = "COMMAND", .min = 12, .ideal = 24, .grow = 2, .keep = 105,
		.optional = true, .text = command_text, .compare = command_compare},
	/* Not asked for, but shown while the engine is lost: what stands there then is old. */
	[CONTAINER_AGE] = {.name = "age", .head = "AGE", .min = 5, .ideal = 6, .keep = 42, .optional = true,
		.right = true, .descending = true, .text = container_age_text, .compare = container_age_compare},
	/* Shown when any container has a port. */
	[CONTAINER_PORTS] = {.name = "ports", .head = "PORTS", .min = 8, .ideal = 20, .grow = 1, .keep = 95,
		.text = ports_text, .compare = ports_compare},
	{.name = "throttled", .head = "THROTTLED", .min = 9, .ideal = 9, .keep = 70, .optional = true,
		.right = true, .descending = true, .text = throttled_text, .compare = throttled_compare},
	{.name = "pressure", .head = "PRESSURE", .min = 8, .ideal = 8, .keep = 71, .optional = true,
		.right = true, .descending = true, .text = pressure_text, .compare = pressure_compare},
	{.name = "networks", .head = "NETWORKS", .min = 8, .ideal = 16, .grow = 1, .keep = 107,
		.optional = true, .text = networks_text, .compare = networks_compare},
	/* Shown where there are several. */
	[CONTAINER_HOST] = {.name = "host", .head = "HOST", .min = 8, .ideal = 12, .keep = 41,
		.text = host_text, .compare = host_compare},
};
/* clang-format on */
const size_t container_ncolumns = COUNT(container_columns);
