/* host.c - shows the engine, its machine, and the resources that berth itself uses. */
#include <stdio.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/message.h>
#include <berth/overview.h>
#include <berth/pool.h>
#include <berth/str.h>
#include <berth/sum.h>
#include <berth/text.h>

#include "app/app.h"
#include "views/list.h"
#include "views/page.h"
#include "views/pen.h"
#include "widgets/widgets.h"

#define WIDE 90
#define KEY_W 12
#define CURVE_MOST 24 /* rows; beyond that a curve says no more */
#define LOOK_NS (10 * (int64_t)1000000000)

/* What there is of workspaces, as it was counted last. */
struct workspace_facts {
	uint64_t stamp; /* of the overview; 0: nothing is known */
	size_t n, tasks, active, uncounted, archives;
	uint64_t bytes, packed;
	char largest[24 + WORKSPACE_NAME_MAX], oldest[24 + WORKSPACE_NAME_MAX];
	uint64_t largest_bytes;
	int64_t oldest_ns; /* Unix time of its newest change; 0: nothing is counted */
	pid_t keeper;
};

struct host {
	struct page page;
	struct workspace_facts workspaces;
	uint64_t looking; /* 0: not asked */
	int64_t looked_ns;
};

static void begin_section(struct pen *p, const char *name)
{
	if (p->y)
		pen_skip(p, 1);
	pen_head(p, name);
}

static void host_fact(struct pen *p, const char *key, const char *value)
{
	if (value && *value)
		pen_fact(p, key, STYLE(TEXT), value);
}

static void count_text(char *buf, size_t cap, const struct snapshot *s)
{
	struct container_counts n = snapshot_counts(s);
	size_t used = 0, missing = 0;

	buf[0] = '\0';
	for (int i = 0; i <= CONTAINER_UNKNOWN; i++)
		if (n.state[i] && used < cap)
			used += (size_t)snprintf(buf + used, cap - used, "%s%d %s",
				used ? ", " : "", n.state[i],
				container_state_name((enum container_state)i));
	if (n.unhealthy && used < cap)
		used += (size_t)snprintf(buf + used, cap - used, "; %d unhealthy", n.unhealthy);
	if (!used)
		used = (size_t)snprintf(buf, cap, "%s", s->listed ? "none" : "not known yet");
	for (size_t i = 0; i < s->nhosts; i++)
		missing += s->hosts[i].engine.phase != ENGINE_UP;
	if (missing && used < cap)
		snprintf(buf + used, cap - used, "; %zu of %zu hosts missing", missing, s->nhosts);
}

static void engine_facts(struct pen *p, const struct snapshot *s, int64_t now_ns)
{
	const struct engine_state *e = &s->engine;
	char text[256], age[FORMAT_MAX];
	static const char *const words[] = {"connecting", "connected", "lost"};

	begin_section(p, "Engine");
	snprintf(text, sizeof text, "%s for %s", words[e->phase],
		format_span(age, (now_ns - e->since_ns) / 1000000000));
	pen_fact(p, "State",
		e->phase == ENGINE_UP             ? STYLE(GOOD)
			: e->phase == ENGINE_LOST ? STYLE(BAD)
						  : STYLE(BUSY),
		text);
	if (e->problem)
		pen_fact(p, "Problem", STYLE(BAD), e->problem);
	snprintf(text, sizeof text, "%s (%s)", e->endpoint, e->source);
	host_fact(p, "Endpoint", text);
	if (*e->version) {
		snprintf(text, sizeof text, "%s %s, API %s", *e->product ? e->product : "engine",
			e->version, e->api);
		host_fact(p, "Version", text);
	}
	host_fact(p, "Host name", e->name);
	host_fact(p, "System", e->os);
	snprintf(text, sizeof text, "%s %s", e->kernel, e->arch);
	host_fact(p, "Kernel", *e->kernel ? text : "");
	host_fact(p, "Storage", e->storage);
	host_fact(p, "Cgroups", e->cgroup);
	host_fact(p, "Root", e->root_dir);
	host_fact(p, "Id", e->id);
	if (e->phase != ENGINE_CONNECTING || *e->version)
		host_fact(p, "Statistics",
			e->local ? "read from cgroups and /proc: its containers are on this machine"
				 : "read from the engine: its containers are not "
				   "visible from here");
	host_fact(p, "Mode", e->read_only ? "read-only" : "read-write");
}

/* Of several: each with what it says, and what its containers use together. */
static void hosts_facts(struct pen *p, const struct snapshot *s, int64_t now_ns)
{
	static const struct {
		const char *word;
		enum role role;
	} phases[] = {{"connecting", ROLE_BUSY}, {"up", ROLE_GOOD}, {"lost", ROLE_BAD}};
	char name[80], cpu[FORMAT_MAX], memory[FORMAT_MAX], age[FORMAT_MAX];

	if (s->nhosts < 2)
		return;
	begin_section(p, "Hosts");
	for (size_t i = 0; i < s->nhosts; i++) {
		const struct engine_host *h = &s->hosts[i];
		enum engine_phase phase = h->engine.phase;
		AUTO_STR struct str text = STR_INIT;

		str_addf(&text, "%s for %s", phases[phase].word,
			format_span(age, (now_ns - h->engine.since_ns) / 1000000000));
		if (h->engine.retry_at_ns)
			str_addf(&text, " \u00b7 retry in %lld s",
				(long long)(h->engine.retry_at_ns > now_ns
						? (h->engine.retry_at_ns - now_ns) / 1000000000
						: 0));
		if (h->listed && phase == ENGINE_LOST)
			str_addf(&text, " \u00b7 %u containers before", h->containers);
		else if (h->listed)
			str_addf(&text, " \u00b7 %u of %u running \u00b7 cpu %s %% \u00b7 mem %s",
				h->running, h->containers, format_percent(cpu, h->cpu_percent),
				format_bytes(memory, h->memory_bytes));
		if (h->latency_us >= 0)
			str_addf(&text, " \u00b7 %.1f ms", (double)h->latency_us / 1000);
		if (*h->engine.version)
			str_addf(
				&text, " \u00b7 %.30s %.40s", h->engine.product, h->engine.version);
		str_adds(&text, h->engine.read_only ? " \u00b7 read-only" : "");
		pen_fact(p, text_clean(name, sizeof name, h->name),
			(struct style){.role = (uint8_t)phases[phase].role}, text.s);
		if (h->engine.problem)
			pen_fact(p, "", STYLE(BAD), h->engine.problem);
	}
}

static void content_facts(struct pen *p, const struct snapshot *s)
{
	const struct {
		const char *name;
		int n;
	} counts[] = {{"Images", s->images}, {"Networks", s->networks}, {"Volumes", s->volumes}};
	char text[256], n[FORMAT_MAX];

	begin_section(p, "Contents");
	count_text(text, sizeof text, s);
	host_fact(p, "Containers", text);
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
		if (counts[i].n >= 0)
			host_fact(p, counts[i].name, format_count(n, (uint64_t)counts[i].n));
}

static void workspace_facts(struct pen *p, const struct workspace_facts *w)
{
	char text[128], a[FORMAT_MAX], b[FORMAT_MAX];
	int64_t age_ms = clock_wall_ms() - w->oldest_ns / 1000000;

	if (!w->n && !w->archives)
		return;
	begin_section(p, "Workspaces");
	snprintf(text, sizeof text, "%zu task%s, %zu project%s; %zu in use", w->tasks,
		w->tasks == 1 ? "" : "s", w->n - w->tasks, w->n - w->tasks == 1 ? "" : "s",
		w->active);
	host_fact(p, "Number", text);
	if (w->n > w->uncounted) {
		snprintf(text, sizeof text, "%s, %s on average", format_bytes(a, w->bytes),
			format_bytes(b, w->bytes / (w->n - w->uncounted)));
		if (w->uncounted)
			snprintf(text + strlen(text), sizeof text - strlen(text),
				"; %zu not counted yet", w->uncounted);
		host_fact(p, "Size", text);
		snprintf(
			text, sizeof text, "%s, %s", w->largest, format_bytes(a, w->largest_bytes));
		host_fact(p, "Largest", text);
		snprintf(text, sizeof text, "%s, unchanged for %s", w->oldest,
			format_age(a, age_ms > 0 ? age_ms : 0));
		host_fact(p, "Oldest", text);
	} else if (w->n) {
		host_fact(p, "Size", "not counted yet");
	}
	if (w->archives) {
		snprintf(text, sizeof text, "%zu, %s", w->archives, format_bytes(a, w->packed));
		host_fact(p, "Archives", text);
	}
	if (w->keeper) {
		snprintf(text, sizeof text, "process %d", (int)w->keeper);
		host_fact(p, "Keeper", text);
	} else if (w->active) {
		pen_fact(p, "Keeper", STYLE(BAD), "lost: `berth up` starts one");
	}
}

static void self_facts(struct pen *p, const struct snapshot *s)
{
	char text[128], n[FORMAT_MAX];

	begin_section(p, "berth itself");
	snprintf(text, sizeof text, "%s %% of one core", format_percent(n, s->self.cpu_percent));
	host_fact(p, "CPU", text);
	snprintf(text, sizeof text, "%s resident", format_bytes(n, s->self.memory_bytes));
	host_fact(p, "Memory", text);
	snprintf(text, sizeof text, "%d", s->self.fds);
	host_fact(p, "Open files", text);
	if (s->self.hz < 1)
		snprintf(text, sizeof text, "every %.3g s", 1 / s->self.hz);
	else if (s->self.hz > 1)
		snprintf(text, sizeof text, "%.3g times a second", s->self.hz);
	else
		snprintf(text, sizeof text, "once a second");
	snprintf(text + strlen(text), sizeof text - strlen(text), "; the last sweep took %.2f ms",
		s->self.sweep_us / 1000);
	host_fact(p, "Sampling", text);
}

/* "2 of 2 ready, oldest 34s; 12 hits, 3 misses" */
static void pool_facts(struct pen *p, const struct snapshot *s)
{
	if (!s->npools)
		return;
	begin_section(p, "Warm containers");
	for (size_t i = 0; i < s->npools; i++) {
		const struct pool_info *w = &s->pools[i];
		char text[256], name[64], age[FORMAT_MAX] = "", made[FORMAT_MAX];
		struct style style = w->warm >= w->size ? STYLE(GOOD)
			: *w->problem                   ? STYLE(BAD)
							: STYLE(BUSY);

		if (w->oldest_ms >= 0)
			format_span(age, w->oldest_ms / 1000);
		snprintf(text, sizeof text, "%u of %u ready%s%s; %llu hits, %llu misses; %s made",
			w->warm, w->size, *age ? ", oldest " : "", age, (unsigned long long)w->hits,
			(unsigned long long)w->misses, format_count(made, w->made));
		pen_fact(p, text_clean(name, sizeof name, w->tool), style, text);
		if (*w->problem)
			pen_fact(p, "", STYLE(BAD), w->problem);
	}
}

/* How much of something there is, and of how much. */
struct gauge {
	const char *name;
	char value[80];
	double fraction, top;        /* a fraction below 0 is not known: no bar */
	const struct series *series; /* NULL: no history */
};

static size_t make_gauges(struct gauge *g, const struct host_stats *h)
{
	char a[FORMAT_MAX], b[FORMAT_MAX], f[FORMAT_MAX];
	size_t n = 0;

	g[n] = (struct gauge){.name = "CPU", .fraction = h->cpu_percent / 100, .top = 100};
	g[n].series = &h->cpu;
	if (h->cpu_percent < 0) /* another machine's: the engine tells how many, not how busy */
		snprintf(g[n].value, sizeof g[n].value, "%d %s", h->cpus,
			h->cpus == 1 ? "core" : "cores");
	else
		snprintf(g[n].value, sizeof g[n].value, "%s %% of %d %s",
			format_percent(a, h->cpu_percent), h->cpus,
			h->cpus == 1 ? "core" : "cores");
	n++;
	if (h->memory_total_bytes && !h->memory_available_bytes) {
		g[n] = (struct gauge){.name = "Memory", .fraction = -1};
		snprintf(g[n].value, sizeof g[n].value, "%s",
			format_bytes(b, h->memory_total_bytes));
		n++;
	} else if (h->memory_total_bytes && h->memory_available_bytes <= h->memory_total_bytes) {
		uint64_t used = h->memory_total_bytes - h->memory_available_bytes;

		g[n] = (struct gauge){.name = "Memory", .top = (double)h->memory_total_bytes};
		g[n].fraction = (double)used / g[n].top;
		g[n].series = &h->memory;
		snprintf(g[n].value, sizeof g[n].value, "%s of %s", format_bytes(a, used),
			format_bytes(b, h->memory_total_bytes));
		n++;
	}
	if (h->disk_used_bytes + h->disk_free_bytes) {
		uint64_t used = h->disk_used_bytes;

		g[n] = (struct gauge){
			.name = "Disk", .top = (double)used + (double)h->disk_free_bytes};
		g[n].fraction = (double)used / g[n].top;
		snprintf(g[n].value, sizeof g[n].value, "%s of %s, %s free", format_bytes(a, used),
			format_bytes(b, h->disk_total_bytes), format_bytes(f, h->disk_free_bytes));
		n++;
	}
	return n;
}

static void load_facts(struct pen *p, const struct host_stats *h)
{
	char text[80], up[FORMAT_MAX];

	if (h->load1 < 0) {
		pen_fact(p, "Use", STYLE(DIM), "not known from here");
		return;
	}
	snprintf(text, sizeof text, "%.2f  %.2f  %.2f", h->load1, h->load5, h->load15);
	host_fact(p, "Load", text);
	host_fact(p, "Up", format_span(up, h->uptime_s));
}

/* Rows for each curve so that all of them fill what the gauges and the load leave of the page. */
static int curve_rows(const struct gauge *g, size_t n, int page)
{
	int left = page - 2, curves = 0;

	for (size_t i = 0; i < n; i++) {
		bool curve = g[i].fraction >= 0 && g[i].series && g[i].series->len;

		left -= g[i].fraction < 0 ? 1 : 3; /* its name, a bar, a blank */
		curves += curve;
	}
	if (!curves || left / curves < 3)
		return 3;
	return left / curves < CURVE_MOST ? left / curves : CURVE_MOST;
}

/* A headline, a bar and a curve below it. */
static void tall_gauges(struct pen *p, const struct host_stats *h)
{
	struct gauge g[3];
	size_t n = make_gauges(g, h);
	int rows = curve_rows(g, n, p->a.h);

	for (size_t i = 0; i < n; i++) {
		int y = pen_row(p), x = p->a.x + p->x, used;

		if (y >= 0) {
			used = canvas_text(p->c, x, y, p->w, STYLE(COLUMN), g[i].name) + 1;
			canvas_clip(p->c, x + used, y, p->w - used, STYLE(STRONG), g[i].value);
		}
		pen_skip(p, 1);
		if (g[i].fraction < 0)
			continue;
		y = pen_row(p);
		if (y >= 0)
			meter_level(p->c, x, y, p->w, g[i].fraction, 0.8, 0.95);
		pen_skip(p, 1);
		y = pen_row(p);
		if (g[i].series && g[i].series->len) {
			if (y >= 0 && y + rows <= p->a.y + p->a.h)
				meter_chart(p->c, (struct area){x, y, p->w, rows}, STYLE(CHART),
					g[i].series->v, g[i].series->len, g[i].top);
			pen_skip(p, rows);
		}
		pen_skip(p, 1);
	}
	load_facts(p, h);
}

/* One line each. */
static void flat_gauges(struct pen *p, const struct host_stats *h)
{
	struct gauge g[3];
	size_t n = make_gauges(g, h);
	int bar = p->w >= 60 ? 24 : 8;

	begin_section(p, "Machine");
	for (size_t i = 0; i < n; i++) {
		int y = pen_row(p), x = p->a.x + p->x;

		pen_skip(p, 1);
		if (y < 0)
			continue;
		canvas_text(p->c, x, y, KEY_W, STYLE(DIM), g[i].name);
		if (g[i].fraction < 0) {
			canvas_clip(p->c, x + KEY_W, y, p->w - KEY_W, STYLE(TEXT), g[i].value);
			continue;
		}
		meter_level(p->c, x + KEY_W, y, bar, g[i].fraction, 0.8, 0.95);
		canvas_clip(p->c, x + KEY_W + bar + 2, y, p->w - KEY_W - bar - 2, STYLE(TEXT),
			g[i].value);
	}
	load_facts(p, h);
}

static void draw_host_page(struct view *v, struct canvas *c, struct area a)
{
	struct host *s = v->state;
	const struct snapshot *snap = app_snapshot(v->app);
	struct area inner = {a.x + 2, a.y, a.w - 4, a.h};
	struct pen p = pen_on(c, inner, s->page.scroll), left;

	p.key_width = KEY_W;
	left = p;
	if (a.w >= WIDE) {
		left.w = inner.w * 2 / 5;
		if (snap->host.cpus)
			tall_gauges(&left, &snap->host);
		p.x = left.w + 4;
		p.w = inner.w - p.x;
	} else if (snap->host.cpus) {
		flat_gauges(&p, &snap->host);
	}
	hosts_facts(&p, snap, app_now_ns(v->app));
	engine_facts(&p, snap, app_now_ns(v->app));
	content_facts(&p, snap);
	workspace_facts(&p, &s->workspaces);
	pool_facts(&p, snap);
	self_facts(&p, snap);
	p.y = p.y > left.y ? p.y : left.y;
	s->page.length = p.y;
	s->page.seen = a.h;
}

/* --- asking for the workspaces --- */

static void look_for_workspaces(struct view *v)
{
	struct host *s = v->state;
	struct command *c;

	if (s->looking)
		return;
	c = command_new(CMD_WORKSPACES);
	c->workspaces.seen = s->workspaces.stamp;
	s->looked_ns = clock_mono_ns();
	s->looking = app_send(v->app, c);
}

static void name_workspace(char buf[24 + WORKSPACE_NAME_MAX], const struct workspace_info *i)
{
	snprintf(buf, 24 + WORKSPACE_NAME_MAX, "%s/%s", workspace_kind_folder(i->kind), i->name);
}

static void add_workspace(struct workspace_facts *w, const struct overview_row *r)
{
	const struct workspace_usage *u = &r->usage;

	w->n++;
	w->tasks += u->info.kind == WORKSPACE_TASK;
	w->active += r->nheld > 0;
	if (!u->counted_ns) {
		w->uncounted++;
		return;
	}
	sum_add(&w->bytes, u->bytes);
	if (!*w->largest || u->bytes > w->largest_bytes) {
		w->largest_bytes = u->bytes;
		name_workspace(w->largest, &u->info);
	}
	if (!*w->oldest || u->used_ns < w->oldest_ns) {
		w->oldest_ns = u->used_ns;
		name_workspace(w->oldest, &u->info);
	}
}

static void host_event(struct view *v, const struct event *e)
{
	struct host *s = v->state;
	struct workspace_facts *w = &s->workspaces;

	if (!e->id || e->id != s->looking)
		return;
	s->looking = 0;
	if (e->kind != EV_WORKSPACES)
		return;
	*w = (struct workspace_facts){.stamp = e->overview->stamp,
		.archives = e->overview->narchives,
		.keeper = e->overview->keeper};
	for (size_t i = 0; i < e->overview->n; i++)
		add_workspace(w, &e->overview->rows[i]);
	for (size_t i = 0; i < e->overview->narchives; i++)
		sum_add(&w->packed, e->overview->archives[i].packed);
	app_dirty(v->app);
}

static void host_snapshot(struct view *v, const struct snapshot *snap)
{
	struct host *s = v->state;

	(void)snap;
	if (clock_mono_ns() - s->looked_ns >= LOOK_NS)
		look_for_workspaces(v);
}

static void scroll_host(struct view *v, int rows)
{
	struct host *s = v->state;

	page_scroll(&s->page, rows);
	app_dirty(v->app);
}

static void host_draw(struct view *v, struct canvas *c, struct area a)
{
	struct host *s = v->state;

	page_draw(&s->page, v, c, a, draw_host_page);
}

static bool host_act(struct view *v, enum action a)
{
	struct host *s = v->state;

	return page_act(&s->page, v, a);
}

static bool host_copy(struct view *v, struct str *out)
{
	const struct engine_state *e = &app_snapshot(v->app)->engine;

	str_addf(out, "%s %s, API %s, at %s", e->product, e->version, e->api, e->endpoint);
	return true;
}

const struct view_ops host_view = {
	.name = "host",
	.tab = "Host",
	.tab_short = "Host",
	.context = IN_HOST,
	.state_size = sizeof(struct host),
	.show = look_for_workspaces,
	.snapshot = host_snapshot,
	.event = host_event,
	.draw = host_draw,
	.act = host_act,
	.wheel = scroll_host,
	.copy = host_copy,
};
