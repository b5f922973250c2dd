/*
 * workspace_hunks.c - shows what would be applied from a workspace to a project, hunk by hunk, and applies the marked
 * hunks.
 *
 * The text is what `berth workspace apply --dry-run --patch` prints: a line "plan ID", for each hunk a line "hunk N of M
 * FATE PATH", behind it lines that begin as those of a diff do, and at the end a line for each file, which begins with
 * what becomes of it.  No content of a file can look like one of these.  What is taken is named by number and plan, so
 * nothing passes but what was seen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>

#include "views/list.h"
#include "views/workspaces/workspaces.h"

#define PLAN_TITLE "apply, plan"
#define PLAN_ID 32
#define OF_NONE SIZE_MAX

struct hunk {
	size_t line; /* its head */
	bool conflict, marked;
};

struct hunks {
	char *from, *into;
	char *branch;      /* of the target, that is made of it; NULL: it goes into the files */
	struct task *task; /* the plan that is shown; NULL: none yet */
	char id[PLAN_ID + 1];
	size_t *line, *owner; /* where each begins, and the hunk that it is of */
	size_t nlines, cap_line, cap_owner;
	struct hunk *hunk;
	size_t nhunks, cap_hunk;
	size_t nsecrets, nunchecked, nruns; /* in files that would pass */
	size_t at, top;
	int rows;
	bool planning;
	struct str problem;
};

/* --- the plan --- */

static char *branch_option(const struct hunks *s)
{
	return s->branch ? xasprintf("--branch=%s", s->branch) : NULL;
}

static void plan_hunks(struct view *v)
{
	struct hunks *s = v->state;
	AUTO_FREE char *into = xasprintf("--into=%s", s->into), *branch = branch_option(s);
	const char *argv[12] = {"berth-files", "workspace", "apply", "--dry-run", "--patch", into};
	size_t n = 6;

	if (s->planning)
		return;
	if (branch)
		argv[n++] = branch;
	argv[n++] = "--";
	argv[n++] = s->from;
	argv[n] = ".";
	s->planning = app_run_task(v, &(struct app_task){PLAN_TITLE, argv, false});
}

static void forget_plan(struct hunks *s)
{
	task_unref(STEAL(s->task));
	s->nlines = s->nhunks = s->nsecrets = s->nunchecked = s->nruns = 0;
	s->id[0] = '\0';
	str_clear(&s->problem);
}

static const char *line_of_plan(const struct hunks *s, size_t i, size_t *n)
{
	const struct str *text = &s->task->text;
	size_t end = i + 1 < s->nlines ? s->line[i + 1] : text->len;

	*n = end - s->line[i];
	if (*n && text->s[end - 1] == '\n')
		--*n;
	return text->s + s->line[i];
}

static bool line_begins_with(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

/* "hunk 3 of 7  conflict src/a.c  it changed there, too" */
static void add_hunk_head(struct hunks *s, const char *line)
{
	const char *fate = strstr(line, "  ");

	s->hunk = mem_grow(s->hunk, &s->cap_hunk, s->nhunks + 1, sizeof *s->hunk);
	s->hunk[s->nhunks++] = (struct hunk){
		.line = s->nlines - 1, .conflict = fate && line_begins_with(fate + 2, "conflict ")};
}

static void read_plan_line(struct hunks *s, const char *line, bool *in_hunk)
{
	if (line_begins_with(line, "hunk ")) {
		add_hunk_head(s, line);
		*in_hunk = true;
	} else if (*in_hunk && !strchr(" +-@\\", *line) &&
		!line_begins_with(line, "the whole file")) {
		*in_hunk = false;
	}
	s->owner[s->nlines - 1] = *in_hunk ? s->nhunks - 1 : OF_NONE;
	s->nsecrets += !*in_hunk && line_begins_with(line, "secret ");
	s->nunchecked += !*in_hunk && line_begins_with(line, "unchecked ");
	s->nruns += !*in_hunk && line_begins_with(line, "runs ");
}

static void read_plan_of_hunks(struct hunks *s)
{
	const struct str *text = &s->task->text;
	bool in_hunk = false;
	size_t at = 0;

	if (line_begins_with(text->s, "plan ")) {
		snprintf(s->id, sizeof s->id, "%.*s", PLAN_ID, text->s + 5);
		at = strcspn(text->s, "\n") + 1;
	}
	while (at < text->len) {
		const char *nl = memchr(text->s + at, '\n', text->len - at);

		s->line = mem_grow(s->line, &s->cap_line, s->nlines + 1, sizeof *s->line);
		s->owner = mem_grow(s->owner, &s->cap_owner, s->nlines + 1, sizeof *s->owner);
		s->line[s->nlines++] = at;
		read_plan_line(s, text->s + at, &in_hunk);
		at = nl ? (size_t)(nl + 1 - text->s) : text->len;
	}
}

/* Marks are of the plan that was shown, and go with it. */
static void show_plan(struct view *v, const struct task *t)
{
	struct hunks *s = v->state;
	const char *said = t->text.s;

	s->planning = false;
	forget_plan(s);
	if (t->cut) {
		str_adds(&s->problem,
			"Too many changes to show: apply single paths, `berth workspace apply`.");
	} else if (t->code || !t->text.len) {
		if (said && line_begins_with(said, "berth: "))
			said += strlen("berth: ");
		str_add(&s->problem, said ? said : "", said ? strcspn(said, "\n") : 0);
	} else {
		s->task = task_ref((struct task *)(uintptr_t)t);
		read_plan_of_hunks(s);
	}
	s->at = s->top = 0;
	app_dirty(v->app);
}

static bool hunks_task(struct view *v, const struct task *t)
{
	if (strcmp(t->title, PLAN_TITLE) != 0) {
		plan_hunks(v); /* something was taken, or was not: what is left? */
		return false;
	}
	show_plan(v, t);
	return true;
}

/* --- drawing --- */

static size_t count_marked_hunks(const struct hunks *s, size_t *conflicts)
{
	size_t n = 0;

	*conflicts = 0;
	for (size_t i = 0; i < s->nhunks; i++) {
		n += s->hunk[i].marked;
		*conflicts += s->hunk[i].marked && s->hunk[i].conflict;
	}
	return n;
}

static void draw_hunks_head(const struct hunks *s, struct canvas *c, struct area a)
{
	size_t conflicts, marked = count_marked_hunks(s, &conflicts);
	AUTO_FREE char *title = xasprintf("%s \u2192 %s%s%s", s->from, s->into,
		s->branch ? ", branch " : "", s->branch ? s->branch : "");
	char text[96] = "";

	if (s->task)
		snprintf(text, sizeof text, "%zu of %zu marked", marked, s->nhunks);
	if (conflicts)
		snprintf(text + strlen(text), sizeof text - strlen(text), ", %zu in conflict",
			conflicts);
	canvas_clip(c, a.x + 1, a.y, a.w / 2, STYLE(STRONG), title);
	canvas_right(c, a.x + a.w / 2, a.y, a.w - a.w / 2 - 1,
		s->planning         ? STYLE(BUSY)
			: conflicts ? STYLE(WARN)
				    : STYLE(DIM),
		s->planning ? "looking\u2026" : text);
}

static enum role role_of_line(const struct hunks *s, size_t i, const char *text)
{
	if (s->owner[i] == OF_NONE)
		return line_begins_with(text, "conflict ") || line_begins_with(text, "blocked ") ||
				line_begins_with(text, "secret ") ||
				line_begins_with(text, "unchecked ")
			? ROLE_WARN
			: ROLE_DIM;
	if (i == s->hunk[s->owner[i]].line)
		return s->hunk[s->owner[i]].conflict ? ROLE_WARN : ROLE_STRONG;
	return *text == '+'    ? ROLE_GOOD
		: *text == '-' ? ROLE_BAD
		: *text == '@' ? ROLE_ACCENT
			       : ROLE_TEXT;
}

static void draw_hunk_line(const struct hunks *s, struct canvas *c, struct area row, size_t i)
{
	char text[1024];
	size_t n;
	const char *line = line_of_plan(s, i, &n);
	const struct hunk *h = s->owner[i] == OF_NONE ? NULL : &s->hunk[s->owner[i]];
	struct style st;

	snprintf(text, sizeof text, "%.*s", (int)(n < sizeof text ? n : sizeof text - 1), line);
	st = (struct style){.role = (uint8_t)role_of_line(s, i, text)};
	if (h && h->line == i)
		canvas_clip(c, row.x + 1, row.y, 4, h->marked ? STYLE(ACCENT) : STYLE(DIM),
			h->marked ? "[x]" : "[ ]");
	else if (h && h->marked)
		canvas_glyph(c, row.x + 2, row.y, STYLE(ACCENT), GLYPH_MARK);
	canvas_clip(c, row.x + 5, row.y, row.w - 6, st, text);
	if (i != s->at)
		return;
	canvas_glyph(c, row.x, row.y, STYLE(ACCENT), GLYPH_EDGE);
	canvas_under(c, row, ROLE_CURSOR);
}

static void hunks_draw(struct view *v, struct canvas *c, struct area a)
{
	struct hunks *s = v->state;

	draw_hunks_head(s, c, a);
	s->rows = a.h - 1;
	if (s->at < s->top)
		s->top = s->at;
	if (s->rows > 0 && s->at >= s->top + (size_t)s->rows)
		s->top = s->at - (size_t)s->rows + 1;
	if (s->problem.len)
		canvas_clip(c, a.x + 2, a.y + 2, a.w - 3, STYLE(WARN), s->problem.s);
	else if (s->task && !s->nhunks)
		canvas_clip(c, a.x + 2, a.y + (s->nlines ? a.h - 1 : 2), a.w - 3, STYLE(DIM),
			"There is nothing to apply.");
	for (int y = 0; y < s->rows && s->top + (size_t)y < s->nlines; y++)
		draw_hunk_line(s, c, (struct area){a.x, a.y + 1 + y, a.w, 1}, s->top + (size_t)y);
}

/* --- choosing --- */

static void go_to_plan_line(struct view *v, long to)
{
	struct hunks *s = v->state;
	long last = (long)s->nlines - 1;

	s->at = to < 0 || last < 0 ? 0 : (size_t)(to < last ? to : last);
	app_dirty(v->app);
}

/* The next head behind the cursor, or the one before it. */
static void go_to_hunk(struct view *v, bool back)
{
	struct hunks *s = v->state;
	size_t found = OF_NONE;

	for (size_t i = 0; i < s->nhunks; i++) {
		if (back && s->hunk[i].line < s->at)
			found = s->hunk[i].line;
		if (!back && found == OF_NONE && s->hunk[i].line > s->at)
			found = s->hunk[i].line;
	}
	if (found != OF_NONE)
		go_to_plan_line(v, (long)found);
}

static void mark_hunk_here(struct view *v)
{
	struct hunks *s = v->state;
	struct hunk *h =
		s->at < s->nlines && s->owner[s->at] != OF_NONE ? &s->hunk[s->owner[s->at]] : NULL;

	if (!h) {
		app_say(v->app, ROLE_DIM, "No hunk is here: n goes to the next one.");
		return;
	}
	h->marked = !h->marked;
	s->at = h->line;
	go_to_hunk(v, false);
	app_dirty(v->app);
}

static void mark_all_hunks(struct view *v, bool on)
{
	struct hunks *s = v->state;

	for (size_t i = 0; i < s->nhunks; i++)
		s->hunk[i].marked = on;
	app_dirty(v->app);
}

/* --- taking --- */

/* "1,3-5" */
static void list_marked_hunks(const struct hunks *s, struct str *out)
{
	for (size_t i = 0, end; i < s->nhunks; i = end) {
		end = i + 1;
		if (!s->hunk[i].marked)
			continue;
		while (end < s->nhunks && s->hunk[end].marked)
			end++;
		str_addf(out, "%s%zu", out->len ? "," : "--hunks=", i + 1);
		if (end > i + 1)
			str_addf(out, "-%zu", end);
	}
}

static void say_effect_of_taking(const struct hunks *s, size_t conflicts, struct str *out)
{
	if (conflicts)
		str_addf(out,
			"%zu in conflict: the target is not what the workspace began with there, and its "
			"lines are replaced.\n",
			conflicts);
	if (s->nsecrets)
		str_addf(out, "%zu likely secret%s in these files, listed at the end.\n",
			s->nsecrets, s->nsecrets == 1 ? "" : "s");
	if (s->nunchecked)
		str_addf(out, "%zu file%s only searched for secrets in part.\n", s->nunchecked,
			s->nunchecked == 1 ? " was" : "s were");
	if (s->nruns)
		str_addf(out, "%zu file%s by which a tool runs what is in %s, listed at the end.\n",
			s->nruns, s->nruns == 1 ? "" : "s", s->nruns == 1 ? "it" : "them");
	str_adds(out, "They are written together or not at all, and only as they are shown here.");
	if (s->branch)
		str_adds(out,
			"\nAs a commit on HEAD; files, index and other branches stay as they are.");
}

static void confirm_taking(struct view *v, size_t marked, size_t conflicts)
{
	struct hunks *s = v->state;
	AUTO_FREE char *title =
		xasprintf("Apply %zu hunk%s to %s%s%s", marked, marked == 1 ? "" : "s", s->into,
			s->branch ? " as the branch " : "", s->branch ? s->branch : "");
	AUTO_FREE char *where = xasprintf("from %s", s->from);
	AUTO_FREE char *number = xasprintf("%zu", conflicts);
	AUTO_FREE char *into = xasprintf("--into=%s", s->into),
		       *plan = xasprintf("--plan=%s", s->id), *branch = branch_option(s);
	AUTO_STR struct str list = STR_INIT, effect = STR_INIT;
	char **item = xcalloc(marked + 1, sizeof *item);
	const char *argv[12] = {"berth-files", "workspace", "apply", into, plan};
	size_t n = 0, at = 5;

	for (size_t i = 0; i < s->nhunks; i++)
		if (s->hunk[i].marked) {
			size_t length;
			const char *line = line_of_plan(s, s->hunk[i].line, &length);

			item[n++] = xstrndup(line, length);
		}
	list_marked_hunks(s, &list);
	say_effect_of_taking(s, conflicts, &effect);
	argv[at++] = list.s;
	if (conflicts)
		argv[at++] = "--force";
	if (branch)
		argv[at++] = branch;
	argv[at++] = "--";
	argv[at++] = s->from;
	argv[at] = ".";
	app_confirm_task(v,
		&(struct dialog_ask){.title = title,
			.where = where,
			.effect = effect.s,
			.nitems = n,
			.items = (const char *const *)item,
			.verb = "Apply",
			.word = conflicts ? number : NULL,
			.danger = conflicts > 0},
		&(struct app_task){"apply", argv, false});
	while (n)
		free(item[--n]);
	free(item);
}

static void take_marked_hunks(struct view *v)
{
	struct hunks *s = v->state;
	size_t conflicts, marked = count_marked_hunks(s, &conflicts);

	if (s->planning || !s->task)
		app_say(v->app, ROLE_DIM, "The changes are not known yet.");
	else if (!marked)
		app_say(v->app, ROLE_DIM, "Mark hunks first: Space, or * for all.");
	else
		confirm_taking(v, marked, conflicts);
}

static void ask_branch(struct view *v)
{
	struct hunks *s = v->state;

	if (s->planning)
		app_say(v->app, ROLE_DIM, "The changes are not known yet.");
	else
		app_ask(v->app, "apply as branch", s->branch ? s->branch : "",
			"name of the new branch; empty: into the files");
}

static bool hunks_typed(struct view *v, const char *text, bool done, struct err *e)
{
	struct hunks *s = v->state;

	(void)e;
	if (!text || !done)
		return true;
	free(s->branch);
	s->branch = *text ? xstrdup(text) : NULL;
	plan_hunks(v); /* HEAD may hold something else than the files */
	return true;
}

static bool hunks_act(struct view *v, enum action a)
{
	struct hunks *s = v->state;
	int by = action_rows(a, s->rows);

	if (by) {
		go_to_plan_line(v, (long)s->at + by);
		return true;
	}
	switch (a) {
	case DO_NEXT_HIT: go_to_hunk(v, false); return true;
	case DO_PREV_HIT: go_to_hunk(v, true); return true;
	case DO_ENTER:
	case DO_MARK: mark_hunk_here(v); return true;
	case DO_MARK_ALL: mark_all_hunks(v, true); return true;
	case DO_UNMARK: mark_all_hunks(v, false); return true;
	case DO_TAKE: take_marked_hunks(v); return true;
	case DO_ON_BRANCH: ask_branch(v); return true;
	case DO_REFRESH: plan_hunks(v); return true;
	default: return false;
	}
}

/* --- the page --- */

static void hunks_open(struct view *v)
{
	struct hunks *s = v->state;
	const struct hunks_seed *seed = v->seed;

	s->from = xstrdup(seed->from);
	s->into = xstrdup(seed->into);
	str_init(&s->problem);
	plan_hunks(v);
}

static void hunks_close(struct view *v)
{
	struct hunks *s = v->state;

	forget_plan(s);
	str_release(&s->problem);
	free(s->from);
	free(s->into);
	free(s->branch);
	free(s->line);
	free(s->owner);
	free(s->hunk);
}

static void hunks_click(struct view *v, int x, int y, bool twice)
{
	struct hunks *s = v->state;

	if (y < 1)
		return;
	go_to_plan_line(v, (long)s->top + y - 1);
	if (twice || x < 5)
		mark_hunk_here(v);
}

static void hunks_wheel(struct view *v, int lines)
{
	struct hunks *s = v->state;

	go_to_plan_line(v, (long)s->at + lines);
}

static bool hunks_copy(struct view *v, struct str *out)
{
	struct hunks *s = v->state;
	const char *line;
	size_t n;

	if (!s->nlines)
		return false;
	line = line_of_plan(s, s->at, &n);
	str_add(out, line, n);
	return true;
}

static bool hunks_save(struct view *v, struct str *out)
{
	struct hunks *s = v->state;

	if (s->task)
		str_add(out, s->task->text.s, s->task->text.len);
	return out->len > 0;
}

const struct view_ops hunks_view = {
	.name = "hunks",
	.context = IN_HUNKS,
	.state_size = sizeof(struct hunks),
	.open = hunks_open,
	.close = hunks_close,
	.draw = hunks_draw,
	.act = hunks_act,
	.task = hunks_task,
	.typed = hunks_typed,
	.click = hunks_click,
	.wheel = hunks_wheel,
	.copy = hunks_copy,
	.save = hunks_save,
};
