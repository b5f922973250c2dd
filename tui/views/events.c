/* events.c - shows the last 10,000 events of the engine, followed and filtered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>

#include "app/app.h"
#include "views/list.h"
#include "views/pattern.h"

/* Half a megabyte; seven health checks every 5 s are as many in a quarter of an hour. */
#define EVENTS_MAX 4096
#define FIELD_MAX 256 /* bytes of one text that are kept */

struct entry {
	int64_t wall_ns;
	bool check; /* in a container that has a health check: most are of that */
	uint16_t action, name, more, id; /* where these start in `text`; type is at 0 */
	char text[];
};

struct events {
	struct entry **ring; /* by number modulo EVENTS_MAX */
	uint64_t first, next;
	struct pattern filter;
	/* Numbers of those the filter lets through, oldest at `shown_from`. */
	uint64_t *shown;
	size_t shown_from, shown_end, shown_cap;

	size_t nchecked; /* containers with a check, when last looked at */
	bool checks;     /* what they run is shown, too */
	uint64_t folded; /* that are not */
	bool follow;
	uint64_t top, cursor; /* numbers, when not following */
	uint64_t seen;        /* `next` when following stopped */
	int rows;
};

static struct entry *entry_of_number(const struct events *s, uint64_t number)
{
	return s->ring[number % EVENTS_MAX];
}

static size_t count_shown(const struct events *s)
{
	return s->shown_end - s->shown_from;
}

/* Index among the shown ones of the first that is not older than `number`. */
static size_t find_shown(const struct events *s, uint64_t number)
{
	size_t low = s->shown_from, high = s->shown_end;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->shown[mid] < number)
			low = mid + 1;
		else
			high = mid;
	}
	return low - s->shown_from;
}

static uint64_t number_at(const struct events *s, size_t i)
{
	return i < count_shown(s) ? s->shown[s->shown_from + i] : s->next;
}

static bool matches_entry(const struct events *s, const struct entry *e)
{
	char line[4 * FIELD_MAX + 8];
	int n = snprintf(line, sizeof line, "%s %s %s %s", e->text, e->text + e->action,
		e->text + e->name, e->text + e->more);

	return pattern_match(&s->filter, line, (size_t)n) && (s->checks || !e->check);
}

static void show_entry(struct events *s, uint64_t number)
{
	if (s->shown_end == s->shown_cap && s->shown_from >= EVENTS_MAX) {
		memmove(s->shown, s->shown + s->shown_from, count_shown(s) * sizeof *s->shown);
		s->shown_end -= s->shown_from;
		s->shown_from = 0;
	}
	s->shown = mem_grow(s->shown, &s->shown_cap, s->shown_end + 1, sizeof *s->shown);
	s->shown[s->shown_end++] = number;
}

static void filter_all(struct events *s)
{
	s->shown_from = s->shown_end = 0;
	s->folded = 0;
	for (uint64_t i = s->first; i < s->next; i++)
		s->folded += !s->checks && entry_of_number(s, i)->check;
	for (uint64_t i = s->first; i < s->next; i++)
		if (matches_entry(s, entry_of_number(s, i)))
			show_entry(s, i);
}

static uint16_t put_field(struct entry *e, size_t *used, const char *text, size_t most)
{
	size_t at = *used, n = strnlen(text, most);

	memcpy(e->text + at, text, n);
	e->text[at + n] = '\0';
	*used = at + n + 1;
	return (uint16_t)at;
}

/* What joins a network or leaves it is told by its id: a person knows it by its name. */
static const char *name_member(const struct snapshot *snap, const char *more, char buf[FIELD_MAX])
{
	static const char word[] = "container ";
	const char *id = more + sizeof word - 1;

	if (strncmp(more, word, sizeof word - 1) != 0)
		return more;
	for (size_t i = 0; i < snap->ncontainers; i++)
		if (strcmp(snap->containers[i].id, id) == 0) {
			snprintf(buf, FIELD_MAX, "container %s", snap->containers[i].name);
			return buf;
		}
	/* One that is gone: as docker abbreviates it. */
	snprintf(buf, FIELD_MAX, "container %.12s", id);
	return buf;
}

/* "exec_create: ls -l" is an action and what more there is to say. */
static struct entry *copy_event(const struct snapshot *snap, const struct engine_event *e)
{
	char member[FIELD_MAX];
	const char *colon = strstr(e->action, ": "),
		   *more = *e->more || !colon ? name_member(snap, e->more, member) : colon + 2;
	size_t action_len = colon ? (size_t)(colon - e->action) : FIELD_MAX, used = 0;
	struct entry *k = xmalloc(sizeof *k + 5 * (FIELD_MAX + 1));

	k->wall_ns = e->wall_ns;
	put_field(k, &used, e->type, FIELD_MAX);
	k->action = put_field(k, &used, e->action, action_len < FIELD_MAX ? action_len : FIELD_MAX);
	k->name = put_field(k, &used, e->name, FIELD_MAX);
	k->more = put_field(k, &used, more, FIELD_MAX);
	k->id = put_field(k, &used, e->id, FIELD_MAX);
	return xrealloc(k, sizeof *k + used);
}

/* Commands that the engine starts by itself look like any others, but where they come from is known. */
static bool is_of_check(const struct snapshot *snap, const struct entry *e)
{
	if (strcmp(e->text, "container") != 0 || strncmp(e->text + e->action, "exec_", 5) != 0)
		return false;
	for (size_t i = 0; i < snap->ncontainers; i++)
		if (strcmp(snap->containers[i].name, e->text + e->name) == 0)
			return snap->containers[i].health != HEALTH_NONE;
	return false;
}

/* The first events come before anybody knows which containers have checks. */
static void events_pulse(struct view *v, const struct snapshot *snap)
{
	struct events *s = v->state;
	size_t n = 0;

	for (size_t i = 0; i < snap->ncontainers; i++)
		n += snap->containers[i].health != HEALTH_NONE;
	if (n == s->nchecked)
		return;
	s->nchecked = n;
	for (uint64_t i = s->first; i < s->next; i++) {
		struct entry *e = entry_of_number(s, i);

		e->check = e->check || is_of_check(snap, e);
	}
	filter_all(s);
}

static void events_event(struct view *v, const struct event *e)
{
	struct events *s = v->state;

	if (e->kind != EV_ENGINE)
		return;
	if (s->next - s->first == EVENTS_MAX) {
		if (count_shown(s) && number_at(s, 0) == s->first)
			s->shown_from++;
		s->folded -= !s->checks && entry_of_number(s, s->first)->check;
		free(entry_of_number(s, s->first));
		s->first++;
	}
	s->ring[s->next % EVENTS_MAX] = copy_event(app_snapshot(v->app), &e->engine_event);
	entry_of_number(s, s->next)->check =
		is_of_check(app_snapshot(v->app), entry_of_number(s, s->next));
	s->folded += !s->checks && entry_of_number(s, s->next)->check;
	s->next++;
	if (matches_entry(s, entry_of_number(s, s->next - 1)))
		show_entry(s, s->next - 1);
}

static void events_open(struct view *v)
{
	struct events *s = v->state;

	s->ring = xcalloc(EVENTS_MAX, sizeof *s->ring);
	s->follow = true;
}

static void events_close(struct view *v)
{
	struct events *s = v->state;

	for (uint64_t i = s->first; i < s->next; i++)
		free(entry_of_number(s, i));
	free(s->ring);
	free(s->shown);
	pattern_release(&s->filter);
}

/* Place. */

static size_t page_rows(const struct events *s)
{
	return s->rows > 0 ? (size_t)s->rows : 1;
}

static size_t last_events_top(const struct events *s)
{
	return count_shown(s) > page_rows(s) ? count_shown(s) - page_rows(s) : 0;
}

static size_t events_top(const struct events *s)
{
	size_t top = s->follow ? last_events_top(s) : find_shown(s, s->top);

	return top < last_events_top(s) ? top : last_events_top(s);
}

static size_t events_cursor(const struct events *s)
{
	size_t at = s->follow ? count_shown(s) : find_shown(s, s->cursor);

	return at < count_shown(s) ? at : count_shown(s) ? count_shown(s) - 1 : 0;
}

/* Put the cursor on a row; beyond the last one means to follow. */
static void go_to_event(struct events *s, long to)
{
	size_t top = events_top(s), at;

	if (to >= (long)count_shown(s)) {
		s->follow = true;
		return;
	}
	at = to < 0 ? 0 : (size_t)to;
	if (s->follow)
		s->seen = s->next;
	s->follow = false;
	if (at < top)
		top = at;
	if (at >= top + page_rows(s))
		top = at - page_rows(s) + 1;
	s->top = number_at(s, top);
	s->cursor = number_at(s, at);
}

/* Drawing. */

static enum role action_role(const char *action)
{
	static const struct {
		const char *word;
		enum role role;
	} known[] = {
		{"start", ROLE_GOOD}, {"create", ROLE_TEXT}, {"unpause", ROLE_GOOD},
		{"oom", ROLE_BAD}, {"kill", ROLE_WARN}, {"die", ROLE_WARN}, {"destroy", ROLE_WARN},
		{"remove", ROLE_WARN}, {"delete", ROLE_WARN}, {"pause", ROLE_WARN},
		{"exec_", ROLE_DIM}, /* health checks: most of all events */
	};

	for (size_t i = 0; i < COUNT(known); i++)
		if (!strncmp(action, known[i].word, strlen(known[i].word)))
			return known[i].role;
	return ROLE_TEXT;
}

static void draw_entry(struct canvas *c, struct area a, const struct entry *e)
{
	int when_w = a.w >= 100 ? 13 : 9, type_w = a.w >= 60 ? 11 : 0,
	    action_w = a.w >= 60 ? 15 : 11;
	int x = a.x + 1, left, name_w;
	char when[FORMAT_MAX];

	format_wall(when, e->wall_ns / 1000000);
	canvas_text(c, x, a.y, when_w, STYLE(DIM), when);
	if (when_w > 9)
		canvas_printf(
			c, x + 8, a.y, 4, STYLE(DIM), ".%03d", (int)(e->wall_ns / 1000000 % 1000));
	x += when_w;
	if (type_w)
		canvas_clip(c, x, a.y, type_w - 1, STYLE(DIM), e->text);
	x += type_w;
	canvas_clip(c, x, a.y, action_w - 1,
		(struct style){.role = (uint8_t)action_role(e->text + e->action)},
		e->text + e->action);
	x += action_w;
	left = a.x + a.w - x;
	name_w = !e->text[e->more] ? left : type_w ? left / 2 : left * 3 / 5;
	if (name_w > 32 && e->text[e->more])
		name_w = 32;
	canvas_clip_name(c, x, a.y, name_w - 1,
		action_role(e->text + e->action) == ROLE_DIM ? STYLE(TEXT) : STYLE(STRONG),
		e->text[e->name] ? e->text + e->name : e->text + e->id);
	if (e->text[e->more])
		canvas_clip(c, x + name_w, a.y, left - name_w, STYLE(TEXT), e->text + e->more);
}

static void draw_events_head(const struct events *s, bool lost, struct canvas *c, struct area a)
{
	int type_w = a.w >= 60 ? 11 : 0, when_w = a.w >= 100 ? 13 : 9, x = a.x + 1;
	char text[128], folded[64] = "", n[FORMAT_MAX], m[FORMAT_MAX];
	uint64_t fresh = s->next - s->seen;
	size_t below = count_shown(s) -
		(count_shown(s) ? events_top(s) + page_rows(s) < count_shown(s)
					? events_top(s) + page_rows(s)
					: count_shown(s)
				: 0);

	canvas_text(c, x, a.y, -1, STYLE(COLUMN), "TIME");
	if (type_w)
		canvas_text(c, x + when_w, a.y, -1, STYLE(COLUMN), "WHAT");
	canvas_text(c, x + when_w + type_w, a.y, -1, STYLE(COLUMN), "EVENT");
	if (type_w)
		canvas_text(c, x + when_w + type_w + 15, a.y, -1, STYLE(COLUMN), "NAME");
	if (s->follow || !below || !fresh) {
		if (s->folded)
			snprintf(folded, sizeof folded, "%s folded (e) · ",
				format_count(m, s->folded));
		snprintf(text, sizeof text, "%s%s · %s", a.w >= 60 ? folded : "",
			format_count(n, count_shown(s)),
			lost                ? a.w >= 60 ? "the engine does not answer" : "no answer"
				: s->follow ? "following"
					    : "not following");
		canvas_right(c, a.x + a.w / 2, a.y, a.w - a.w / 2 - 1,
			lost ? STYLE(WARN) : STYLE(DIM), text);
	} else {
		snprintf(text, sizeof text, "%s new below",
			format_count(m, below < fresh ? below : fresh));
		canvas_right(c, a.x + a.w / 2, a.y, a.w - a.w / 2 - 1, STYLE(ACCENT), text);
	}
}

static void events_draw(struct view *v, struct canvas *c, struct area a)
{
	struct events *s = v->state;
	size_t top, cursor = s->follow ? SIZE_MAX : events_cursor(s);
	bool lost;

	s->rows = a.h - 1;
	top = events_top(s);
	lost = app_snapshot(v->app)->engine.phase != ENGINE_UP;
	draw_events_head(s, lost, c, a);
	if (!count_shown(s)) {
		canvas_clip(c, a.x + 2, a.y + 2, a.w - 2, STYLE(DIM),
			s->filter.set       ? "Nothing matches the filter; Esc clears it."
				: s->folded ? "Nothing but health checks; e shows them."
				: lost
				? "Not known: the engine does not answer."
				: "Nothing has happened on the engine since berth was started.");
		return;
	}
	for (int y = 0; y < s->rows && top + (size_t)y < count_shown(s); y++) {
		struct area row = {a.x, a.y + 1 + y, a.w, 1};

		draw_entry(c, row, entry_of_number(s, number_at(s, top + (size_t)y)));
		if (top + (size_t)y == cursor) {
			canvas_glyph(c, row.x, row.y, STYLE(ACCENT), GLYPH_EDGE);
			canvas_under(c, row, ROLE_CURSOR);
		}
	}
}

static bool events_act(struct view *v, enum action a)
{
	struct events *s = v->state;
	long at = (long)events_cursor(s);
	int by = action_rows(a, (int)page_rows(s));

	if (by) {
		go_to_event(s, a == DO_TOP ? 0 : at + by);
		app_dirty(v->app);
		return true;
	}
	switch (a) {
	case DO_CHECKS:
		s->checks = !s->checks;
		filter_all(s);
		break;
	case DO_FOLLOW: go_to_event(s, s->follow ? at : (long)count_shown(s)); break;
	default: return false;
	}
	app_dirty(v->app);
	return true;
}

static bool events_filter(struct view *v, const char *text, bool done, struct err *e)
{
	struct events *s = v->state;

	(void)done;
	if (pattern_compile(&s->filter, text ? text : "", e))
		return false;
	filter_all(s);
	return true;
}

static void events_wheel(struct view *v, int lines)
{
	struct events *s = v->state;
	size_t top = events_top(s), cursor;

	if (lines > 0 && top >= last_events_top(s)) {
		s->follow = true;
	} else {
		top = lines < 0 && top < (size_t)-lines ? 0 : top + (size_t)lines;
		cursor = events_cursor(s);
		go_to_event(s,
			(long)(cursor < top                            ? top
					: cursor >= top + page_rows(s) ? top + page_rows(s) - 1
								       : cursor));
		s->top = number_at(s, top);
	}
	app_dirty(v->app);
}

static void events_click(struct view *v, int x, int y, bool twice)
{
	struct events *s = v->state;

	(void)x;
	(void)twice;
	if (y > 0 && events_top(s) + (size_t)y - 1 < count_shown(s))
		go_to_event(s, (long)events_top(s) + y - 1);
	app_dirty(v->app);
}

static void events_status(struct view *v, char *buf, size_t cap)
{
	struct events *s = v->state;

	*buf = '\0';
	if (s->filter.set)
		snprintf(buf, cap, "filter: %s%s  %zu of %llu", s->filter.inverse ? "!" : "",
			s->filter.text, count_shown(s), (unsigned long long)(s->next - s->first));
}

static void print_event(const struct entry *e, struct str *out)
{
	char when[FORMAT_MAX];

	str_addf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", format_stamp(when, e->wall_ns / 1000000), e->text,
		e->text + e->action, e->text + e->name, e->text + e->more, e->text + e->id);
}

static bool events_copy(struct view *v, struct str *out)
{
	struct events *s = v->state;

	if (!count_shown(s))
		return false;
	print_event(entry_of_number(s, number_at(s, events_cursor(s))), out);
	return true;
}

static bool events_save(struct view *v, struct str *out)
{
	struct events *s = v->state;

	for (size_t i = 0; i < count_shown(s); i++)
		print_event(entry_of_number(s, number_at(s, i)), out);
	return count_shown(s) > 0;
}

const struct view_ops events_view = {
	.name = "events",
	.tab = "Events",
	.tab_short = "Ev",
	.context = IN_EVENTS,
	.state_size = sizeof(struct events),
	.open = events_open,
	.close = events_close,
	.draw = events_draw,
	.act = events_act,
	.pulse = events_pulse,
	.event = events_event,
	.click = events_click,
	.wheel = events_wheel,
	.filter = events_filter,
	.status = events_status,
	.copy = events_copy,
	.save = events_save,
};
