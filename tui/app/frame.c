/* frame.c - draws the whole screen: header, tabs, the view's body, message line, keys, dialogs. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "app/app_state.h"

#define LEAST_COLUMNS 40
#define LEAST_ROWS 12
#define SPLIT_LEAST 11 /* rows of the body in which two views have room */
#define ENGINE_LOST "engine lost"

/* One line being written from the left, up to where its right part begins. */
struct line {
	struct canvas *c;
	int x, y, end;
};

/* `gap` blanks, then the text if all of it fits. */
static bool put_on_line(struct line *l, int gap, struct style st, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static bool put_on_line(struct line *l, int gap, struct style st, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int w;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	w = text_width(text, strlen(text));
	if (l->x + gap + w > l->end)
		return false;
	l->x += gap + canvas_text(l->c, l->x + gap, l->y, w, st, text);
	return true;
}

/* Written before what stands at the line's end. */
static void put_right(struct line *l, int gap, struct style st, const char *text)
{
	int w = text_width(text, strlen(text));

	if (w == 0 || l->end - gap - w <= l->x)
		return;
	l->end -= w;
	canvas_text(l->c, l->end, l->y, w, st, text);
	l->end -= gap;
}

struct counts {
	struct container_counts by;
	int orphans, attention;
	int jobs;
	size_t held;     /* requests and terminals that wait for a person */
	double fraction; /* of all of them; -1 unknown */
};

static struct counts count_states(const struct snapshot *s)
{
	struct counts n = {.fraction = snapshot_progress(s),
		.by = snapshot_counts(s),
		.orphans = s->orphans,
		.attention = snapshot_attention(s),
		.held = snapshot_held(s) + snapshot_terminals_waiting(s)};

	for (size_t i = 0; i < s->njobs; i++)
		n.jobs += !job_ended(s->jobs[i].state);
	return n;
}

static const char *scheme_of(const char *endpoint, char buf[16])
{
	size_t n = strcspn(endpoint, ":");

	snprintf(buf, 16, "%.*s", (int)n, endpoint);
	return buf;
}

static void draw_lost(struct line *l, const struct app *a, const struct engine_state *eng)
{
	int64_t now = clock_mono_ns();
	char since[FORMAT_MAX], wait[FORMAT_MAX];
	int64_t left = eng->retry_at_ns - now;

	snprintf(since, sizeof since, "%lld s", (long long)((now - eng->since_ns) / 1000000000));
	snprintf(wait, sizeof wait, "%lld s", (long long)((left < 0 ? 0 : left) / 1000000000));
	(void)a;
	if (eng->phase == ENGINE_CONNECTING) {
		if (!put_on_line(l, 2, STYLE(BUSY), "connecting to %s", eng->endpoint))
			put_on_line(l, 2, STYLE(BUSY), "connecting");
		return;
	}
	if (!put_on_line(l, 2, STYLE(BAD), "engine lost %s ago, retry in %s", since, wait) &&
		!put_on_line(l, 2, STYLE(BAD), "engine lost %s ago", since) &&
		!put_on_line(l, 2, STYLE(BAD), ENGINE_LOST))
		put_on_line(l, 2, STYLE(BAD), "lost");
}

/* Columns that the header needs for what a person must see in it before any status: an engine that is lost, and each
 * flag, with the gap next to it. */
static int count_needed_columns(struct app *a, const struct counts *n)
{
	const struct engine_state *eng = &a->live->engine;
	int needed = 0;

	if (a->live->nhosts > 1)
		needed += 2 + (int)strlen("10 of 10 hosts");
	else if (eng->phase != ENGINE_UP)
		needed += 2 + (int)strlen(ENGINE_LOST);
	needed += app_read_only(a) ? 2 + (int)strlen("read-only") : 0;
	needed += eng->unrecorded ? 2 + (int)strlen("no audit") : 0;
	needed += a->frozen ? 2 + (int)strlen("frozen") : 0;
	needed += n->held ? 2 + (int)strlen("?10") : 0;
	return needed;
}

static void draw_state_counts(struct line *l, const struct counts *n, int columns)
{
	/* Each as Host counts it; what has no room is to be seen there. */
	static const enum container_state rest[] = {CONTAINER_RESTARTING, CONTAINER_PAUSED,
		CONTAINER_EXITED, CONTAINER_DEAD, CONTAINER_CREATED, CONTAINER_REMOVING,
		CONTAINER_UNKNOWN};
	bool words = columns >= 110;

	put_on_line(l, words ? 4 : 2, STYLE(HEADER), words ? "%d running" : "%d up",
		n->by.state[CONTAINER_RUNNING]);
	if (n->attention && columns >= 140)
		put_on_line(l, 2, (struct style){.role = ROLE_WARN, .under = ROLE_HEADER},
			"!%d need%s attention", n->attention, n->attention == 1 ? "s" : "");
	else if (n->attention)
		put_on_line(l, 1, (struct style){.role = ROLE_WARN, .under = ROLE_HEADER}, "!%d",
			n->attention);
	if (n->by.unhealthy)
		put_on_line(l, words ? 2 : 1,
			(struct style){.role = ROLE_BAD, .under = ROLE_HEADER}, "%d unhealthy",
			n->by.unhealthy);
	if (n->orphans)
		put_on_line(l, words ? 2 : 1,
			(struct style){.role = ROLE_WARN, .under = ROLE_HEADER}, "%d orphan%s",
			n->orphans, n->orphans == 1 ? "" : "s");
	if (n->jobs && n->fraction >= 0)
		put_on_line(l, words ? 5 : 3,
			(struct style){.role = ROLE_ACCENT, .under = ROLE_HEADER},
			"%d job%s \u25b8 %d %%", n->jobs, n->jobs == 1 ? "" : "s",
			(int)lround(n->fraction * 100));
	else if (n->jobs)
		put_on_line(l, words ? 5 : 3,
			(struct style){.role = ROLE_ACCENT, .under = ROLE_HEADER}, "%d job%s",
			n->jobs, n->jobs == 1 ? "" : "s");
	for (size_t i = 0; i < COUNT(rest); i++)
		if (n->by.state[rest[i]])
			put_on_line(l, words ? 2 : 1, STYLE(HEADER), "%d %s", n->by.state[rest[i]],
				container_state_name(rest[i]));
}

/* "4 hosts", "3 of 4 hosts" */
static void draw_hosts(struct line *l, const struct snapshot *s)
{
	size_t up = 0;

	for (size_t i = 0; i < s->nhosts; i++)
		up += s->hosts[i].engine.phase == ENGINE_UP;
	if (up == s->nhosts)
		put_on_line(l, 2, STYLE(HEADER), "%zu hosts", up);
	else
		put_on_line(l, 2, (struct style){.role = ROLE_BAD, .under = ROLE_HEADER},
			"%zu of %zu hosts", up, s->nhosts);
}

/* `tabs`: which view it is stands there; else it stands here. */
static void draw_header(struct app *a, struct canvas *c, bool tabs)
{
	const struct view_ops *view = app_top(a)->view.ops;
	const struct snapshot *s = a->shown;
	const struct engine_state *eng = &a->live->engine;
	struct counts n = count_states(s);
	struct line l = {c, 1, 0, c->columns - 1};
	char status[128] = "", buf[96], cpu[FORMAT_MAX], mem[FORMAT_MAX], unit[16];
	const char *name = eng->name[0] ? eng->name : eng->source, *shown;
	struct style plain = STYLE(HEADER), soft = {.role = ROLE_DIM, .under = ROLE_HEADER};

	canvas_fill(c, (struct area){0, 0, c->columns, 1}, plain, ' ');
	put_on_line(&l, 0,
		(struct style){.role = ROLE_ACCENT, .attrs = ATTR_BOLD, .under = ROLE_HEADER}, "%s",
		tabs                ? "berth"
			: view->tab ? view->tab
				    : view->name);
	if (c->columns >= 60)
		put_right(&l, c->columns >= 110 ? 3 : 1, plain,
			format_wall(buf, a->frozen ? a->shown->at_wall_ms : clock_wall_ms()));
	format_percent(cpu, a->live->self.cpu_percent);
	format_bytes(mem, a->live->self.memory_bytes);
	if (c->columns >= 60)
		snprintf(buf, sizeof buf,
			c->columns >= 110 ? "berth cpu %s %%  mem %s" : "berth %s %% %s", cpu, mem);
	else
		snprintf(buf, sizeof buf, "berth %s %%", cpu);
	if (!tabs && view->status)
		view->status(&app_top(a)->view, status, sizeof status);
	shown = *status && text_width(status, strlen(status)) < l.end / 2 + 4 ? status : buf;
	if (tabs ||
		text_width(shown, strlen(shown)) + 2 <= l.end - l.x - count_needed_columns(a, &n))
		put_right(&l, 2, soft, shown);
	if (app_read_only(a))
		put_right(&l, 2, (struct style){.role = ROLE_WARN, .under = ROLE_HEADER},
			"read-only");
	if (eng->unrecorded)
		put_right(&l, 2, (struct style){.role = ROLE_BAD, .under = ROLE_HEADER},
			c->columns >= 110 ? "audit: unavailable" : "no audit");
	if (a->frozen)
		put_right(&l, 2, (struct style){.role = ROLE_WARN, .under = ROLE_HEADER}, "frozen");
	/* With the engine lost, too: who asks is a server of this machine. */
	snprintf(buf, sizeof buf, c->columns >= 110 ? "%zu waiting" : "?%zu", n.held);
	if (n.held)
		put_right(&l, c->columns >= 110 ? 2 : 1,
			(struct style){.role = ROLE_WARN, .under = ROLE_HEADER}, buf);
	if (a->live->nhosts > 1) {
		draw_hosts(&l, a->live);
		draw_state_counts(&l, &n, c->columns);
		return;
	}
	if (eng->phase != ENGINE_UP) {
		draw_lost(&l, a, eng);
		return;
	}
	if (c->columns >= 110)
		put_on_line(&l, 2, plain, "%.40s \u00b7 %.20s %.20s \u00b7 %s", name, eng->product,
			eng->version, scheme_of(eng->endpoint, unit));
	else
		put_on_line(&l, 1, plain, "%.*s", c->columns >= 60 ? 20 : 10, name);
	draw_state_counts(&l, &n, c->columns);
}

/* Full names, long ones short, all short, or numbers with the name of the active one alone. */
enum tab_form { TABS_FULL, TABS_LONG_SHORT, TABS_SHORT, TABS_NUMBERS };

#define LONG_TAB 6
#define KEYED_TABS (DO_VIEW_10 - DO_VIEW_1 + 1)

static const char *tab_text(const struct view_ops *o, enum tab_form form)
{
	bool full = form == TABS_FULL || !o->tab_short ||
		(form == TABS_LONG_SHORT && text_width(o->tab, strlen(o->tab)) <= LONG_TAB);

	return full ? o->tab : o->tab_short;
}

/* Its name stands beside its key, or alone where there is no key for it. */
static bool tab_named(const struct app *a, size_t i, enum tab_form form)
{
	return form < TABS_NUMBERS || i == a->at || i >= KEYED_TABS;
}

static int tab_gap(enum tab_form form)
{
	return form > TABS_FULL ? 1 : 2;
}

/* Of the tabs from that one up to `to`, a gap behind each. */
static int tabs_width(const struct app *a, enum tab_form form, size_t from, size_t to)
{
	int w = 0;

	for (size_t i = from; i < to; i++) {
		const char *text = tab_text(a->tab[i].view.ops, form);

		w += tab_gap(form) + (i < KEYED_TABS);
		if (tab_named(a, i, form))
			w += (i < KEYED_TABS || i == a->at) + text_width(text, strlen(text));
	}
	return w;
}

/* `rule`: below them there is a line, for a status that would leave numbers of the tabs. */
static void draw_tabs(struct app *a, struct canvas *c, int y, bool rule)
{
	struct view *v = &app_top(a)->view;
	struct line l = {c, 1, y, c->columns - 1};
	char status[128] = "";
	enum tab_form form = TABS_FULL;
	size_t first = 0;
	int crumb = 0;

	if (v->ops->status)
		v->ops->status(v, status, sizeof status);
	if (rule && *status &&
		2 + text_width(status, strlen(status)) + l.x +
				tabs_width(a, TABS_SHORT, 0, a->ntabs) >
			l.end) {
		struct line below = {c, c->columns / 8, y + 1, c->columns - 1};
		char padded[sizeof status + 2];

		snprintf(padded, sizeof padded, " %s ", status);
		put_right(&below, 0, STYLE(ACCENT), padded);
	} else {
		put_right(&l, 2, STYLE(ACCENT), status);
	}
	if (a->npushed)
		crumb = 4 + text_width(v->ops->name, strlen(v->ops->name));
	while (form < TABS_NUMBERS && l.x + tabs_width(a, form, 0, a->ntabs) + crumb > l.end)
		form++;
	/* Those at the end have no room; the one on screen has. */
	while (first < a->at && l.x + tabs_width(a, form, first, a->at + 1) > l.end)
		first++;
	for (size_t i = first; i < a->ntabs; i++) {
		int gap = i > first ? tab_gap(form) : 0, from = l.x;
		bool active = i == a->at, named = tab_named(a, i, form);
		char key[2] = {i < KEYED_TABS ? (char)('0' + (i + 1) % 10) : '\0', '\0'};
		const char *mark = active ? "\u25b8" : named && *key ? " " : "";

		if (!put_on_line(&l, gap, active ? STYLE(TAB_ACTIVE) : STYLE(TAB), "%s%s%s", key,
			    mark, named ? tab_text(a->tab[i].view.ops, form) : ""))
			break;
		a->tab[i].box = (struct area){from, y, l.x - from, 1};
	}
	if (a->npushed)
		put_on_line(&l, 2, STYLE(TAB_ACTIVE), "\u25b8 %s", v->ops->name);
}

/* One key and its word, where there is room. */
static void put_key(struct app *a, struct line *l, enum action act, bool greyed)
{
	const struct action_info *info = &action_info[act];
	bool more = info->flags & ACTION_DESTRUCTIVE;
	const struct view_ops *ops = app_top(a)->view.ops;
	const char *word = act == DO_FILTER && ops->filter_word ? ops->filter_word : info->word;
	char key[KEY_TEXT_MAX];
	int w;

	if (!keymap_first(&a->keys, act, key)[0] || (act == DO_FILTER && !ops->filter))
		return;
	w = text_width(key, strlen(key)) + 1 + (int)strlen(word) + more;
	if (l->x + 2 + w > l->end)
		return;
	put_on_line(l, 2, greyed ? STYLE(DIM) : STYLE(KEY), "%s", key);
	put_on_line(l, 1, STYLE(DIM), "%s%s", word, more ? "\u2026" : "");
}

static void draw_footer(struct app *a, struct canvas *c, int y)
{
	struct view *v = &app_top(a)->view;
	uint32_t context = v->ops->context;
	struct line l = {c, -1, y, c->columns - 1};
	char key[KEY_TEXT_MAX], help[KEY_TEXT_MAX + 8];

	/* Help always has its place. */
	if (keymap_first(&a->keys, DO_HELP, key)[0]) {
		int w = snprintf(help, sizeof help, "%s help", key);

		canvas_text(c, l.end - w, y, w, STYLE(DIM), help);
		canvas_text(c, l.end - w, y, w - 5, STYLE(KEY), key);
		l.end -= w + 1;
	}
	/* What lies on top of a view is left first of all. */
	if (a->npushed)
		put_key(a, &l, DO_BACK, false);
	for (int act = 1; act < DO_COUNT; act++) {
		const struct action_info *info = &action_info[act];
		bool greyed = app_greyed(a, (enum action)act);

		if (act == DO_HELP || !(info->where & context) || info->flags & ACTION_HIDDEN ||
			(v->ops->offers && !v->ops->offers(v, (enum action)act)))
			continue;
		put_key(a, &l, (enum action)act, greyed);
	}
}

#define MESSAGE_ROWS 3

/* Ends in row y and grows upwards over the body: a sentence that is cut off helps nobody. */
static void draw_sentence(struct canvas *c, int y, struct style st, const char *text)
{
	int w = c->columns - 2, rows = canvas_wrap(NULL, (struct area){1, 0, w, 0}, st, text);
	int most = c->rows >= 18 ? MESSAGE_ROWS : 1;
	bool cut;

	if (rows <= 1 || most == 1) {
		canvas_fill(c, (struct area){0, y, c->columns, 1}, STYLE(TEXT), ' ');
		canvas_clip(c, 1, y, w, st, text);
		return;
	}
	cut = rows > most;
	rows = cut ? most : rows;
	canvas_fill(c, (struct area){0, y - rows + 1, c->columns, rows}, STYLE(TEXT), ' ');
	canvas_wrap(c, (struct area){1, y - rows + 1, w, rows}, st, text);
	if (cut)
		canvas_glyph(c, c->columns - 2, y, st, GLYPH_ELLIPSIS);
}

/* " (retry in 12 s)" */
static const char *retry_text(const struct engine_state *eng, char buf[48])
{
	int64_t left = eng->retry_at_ns - clock_mono_ns();

	buf[0] = '\0';
	if (eng->retry_at_ns)
		snprintf(buf, 48, " (retry in %lld s)",
			(long long)((left < 0 ? 0 : left) / 1000000000));
	return buf;
}

/* What is wrong with the engine, or with the first of several that has something; or NULL. */
static const char *problem_of(const struct snapshot *s, char *buf, size_t cap)
{
	char wait[48];

	if (s->nhosts < 2)
		return s->engine.problem;
	for (size_t i = 0; i < s->nhosts; i++) {
		if (!s->hosts[i].engine.problem)
			continue;
		snprintf(buf, cap, "%s%s: %s", s->hosts[i].name,
			retry_text(&s->hosts[i].engine, wait), s->hosts[i].engine.problem);
		return buf;
	}
	return NULL;
}

/* What is wrong with the engine, for as long as it is, where that costs no keys their place. */
static bool draw_problem(const struct app *a, struct canvas *c, int y)
{
	char named[ERR_MSG_MAX + 128];
	const char *problem = problem_of(a->live, named, sizeof named);

	if (!problem || !a->shown->listed || y == c->rows - 1)
		return false;
	draw_sentence(c, y, STYLE(WARN), problem);
	return true;
}

static const char *filter_hint(const struct view_ops *o)
{
	return o->filter_hint ? o->filter_hint
		: o->context & (IN_TEXT | IN_JOURNAL)
		? "a word, or a regular expression; n and N find more"
		: "a regular expression; a leading ! inverts";
}

/* The prompt or the message; true: something is there. */
static bool draw_message(struct app *a, struct canvas *c, int y)
{
	static const char *const labels[] = {[PROMPT_FILTER] = " / ",
		[PROMPT_SAVE] = " save to: ",
		[PROMPT_IMPORT] = " import, tar file and image name: "};
	int problem = (int)strlen(a->prompt_problem);

	if (a->prompting) {
		int room = c->columns - 1;

		canvas_fill(c, (struct area){0, y, c->columns, 1}, STYLE(INPUT), ' ');
		if (problem && c->columns >= 60) {
			int want = 3 + text_width(a->prompt.text, a->prompt.len) + 2;
			int least = c->columns / 2, w = c->columns - 1 - want;

			w = w < least ? least : w;
			canvas_right(c, c->columns - 1 - w, y, w, STYLE(BAD), a->prompt_problem);
			room -= w;
		}
		if (*a->offers && !problem) {
			int want = text_width(a->offers, strlen(a->offers)), most = c->columns / 2;

			want = want < most ? want : most;
			canvas_clip(c, c->columns - 1 - want, y, want, STYLE(DIM), a->offers);
			room -= want + 1;
		}
		prompt_draw(&a->prompt, c, 0, y, room,
			a->prompting >= PROMPT_RUN ? a->prompt_label : labels[a->prompting]);
		if ((a->prompting == PROMPT_FILTER || a->prompting == PROMPT_VIEW) &&
			!a->prompt.len && c->columns >= 60)
			canvas_right(c, c->columns / 4, y, c->columns * 3 / 4 - 1, STYLE(DIM),
				a->prompting == PROMPT_VIEW ? a->prompt_hint
							    : filter_hint(app_top(a)->view.ops));
		return true;
	}
	if (!a->said[0])
		return draw_problem(a, c, y);
	draw_sentence(c, y, (struct style){.role = (uint8_t)a->said_role}, a->said);
	return true;
}

/* While no list came yet there is nothing to dim: say what is wrong and what berth does. */
static void draw_waiting(struct app *a, struct canvas *c, struct area b)
{
	const struct engine_state *eng = &a->live->engine;
	char key[KEY_TEXT_MAX];
	int y = b.y + b.h / 3;

	canvas_fill(c, b, STYLE(TEXT), ' ');
	canvas_printf(c, b.x + 3, y++, b.w - 4, STYLE(STRONG), "%s",
		eng->problem ? "No engine yet." : "Connecting to the engine.");
	canvas_printf(
		c, b.x + 3, y++, b.w - 4, STYLE(DIM), "%s (from %s)", eng->endpoint, eng->source);
	if (eng->problem)
		y += canvas_wrap(c, (struct area){b.x + 3, y, b.w - 6, b.y + b.h - y}, STYLE(WARN),
			eng->problem);
	if (eng->problem && y < b.y + b.h)
		canvas_printf(c, b.x + 3, y, b.w - 4, STYLE(DIM), "berth keeps trying; %s quits",
			*keymap_first(&a->keys, DO_QUIT, key) ? key : ":quit");
}

static void draw_view(struct app *a, struct canvas *c, struct view *v, struct area body)
{
	const struct engine_state *eng = &a->live->engine;

	if (!a->shown->listed && eng->phase != ENGINE_UP &&
		v->ops->context & (IN_CONTAINERS | IN_LOGS | IN_EVENTS)) {
		draw_waiting(a, c, body);
		return;
	}
	if (v->ops->step)
		v->ops->step(v);
	a->painting = true;
	v->ops->draw(v, c, body);
	a->painting = false;
	if (v->ops->drawn)
		v->ops->drawn(v);
	if (snapshot_lost(a->live) && !(v->ops->context & (IN_HELP | IN_JOBS)))
		canvas_restyle(c, body, ROLE_STALE);
}

/* Between two views: which is which, and to which the keys go. */
static void draw_divider(struct app *a, struct canvas *c, int y)
{
	const struct view_ops *here = app_top(a)->view.ops, *there = a->tab[a->beside].view.ops;
	const struct view_ops *upper = a->beside_is_upper ? there : here,
			      *lower = a->beside_is_upper ? here : there;
	struct line l = {c, 2, y, c->columns - 1};
	char key[KEY_TEXT_MAX], hint[KEY_TEXT_MAX + 16];

	canvas_hline(c, 0, y, c->columns, STYLE(RULE));
	for (int i = 0; i < 2; i++) {
		const struct view_ops *o = i ? lower : upper;
		bool keys = o == here;

		put_on_line(&l, 2, keys ? STYLE(TAB_ACTIVE) : STYLE(TAB), " %s%s %s ",
			keys ? "\u25b8" : "", o->tab ? o->tab : o->name, i ? "below" : "above");
	}
	keymap_first(&a->keys, DO_OTHER_HALF, key);
	snprintf(hint, sizeof hint, " %s other half ", key);
	if (*key)
		put_right(&l, 1, STYLE(DIM), hint);
}

/* One above the other, where there are rows for both. */
static void draw_body(struct app *a, struct canvas *c)
{
	struct area upper = a->body, lower = a->body;

	a->beside_body = (struct area){0};
	if (a->body.h <= 0)
		return;
	if (a->split && a->body.h >= SPLIT_LEAST) {
		upper.h = (a->body.h - 1) / 2;
		lower.y += upper.h + 1;
		lower.h -= upper.h + 1;
		draw_divider(a, c, lower.y - 1);
		a->body = a->beside_is_upper ? lower : upper;
		a->beside_body = a->beside_is_upper ? upper : lower;
		draw_view(a, c, &a->tab[a->beside].view, a->beside_body);
	}
	draw_view(a, c, &app_top(a)->view, a->body);
}

static void draw_small(struct canvas *c)
{
	canvas_clip(c, 0, 0, -1, STYLE(TEXT), c->columns < 16 ? "too small" : "berth: too small");
	if (c->rows > 1)
		canvas_printf(c, 0, 1, -1, STYLE(DIM), "%dx%d, needs %dx%d", c->columns, c->rows,
			LEAST_COLUMNS, LEAST_ROWS);
}

static void draw_frame(struct app *a)
{
	struct canvas *c = &a->canvas;
	bool tabs = c->columns >= 60 || c->rows >= 16, roomy = c->rows >= 18;
	const int y = 1, last = c->rows - 1;

	canvas_clear(c);
	for (size_t i = 0; i < a->ntabs; i++)
		a->tab[i].box = (struct area){0};
	if (c->columns < LEAST_COLUMNS || c->rows < LEAST_ROWS) {
		a->body = (struct area){0, 0, c->columns, 0};
		a->spoke = false;
		draw_small(c);
		return;
	}
	a->body = (struct area){0, y + tabs + roomy, c->columns, last - y - tabs - 2 * roomy};
	draw_body(a, c);
	/* After the body: a status says which of its rows are on screen. */
	draw_header(a, c, tabs);
	if (roomy)
		canvas_hline(c, 0, y + tabs, c->columns, STYLE(RULE));
	if (tabs)
		draw_tabs(a, c, y, roomy);
	draw_footer(a, c, last);
	/* Few rows: the message takes the keys' place. */
	if (roomy)
		canvas_hline(c, 0, last - 1, c->columns, STYLE(RULE));
	a->spoke = draw_message(a, c, roomy ? last - 1 : last);
	if (a->palette.open)
		palette_draw(&a->palette, c);
	if (a->dialog.open)
		dialog_draw(&a->dialog, c);
}

void frame_draw(struct app *a)
{
	draw_frame(a);
}
