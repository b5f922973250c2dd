/*
 * table.h - rows and columns: sorted, filtered, marked, folded, fitted to the width there is.
 *
 * A view describes its columns in a const array and adds its rows again with every snapshot:
 *
 *     table_begin(&t);
 *     table_add(&t, (struct table_row){.engine = c->engine, .id = c->id, .item = c});
 *     table_end(&t);
 *
 * Rows come as a flattened tree: a row belongs to the nearest row above it with a smaller depth.
 * Rows with the same parent are sorted among themselves.  Cursor, marks and folds are kept by
 * identity (engine, id), never by position or name.  What the pointers in a row point to must stay
 * until the next table_begin.
 *
 * Thread: main.
 */
#ifndef TUI_WIDGETS_TABLE_H
#define TUI_WIDGETS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/err.h>
#include <berth/str.h>
#include <berth/where.h>

#include "terminal/terminal.h"
#include "idset.h"

#define TABLE_CELL_MAX 512 /* longest text of a cell, bytes with NUL */

#define TABLE_COLUMNS_MAX 64
#define TABLE_DEPTH_MAX 7

struct table;

struct table_row {
	const char *engine, *id; /* identity; engine may be "" where there is none */
	const void *item;        /* the view's; what its columns show */
	uint8_t depth;           /* 0: top */
	bool group;              /* a head over the deeper rows below it: folds, cannot be marked */
	bool stale;              /* drawn as old */
	/* Filled by the table: */
	bool marked, folded;
	bool matches; /* the filter lets it through */
};

struct table_column {
	const char *name; /* "cpu": columns dialog, settings, saved files */
	const char *head; /* "CPU %" */
	uint8_t min,
		ideal; /* width; the text is clipped below ideal, the column left out below min */
	uint8_t grow;  /* share of what is left over; 0: none */
	uint8_t keep;  /* 0: always; else the larger, the sooner it goes when narrow */
	bool sign;     /* cells begin with a sign and a blank: the head stands over what follows */
	bool right;    /* right-aligned, head too */
	bool optional; /* not shown unless chosen */
	bool nothing; /* it would be empty now: not shown, chosen or not; the owner of the columns may change it */
	bool descending; /* sorted by it for the first time: largest first */
	/* The cell as text: drawn, saved, and (unless right-aligned) searched by the filter.  Row
	 * heads too.  `st` may be changed. */
	void (*text)(const struct table_row *row, char *buf, size_t cap, struct style *st);
	/* Draws more than text (bars, sparklines); NULL: the text is drawn. */
	void (*draw)(const struct table_row *row, struct canvas *c, struct area cell);
	/* <0, 0, >0; NULL: not sortable.  Both rows are of the same parent. */
	int (*compare)(const struct table_row *a, const struct table_row *b);
};

struct table {
	const struct table_column *columns;
	size_t ncolumns;
	uint64_t chosen; /* bit per column: shown when there is room */
	size_t sort;     /* column; ncolumns: as handed over */
	bool inverted;
	struct {
		uint64_t chosen;
		size_t sort;
		bool inverted;
	} usual;           /* the same as set at first: what a person changed since is kept */
	const char *empty; /* said when there are no rows at all */

	struct table_row *rows; /* as handed over */
	size_t nrows, rows_cap;
	uint32_t *shown; /* indices into rows: sorted, filtered, unfolded */
	size_t nshown, shown_cap;
	size_t nitems,
		nmatching; /* rows that are no groups: all, and those the filter lets through */

	struct idset marks, folds;
	char *cursor_engine, *cursor_id; /* identity under the cursor; NULL: none yet */
	char *anchor_engine, *anchor_id; /* last mark, for a range */
	bool moved;                      /* the cursor, by the person */
	size_t cursor, top;              /* in shown */
	int page;                        /* rows that fitted when drawn last */
	bool awaited;                    /* table_go: the row may be yet to come */
	struct area body;                /* where the rows were drawn last */
	int16_t x[TABLE_COLUMNS_MAX],
		w[TABLE_COLUMNS_MAX]; /* of columns, as drawn last; w 0: not */
	int16_t need
		[TABLE_COLUMNS_MAX]; /* the widest cell that was on screen since there are `measured` rows */
	size_t measured;
	bool grew; /* a cell drawn now is wider than all before */

	char *filter; /* NULL: none */
	bool filter_inverse;
	struct regex *regex; /* with a filter: this, or where */
	struct where *where;
	/* What a row is for a condition; NULL: of this table there are none.  false: nothing. */
	bool (*row_of)(const struct table_row *row, struct where_row *ret);
	struct str scratch;
	uint32_t *tree; /* work space of sorting */
	size_t tree_cap;

	bool choosing; /* the columns dialog is open */
	size_t choose_at;
	struct area choose_box;
};

/* `sort`: name of the column to sort by, or NULL. */
void table_init(
	struct table *t, const struct table_column *columns, size_t ncolumns, const char *sort);
void table_release(struct table *t);
/* From the settings: show only these columns (n 0: as the table has them) and sort by this one, '-'
 * before its name inverts (NULL: no change).  -1 and a sentence about the first name that is no
 * column; the others are obeyed. */
int table_set(
	struct table *t, const char *const *columns, size_t n, const char *sort, struct err *e);

/* What a person changed of sorting, columns and folds, into the object being written; and the same again
 * from one that was read, of which what makes no sense is left out. */
struct jsonw;
struct node;
void table_keep(const struct table *t, struct jsonw *j);
void table_recall(struct table *t, const struct node *kept);

void table_begin(struct table *t);
void table_add(struct table *t, struct table_row row);
void table_end(struct table *t);

/* Heads in the first line, rows below, the columns dialog on top when it is open. */
void table_draw(struct table *t, struct canvas *c, struct area a);

/* Movement, marks, sorting, choosing columns, folding (Left, Right).  false: not for a table. */
bool table_act(struct table *t, enum action a);
bool table_click(struct table *t, int x, int y); /* on the canvas; true: a row or a head was hit */
void table_wheel(struct table *t, int lines);
bool table_fold(struct table *t); /* fold or unfold the group under the cursor; false: no group */

const struct table_row *table_current(const struct table *t); /* NULL: no rows */
/* Place the cursor on an identity; it is kept until that row comes. */
void table_go(struct table *t, const char *engine, const char *id);
/* Shown rows between `from` and `to` (exclusive) that were on screen at the last draw. */
void table_window(const struct table *t, size_t *from, size_t *to);
static inline const struct table_row *table_shown(const struct table *t, size_t i)
{
	return &t->rows[t->shown[i]];
}

/* Marked rows on the list, in its order: an act means what one sees, so those that a filter or a fold
 * hides (*ret_hidden) are only counted.  `*at` starts at 0; NULL ends. */
size_t table_marked(const struct table *t, size_t *ret_hidden);
const struct table_row *table_next_marked(const struct table *t, size_t *at);
void table_unmark_all(struct table *t);

/* A regular expression, case-insensitive, inverted by a leading `!`; or a condition (berth/where.h).  "" or NULL removes
 * the filter.  After an error the old filter stays. */
int table_filter(struct table *t, const char *text, struct err *e);
/* "filter: web  3 of 12", "2 marked" ... for the view's status. */
void table_status(const struct table *t, char *buf, size_t cap);
/* All rows the filter lets through, chosen columns, separated by tabs. */
void table_save(const struct table *t, struct str *out);
/* Sort by the column whose name begins with `column`; '-' before it inverts.  -1: *e lists the names. */
int table_sort(struct table *t, const char *column, struct err *e);

#endif
