/* output.c - shows the output of a berth command as it arrives; a search hit opens its line. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "app/app.h"
#include "views/list.h"
#include "views/logs/logs.h"
#include "views/pattern.h"
#include "widgets/widgets.h"

struct output {
	struct task *task;
	size_t *line; /* where each begins */
	size_t nlines, cap, seen;
	size_t at, top;
	bool moved; /* by the person: else the end is followed */
	int rows;
	struct pattern find;
	bool logs; /* `:grep`: lines are "CONTAINER | TEXT", and what was sought is `find` from the start */
	bool hits; /* `:search`: likewise "PATH:LINE:TEXT" */
};

/* What `search` looks for: the text as it stands, or a regular expression with -E.  Other options may change what
 * matches, and nothing is marked then. */
static void take_sought(struct output *s, const char *const *word, int n)
{
	int at = n > 1 && !strcmp(word[0], "-E");

	s->hits = true;
	if (n <= at || *word[at] == '-' || (at && *word[at] == '!') ||
		strlen(word[at]) >= PATTERN_MAX)
		return;
	if (at) {
		pattern_compile(&s->find, word[at], NULL);
		return;
	}
	s->find = (struct pattern){.set = true, .literal = true, .len = strlen(word[at])};
	memcpy(s->find.text, word[at], s->find.len + 1);
}

static void output_open(struct view *v)
{
	struct output *s = v->state;

	s->task = task_ref((struct task *)(uintptr_t)v->seed);
	s->logs = !s->task->of && !strncmp(s->task->title, "grep ", 5);
	if (s->logs || (!s->task->of && !strncmp(s->task->title, "search ", 7))) {
		AUTO_FREE char *line = xstrdup(strchr(s->task->title, ' ') + 1);
		const char *word[TASK_WORDS_MAX];
		int n = task_words(line, word, NULL);

		if (!s->logs)
			take_sought(s, word, n);
		else if (n > 0)
			pattern_compile(&s->find, word[0], NULL);
	}
}

static void output_close(struct view *v)
{
	struct output *s = v->state;

	task_unref(s->task);
	free(s->line);
	pattern_release(&s->find);
}

static void index_lines(struct output *s)
{
	const struct str *text = &s->task->text;

	for (size_t i = s->seen; i < text->len; i++)
		if (i == 0 || text->s[i - 1] == '\n') {
			s->line = mem_grow(s->line, &s->cap, s->nlines + 1, sizeof *s->line);
			s->line[s->nlines++] = i;
		}
	s->seen = text->len;
	if (s->moved || !s->nlines)
		return;
	if (!s->task->at_line)
		s->at = s->nlines - 1;
	else
		s->at = s->task->at_line <= s->nlines ? s->task->at_line - 1 : s->nlines - 1;
}

static const char *output_line(const struct output *s, size_t i, size_t *n)
{
	size_t end = i + 1 < s->nlines ? s->line[i + 1] : s->task->text.len;

	*n = end - s->line[i];
	if (*n && s->task->text.s[end - 1] == '\n')
		--*n;
	return s->task->text.s + s->line[i];
}

static enum role line_role(const char *text)
{
	if (!strncmp(text, "--- a/", 6) || !strncmp(text, "+++ b/", 6) ||
		!strncmp(text, "--- \"a/", 7) || !strncmp(text, "+++ \"b/", 7) ||
		!strncmp(text, "--- /dev/null", 13) || !strncmp(text, "+++ /dev/null", 13))
		return ROLE_STRONG;
	return *text == '+'                        ? ROLE_GOOD
		: *text == '-'                     ? ROLE_BAD
		: strncmp(text, "@@", 2) == 0      ? ROLE_ACCENT
		: strncmp(text, "berth: ", 7) == 0 ? ROLE_WARN
						   : ROLE_TEXT;
}

/* The job of the process, where it says how far it is. */
static const struct job_info *job_of(const struct snapshot *snap, const struct task *t)
{
	for (size_t i = 0; t->pid && i < snap->njobs; i++)
		if (snap->jobs[i].id.pid == t->pid && snap->jobs[i].fraction >= 0 &&
			!job_ended(snap->jobs[i].state))
			return &snap->jobs[i];
	return NULL;
}

static void draw_output_head(struct view *v, struct canvas *c, struct area a)
{
	const struct output *s = v->state;
	const struct task *t = s->task;
	const struct job_info *j = job_of(app_snapshot(v->app), t);
	char text[64], n[FORMAT_MAX];

	if (j)
		meter_bar(c, a.x + a.w / 2 + 1, a.y, a.w / 4, ROLE_BAR, j->fraction);
	canvas_clip(c, a.x + 1, a.y, a.w / 2, STYLE(STRONG), t->title);
	snprintf(text, sizeof text, "%s %s", format_count(n, s->nlines),
		s->nlines == 1 ? "line" : "lines");
	if (!task_ended(t))
		strcat(text, " so far");
	else if (t->code)
		snprintf(text + strlen(text), sizeof text - strlen(text), ", exit %d", t->code);
	else if (t->cut)
		strcat(text, ", the rest is not kept");
	canvas_right(c, a.x + a.w / 2, a.y, a.w - a.w / 2 - 1,
		task_ended(t) ? t->code || t->cut ? STYLE(WARN) : STYLE(DIM) : STYLE(BUSY), text);
}

static const char *after_name(const char *text)
{
	const char *bar = strstr(text, " | ");

	return bar ? bar + 3 : NULL;
}

/* What `search` found begins behind the path and the number of its line. */
static const char *after_place(const char *text)
{
	const char *at = text;

	while ((at = strchr(at, ':'))) {
		size_t digits = strspn(++at, "0123456789");

		if (digits && at[digits] == ':')
			return at + digits + 1;
	}
	return NULL;
}

/* Over what was drawn of a line: whose it is where it is of a log, and what was sought. */
static void draw_output_hits(
	const struct output *s, struct canvas *c, struct area row, const char *text)
{
	const char *said = s->logs ? after_name(text) : s->hits ? after_place(text) : text;
	size_t at = 0, start, end;
	int x = row.x + 1, end_x = row.x + row.w - 1;

	if (!said || s->find.inverse)
		return;
	if (s->logs)
		canvas_text(c, x, row.y, text_width(text, (size_t)(said - 3 - text)), STYLE(ACCENT),
			text);
	x += text_width(text, (size_t)(said - text));
	while (s->find.set && pattern_next(&s->find, said, strlen(said), at, &start, &end)) {
		AUTO_FREE char *hit = xstrndup(said + start, end - start);
		int from = x + text_width(said, start), w = text_width(hit, end - start);

		if (from + w > end_x)
			return;
		canvas_text(c, from, row.y, w, STYLE(HIT), hit);
		at = end;
	}
}

static void output_draw(struct view *v, struct canvas *c, struct area a)
{
	struct output *s = v->state;

	index_lines(s);
	draw_output_head(v, c, a);
	s->rows = a.h - 1;
	if (s->at < s->top)
		s->top = s->at;
	if (s->rows > 0 && s->at >= s->top + (size_t)s->rows)
		s->top = s->at - (size_t)s->rows + 1;
	if (!s->nlines)
		canvas_clip(c, a.x + 2, a.y + 2, a.w - 3, STYLE(DIM),
			task_ended(s->task) ? "It printed nothing." : "Nothing printed yet.");
	for (int y = 0; y < s->rows && s->top + (size_t)y < s->nlines; y++) {
		struct area row = {a.x, a.y + 1 + y, a.w, 1};
		char clean[1024];
		size_t n;
		const char *text = output_line(s, s->top + (size_t)y, &n);

		snprintf(clean, sizeof clean, "%.*s",
			(int)(n < sizeof clean ? n : sizeof clean - 1), text);
		canvas_clip(c, a.x + 1, row.y, a.w - 2,
			(struct style){.role = (uint8_t)(s->logs ? ROLE_TEXT : line_role(clean))},
			clean);
		draw_output_hits(s, c, row, clean);
		if (s->top + (size_t)y == s->at) {
			canvas_glyph(c, row.x, row.y, STYLE(ACCENT), GLYPH_EDGE);
			canvas_under(c, row, ROLE_CURSOR);
		}
	}
}

/* The log that a line is of. */
static void open_log_hit(struct view *v)
{
	struct output *s = v->state;
	const struct snapshot *snap = app_snapshot(v->app);
	const char *line, *said;
	AUTO_FREE char *text = NULL;
	size_t n;

	line = output_line(s, s->at, &n);
	text = xstrndup(line, n);
	said = after_name(text);
	for (size_t i = 0; said && i < snap->ncontainers; i++) {
		const struct container *k = &snap->containers[i];
		const struct target t = {k->engine, k->id, k->name};

		if (strlen(k->name) == (size_t)(said - 3 - text) &&
			!strncmp(k->name, text, strlen(k->name))) {
			logs_open(app_view(v->app, "logs"), &t, 1);
			app_switch(v->app, "logs"); /* this view is gone */
			return;
		}
	}
	app_say(v->app, ROLE_DIM, "The container of this line no longer exists.");
}

/* "path:12:..." */
static void open_hit(struct view *v)
{
	struct output *s = v->state;
	AUTO_FREE char *text = NULL;
	const char *line;
	char *colon;
	size_t n;

	if (!s->nlines)
		return;
	if (s->logs) {
		open_log_hit(v);
		return;
	}
	line = output_line(s, s->at, &n);
	text = xstrndup(line, n);
	colon = strchr(text, ':');
	if (!colon || colon == text || !isdigit((unsigned char)colon[1])) {
		app_say(v->app, ROLE_DIM, "This line names no file and line.");
		return;
	}
	*colon = '\0';
	app_open_text(v->app, text, strtoul(colon + 1, NULL, 10));
}

static void go_to_line(struct view *v, long to)
{
	struct output *s = v->state;
	long last = (long)s->nlines - 1;

	s->at = to < 0 || last < 0 ? 0 : (size_t)(to < last ? to : last);
	s->moved = true;
	app_dirty(v->app);
}

/* The next line from there on that is sought, or the one before. */
static void find_line(struct view *v, size_t from, int by)
{
	struct output *s = v->state;

	for (size_t i = 0; s->find.set && i < s->nlines; i++) {
		size_t k = (from + (by > 0 ? i : s->nlines - i)) % s->nlines, n;
		const char *text = output_line(s, k, &n);

		if (pattern_match(&s->find, text, n)) {
			go_to_line(v, (long)k);
			return;
		}
	}
}

static bool output_act(struct view *v, enum action a)
{
	struct output *s = v->state;
	int by = action_rows(a, s->rows);

	if (by) {
		go_to_line(v, (long)s->at + by);
		s->moved = a != DO_BOTTOM;
		return true;
	}
	switch (a) {
	case DO_NEXT_HIT: find_line(v, s->at + 1, 1); return true;
	case DO_PREV_HIT: find_line(v, s->at + s->nlines - 1, -1); return true;
	case DO_ENTER: open_hit(v); return true;
	case DO_CANCEL_JOB: task_stop(s->task); return true;
	default: return false;
	}
}

static bool output_filter(struct view *v, const char *text, bool done, struct err *e)
{
	struct output *s = v->state;

	(void)done;
	if (pattern_compile(&s->find, text ? text : "", e))
		return false;
	s->hits = false; /* what is sought by hand may be anywhere */
	find_line(v, s->at, 1);
	return true;
}

static void output_wheel(struct view *v, int lines)
{
	struct output *s = v->state;

	go_to_line(v, (long)s->at + lines);
}

static bool output_copy(struct view *v, struct str *out)
{
	struct output *s = v->state;
	const char *text;
	size_t n;

	if (!s->nlines)
		return false;
	text = output_line(s, s->at, &n);
	str_add(out, text, n);
	return true;
}

static bool output_save(struct view *v, struct str *out)
{
	struct output *s = v->state;

	str_add(out, s->task->text.s, s->task->text.len);
	return out->len > 0;
}

const struct view_ops output_view = {
	.name = "output",
	.context = IN_OUTPUT,
	.state_size = sizeof(struct output),
	.open = output_open,
	.close = output_close,
	.draw = output_draw,
	.act = output_act,
	.wheel = output_wheel,
	.filter = output_filter,
	.filter_word = "find",
	.filter_hint = "a word, or a regular expression; n and N find more",
	.copy = output_copy,
	.save = output_save,
};
