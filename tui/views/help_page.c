/* help_page.c - shows the keys of a view, from the table of actions, and the meaning of its signs. */
#include <stdio.h>
#include <string.h>

#include <berth/err.h>
#include <berth/mem.h>

#include "app/app.h"
#include "terminal/terminal.h"
#include "views/list.h"
#include "views/pattern.h"
#include "views/page.h"
#include "views/pen.h"

#define KEYS_W 14
#define NAME_W 13

struct help {
	const struct view_ops *of; /* the view that is explained */
	struct pattern filter;
	struct page page;
	size_t hits;
};

/* What the actions cannot say. */
static const struct note {
	uint32_t where;
	const char *key, *text;
} notes[] = {
	{IN_CONTAINERS, "CPU %", "100 is one core; the same number docker stats shows"},
	{IN_CONTAINERS, "MEM LIMIT", "memory without the page cache; a dash: no limit of its own"},
	{IN_CONTAINERS, "NET IO", "bytes a second, K is 1024; a dash: none, or not known"},
	{IN_CONTAINERS, "UP", "since its start; for those that ended, since their end"},
	{IN_CONTAINERS, "dim numbers", "old: the last sample is more than 3 s ago"},
	{IN_CONTAINERS, "● ✗ ‖ ○ !", "runs, ended, paused, created or changing, needs attention"},
	{IN_CONTAINERS, "group heads", "act on all of their containers, after a dialog"},
	{IN_AGENTS, "● ○ ✗ !", "up, down, stopped or gone, needs attention, or not berth's"},
	{IN_AGENTS, "drift", "it differs from what its team file declares: Enter shows how"},
	{IN_AGENTS, "COMMAND FOR", "the oldest command that runs in it, and since when"},
	{IN_AGENTS, "LAST", "how the last command ended, and how long it took"},
	{IN_AGENTS, "PATH",
		"lane: commands go straight in; engine: through its slower exec; lost: no answer"},
	{IN_AGENTS, "PATH relay", "a program in the container carries the agent's connections"},
	{IN_AGENTS, "Enter Enter", "the detail, then what it ran and printed"},
	{IN_NETWORK, "waits", "connections wait for A, S, W or X, or until their time is up"},
	{IN_NETWORK, "refused", "no one was there to ask: an answer applies to the next one"},
	{IN_NETWORK, "\"...\"", "the agent's own words: do not rely on them"},
	{IN_JOURNAL, "lost", "its berth process died before the end was known"},
	{IN_LOGS, "│", "written to stderr, where a container uses both streams"},
	{IN_LOGS, "…", "the line continues: Right scrolls, w wraps"},
	{IN_LOGS, "scrolling", "stops following; going past the end follows again"},
	{IN_JOBS, "LEFT", "time left at the present rate; for those that ended, what they took"},
	{IN_JOBS, "dim owner", "a job of another berth process"},
	{IN_INSPECT, "Tab S-Tab", "unfold everything, fold again"},
	{IN_INSPECT, "y", "copies the value; pressed again, the path"},
	{IN_INSPECT, "******", "a value whose name looks secret"},
	{IN_ANY, "pattern",
		"regular expression; lower case finds capitals too; ! in front inverts"},
};

enum section { HERE, EVERYWHERE, MOVING, SIGNS, SECTIONS };

static enum section section_of(enum action a)
{
	if ((a >= DO_UP && a <= DO_BOTTOM) || (a >= DO_VIEW_1 && a <= DO_ENTER))
		return MOVING;
	return action_info[a].where == IN_ANY ? EVERYWHERE : HERE;
}

static bool is_wanted(const struct help *s, const char *keys, const char *name, const char *text)
{
	char line[256];
	int n = snprintf(line, sizeof line, "%s %s %s", keys, name, text);

	return pattern_match(&s->filter, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
}

static void draw_line(struct help *s, struct pen *p, struct style key, const char *keys,
	const char *name, const char *text)
{
	bool names = name && p->w >= 72;
	int y = pen_row(p), x = p->a.x + p->x;

	s->hits++;
	if (y >= 0) {
		canvas_clip(p->c, x, y, KEYS_W - 1, key, keys);
		if (names)
			canvas_clip(p->c, x + KEYS_W, y, NAME_W - 1, STYLE(DIM), name);
		x += KEYS_W + (names ? NAME_W : 0);
		canvas_clip(p->c, x, y, p->a.x + p->w - x, STYLE(TEXT), text);
	}
	pen_skip(p, 1);
}

static void draw_actions(struct view *v, struct pen *p, enum section section)
{
	struct help *s = v->state;
	char keys[64], text[160];

	for (enum action a = DO_NONE + 1; a < DO_COUNT; a++) {
		const struct action_info *i = &action_info[a];

		if (!(i->where & s->of->context) || section_of(a) != section ||
			(a >= DO_VIEW_1 && a <= DO_VIEW_10))
			continue;
		keymap_all(app_keys(v->app), a, keys, sizeof keys);
		snprintf(text, sizeof text, "%s%s", i->help,
			i->flags & ACTION_DESTRUCTIVE ? "; cannot be undone" : "");
		if (is_wanted(s, keys, i->name, text))
			draw_line(s, p, i->flags & ACTION_DESTRUCTIVE ? STYLE(DANGER) : STYLE(KEY),
				*keys ? keys : ":", i->name, text);
	}
}

/* The person's own, where there are rows of containers. */
static void draw_custom(struct view *v, struct pen *p)
{
	struct help *s = v->state;
	const struct settings *set = app_settings(v->app);

	for (size_t i = 0; s->of->row && i < set->ncommands; i++) {
		const struct custom_command *k = &set->commands[i];
		const char *text = k->help ? k->help : k->run ? k->run : k->exec;
		char key[KEY_TEXT_MAX];

		if (!*app_custom_key(v->app, i, key))
			strcpy(key, ":");
		if (is_wanted(s, key, k->name, text))
			draw_line(s, p, STYLE(KEY), key, k->name, text);
	}
}

/* The keys of the views, in one line with their names. */
static void draw_views(struct view *v, struct pen *p)
{
	struct help *s = v->state;
	char keys[64] = "", names[160] = "", key[KEY_TEXT_MAX];
	enum action a = DO_VIEW_1;
	size_t k = 0, n = 0;

	for (const struct view_ops *const *t = all_tabs; *t && a <= DO_VIEW_10; t++, a++) {
		k += (size_t)snprintf(keys + k, sizeof keys - k, "%s%s", k ? " " : "",
			keymap_first(app_keys(v->app), a, key));
		n += (size_t)snprintf(
			names + n, sizeof names - n, "%s%s", n ? ", " : "", (*t)->tab);
		if (k >= sizeof keys || n >= sizeof names)
			break; /* clipped: no view has such a name */
	}
	if (is_wanted(s, keys, "view", names))
		draw_line(s, p, STYLE(KEY), keys, "view-1 ...", names);
}

static void draw_notes(struct help *s, struct pen *p)
{
	for (size_t i = 0; i < COUNT(notes); i++)
		if (notes[i].where & s->of->context &&
			is_wanted(s, notes[i].key, "", notes[i].text))
			draw_line(s, p, STYLE(STRONG), notes[i].key, NULL, notes[i].text);
}

static void draw_help_page(struct view *v, struct canvas *c, struct area a)
{
	static const char *const heads[] = {NULL, "In every view", "Moving", "Symbols and terms"};
	struct help *s = v->state;
	struct pen p = pen_on(c, (struct area){a.x + 2, a.y, a.w - 4, a.h}, s->page.scroll);

	s->hits = 0;
	for (int section = 0; section < SECTIONS; section++) {
		char head[64];
		struct pen before = p;
		size_t hits = s->hits;

		snprintf(head, sizeof head, "In %s", s->of->tab ? s->of->tab : "this view");
		if (p.y)
			pen_skip(&p, 1);
		pen_head(&p, heads[section] ? heads[section] : head);
		if (section == SIGNS)
			draw_notes(s, &p);
		else
			draw_actions(v, &p, (enum section)section);
		if (section == HERE)
			draw_custom(v, &p);
		if (section == MOVING)
			draw_views(v, &p);
		/* A head over nothing: go back and blank it. */
		if (s->hits == hits) {
			int y = pen_row(&before) + (before.y ? 1 : 0);

			if (y >= a.y && y < a.y + a.h)
				canvas_fill(c, (struct area){a.x, y, a.w, 1}, STYLE(TEXT), ' ');
			p = before;
		}
	}
	if (!s->hits)
		pen_line(&p, STYLE(DIM), "No key matches.");
	s->page.length = p.y;
	s->page.seen = a.h;
}

static void scroll_help(struct view *v, int rows)
{
	struct help *s = v->state;

	page_scroll(&s->page, rows);
	app_dirty(v->app);
}

static void help_draw(struct view *v, struct canvas *c, struct area a)
{
	struct help *s = v->state;

	page_draw(&s->page, v, c, a, draw_help_page);
}

static bool help_act(struct view *v, enum action a)
{
	struct help *s = v->state;

	if (a == DO_HELP) {
		app_pop(v->app);
		return true;
	}
	return page_act(&s->page, v, a);
}

static bool help_filter(struct view *v, const char *text, bool done, struct err *e)
{
	struct help *s = v->state;

	(void)done;
	if (pattern_compile(&s->filter, text ? text : "", e))
		return false;
	s->page.scroll = 0;
	return true;
}

static void help_open(struct view *v)
{
	struct help *s = v->state;

	s->of = v->seed ? v->seed : &containers_view;
}

static void help_close(struct view *v)
{
	struct help *s = v->state;

	pattern_release(&s->filter);
}

static void help_status(struct view *v, char *buf, size_t cap)
{
	struct help *s = v->state;

	if (s->filter.set)
		snprintf(buf, cap, "help  find: %s", s->filter.text);
	else
		snprintf(buf, cap, "of %s", s->of->name);
}

const struct view_ops help_view = {
	.name = "help",
	.context = IN_HELP,
	.state_size = sizeof(struct help),
	.open = help_open,
	.close = help_close,
	.draw = help_draw,
	.act = help_act,
	.wheel = scroll_help,
	.filter = help_filter,
	.status = help_status,
};
