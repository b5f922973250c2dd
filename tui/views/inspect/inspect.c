/* inspect.c - shows the engine's JSON of one container: folded, searched, copied. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>

#include "app/app.h"
#include "views/inspect/jsontree.h"
#include "views/list.h"
#include "views/pattern.h"
#include "views/wrap.h"

#define OPEN_DEPTH 2
#define KEY_WIDTH_MAX 28
#define SIBLINGS_LOOKED_AT 256

struct inspect {
	char *engine, *id, *name;
	uint64_t asked; /* id of the question */
	char problem[ERR_MSG_MAX];
	bool answered;
	struct jsontree tree;
	size_t row, top; /* cursor and first row shown, in tree.row */
	int rows;        /* shown at the last drawing */
	struct pattern find;
	uint32_t copied; /* node copied last: once more copies its path */
	bool path_next;
};

static void ask_for_json(struct view *v)
{
	struct inspect *s = v->state;
	struct command *c = command_new(CMD_INSPECT);

	command_target(c, s->engine, s->id, s->name);
	s->asked = app_send(v->app, c);
}

static void inspect_open(struct view *v)
{
	struct inspect *s = v->state;
	const struct target *t = v->seed;

	jsontree_init(&s->tree);
	s->engine = xstrdup(t->engine);
	s->id = xstrdup(t->id);
	s->name = xstrdup(t->name);
	s->copied = UINT32_MAX;
	ask_for_json(v);
}

static void inspect_close(struct view *v)
{
	struct inspect *s = v->state;

	jsontree_release(&s->tree);
	pattern_release(&s->find);
	free(s->engine);
	free(s->id);
	free(s->name);
}

static void inspect_event(struct view *v, const struct event *e)
{
	struct inspect *s = v->state;

	if (e->id != s->asked)
		return;
	if (e->kind == EV_INSPECT && e->err.kind == ERR_NONE) {
		jsontree_read(&s->tree, e->bytes, e->nbytes, OPEN_DEPTH);
		s->answered = true;
		s->problem[0] = '\0';
		if (s->row >= s->tree.nrows)
			s->row = 0;
	} else if (e->err.kind) {
		snprintf(s->problem, sizeof s->problem, "%s", e->err.msg);
	}
	app_dirty(v->app);
}

static uint32_t current_node(const struct inspect *s)
{
	return s->tree.nrows ? s->tree.row[s->row] : 0;
}

static void go_to_row(struct inspect *s, size_t row)
{
	size_t page = s->rows > 0 ? (size_t)s->rows : 1;

	if (!s->tree.nrows)
		return;
	s->row = row < s->tree.nrows ? row : s->tree.nrows - 1;
	if (s->row < s->top)
		s->top = s->row;
	if (s->row >= s->top + page)
		s->top = s->row - page + 1;
}

static void move_cursor(struct inspect *s, long rows)
{
	go_to_row(s, rows < 0 && s->row < (size_t)-rows ? 0 : s->row + (size_t)rows);
}

/* Fold or unfold under the cursor.  Folding what cannot be folded goes to its parent. */
static void fold_node(struct inspect *s, bool open)
{
	uint32_t at = current_node(s);
	const struct json_node *n = &s->tree.node[at];

	if (n->kind <= JSON_LIST && n->open != open && n->children)
		jsontree_fold(&s->tree, at, open);
	else if (!open)
		go_to_row(s, jsontree_row_of(&s->tree, n->parent));
}

static bool has_hit(const struct inspect *s, uint32_t i)
{
	const struct jsontree *t = &s->tree;
	size_t start, end;

	return pattern_next(
		       &s->find, t->text + t->node[i].key, t->node[i].key_len, 0, &start, &end) ||
		pattern_next(&s->find, t->text + t->node[i].value, jsontree_shown_len(t, i), 0,
			&start, &end);
}

/* From the node after (before) the cursor around to it again. */
static void next_json_hit(struct view *v, bool forward, bool here)
{
	struct inspect *s = v->state;
	size_t n = s->tree.count, at = current_node(s);

	if (!s->find.set || !n)
		return;
	for (size_t i = here ? 0 : 1; i <= n; i++) {
		uint32_t node = (uint32_t)((forward ? at + i : at + n - i % n) % n);

		if (has_hit(s, node)) {
			go_to_row(s, jsontree_reveal(&s->tree, node));
			return;
		}
	}
	app_say(v->app, ROLE_WARN, "Nothing here has `%s`.", s->find.text);
}

/* Drawing. */

static int key_width(const struct jsontree *t, uint32_t i)
{
	const struct json_node *n = &t->node[i];

	if (i && t->node[n->parent].kind == JSON_LIST) {
		char place[16];

		return snprintf(place, sizeof place, "%u", n->place);
	}
	return text_width(t->text + n->key, n->key_len);
}

/* Values of one object begin in one column. */
static int siblings_width(const struct jsontree *t, uint32_t i)
{
	uint32_t up = t->node[i].parent, at = up + 1;
	int w = 0;

	if (!i)
		return 0;
	for (int n = 0; at < t->node[up].end && n < SIBLINGS_LOOKED_AT; n++) {
		int k = key_width(t, at);

		/* Folded or not, objects have no value to line up. */
		if (t->node[at].kind > JSON_LIST || !t->node[at].children)
			w = k > w ? k : w;
		at = t->node[at].end;
	}
	return w < KEY_WIDTH_MAX ? w : KEY_WIDTH_MAX;
}

static int draw_hits(const struct inspect *s, struct canvas *c, int x, int y, int w,
	struct style st, const char *text, size_t len)
{
	size_t at = 0, start, end;
	int used = 0;

	while (at < len && used < w) {
		struct style now = st;
		size_t stop = len;

		if (pattern_next(&s->find, text, len, at, &start, &end)) {
			stop = start > at ? start : end;
			if (start == at)
				now.role = ROLE_HIT;
		}
		used += canvas_textn(c, x + used, y, w - used, now, text + at, stop - at);
		at = stop;
	}
	return used;
}

static int draw_scalar(const struct inspect *s, struct canvas *c, int x, int y, int w, uint32_t i)
{
	const struct jsontree *t = &s->tree;
	const struct json_node *n = &t->node[i];
	uint32_t shown = jsontree_shown_len(t, i);
	const char *value = t->text + n->value;
	struct style st = STYLE(TEXT);
	int used = 0;

	if (n->kind == JSON_NUMBER)
		st = STYLE(ACCENT);
	if (n->kind == JSON_WORD)
		st = n->value_len == 4 && !memcmp(value, "true", 4) ? STYLE(GOOD) : STYLE(DIM);
	if (n->kind != JSON_STRING)
		return draw_hits(s, c, x, y, w, st, value, n->value_len);
	used += canvas_text(c, x, y, w, STYLE(DIM), "\"");
	used += draw_hits(s, c, x + used, y, w - used, st, value, shown);
	if (shown < n->value_len)
		used += canvas_text(c, x + used, y, w - used, STYLE(DIM), "******");
	if (used < w)
		used += canvas_text(c, x + used, y, w - used, STYLE(DIM), "\"");
	else
		canvas_glyph(c, x + w - 1, y, STYLE(ACCENT), GLYPH_ELLIPSIS);
	return used;
}

static void draw_summary(const struct json_node *n, struct canvas *c, int x, int y, int w)
{
	bool object = n->kind == JSON_OBJECT;

	if (!n->children)
		canvas_text(c, x, y, w, STYLE(DIM), object ? "{}" : "[]");
	else
		canvas_printf(c, x, y, w, STYLE(DIM), object ? "{%u}" : "[%u]", n->children);
}

static void draw_json_row(
	const struct inspect *s, struct canvas *c, struct area a, int y, size_t row)
{
	const struct jsontree *t = &s->tree;
	uint32_t i = t->row[row];
	const struct json_node *n = &t->node[i];
	int x = a.x + 1 + 2 * n->depth, stop = a.x + a.w, key = siblings_width(t, i);
	bool branch = n->kind <= JSON_LIST && n->children;

	if (x > a.x + a.w / 2)
		x = a.x + a.w / 2;
	if (branch)
		canvas_glyph(c, x, y, STYLE(DIM), n->open ? GLYPH_OPEN : GLYPH_CLOSED);
	x += 2;
	if (!i)
		x += canvas_clip(c, x, y, stop - x, STYLE(STRONG), s->name) + 1;
	else if (t->node[n->parent].kind == JSON_LIST)
		canvas_printf(c, x, y, stop - x, STYLE(DIM), "%*u", branch ? 0 : key, n->place);
	else
		draw_hits(s, c, x, y, stop - x, branch ? STYLE(STRONG) : STYLE(COLUMN),
			t->text + n->key, n->key_len);
	if (i)
		x += (branch || key_width(t, i) > key ? key_width(t, i) : key) + 2;
	if (x >= stop)
		return;
	if (n->kind <= JSON_LIST)
		draw_summary(n, c, x, y, stop - x);
	else
		draw_scalar(s, c, x, y, stop - x, i);
}

/* The row under the cursor in full: its path, and a value too long for its row. */
static int draw_foot(const struct inspect *s, struct canvas *c, struct area a)
{
	const struct jsontree *t = &s->tree;
	struct str path AUTO_STR = STR_INIT, value AUTO_STR = STR_INIT;
	int rows = 0, most = a.h > 16 ? 4 : 2;

	jsontree_path(t, current_node(s), &path);
	if (t->node[current_node(s)].kind == JSON_STRING)
		jsontree_value(t, current_node(s), &value);
	if (value.len && text_width(value.s, value.len) > a.w / 2)
		rows = (int)wrap_rows(value.s, value.len, a.w - 4);
	rows = rows < most ? rows : most;
	canvas_hline(c, a.x, a.y + a.h - rows - 1, a.w, STYLE(RULE));
	canvas_text(c, a.x + 1, a.y + a.h - rows - 1, a.w - 2, STYLE(RULE), " ");
	str_addc(&path, ' ');
	canvas_clip(c, a.x + 2, a.y + a.h - rows - 1, a.w - 4, STYLE(DIM), path.s);
	for (size_t at = 0, row = 0; row < (size_t)rows; row++) {
		size_t next = wrap_next(value.s, value.len, at, a.w - 4);

		canvas_textn(c, a.x + 2, a.y + a.h - rows + (int)row, a.w - 4, STYLE(TEXT),
			value.s + at, next - at);
		if (row + 1 == (size_t)rows && next < value.len)
			canvas_glyph(
				c, a.x + a.w - 2, a.y + a.h - 1, STYLE(ACCENT), GLYPH_ELLIPSIS);
		at = next;
	}
	return rows + 1;
}

static void inspect_draw(struct view *v, struct canvas *c, struct area a)
{
	struct inspect *s = v->state;

	if (!s->answered) {
		canvas_clip(c, a.x + 2, a.y + 1, a.w - 2, *s->problem ? STYLE(BAD) : STYLE(DIM),
			*s->problem ? s->problem : "Asking the engine…");
		return;
	}
	if (s->tree.problem && a.h > 2)
		canvas_printf(c, a.x + 1, a.y + --a.h, a.w - 1, STYLE(WARN),
			"The engine's answer could be read up to byte %u: %s.", s->tree.problem_at,
			s->tree.problem);
	if (!s->tree.nrows)
		return;
	if (a.h > 6)
		a.h -= draw_foot(s, c, a);
	s->rows = a.h;
	go_to_row(s, s->row);
	if (s->top + (size_t)a.h > s->tree.nrows)
		s->top = s->tree.nrows > (size_t)a.h ? s->tree.nrows - (size_t)a.h : 0;
	for (int y = 0; y < a.h && s->top + (size_t)y < s->tree.nrows; y++) {
		draw_json_row(s, c, a, a.y + y, s->top + (size_t)y);
		if (s->top + (size_t)y == s->row) {
			canvas_glyph(c, a.x, a.y + y, STYLE(ACCENT), GLYPH_EDGE);
			canvas_under(c, (struct area){a.x, a.y + y, a.w, 1}, ROLE_CURSOR);
		}
	}
}

static bool inspect_act(struct view *v, enum action a)
{
	struct inspect *s = v->state;
	int by = action_rows(a, s->rows);

	if (a == DO_REFRESH) {
		ask_for_json(v);
		return true;
	}
	if (!s->tree.nrows)
		return false;
	if (by) {
		move_cursor(s, by);
		app_dirty(v->app);
		return true;
	}
	switch (a) {
	case DO_LEFT: fold_node(s, false); break;
	case DO_RIGHT: fold_node(s, true); break;
	case DO_ENTER: fold_node(s, !s->tree.node[current_node(s)].open); break;
	case DO_NEXT_PANE: jsontree_fold_depth(&s->tree, JSON_DEPTH_MAX); break;
	case DO_PREV_PANE: jsontree_fold_depth(&s->tree, OPEN_DEPTH); break;
	case DO_NEXT_HIT: next_json_hit(v, true, false); break;
	case DO_PREV_HIT: next_json_hit(v, false, false); break;
	default: return false;
	}
	go_to_row(s, s->row);
	app_dirty(v->app);
	return true;
}

static bool inspect_filter(struct view *v, const char *text, bool done, struct err *e)
{
	struct inspect *s = v->state;

	if (!text) {
		pattern_release(&s->find);
		return true;
	}
	if (pattern_compile(&s->find, text, e))
		return false;
	s->find.inverse = false;
	if (done)
		next_json_hit(v, true, true);
	return true;
}

static void inspect_click(struct view *v, int x, int y, bool twice)
{
	struct inspect *s = v->state;

	(void)x;
	if (y < 0 || y >= s->rows || s->top + (size_t)y >= s->tree.nrows)
		return;
	go_to_row(s, s->top + (size_t)y);
	if (twice)
		inspect_act(v, DO_ENTER);
	app_dirty(v->app);
}

static void inspect_wheel(struct view *v, int lines)
{
	move_cursor(v->state, lines);
	app_dirty(v->app);
}

static void inspect_status(struct view *v, char *buf, size_t cap)
{
	struct inspect *s = v->state;
	char name[64];

	if (s->find.set)
		snprintf(buf, cap, "%s  find: %s", text_clean(name, sizeof name, s->name),
			s->find.text);
	else
		snprintf(buf, cap, "%s", text_clean(name, sizeof name, s->name));
}

/* The value under the cursor; once more, the path to it. */
static bool inspect_copy(struct view *v, struct str *out)
{
	struct inspect *s = v->state;
	uint32_t at = current_node(s);

	if (!s->tree.nrows)
		return false;
	s->path_next = s->copied == at && !s->path_next;
	s->copied = at;
	if (!s->path_next && s->tree.node[at].kind > JSON_LIST)
		jsontree_value(&s->tree, at, out);
	else if (!s->path_next)
		jsontree_print(&s->tree, at, out);
	else
		jsontree_path(&s->tree, at, out);
	return true;
}

static bool inspect_save(struct view *v, struct str *out)
{
	struct inspect *s = v->state;

	if (s->tree.count)
		jsontree_print(&s->tree, 0, out);
	return s->tree.count > 0;
}

const struct view_ops inspect_view = {
	.name = "inspect",
	.context = IN_INSPECT,
	.state_size = sizeof(struct inspect),
	.open = inspect_open,
	.close = inspect_close,
	.draw = inspect_draw,
	.act = inspect_act,
	.event = inspect_event,
	.click = inspect_click,
	.wheel = inspect_wheel,
	.filter = inspect_filter,
	.filter_word = "search",
	.status = inspect_status,
	.copy = inspect_copy,
	.save = inspect_save,
};
