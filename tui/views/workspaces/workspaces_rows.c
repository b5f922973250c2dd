/* workspaces_rows.c - builds the rows of the Workspaces view, with the containers that hold each workspace. */
#include "views/workspaces/workspaces_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#define FILL_W 6 /* "100 %+" */

struct overview overview_keep(const struct overview *o, struct arena *mem)
{
	struct overview_row *rows = arena_array(mem, o->n + 1, sizeof *rows);
	struct overview_shared *shared = arena_array(mem, o->nshared + 1, sizeof *shared);
	struct overview_archive *archives = arena_array(mem, o->narchives + 1, sizeof *archives);
	struct overview kept = *o;

	for (size_t i = 0; i < o->n; i++) {
		rows[i] = o->rows[i];
		rows[i].branch = arena_strdup(mem, o->rows[i].branch);
	}
	for (size_t i = 0; i < o->nshared; i++) {
		shared[i] = o->shared[i];
		shared[i].name = arena_strdup(mem, o->shared[i].name);
	}
	kept.dir = arena_strdup(mem, o->dir);
	kept.rows = rows;
	kept.shared = shared;
	if (o->narchives)
		memcpy(archives, o->archives, o->narchives * sizeof *archives);
	kept.archives = archives;
	return kept;
}

/* --- who holds them --- */

static int order_by_name(const void *key, const void *row)
{
	const struct workspace_info *a = key;
	const struct workspace_info *b = &((const struct workspace_row *)row)->w->usage.info;

	return a->kind != b->kind ? (int)a->kind - (int)b->kind : strcmp(a->name, b->name);
}

/* The workspace that this path of `len` bytes is, or lies in. */
static struct workspace_row *find_held(const struct overview *o, struct workspace_row *rows,
	size_t n, const char *path, size_t len)
{
	size_t dir = strlen(o->dir);
	struct workspace_info key;

	if (!n || !dir || len <= dir || strncmp(path, o->dir, dir) != 0 || path[dir] != '/')
		return NULL;
	path += dir + 1;
	len -= dir + 1;
	for (int k = 0; k < WORKSPACE_KINDS; k++) {
		const char *folder = workspace_kind_folder((enum workspace_kind)k);
		size_t f = strlen(folder), name = 0;

		if (len <= f || strncmp(path, folder, f) != 0 || path[f] != '/')
			continue;
		while (f + 1 + name < len && path[f + 1 + name] != '/')
			name++;
		if (!name || name > WORKSPACE_NAME_MAX)
			return NULL;
		key.kind = (enum workspace_kind)k;
		snprintf(key.name, sizeof key.name, "%.*s", (int)name, path + f + 1);
		return bsearch(&key, rows, n, sizeof *rows, order_by_name);
	}
	return NULL;
}

static void add_row_holder(
	struct workspace_row *r, const char *name, const struct container *c, bool agent)
{
	struct workspace_held *h = r ? &r->holder : NULL;

	if (!h)
		return;
	h->runs |= c && c->state == CONTAINER_RUNNING;
	if (h->name && !strcmp(h->name, name)) {
		h->c = h->c ? h->c : c;
	} else if (!h->name || (agent && !h->agent)) {
		h->more += h->name != NULL;
		h->name = name;
		h->c = c;
		h->agent = agent;
	} else {
		h->more++;
	}
}

static int order_by_container(const void *key, const void *c)
{
	return strcmp(key, ((const struct container *)c)->name);
}

/* By its name, on the engine whose agents these are. */
static const struct container *find_home_container(const struct snapshot *s, const char *name)
{
	const struct container *c = s->ncontainers
		? bsearch(name, s->containers, s->ncontainers, sizeof *s->containers,
			  order_by_container)
		: NULL;

	/* Of several hosts' it is one of those that have the name, side by side. */
	while (c && c > s->containers && !strcmp(c[-1].name, name))
		c--;
	for (; c && c < s->containers + s->ncontainers && !strcmp(c->name, name); c++)
		if (!strcmp(c->engine, s->engine.id))
			return c;
	return NULL;
}

/* As berth has noted at `up`, whether its engine answers now or not. */
static void add_noted_holder(const struct snapshot *s, struct workspace_row *r)
{
	const struct workspace_holder *h = &r->w->held;

	if (!r->w->nheld)
		return;
	add_row_holder(r, *h->agent ? h->agent : h->container, find_home_container(s, h->container),
		*h->agent);
	r->holder.more = (unsigned)r->w->nheld - 1;
}

/* What has one mounted that nobody noted: a person's container, a tool's. */
static void add_binds(
	const struct overview *o, const struct container *c, struct workspace_row *rows, size_t n)
{
	for (const char *at = c->binds; at && *at; at += strspn(at, "\n")) {
		size_t len = strcspn(at, "\n");
		struct workspace_row *r = find_held(o, rows, n, at, len);

		if (r && !r->w->nheld)
			add_row_holder(r, *c->agent ? c->agent : c->name, c, *c->agent);
		else if (r)
			r->holder.runs |= c->state == CONTAINER_RUNNING;
		at += len;
	}
}

void workspaces_hold(
	const struct overview *o, const struct snapshot *s, struct workspace_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		rows[i].holder = (struct workspace_held){0};
		add_noted_holder(s, &rows[i]);
	}
	for (size_t i = 0; i < s->ncontainers; i++)
		if (!strcmp(s->containers[i].engine, s->engine.id))
			add_binds(o, &s->containers[i], rows, n);
}

/* --- limits --- */

struct workspace_limits workspace_row_limits(const struct settings *s, const struct overview_row *w)
{
	return w->limited ? w->limits
			  : (struct workspace_limits){.bytes = s->workspace_bytes,
				    .files = (uint64_t)s->workspace_files,
				    .breach = (enum workspace_breach)s->workspace_breach};
}

uint64_t workspace_names(const struct workspace_usage *u)
{
	uint64_t all = u->files + u->dirs + u->others;

	return all ? all - 1 : 0;
}

static double fill_of(const struct workspace_row *r, uint64_t used, uint64_t limit)
{
	return !r->w || !limit || !r->w->usage.counted_ns ? -1 : (double)used / (double)limit;
}

double workspace_fill_bytes(const struct workspace_row *r)
{
	return fill_of(r, r->w ? r->w->usage.disk : 0, r->limits.bytes);
}

double workspace_fill_files(const struct workspace_row *r)
{
	return fill_of(r, r->w ? workspace_names(&r->w->usage) : 0, r->limits.files);
}

/* --- words --- */

const char *workspace_row_word(const struct workspace_row *r, struct style *st, enum glyph *sign)
{
	if (r->w->usage.info.unmounted) {
		*st = STYLE(BAD);
		*sign = GLYPH_CROSS;
		return "unmounted";
	}
	switch (r->w->usage.info.state) {
	case WORKSPACE_DONE:
		*st = STYLE(GOOD);
		*sign = GLYPH_TICK;
		return "done";
	case WORKSPACE_FAILED:
		*st = STYLE(BAD);
		*sign = GLYPH_CROSS;
		return "failed";
	default:
		*st = r->holder.runs ? STYLE(GOOD) : STYLE(DIM);
		*sign = r->holder.runs ? GLYPH_DOT : GLYPH_RING;
		return r->holder.runs ? "in use" : "open";
	}
}

void workspace_row_age(char *buf, size_t cap, int64_t now_ms, int64_t then_ns)
{
	int64_t ms = now_ms - then_ns / 1000000;
	char age[FORMAT_MAX];

	/* A file's time may be anything. */
	if (ms < 1000)
		snprintf(buf, cap, "now");
	else if (ms < 10000)
		snprintf(buf, cap, "%d s ago", (int)(ms / 1000));
	else
		snprintf(buf, cap, "%s ago", format_age(age, ms));
}

bool workspace_row_flagged(const struct overview_row *w)
{
	const struct flag_sums *f = &w->flags;

	return w->live && (f->links || f->secrets || f->small >= FLAG_FLOOD);
}

/* --- columns --- */

static void sum_words(const struct workspace_sum *s, char *buf, size_t cap)
{
	char n[FORMAT_MAX];
	size_t used = (size_t)snprintf(buf, cap, "%s", format_count(n, s->n));

	for (int k = WORKSPACE_DONE; k < WORKSPACE_STATES && used < cap; k++)
		if (s->state[k])
			used += (size_t)snprintf(buf + used, cap - used, " \u00b7 %zu %s",
				s->state[k], workspace_state_name((enum workspace_state)k));
}

static void workspace_name_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct workspace_row *x = workspace_of(r);
	char sum[80];

	if (x->archive) {
		*st = STYLE(TEXT);
		snprintf(buf, cap, "%s/%s", workspace_kind_folder(x->archive->kind),
			x->archive->name);
	} else if (x->w || x->shared) {
		*st = x->w && workspace_row_flagged(x->w) ? STYLE(WARN)
			: x->w && x->holder.runs          ? STYLE(STRONG)
							  : STYLE(TEXT);
		snprintf(buf, cap, "%s", x->w ? x->w->usage.info.name : x->shared->name);
	} else if (x->sum.n) {
		sum_words(&x->sum, sum, sizeof sum);
		snprintf(buf, cap, "%s  %s", x->group, sum);
	} else {
		snprintf(buf, cap, "%s  %s", x->group, x->sum.files ? "" : "empty");
	}
}

static void workspace_name_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	const struct workspace_row *x = workspace_of(r);
	struct style st = STYLE(TEXT), sign = STYLE(DIM);
	enum glyph glyph = GLYPH_RING;
	char name[TABLE_CELL_MAX];

	workspace_name_text(r, name, sizeof name, &st);
	if (x->w) {
		workspace_row_word(x, &sign, &glyph);
		canvas_glyph(c, a.x, a.y, sign, glyph);
	}
	canvas_clip_name(c, a.x + 2, a.y, a.w - 2, st, name);
}

static int workspace_name_compare(const struct table_row *a, const struct table_row *b)
{
	const struct workspace_row *x = workspace_of(a), *y = workspace_of(b);

	if (x->w && y->w)
		return text_natural(x->w->usage.info.name, y->w->usage.info.name);
	if (x->shared && y->shared)
		return strcmp(x->shared->name, y->shared->name);
	if (x->archive && y->archive && x->archive->kind != y->archive->kind)
		return (int)x->archive->kind - (int)y->archive->kind;
	if (x->archive && y->archive)
		return text_natural(x->archive->name, y->archive->name);
	return 0; /* heads stay as they are */
}

static void workspace_state_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	enum glyph sign;

	*st = STYLE(DIM);
	if (workspace_of(r)->w)
		snprintf(buf, cap, "%s", workspace_row_word(workspace_of(r), st, &sign));
	else if (workspace_of(r)->archive)
		snprintf(buf, cap, "packed");
}

/* What a person has to look at first. */
static int workspace_state_compare(const struct table_row *a, const struct table_row *b)
{
	const struct workspace_row *x = workspace_of(a), *y = workspace_of(b);

	if (!x->w || !y->w)
		return 0;
	if (x->holder.runs != y->holder.runs)
		return x->holder.runs ? -1 : 1;
	return (int)x->w->usage.info.state - (int)y->w->usage.info.state;
}

static void workspace_size_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct workspace_row *x = workspace_of(r);
	char n[FORMAT_MAX];

	if (x->group) {
		if (x->sum.n > x->sum.uncounted)
			snprintf(buf, cap, "%s", format_bytes(n, x->sum.bytes));
	} else if (x->archive) {
		snprintf(buf, cap, "%s", format_bytes(n, x->archive->packed));
	} else if (x->w && !x->w->usage.counted_ns) {
		*st = STYLE(BUSY);
		snprintf(buf, cap, "\u2026");
	} else if (x->w) {
		snprintf(buf, cap, "%s%s", format_bytes(n, x->w->usage.bytes),
			x->w->usage.unread ? "+" : "");
	}
}

static int64_t sign_of_difference(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int workspace_size_compare(const struct table_row *a, const struct table_row *b)
{
	const struct workspace_row *x = workspace_of(a), *y = workspace_of(b);

	if (x->archive && y->archive)
		return (int)sign_of_difference(x->archive->packed, y->archive->packed);
	return x->w && y->w ? (int)sign_of_difference(x->w->usage.bytes, y->w->usage.bytes) : 0;
}

static void workspace_files_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct workspace_row *x = workspace_of(r);
	char n[FORMAT_MAX];

	if (x->shared) {
		*st = x->shared->entries ? STYLE(TEXT) : STYLE(DIM);
		snprintf(buf, cap, "%s", format_count(n, x->shared->entries));
	} else if (x->group && !x->packed &&
		(x->sum.n > x->sum.uncounted || (!x->sum.n && x->sum.files))) {
		snprintf(buf, cap, "%s", format_count(n, x->sum.files));
	} else if (x->w && x->w->usage.counted_ns) {
		snprintf(buf, cap, "%s", format_count(n, x->w->usage.files));
	}
}

static int workspace_files_compare(const struct table_row *a, const struct table_row *b)
{
	const struct workspace_row *x = workspace_of(a), *y = workspace_of(b);

	return x->w && y->w ? (int)sign_of_difference(x->w->usage.files, y->w->usage.files) : 0;
}

static int64_t used_ns(const struct workspace_row *x)
{
	return x->shared                 ? x->shared->changed_ns
		: x->archive             ? x->archive->made_ns
		: !x->w                  ? 0
		: x->w->usage.counted_ns ? x->w->usage.used_ns
					 : x->w->usage.info.changed_ns;
}

static void workspace_used_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct workspace_row *x = workspace_of(r);

	*st = STYLE(DIM);
	if (used_ns(x))
		workspace_row_age(buf, cap, x->now_ms, used_ns(x));
}

static int workspace_used_compare(const struct table_row *a, const struct table_row *b)
{
	int64_t x = used_ns(workspace_of(a)), y = used_ns(workspace_of(b));

	return x < y ? -1 : x > y;
}

static void workspace_points_text(
	const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct workspace_row *x = workspace_of(r);
	char age[FORMAT_MAX];

	if (!x->w)
		return;
	if (x->w->checkpoints) {
		workspace_row_age(age, sizeof age, x->now_ms, x->w->newest_ns);
		snprintf(buf, cap, "%zu, %s", x->w->checkpoints, age);
	} else {
		*st = STYLE(DIM);
		snprintf(buf, cap, "\u2013");
	}
}

static int workspace_points_compare(const struct table_row *a, const struct table_row *b)
{
	const struct workspace_row *x = workspace_of(a), *y = workspace_of(b);

	return x->w && y->w ? (int)sign_of_difference(x->w->checkpoints, y->w->checkpoints) : 0;
}

static void workspace_holder_text(
	const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct workspace_held *h = &workspace_of(r)->holder;

	*st = h->runs ? STYLE(TEXT) : STYLE(DIM);
	if (h->name && h->more)
		snprintf(buf, cap, "%s +%u", h->name, h->more);
	else if (h->name)
		snprintf(buf, cap, "%s", h->name);
}

static int workspace_holder_compare(const struct table_row *a, const struct table_row *b)
{
	const char *x = workspace_of(a)->holder.name, *y = workspace_of(b)->holder.name;

	return !x || !y ? (x ? -1 : y ? 1 : 0) : text_natural(x, y);
}

static void workspace_branch_text(
	const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct workspace_row *x = workspace_of(r);

	*st = STYLE(DIM);
	if (x->w)
		snprintf(buf, cap, "%s", x->w->branch);
}

static uint64_t unsaved_work(const struct workspace_row *x)
{
	const struct repo_state *s = x->w ? &x->w->git.state : NULL;

	return s ? s->staged + s->changed + s->untracked + s->conflicts : 0;
}

static void workspace_git_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct workspace_row *x = workspace_of(r);
	uint64_t dirty = unsaved_work(x);
	char n[FORMAT_MAX];
	size_t used = 0;

	if (!x->w || !x->w->git.looked_ns)
		return;
	*st = repo_has_work(&x->w->git.state) ? STYLE(WARN) : STYLE(DIM);
	if (dirty)
		used = (size_t)snprintf(buf, cap, "%s dirty", format_count(n, dirty));
	if (x->w->git.state.unpushed && used < cap)
		used += (size_t)snprintf(buf + used, cap - used, "%s%s unpushed", used ? ", " : "",
			format_count(n, x->w->git.state.unpushed));
	if (x->w->git.state.why && used < cap)
		snprintf(buf + used, cap - used, "%s%s", used ? ", " : "",
			repo_why_name((enum repo_why)x->w->git.state.why));
	else if (!used)
		snprintf(buf, cap, "clean");
}

static int workspace_git_compare(const struct table_row *a, const struct table_row *b)
{
	const struct workspace_row *x = workspace_of(a), *y = workspace_of(b);

	if (!x->w || !y->w)
		return 0;
	return (int)sign_of_difference(unsaved_work(x) + x->w->git.state.unpushed,
		unsaved_work(y) + y->w->git.state.unpushed);
}

/* "47 %", and how full that is as a bar. */
static void fill_text(const struct workspace_row *x, double fill, uint64_t limit, char *buf,
	size_t cap, struct style *st)
{
	*st = fill > 1 ? STYLE(BAD) : STYLE(TEXT);
	if (!x->w)
		return;
	if (fill >= 0) {
		snprintf(buf, cap, "%.0f %%%s", fill < 9.99 ? fill * 100 : 999,
			x->w->usage.unread ? "+" : "");
		return;
	}
	*st = limit ? STYLE(BUSY) : STYLE(DIM);
	snprintf(buf, cap, "%s", limit ? "\u2026" : "\u2013");
}

static void draw_fill(
	const struct workspace_row *x, double fill, uint64_t limit, struct canvas *c, struct area a)
{
	struct style st = STYLE(TEXT);
	char text[TABLE_CELL_MAX] = "";

	fill_text(x, fill, limit, text, sizeof text, &st);
	canvas_right(c, a.x, a.y, FILL_W, st, text);
	if (x->w && limit && a.w > FILL_W + 3)
		meter_level(c, a.x + FILL_W + 1, a.y, a.w - FILL_W - 1, fill, 0.8, 0.95);
}

static void bytes_fill_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct workspace_row *x = workspace_of(r);

	fill_text(x, workspace_fill_bytes(x), x->limits.bytes, buf, cap, st);
}

static void bytes_fill_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	const struct workspace_row *x = workspace_of(r);

	draw_fill(x, workspace_fill_bytes(x), x->limits.bytes, c, a);
}

static int bytes_fill_compare(const struct table_row *a, const struct table_row *b)
{
	double x = workspace_fill_bytes(workspace_of(a)), y = workspace_fill_bytes(workspace_of(b));

	return x < y ? -1 : x > y;
}

static void files_fill_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct workspace_row *x = workspace_of(r);

	fill_text(x, workspace_fill_files(x), x->limits.files, buf, cap, st);
}

static void files_fill_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	const struct workspace_row *x = workspace_of(r);

	draw_fill(x, workspace_fill_files(x), x->limits.files, c, a);
}

static int files_fill_compare(const struct table_row *a, const struct table_row *b)
{
	double x = workspace_fill_files(workspace_of(a)), y = workspace_fill_files(workspace_of(b));

	return x < y ? -1 : x > y;
}

/* "1 secret, 2 links out, flood, 12 executables" */
static void workspace_flags_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct workspace_row *x = workspace_of(r);
	const struct flag_sums *f = x->w && x->w->live ? &x->w->flags : NULL;
	const struct {
		uint64_t n;
		const char *one, *many;
	} kinds[] = {{f ? f->secrets : 0, "secret", "secrets"},
		{f ? f->links : 0, "link out", "links out"},
		{f && f->small >= FLAG_FLOOD ? f->small : 0, "", "small files a minute"},
		{f ? f->executables : 0, "executable", "executables"}};
	char n[FORMAT_MAX];
	size_t used = 0;

	*st = x->w && workspace_row_flagged(x->w) ? STYLE(WARN) : STYLE(DIM);
	for (size_t i = 0; i < COUNT(kinds) && used < cap; i++)
		if (kinds[i].n)
			used += (size_t)snprintf(buf + used, cap - used, "%s%s %s",
				used ? ", " : "", format_count(n, kinds[i].n),
				kinds[i].n == 1 ? kinds[i].one : kinds[i].many);
}

static uint64_t weigh_flags(const struct workspace_row *x)
{
	const struct flag_sums *f = x->w && x->w->live ? &x->w->flags : NULL;

	return f ? f->secrets + f->links + (f->small >= FLAG_FLOOD) : 0;
}

static int workspace_flags_compare(const struct table_row *a, const struct table_row *b)
{
	return (int)sign_of_difference(weigh_flags(workspace_of(a)), weigh_flags(workspace_of(b)));
}

static void workspace_counted_text(
	const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct workspace_row *x = workspace_of(r);

	*st = STYLE(DIM);
	if (x->w && x->w->usage.counted_ns)
		workspace_row_age(buf, cap, x->now_ms, x->w->usage.counted_ns);
}

static void workspace_mode_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct workspace_row *x = workspace_of(r);

	*st = STYLE(DIM);
	if (x->w)
		snprintf(buf, cap, "%u:%u %04o", (unsigned)x->w->usage.info.uid,
			(unsigned)x->w->usage.info.gid, (unsigned)x->w->usage.info.mode);
}

/* clang-format off */
const struct table_column workspace_columns[] = {
	{.name = "name", .head = "NAME", .min = 20, .ideal = 24, .grow = 2, .sign = true,
		.text = workspace_name_text, .draw = workspace_name_draw, .compare = workspace_name_compare},
	{.name = "state", .head = "STATE", .min = 6, .ideal = 7, .text = workspace_state_text,
		.compare = workspace_state_compare},
	{.name = "size", .head = "SIZE", .min = 6, .ideal = 6, .right = true, .descending = true,
		.text = workspace_size_text, .compare = workspace_size_compare},
	{.name = "files", .head = "FILES", .min = 9, .ideal = 9, .keep = 20, .right = true, .descending = true,
		.text = workspace_files_text, .compare = workspace_files_compare},
	{.name = "used", .head = "LAST USE", .min = 9, .ideal = 9, .keep = 10, .right = true, .descending = true,
		.text = workspace_used_text, .compare = workspace_used_compare},
	{.name = "held", .head = "HELD BY", .min = 9, .ideal = 14, .grow = 1, .keep = 15,
		.text = workspace_holder_text, .compare = workspace_holder_compare},
	{.name = "checkpoints", .head = "CHECKPOINTS", .min = 12, .ideal = 14, .keep = 25, .descending = true,
		.text = workspace_points_text, .compare = workspace_points_compare},
	{.name = "of-size", .head = "OF SIZE", .min = 7, .ideal = 14, .keep = 30, .descending = true,
		.text = bytes_fill_text, .draw = bytes_fill_draw, .compare = bytes_fill_compare},
	{.name = "of-files", .head = "OF FILES", .min = 8, .ideal = 14, .keep = 32, .descending = true,
		.text = files_fill_text, .draw = files_fill_draw, .compare = files_fill_compare},
	{.name = "branch", .head = "BRANCH", .min = 8, .ideal = 12, .grow = 1, .keep = 40,
		.text = workspace_branch_text},
	{.name = "git", .head = "GIT", .min = 8, .ideal = 20, .keep = 35, .descending = true,
		.text = workspace_git_text, .compare = workspace_git_compare},
	{.name = "flags", .head = "FLAGS", .min = 8, .ideal = 28, .grow = 1, .keep = 50, .optional = true,
		.descending = true, .text = workspace_flags_text, .compare = workspace_flags_compare},
	{.name = "counted", .head = "COUNTED", .min = 9, .ideal = 9, .keep = 50, .right = true, .optional = true,
		.text = workspace_counted_text},
	{.name = "owner", .head = "OWNER", .min = 12, .ideal = 14, .keep = 50, .optional = true,
		.text = workspace_mode_text},
};
/* clang-format on */

const size_t workspace_ncolumns = COUNT(workspace_columns);
