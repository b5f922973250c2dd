/* logs.c - shows the logs of one or several containers, merged, followed, searched. */
#include "views/logs/logs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>
#include <berth/when.h>

#include "app/app.h"
#include "views/list.h"
#include "views/logs/logs_page.h"

#define MERGE_MAX 64        /* containers in one merged log */
#define SEARCH_SLICE 262144 /* bytes looked at between two paints */
#define STEP_COLUMNS 8

static void drop_sources(struct logs *s)
{
	for (size_t i = 0; i < s->nsources; i++) {
		free(s->source[i].engine);
		free(s->source[i].id);
		free(s->source[i].name);
	}
	free(s->source);
	s->source = NULL;
	s->nsources = 0;
}

static void unsubscribe_logs(struct view *v)
{
	struct logs *s = v->state;
	struct command *c;

	if (!s->subscription)
		return;
	c = command_new(CMD_LOGS_CLOSE);
	c->ref = s->subscription;
	app_send(v->app, c);
	s->subscription = 0;
}

static void subscribe_logs(struct view *v)
{
	struct logs *s = v->state;
	struct command *c = command_new(CMD_LOGS_OPEN);
	int64_t tail = app_settings(v->app)->log_tail;

	for (size_t i = 0; i < s->nsources; i++) {
		struct source *src = &s->source[i];
		const struct container *k =
			snapshot_find(app_snapshot(v->app), src->engine, src->id);

		src->started_wall_ms = k ? k->started_wall_ms : 0;
		src->was_stopped = !k || k->state != CONTAINER_RUNNING;
		command_target(c, src->engine, src->id, src->name);
	}
	c->logs.follow = !s->span.until_ns;
	c->logs.span = s->span;
	/* The history is shared among the containers. */
	if (!s->span.tail && s->nsources)
		c->logs.span.tail = (int)((tail + (int64_t)s->nsources - 1) / (int64_t)s->nsources);
	s->subscription = app_send(v->app, c);
	s->ended = false;
}

static void search_on(struct view *v);

static void follow_end(struct logs *s)
{
	s->follow = true;
	s->search = IDLE;
}

static void detach_view(struct logs *s)
{
	if (!s->follow)
		return;
	s->follow = false;
	s->seen = s->buf->serial;
}

/* The filter: parts joined by " & ", each as `/` in a list takes it. */

static bool is_let_through(const struct logs *s, const char *text, size_t len)
{
	for (size_t i = 0; i < s->nparts; i++)
		if (!pattern_match(&s->part[i], text, len))
			return false;
	return true;
}

static void count_hits_anew(struct logs *s)
{
	s->hits = 0;
	s->upto = (struct log_key){0};
}

/* From the oldest line on, a slice at a time. */
static void refilter_logs(struct logs *s)
{
	if (s->some.line)
		logbuf_release(&s->some);
	s->buf = &s->all;
	s->filling = s->nparts > 0;
	s->filled = (struct log_key){0};
	if (s->filling) {
		logbuf_init(&s->some, s->all.nchunks << 16, s->all.max_lines);
		s->buf = &s->some;
	}
	count_hits_anew(s);
}

/* From the engine, as if they were opened now. */
static void reread_logs(struct view *v)
{
	struct logs *s = v->state;

	unsubscribe_logs(v);
	logbuf_clear(&s->all);
	refilter_logs(s);
	s->seen = 0;
	s->cursor = (struct log_key){0};
	follow_end(s);
	subscribe_logs(v);
	app_dirty(v->app);
}

static void drop_filter(struct logs *s)
{
	for (size_t i = 0; i < s->nparts; i++)
		pattern_release(&s->part[i]);
	memset(s->part, 0, sizeof s->part);
	s->nparts = 0;
	s->filter[0] = '\0';
	refilter_logs(s);
}

/* -1 and *e: one of them is none; the filter stays as it was. */
static int set_log_filter(struct logs *s, const char *text, struct err *e)
{
	struct pattern part[FILTER_PARTS] = {0};
	char words[PATTERN_MAX], *save = words;
	size_t n = 0;
	int rc = 0;

	snprintf(words, sizeof words, "%s", text);
	for (char *end; save && rc == 0; save = end) {
		end = strstr(save, " & ");
		if (end) {
			*end = '\0';
			end += 3;
		}
		if (!*save)
			continue;
		if (n == FILTER_PARTS)
			rc = err_set(e, ERR_USAGE, "at most %d expressions", FILTER_PARTS);
		else
			rc = pattern_compile(&part[n++], save, e) ? -1 : 0;
	}
	if (rc < 0) {
		for (size_t i = 0; i < n; i++)
			pattern_release(&part[i]);
		return -1;
	}
	drop_filter(s);
	memcpy(s->part, part, sizeof part);
	s->nparts = n;
	snprintf(s->filter, sizeof s->filter, "%s", n ? text : "");
	refilter_logs(s);
	return 0;
}

static void filter_line(struct logs *s, const struct logbuf_line *l)
{
	if (!(l->flags & LOG_GAP) && is_let_through(s, logbuf_text(&s->all, l), l->len))
		logbuf_copy(&s->some, &s->all, l);
}

/* One slice; true: there is more. */
static bool fill_some(struct logs *s)
{
	size_t i = logbuf_find(&s->all, s->filled), budget = SEARCH_SLICE;

	for (; i < s->all.count && budget; i++) {
		const struct logbuf_line *l = logbuf_at(&s->all, i);

		budget -= budget < l->len + 16u ? budget : l->len + 16u;
		filter_line(s, l);
	}
	s->filling = i < s->all.count;
	if (s->filling)
		s->filled = logbuf_at(&s->all, i)->key;
	return s->filling;
}

/* Lines with a hit, as far as one slice goes; true: there is more. */
static bool count_hits(struct logs *s)
{
	size_t i = logbuf_find(s->buf, s->upto), budget = SEARCH_SLICE, start, end;

	for (; i < s->buf->count && budget; i++) {
		const struct logbuf_line *l = logbuf_at(s->buf, i);

		budget -= budget < l->len + 16u ? budget : l->len + 16u;
		s->hits += pattern_next(&s->find, logbuf_text(s->buf, l), l->len, 0, &start, &end);
	}
	if (i)
		s->upto = (struct log_key){
			logbuf_at(s->buf, i - 1)->key.ns, logbuf_at(s->buf, i - 1)->key.serial + 1};
	return i < s->buf->count;
}

static void step_logs(struct view *v)
{
	struct logs *s = v->state;

	if (s->filling && fill_some(s))
		app_dirty(v->app);
	if (s->find.set && count_hits(s))
		app_dirty(v->app);
	search_on(v);
}

/* Which lines are read at all. */

static int take_tail(const char *text, int *ret, struct err *e)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end || n < 1 || n > 1000000)
		return err_set(e, ERR_USAGE, "tail= takes a number of lines from 1 to 1000000");
	*ret = (int)n;
	return 0;
}

static int take_moment(const char *text, int64_t *ret_ns, struct err *e)
{
	int64_t ns = when_ns(text, clock_wall_ms(), e);

	if (ns < 0)
		return -1;
	*ret_ns = ns;
	return 0;
}

/* "since=1h until=10m tail=500", each may be missing.  A beginning without a number means all since then. */
static int parse_period(const char *text, struct log_span *ret, struct err *e)
{
	char words[sizeof((struct logs *)0)->period], *save = NULL;
	int rc = 0;

	*ret = (struct log_span){0};
	if (strlen(text) >= sizeof words)
		return err_set(e, ERR_USAGE, "that is too long");
	snprintf(words, sizeof words, "%s", text);
	for (char *w = strtok_r(words, " ", &save); w && rc == 0; w = strtok_r(NULL, " ", &save)) {
		if (strncmp(w, "since=", 6) == 0)
			rc = take_moment(w + 6, &ret->since_ns, e);
		else if (strncmp(w, "until=", 6) == 0)
			rc = take_moment(w + 6, &ret->until_ns, e);
		else if (strncmp(w, "tail=", 5) == 0)
			rc = take_tail(w + 5, &ret->tail, e);
		else
			rc = err_set(e, ERR_USAGE, "write since=1h until=10m tail=500");
	}
	if (rc == 0 && ret->since_ns && !ret->tail)
		ret->tail = -1;
	if (rc == 0 && ret->until_ns && ret->until_ns <= ret->since_ns)
		rc = err_set(e, ERR_USAGE, "until= is not after since=");
	return rc;
}

static bool period_typed(struct view *v, const char *text, bool done, struct err *e)
{
	struct logs *s = v->state;
	struct log_span span;

	if (!text)
		return true;
	if (parse_period(text, &span, e) < 0)
		return false;
	if (!done || strcmp(text, s->period) == 0)
		return true;
	snprintf(s->period, sizeof s->period, "%s", text);
	s->span = span;
	reread_logs(v);
	return true;
}

static bool log_filter_typed(struct view *v, const char *text, bool done, struct err *e)
{
	struct logs *s = v->state;

	if (s->asked_period)
		return period_typed(v, text, done, e);
	if (set_log_filter(s, text ? text : "", e))
		return false;
	s->cursor = (struct log_key){0};
	follow_end(s);
	app_dirty(v->app);
	return true;
}

void logs_open(struct view *v, const struct target *targets, size_t n)
{
	struct logs *s = v->state;

	unsubscribe_logs(v);
	drop_sources(s);
	logbuf_clear(&s->all);
	refilter_logs(s);
	if (n > MERGE_MAX) {
		app_say(v->app, ROLE_WARN, "The logs of the first %d of %zu containers are shown.",
			MERGE_MAX, n);
		n = MERGE_MAX;
	}
	if (!n)
		return;
	s->source = xcalloc(n, sizeof *s->source);
	s->nsources = n;
	for (size_t i = 0; i < n; i++)
		s->source[i] = (struct source){.engine = xstrdup(targets[i].engine),
			.id = xstrdup(targets[i].id),
			.name = xstrdup(targets[i].name)};
	s->shift = 0;
	s->seen = 0;
	s->cursor = (struct log_key){0};
	follow_end(s);
	subscribe_logs(v);
	app_dirty(v->app);
}

static void logs_init(struct view *v)
{
	struct logs *s = v->state;

	logbuf_init(&s->all, app_settings(v->app)->log_buffer_bytes, LOGBUF_LINES);
	s->buf = &s->all;
	s->stamps = s->follow = true;
}

static void close_logs(struct view *v)
{
	struct logs *s = v->state;

	unsubscribe_logs(v);
	drop_sources(s);
	pattern_release(&s->find);
	drop_filter(s);
	logbuf_release(&s->all);
}

/* Every container that runs, for a person who came here without choosing any. */
static void open_running(struct view *v)
{
	const struct snapshot *snap = app_snapshot(v->app);
	struct target t[MERGE_MAX];
	size_t n = 0;

	for (size_t i = 0; i < snap->ncontainers && n < MERGE_MAX; i++) {
		const struct container *c = &snap->containers[i];

		if (c->state == CONTAINER_RUNNING)
			t[n++] = (struct target){c->engine, c->id, c->name};
	}
	if (n)
		logs_open(v, t, n);
	else
		app_say(v->app, ROLE_WARN, "No container is running.");
}

static bool is_at_end(const struct logs *s)
{
	return s->follow || !place_before(top_of(s), last_top(s));
}

/* Move the text by rows; at the end, further down means to follow again. */
static void scroll_text(struct logs *s, long rows)
{
	struct place top = top_of(s);

	if (rows > 0 && is_at_end(s)) {
		follow_end(s);
		return;
	}
	detach_view(s);
	top = rows < 0 ? place_back(s, top, (size_t)-rows) : place_forth(s, top, (size_t)rows);
	if (place_before(last_top(s), top))
		top = last_top(s);
	set_top(s, top);
}

/* Bring the line into the middle of the screen, unless it is on it. */
static void reveal_line(struct logs *s, size_t line)
{
	struct place top = top_of(s), at = {line, 0};

	detach_view(s);
	if (place_before(at, top) ||
		!place_before(at, place_forth(s, top, (size_t)(s->rows > 1 ? s->rows : 1))))
		top = place_back(s, at, (size_t)s->rows / 2);
	set_top(s, top);
}

static void move_line(struct logs *s, long lines)
{
	size_t at = logbuf_find(s->buf, s->cursor);
	struct place top = top_of(s), end;

	if (!s->buf->count)
		return;
	if (s->follow) {
		if (lines > 0)
			return;
		at = s->buf->count - 1;
	}
	/* The cursor starts from what is on the screen. */
	if (at < top.line)
		at = top.line;
	if (at > s->last_line)
		at = s->last_line;
	if (lines > 0 && at + 1 >= s->buf->count) {
		follow_end(s);
		return;
	}
	detach_view(s);
	if (lines < 0)
		at = at < (size_t)-lines ? 0 : at - (size_t)-lines;
	else
		at = at + (size_t)lines < s->buf->count ? at + (size_t)lines : s->buf->count - 1;
	s->cursor = key_of(s, at);
	end = place_forth(s, top, (size_t)(s->rows > 1 ? s->rows : 1));
	if (at <= top.line)
		top = (struct place){at, 0};
	else if (!place_before((struct place){at, rows_of(s, at) - 1}, end))
		top = place_back(s, (struct place){at, rows_of(s, at)}, (size_t)s->rows);
	set_top(s, top);
}

static void start_search(struct logs *s, bool forward, size_t from)
{
	s->search = forward ? FORWARD : BACK;
	s->wrapped = false;
	s->search_at = key_of(s, from);
}

/* One slice of the search in progress, which needs the size of what was drawn last. */
static void search_on(struct view *v)
{
	struct logs *s = v->state;
	size_t at;
	int found;

	if (s->search == IDLE || !s->nsources)
		return;
	at = logbuf_find(s->buf, s->search_at);
	if (s->search == BACK && at >= s->buf->count)
		at = s->buf->count - 1; /* SIZE_MAX when empty: ends at once */
	found = logbuf_search(s->buf, &s->find, s->search == FORWARD, SEARCH_SLICE, &at);
	if (found < 0) {
		s->search_at = key_of(s, at);
		app_dirty(v->app);
	} else if (found) {
		s->search = IDLE;
		reveal_line(s, at);
		s->cursor = key_of(s, at);
	} else if (!s->wrapped) {
		s->wrapped = true;
		s->search_at = s->search == FORWARD ? (struct log_key){0} : key_of(s, SIZE_MAX);
		app_dirty(v->app);
	} else {
		s->search = IDLE;
		app_say(v->app, ROLE_WARN, "No line here has `%s`.", s->find.text);
	}
}

static void next_log_hit(struct view *v, bool forward)
{
	struct logs *s = v->state;
	size_t at = s->follow ? s->buf->count : logbuf_find(s->buf, s->cursor);

	if (!s->find.set) {
		app_say(v->app, ROLE_DIM, "Nothing to go to yet: / starts a search.");
		return;
	}
	if (forward)
		at++;
	start_search(s, forward, forward ? at : at ? at - 1 : SIZE_MAX);
}

static bool is_of_agent(const struct view *v)
{
	const struct logs *s = v->state;
	const struct container *c =
		snapshot_find(app_snapshot(v->app), s->source[0].engine, s->source[0].id);

	return s->nsources == 1 && c && *c->agent && *c->session;
}

static void logs_draw(struct view *v, struct canvas *c, struct area a)
{
	struct logs *s = v->state;

	if (!s->nsources) {
		canvas_text(c, a.x + 2, a.y + 1, a.w - 2, STYLE(TEXT), "No logs are open.");
		canvas_wrap(c, (struct area){a.x + 2, a.y + 3, a.w - 4, a.h - 3}, STYLE(DIM),
			"In Containers, l opens the logs of the row, or of all marked rows merged.\nEnter "
			"opens those of every running container.");
		return;
	}
	s->lost = app_snapshot(v->app)->engine.phase != ENGINE_UP;
	s->of_agent = is_of_agent(v);
	logs_page_draw(s, c, a);
}

/* What the app tells us. */

static void take_lines(struct logs *s, const struct log_line *lines, size_t n)
{
	uint64_t before = s->all.serial;
	size_t i, left;

	logbuf_append(&s->all, lines, n);
	/* Until all that was there is looked at, what comes waits its turn. */
	if (!s->nparts || s->filling)
		return;
	/* As they are kept; their time may put them before others. */
	for (i = s->all.count, left = n; i > 0 && left > 0; i--)
		left -= logbuf_at(&s->all, i - 1)->key.serial > before;
	for (; i < s->all.count; i++)
		if (logbuf_at(&s->all, i)->key.serial > before)
			filter_line(s, logbuf_at(&s->all, i));
}

static void keep_lines(struct logs *s, const struct event *e)
{
	size_t from = 0;

	if (e->dropped)
		logbuf_gap(&s->all, e->dropped);
	for (size_t i = 0; i <= e->nlines; i++) {
		const struct log_line *l = i < e->nlines ? &e->lines[i] : NULL;

		if (l && l->source < s->nsources) {
			s->source[l->source].streams |= (uint8_t)(1 << (l->stream & 3));
			continue;
		}
		take_lines(s, e->lines + from, i - from);
		from = i + 1;
	}
}

static void logs_event(struct view *v, const struct event *e)
{
	struct logs *s = v->state;

	if (!s->subscription || e->id != s->subscription)
		return;
	if (e->kind == EV_LOG_LINES) {
		keep_lines(s, e);
	} else if (e->kind == EV_LOG_END || (e->kind == EV_RESULT && e->err.kind)) {
		s->ended = true;
		s->subscription = 0;
		snprintf(s->why, sizeof s->why, "%s",
			e->err.kind                ? e->err.msg
				: s->span.until_ns ? "up to then"
						   : "the log ended");
	}
}

/* A log that ended because it could not be read is read again when one of its containers runs anew. */
static void resume_logs(struct view *v, const struct snapshot *snap)
{
	struct logs *s = v->state;
	bool started = false;

	for (size_t i = 0; s->ended && !s->span.until_ns && i < s->nsources; i++) {
		struct source *src = &s->source[i];
		const struct container *c = snapshot_find(snap, src->engine, src->id);
		bool running = c && c->state == CONTAINER_RUNNING;

		started |=
			running && (src->was_stopped || c->started_wall_ms != src->started_wall_ms);
		src->was_stopped = !running;
	}
	if (started)
		reread_logs(v);
}

/* The container that the line under the cursor came from. */
static void act_on_source(struct view *v, enum action a)
{
	struct logs *s = v->state;
	size_t at = s->follow ? s->buf->count - 1 : logbuf_find(s->buf, s->cursor);
	size_t from = s->buf->count && at < s->buf->count ? logbuf_at(s->buf, at)->source : 0;
	struct target t;

	if (from >= s->nsources)
		return;
	t = (struct target){s->source[from].engine, s->source[from].id, s->source[from].name};
	if (a == DO_SHELL)
		app_shell(v->app, &t);
	else
		app_push(v->app, &inspect_view, &t);
}

static bool logs_act(struct view *v, enum action a)
{
	struct logs *s = v->state;
	long page = s->rows > 2 ? s->rows - 1 : 1;

	if (!s->nsources) {
		if (a == DO_ENTER)
			open_running(v);
		return a == DO_ENTER;
	}
	switch (a) {
	case DO_UP: move_line(s, -1); break;
	case DO_DOWN: move_line(s, 1); break;
	case DO_PAGE_UP: scroll_text(s, -page); break;
	case DO_PAGE_DOWN: scroll_text(s, page); break;
	case DO_HALF_UP: scroll_text(s, -(page + 1) / 2); break;
	case DO_HALF_DOWN: scroll_text(s, (page + 1) / 2); break;
	case DO_TOP:
		detach_view(s);
		s->cursor = key_of(s, 0);
		set_top(s, (struct place){0, 0});
		break;
	case DO_BOTTOM: follow_end(s); break;
	case DO_LEFT: s->shift = s->shift > STEP_COLUMNS ? s->shift - STEP_COLUMNS : 0; break;
	case DO_RIGHT:
		if (!s->wrap && s->shift < LOG_LINE_MAX)
			s->shift += STEP_COLUMNS;
		break;
	case DO_BACK:
		if (!s->nparts || s->find.set)
			return false;
		drop_filter(s);
		follow_end(s);
		break;
	case DO_FOLLOW:
		if (s->follow)
			detach_view(s), set_top(s, last_top(s)),
				s->cursor = key_of(s, s->last_line);
		else
			follow_end(s);
		break;
	case DO_PERIOD:
		s->asked_period = true;
		app_ask(v->app, "read", s->period,
			"since=1h until=10m tail=500, or since=2026-11-20T21:45");
		break;
	case DO_FILTER_LINES:
		s->asked_period = false;
		app_ask(v->app, "show lines with", s->filter,
			"expressions; a leading ! inverts; a & b: both");
		break;
	case DO_SHELL:
	case DO_INSPECT: act_on_source(v, a); break;
	case DO_WRAP:
		s->wrap = !s->wrap;
		s->fields = false;
		s->shift = 0;
		s->top_row = 0;
		break;
	case DO_FIELDS:
		s->fields = !s->fields;
		s->wrap = false;
		s->shift = 0;
		s->top_row = 0;
		break;
	case DO_ZOOM: s->bare = !s->bare; break;
	case DO_STAMPS: s->stamps = !s->stamps; break;
	case DO_NEXT_HIT: next_log_hit(v, true); break;
	case DO_PREV_HIT: next_log_hit(v, false); break;
	default: return false;
	}
	app_dirty(v->app);
	return true;
}

static bool logs_filter(struct view *v, const char *text, bool done, struct err *e)
{
	struct logs *s = v->state;

	if (!text) {
		pattern_release(&s->find);
		s->search = IDLE;
		return true;
	}
	if (pattern_compile(&s->find, text, e))
		return false;
	s->find.inverse = false;
	count_hits_anew(s);
	/* From the newest line up while following, else from what is on the screen down. */
	if (done && s->find.set)
		start_search(s, !s->follow, s->follow ? s->buf->count - 1 : top_of(s).line);
	return true;
}

static void logs_wheel(struct view *v, int lines)
{
	scroll_text(v->state, lines);
	app_dirty(v->app);
}

static void logs_click(struct view *v, int x, int y, bool twice)
{
	struct logs *s = v->state;
	struct place p = place_forth(s, top_of(s), y > 0 ? (size_t)y - 1 : 0);

	(void)x;
	(void)twice;
	if (y < 1 || p.line >= s->buf->count)
		return;
	set_top(s, top_of(s));
	detach_view(s);
	s->cursor = key_of(s, p.line);
	app_dirty(v->app);
}

static void logs_status(struct view *v, char *buf, size_t cap)
{
	struct logs *s = v->state;

	char n[FORMAT_MAX], m[FORMAT_MAX];
	int used = 0;

	*buf = '\0';
	if (*s->period)
		used = snprintf(buf, cap, "%s", s->period);
	if (s->nparts && used >= 0 && (size_t)used < cap)
		used += snprintf(buf + used, cap - (size_t)used, "%sfilter: %.60s  %s of %s",
			used ? "  " : "", s->filter, format_count(n, s->some.count),
			format_count(m, s->all.count));
	if (s->find.set && used >= 0 && (size_t)used < cap)
		snprintf(buf + used, cap - (size_t)used, "%sfind: %.60s  %s %s", used ? "  " : "",
			s->find.text, format_count(n, s->hits), s->hits == 1 ? "line" : "lines");
}

static void print_log_line(const struct logs *s, size_t i, struct str *out)
{
	const struct logbuf_line *l = logbuf_at(s->buf, i);
	char when[FORMAT_MAX];

	if (s->stamps && !(l->flags & LOG_NO_STAMP))
		str_addf(out, "%s ", format_stamp(when, l->key.ns / 1000000));
	if (s->nsources > 1 && l->source < s->nsources && !(l->flags & LOG_GAP))
		str_addf(out, "%s ", s->source[l->source].name);
	str_add(out, logbuf_text(s->buf, l), l->len);
	str_adds(out, l->flags & LOG_CLIPPED ? " [cut]\n" : "\n");
}

static bool logs_copy(struct view *v, struct str *out)
{
	struct logs *s = v->state;
	const struct logbuf_line *l;
	size_t at = s->follow ? s->buf->count - 1 : logbuf_find(s->buf, s->cursor);

	if (!s->buf->count || at >= s->buf->count)
		return false;
	l = logbuf_at(s->buf, at);
	str_add(out, logbuf_text(s->buf, l), l->len);
	return true;
}

static bool logs_save(struct view *v, struct str *out)
{
	struct logs *s = v->state;

	for (size_t i = 0; i < s->buf->count; i++)
		print_log_line(s, i, out);
	return s->buf->count > 0;
}

const struct view_ops logs_view = {
	.name = "logs",
	.tab = "Logs",
	.tab_short = "Logs",
	.context = IN_LOGS,
	.state_size = sizeof(struct logs),
	.open = logs_init,
	.close = close_logs,
	.draw = logs_draw,
	.step = step_logs,
	.typed = log_filter_typed,
	.act = logs_act,
	.pulse = resume_logs,
	.event = logs_event,
	.click = logs_click,
	.wheel = logs_wheel,
	.filter = logs_filter,
	.filter_word = "search",
	.status = logs_status,
	.copy = logs_copy,
	.save = logs_save,
};
