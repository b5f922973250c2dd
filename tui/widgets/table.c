/* table.c - keeps the rows of a table: order, filter, folds, marks, cursor. */
#include "table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/check.h>
#include <berth/config.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/regex.h>
#include <berth/text.h>

#include "table_draw.h"

#define FOLDS_KEPT 64
#define FOLD_ID_MAX 160

static void note_usual(struct table *t)
{
	t->usual.chosen = t->chosen;
	t->usual.sort = t->sort;
	t->usual.inverted = t->inverted;
}

void table_init(
	struct table *t, const struct table_column *columns, size_t ncolumns, const char *sort)
{
	CHECK(ncolumns > 0 && ncolumns <= TABLE_COLUMNS_MAX);
	*t = (struct table){.columns = columns, .ncolumns = ncolumns, .sort = ncolumns};
	str_init(&t->scratch);
	for (size_t i = 0; i < ncolumns; i++) {
		if (!columns[i].optional)
			t->chosen |= (uint64_t)1 << i;
		if (sort && strcmp(columns[i].name, sort) == 0)
			t->sort = i;
	}
	if (t->sort < ncolumns)
		t->inverted = columns[t->sort].descending;
	note_usual(t);
}

/* The column of that name; ncolumns and an error for none. */
static size_t column_named(const struct table *t, const char *name, struct err *e)
{
	const char *known[TABLE_COLUMNS_MAX + 1] = {NULL}, *near;
	char shown[64];

	for (size_t i = 0; i < t->ncolumns; i++) {
		known[i] = t->columns[i].name;
		if (strcmp(known[i], name) == 0)
			return i;
	}
	near = nearest_word(name, known);
	text_clean(shown, sizeof shown, name);
	if (near)
		err_set(e, ERR_CONFIG, "there is no column \"%s\"; did you mean \"%s\"?", shown,
			near);
	else
		err_set(e, ERR_CONFIG, "there is no column \"%s\".", shown);
	return t->ncolumns;
}

static int choose_columns(
	struct table *t, const char *const *columns, size_t n, const char *sort, struct err *e)
{
	struct err wrong = ERR_INIT;
	uint64_t chosen = 0;
	bool inverted = sort && sort[0] == '-';
	size_t by = t->ncolumns;

	/* From the last to the first: the first error is the one that is told. */
	if (sort)
		by = column_named(t, sort + inverted, &wrong);
	if (by < t->ncolumns) {
		t->sort = by;
		t->inverted = t->columns[by].descending != inverted;
	}
	for (size_t i = n; i-- > 0;) {
		size_t k = column_named(t, columns[i], &wrong);

		if (k < t->ncolumns)
			chosen |= (uint64_t)1 << k;
	}
	if (chosen)
		t->chosen = chosen | 1; /* a row without its name is nobody's */
	return wrong.kind == ERR_NONE ? 0 : err_copy(e, &wrong);
}

int table_set(
	struct table *t, const char *const *columns, size_t n, const char *sort, struct err *e)
{
	int rc = choose_columns(t, columns, n, sort, e);

	note_usual(t);
	return rc;
}

static void keep_columns(const struct table *t, struct jsonw *j)
{
	jsonw_array(j, "columns");
	for (size_t i = 0; i < t->ncolumns; i++)
		if (t->chosen & (uint64_t)1 << i)
			jsonw_text(j, NULL, t->columns[i].name);
	jsonw_end(j);
}

static void keep_folds(const struct table *t, struct jsonw *j)
{
	size_t n = 0;

	jsonw_array(j, "folded");
	for (size_t i = 0; i < t->folds.cap && n < FOLDS_KEPT; i++) {
		const struct idset_entry *f = &t->folds.slots[i];

		if (!f->engine || *f->engine || strlen(f->id) > FOLD_ID_MAX)
			continue;
		jsonw_text(j, NULL, f->id);
		n++;
	}
	jsonw_end(j);
}

void table_keep(const struct table *t, struct jsonw *j)
{
	char sort[80];

	if (t->sort < t->ncolumns &&
		(t->sort != t->usual.sort || t->inverted != t->usual.inverted)) {
		const struct table_column *by = &t->columns[t->sort];

		snprintf(sort, sizeof sort, "%s%s", t->inverted != by->descending ? "-" : "",
			by->name);
		jsonw_text(j, "sort", sort);
	}
	if (t->chosen != t->usual.chosen)
		keep_columns(t, j);
	if (t->folds.n)
		keep_folds(t, j);
}

/* The texts of a list; how many, at most `most`. */
static size_t texts_of(const struct node *list, const char **ret, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; list && list->kind == NODE_LIST && i < list->n && n < most; i++)
		if (list->child[i]->kind == NODE_SCALAR)
			ret[n++] = list->child[i]->value;
	return n;
}

void table_recall(struct table *t, const struct node *kept)
{
	const char *text[TABLE_COLUMNS_MAX];
	const struct node *sort = node_get(kept, "sort");
	struct err unknown = ERR_INIT;
	size_t n = texts_of(node_get(kept, "columns"), text, COUNT(text));

	/* A column that this version does not have any more is no loss. */
	choose_columns(
		t, text, n, sort && sort->kind == NODE_SCALAR ? sort->value : NULL, &unknown);
	n = texts_of(node_get(kept, "folded"), text, COUNT(text));
	for (size_t i = 0; i < n; i++)
		if (strlen(text[i]) <= FOLD_ID_MAX)
			idset_add(&t->folds, "", text[i]);
}

void table_release(struct table *t)
{
	regex_free(t->regex);
	where_free(t->where);
	free(t->filter);
	free(t->rows);
	free(t->shown);
	free(t->tree);
	free(t->cursor_engine);
	free(t->cursor_id);
	free(t->anchor_engine);
	free(t->anchor_id);
	idset_release(&t->marks);
	idset_release(&t->folds);
	str_release(&t->scratch);
	*t = (struct table){0};
}

void table_begin(struct table *t)
{
	t->nrows = t->nshown = 0;
}

void table_add(struct table *t, struct table_row row)
{
	t->rows = mem_grow(t->rows, &t->rows_cap, t->nrows + 1, sizeof *t->rows);
	if (!row.engine)
		row.engine = "";
	if (row.depth > TABLE_DEPTH_MAX)
		row.depth = TABLE_DEPTH_MAX;
	t->rows[t->nrows++] = row;
}

/* The texts of a row: with blanks between them an expression can reach over several, with line ends
 * ^ and $ mean the beginning and end of each. */
static bool texts_match(struct table *t, const struct table_row *row, char between)
{
	char cell[TABLE_CELL_MAX];

	str_clear(&t->scratch);
	for (size_t i = 0; i < t->ncolumns; i++) {
		struct style st = {0};

		if (t->columns[i].right || !t->columns[i].text)
			continue;
		cell[0] = '\0';
		t->columns[i].text(row, cell, sizeof cell, &st);
		str_adds(&t->scratch, cell);
		str_addc(&t->scratch, between);
	}
	return regex_find(t->regex, t->scratch.s, t->scratch.len, 0, NULL, NULL) > 0;
}

static bool filter_matches(struct table *t, const struct table_row *row)
{
	struct where_row r = {0};
	bool found;

	if (t->where)
		return t->row_of(row, &r) && where_holds(t->where, &r);
	found = texts_match(t, row, ' ') || (strpbrk(t->filter, "^$") && texts_match(t, row, '\n'));

	return found != t->filter_inverse;
}

/* From the last row up, so that a head knows whether anything below it matches. */
static void match_rows(struct table *t)
{
	bool any[TABLE_DEPTH_MAX + 1] = {false};

	t->nitems = t->nmatching = 0;
	for (size_t i = t->nrows; i-- > 0;) {
		struct table_row *r = &t->rows[i];
		bool below = false;

		for (int d = r->depth + 1; d <= TABLE_DEPTH_MAX; d++) {
			below |= any[d];
			any[d] = false;
		}
		r->marked = !r->group && idset_touch(&t->marks, r->engine, r->id);
		r->folded = r->group && idset_has(&t->folds, r->engine, r->id);
		r->matches = !t->filter || (r->group ? below : filter_matches(t, r));
		any[r->depth] |= r->matches || below;
		if (!r->group) {
			t->nitems++;
			t->nmatching += r->matches;
		}
	}
}

static int compare_rows(const void *pa, const void *pb, void *ctx)
{
	const struct table *t = ctx;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	if (t->sort < t->ncolumns) {
		int order = t->columns[t->sort].compare(&t->rows[a], &t->rows[b]);

		if (order)
			return t->inverted ? -order : order;
		return (a > b) - (a < b);
	}
	return t->inverted ? (a < b) - (a > b) : (a > b) - (a < b);
}

/* First row at or after `i` that is not deeper than `depth`. */
static size_t subtree_end(const struct table *t, size_t i, size_t to, uint8_t depth)
{
	while (i < to && t->rows[i].depth > depth)
		i++;
	return i;
}

/* Show the rows [from, to), all below one parent: siblings sorted, each followed by its own.
 * t->tree is used as a stack of sibling lists, `used` is its height. */
static void show_range(struct table *t, size_t from, size_t to, size_t used)
{
	size_t n = 0;

	for (size_t i = from; i < to; i = subtree_end(t, i + 1, to, t->rows[i].depth)) {
		t->tree = mem_grow(t->tree, &t->tree_cap, used + n + 1, sizeof *t->tree);
		t->tree[used + n++] = (uint32_t)i;
	}
	if (n > 1 && (t->sort < t->ncolumns || t->inverted))
		qsort_r(t->tree + used, n, sizeof *t->tree, compare_rows, t);
	for (size_t s = 0; s < n; s++) {
		size_t i = t->tree[used + s];
		const struct table_row *r = &t->rows[i];

		if (r->matches)
			t->shown[t->nshown++] = (uint32_t)i;
		if (!r->folded)
			show_range(t, i + 1, subtree_end(t, i + 1, to, r->depth), used + n);
	}
}

static void remember_row(char **engine, char **id, const struct table_row *r)
{
	if (*id && strcmp(*id, r->id) == 0 && strcmp(*engine, r->engine) == 0)
		return;
	free(*engine);
	free(*id);
	*engine = xstrdup(r->engine);
	*id = xstrdup(r->id);
}

static bool is_row(const struct table_row *r, const char *engine, const char *id)
{
	return id && strcmp(r->id, id) == 0 && strcmp(r->engine, engine) == 0;
}

/* Which shown row the cursor is on now; a row that is gone leaves it where it was. */
static void find_cursor(struct table *t)
{
	for (size_t i = 0; i < t->nshown; i++) {
		if (is_row(table_shown(t, i), t->cursor_engine, t->cursor_id)) {
			t->cursor = i;
			t->awaited = false;
			return;
		}
	}
	if (t->nshown && t->cursor >= t->nshown)
		t->cursor = t->nshown - 1;
	if (t->nshown && !t->awaited)
		remember_row(&t->cursor_engine, &t->cursor_id, table_shown(t, t->cursor));
}

/* Order, filter and folds anew over the rows there are. */
static void arrange_rows(struct table *t)
{
	t->shown = mem_grow(t->shown, &t->shown_cap, t->nrows, sizeof *t->shown);
	t->nshown = 0;
	match_rows(t);
	show_range(t, 0, t->nrows, 0);
	find_cursor(t);
}

void table_end(struct table *t)
{
	idset_unsee(&t->marks);
	arrange_rows(t);
	/* A container that is gone never comes back under the same id. */
	idset_sweep(&t->marks);
}

const struct table_row *table_current(const struct table *t)
{
	return t->cursor < t->nshown ? table_shown(t, t->cursor) : NULL;
}

static void go_to(struct table *t, size_t at)
{
	if (t->nshown == 0)
		return;
	t->cursor = at < t->nshown ? at : t->nshown - 1;
	t->awaited = false;
	t->moved = true;
	remember_row(&t->cursor_engine, &t->cursor_id, table_shown(t, t->cursor));
}

static void move_table_cursor(struct table *t, long by)
{
	long at = (long)t->cursor + by;

	go_to(t, at < 0 ? 0 : (size_t)at);
}

void table_go(struct table *t, const char *engine, const char *id)
{
	remember_row(
		&t->cursor_engine, &t->cursor_id, &(struct table_row){.engine = engine, .id = id});
	t->awaited = t->moved = true;
	find_cursor(t);
}

void table_wheel(struct table *t, int lines)
{
	move_table_cursor(t, lines);
}

bool table_fold(struct table *t)
{
	const struct table_row *r = table_current(t);

	if (!r || !r->group)
		return false;
	if (r->folded)
		idset_remove(&t->folds, r->engine, r->id);
	else
		idset_add(&t->folds, r->engine, r->id);
	arrange_rows(t);
	return true;
}

static void set_mark(struct table *t, struct table_row *r, bool on)
{
	if (r->group || r->marked == on)
		return;
	r->marked = on;
	if (on)
		idset_add(&t->marks, r->engine, r->id);
	else
		idset_remove(&t->marks, r->engine, r->id);
}

/* A head marks everything shown below it, or unmarks it when all of it is marked. */
static void mark_current(struct table *t)
{
	struct table_row *r;
	size_t end;
	bool all = true;

	if (t->cursor >= t->nshown)
		return;
	r = &t->rows[t->shown[t->cursor]];
	remember_row(&t->anchor_engine, &t->anchor_id, r);
	if (!r->group) {
		set_mark(t, r, !r->marked);
		move_table_cursor(t, 1);
		return;
	}
	for (end = t->cursor + 1; end < t->nshown && table_shown(t, end)->depth > r->depth; end++)
		all &= table_shown(t, end)->marked || table_shown(t, end)->group;
	for (size_t i = t->cursor + 1; i < end; i++)
		set_mark(t, &t->rows[t->shown[i]], !all);
}

static void mark_range(struct table *t)
{
	size_t a = t->cursor, b = t->cursor;

	for (size_t i = 0; i < t->nshown; i++)
		if (is_row(table_shown(t, i), t->anchor_engine, t->anchor_id))
			a = i;
	if (a > b) {
		size_t swap = a;

		a = b;
		b = swap;
	}
	for (size_t i = a; i <= b && i < t->nshown; i++)
		set_mark(t, &t->rows[t->shown[i]], true);
	if (t->nshown)
		remember_row(&t->anchor_engine, &t->anchor_id, table_shown(t, t->cursor));
}

void table_unmark_all(struct table *t)
{
	idset_clear(&t->marks);
	for (size_t i = 0; i < t->nrows; i++)
		t->rows[i].marked = false;
}

size_t table_marked(const struct table *t, size_t *ret_hidden)
{
	size_t all = 0, shown = 0;

	for (size_t i = 0; i < t->nrows; i++)
		all += t->rows[i].marked;
	for (size_t i = 0; i < t->nshown; i++)
		shown += table_shown(t, i)->marked;
	if (ret_hidden)
		*ret_hidden = all - shown;
	return all;
}

const struct table_row *table_next_marked(const struct table *t, size_t *at)
{
	for (; *at < t->nshown; ++*at)
		if (table_shown(t, *at)->marked)
			return table_shown(t, (*at)++);
	return NULL;
}

/* In another order now: the cursor goes with its row only where the person put it. */
static void reorder_rows(struct table *t)
{
	arrange_rows(t);
	if (t->moved || !t->nshown)
		return;
	go_to(t, 0);
	t->moved = false;
}

static void sort_by(struct table *t, size_t column)
{
	t->sort = column;
	t->inverted = t->columns[column].descending;
	reorder_rows(t);
}

/* By that column, if there is one; the second time the other way round. */
static void sort_by_name(struct table *t, const char *name)
{
	for (size_t i = 0; i < t->ncolumns; i++)
		if (strcmp(t->columns[i].name, name) == 0 && t->columns[i].compare) {
			if (t->sort == i)
				table_act(t, DO_SORT_INVERT);
			else
				sort_by(t, i);
		}
}

/* By its whole name, else by its beginning; also the other way round: "memory" is mem. */
static size_t find_sortable(const struct table *t, const char *word)
{
	size_t n = strlen(word), found = t->ncolumns;

	for (size_t i = t->ncolumns; i-- > 0;) {
		const char *name = t->columns[i].name;

		if (!t->columns[i].compare)
			continue;
		if (!strcasecmp(name, word))
			return i;
		if (!strncasecmp(name, word, n < strlen(name) ? n : strlen(name)))
			found = i;
	}
	return n ? found : t->ncolumns;
}

int table_sort(struct table *t, const char *column, struct err *e)
{
	bool inverted = *column == '-';
	size_t by = find_sortable(t, column + inverted), used = 0;
	char names[256] = "";

	if (by < t->ncolumns) {
		sort_by(t, by);
		if (inverted)
			table_act(t, DO_SORT_INVERT);
		return 0;
	}
	for (size_t i = 0; i < t->ncolumns && used < sizeof names; i++)
		if (t->columns[i].compare)
			used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
				used ? ", " : "", t->columns[i].name);
	return err_set(e, ERR_USAGE, "Sort by one of: %s; - before it inverts.", names);
}

/* The next or previous column that can be sorted by and is shown. */
static void sort_step(struct table *t, int by)
{
	size_t at = t->sort;

	for (size_t tries = 0; tries < t->ncolumns; tries++) {
		at = at >= t->ncolumns ? (by > 0 ? 0 : t->ncolumns - 1)
				       : (at + t->ncolumns + (size_t)by) % t->ncolumns;
		if (t->columns[at].compare && t->chosen & (uint64_t)1 << at) {
			sort_by(t, at);
			return;
		}
	}
}

static bool choose_act(struct table *t, enum action a)
{
	switch (a) {
	case DO_UP: t->choose_at -= t->choose_at > 0; return true;
	case DO_DOWN: t->choose_at += t->choose_at + 1 < t->ncolumns; return true;
	case DO_TOP: t->choose_at = 0; return true;
	case DO_BOTTOM: t->choose_at = t->ncolumns - 1; return true;
	case DO_MARK:
	case DO_ENTER:
		/* The first column says what a row is. */
		if (t->choose_at > 0)
			t->chosen ^= (uint64_t)1 << t->choose_at;
		return true;
	case DO_BACK:
	case DO_COLUMNS: t->choosing = false; return true;
	case DO_QUIT:
	case DO_REDRAW:
	case DO_SUSPEND: return false;
	default: return true;
	}
}

bool table_act(struct table *t, enum action a)
{
	int by = action_rows(a, t->page);

	if (t->choosing)
		return choose_act(t, a);
	if (by) {
		move_table_cursor(t, by);
		return true;
	}
	switch (a) {
	case DO_MARK: mark_current(t); return true;
	case DO_MARK_RANGE: mark_range(t); return true;
	case DO_MARK_ALL:
		for (size_t i = 0; i < t->nshown; i++)
			set_mark(t, &t->rows[t->shown[i]], true);
		return true;
	case DO_UNMARK: table_unmark_all(t); return true;
	case DO_SORT_NEXT: sort_step(t, 1); return true;
	case DO_SORT_PREV: sort_step(t, -1); return true;
	case DO_SORT_INVERT:
		t->inverted = !t->inverted;
		reorder_rows(t);
		return true;
	case DO_SORT_CPU: sort_by_name(t, "cpu"); return true;
	case DO_SORT_MEMORY: sort_by_name(t, "mem"); return true;
	case DO_SORT_ATTENTION: sort_by_name(t, "attention"); return true;
	case DO_COLUMNS:
		t->choosing = true;
		t->choose_at = 0;
		return true;
	case DO_LEFT: return table_current(t) && !table_current(t)->folded && table_fold(t);
	case DO_RIGHT: return table_current(t) && table_current(t)->folded && table_fold(t);
	default: return false;
	}
}

bool table_click(struct table *t, int x, int y)
{
	if (t->choosing) {
		struct area b = t->choose_box;

		if (x < b.x || x >= b.x + b.w || y < b.y || y >= b.y + b.h) {
			t->choosing = false;
		} else if ((size_t)(y - b.y) < t->ncolumns) {
			t->choose_at = (size_t)(y - b.y);
			choose_act(t, DO_MARK);
		}
		return true;
	}
	if (y == t->body.y - 1) {
		for (size_t i = 0; i < t->ncolumns; i++) {
			if (t->w[i] == 0 || x < t->x[i] || x >= t->x[i] + t->w[i] ||
				!t->columns[i].compare)
				continue;
			if (t->sort == i)
				table_act(t, DO_SORT_INVERT);
			else
				sort_by(t, i);
			return true;
		}
		return false;
	}
	if (y < t->body.y || y >= t->body.y + t->body.h || x < t->body.x ||
		x >= t->body.x + t->body.w || t->top + (size_t)(y - t->body.y) >= t->nshown)
		return false;
	go_to(t, t->top + (size_t)(y - t->body.y));
	/* The sign of a head folds it. */
	if (x < t->body.x + 3)
		table_fold(t);
	return true;
}

void table_window(const struct table *t, size_t *from, size_t *to)
{
	*from = t->top < t->nshown ? t->top : t->nshown;
	*to = t->top + (size_t)t->page < t->nshown ? t->top + (size_t)t->page : t->nshown;
}

int table_filter(struct table *t, const char *text, struct err *e)
{
	bool inverse = text && text[0] == '!';
	struct regex *regex = NULL;
	struct where *where = NULL;
	char why[REGEX_WHY_MAX];

	if (text && strlen(text) > 256)
		return err_set(e, ERR_USAGE, "a filter has at most 256 characters");
	if (text && t->row_of && where_is_meant(text)) {
		where = where_new(text, WHERE_FILTER, e);
		if (!where)
			return -1;
	} else if (text && text[inverse]) {
		regex = regex_new(text + inverse, REGEX_FOLD | REGEX_LINES, why);
		if (!regex)
			return err_set(
				e, ERR_USAGE, "not a regular expression (%s): %s", why, text);
	}
	regex_free(t->regex);
	where_free(t->where);
	free(t->filter);
	t->regex = regex;
	t->where = where;
	t->filter = regex || where ? xstrdup(text) : NULL;
	t->filter_inverse = inverse;
	arrange_rows(t);
	return 0;
}

static void add_status(char *buf, size_t cap, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Two blanks, then the text, as far as there is room. */
static void add_status(char *buf, size_t cap, const char *fmt, ...)
{
	size_t used = strlen(buf);
	va_list ap;

	if (used)
		used += (size_t)snprintf(buf + used, cap - used, "  ");
	if (used >= cap)
		return;
	va_start(ap, fmt);
	vsnprintf(buf + used, cap - used, fmt, ap);
	va_end(ap);
}

void table_status(const struct table *t, char *buf, size_t cap)
{
	size_t hidden, marked = table_marked(t, &hidden), from, to;

	buf[0] = '\0';
	if (t->filter)
		add_status(
			buf, cap, "filter: %.40s  %zu of %zu", t->filter, t->nmatching, t->nitems);
	if (hidden)
		add_status(buf, cap, "%zu marked (%zu not shown)", marked, hidden);
	else if (marked)
		add_status(buf, cap, "%zu marked", marked);
	table_window(t, &from, &to);
	if (t->page && (from || to < t->nshown))
		add_status(buf, cap, "%zu\u2013%zu of %zu", from + 1, to, t->nshown);
}

void table_save(const struct table *t, struct str *out)
{
	char cell[TABLE_CELL_MAX];

	for (size_t i = 0, first = 1; i < t->ncolumns; i++) {
		if (!(t->chosen & (uint64_t)1 << i))
			continue;
		str_addf(out, "%s%s", first ? "" : "\t", t->columns[i].name);
		first = 0;
	}
	str_addc(out, '\n');
	for (size_t s = 0; s < t->nshown; s++) {
		for (size_t i = 0, first = 1; i < t->ncolumns; i++) {
			struct style st = {0};

			if (!(t->chosen & (uint64_t)1 << i))
				continue;
			if (!first)
				str_addc(out, '\t');
			first = 0;
			cell[0] = '\0';
			if (t->columns[i].text)
				t->columns[i].text(table_shown(t, s), cell, sizeof cell, &st);
			text_neutralise(out, cell, strlen(cell), false);
		}
		str_addc(out, '\n');
	}
}
