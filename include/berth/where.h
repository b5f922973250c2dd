/*
 * where.h - a condition over the columns of containers and agents: `state = exited and exit_code != 0`.
 *
 *     condition = test { and | or | not | ( ) test ... }      and binds closer than or
 *     test      = COLUMN = | != | < | <= | > | >= NUMBER | WORD | "TEXT"
 *               | COLUMN ~ | !~ REGEX                         without capitals: also those match
 *     alert     = condition [ for SPAN ]                      30s, 5m, 2h, 1d
 *
 * Columns are those of `berth ps --json` and a few of agents; one table has them (where_columns).  Numbers take %, k m g t
 * where they are bytes, s m h d where they are seconds.  What is not known (no sample yet, no limit, no such agent) fits
 * no test, != and !~ included.  The filter of the console, alerts (settings.h) and `berth check` are the users.
 *
 * Thread: any; a condition is read-only once made.
 */
#ifndef BERTH_WHERE_H
#define BERTH_WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "snapshot.h"

#define WHERE_MAX 512 /* bytes of a condition */

struct where;

/* What is judged: a container, an agent, or an agent with its container. */
struct where_row {
	int64_t wall_ms; /* now */
	const struct container *c;
	const struct agent *a;
	const char *line; /* of its log; NULL: there is none, and tests of `log` fit nothing */
	size_t nline;
	const void *own; /* what the columns of another table read */
};

enum where_use {
	WHERE_FILTER, /* rows as they are */
	WHERE_ALERT,  /* `log` and `for` may stand in it */
	WHERE_CHECK,  /* a test of a number that is not known is open: where_may_hold */
};

/* NULL and ERR_USAGE: a sentence that says what is wrong and at which character. */
struct where *where_new(const char *text, enum where_use use, struct err *e);
/* The same over another table of columns, which must stay. */
struct where_column;
struct where *where_new_over(
	const struct where_column *columns, const char *text, enum where_use use, struct err *e);
void where_free(struct where *w); /* NULL is fine */
/* Does it begin as a condition does, with a column and a comparison?  Else it is a regular expression. */
bool where_is_meant(const char *text);

bool where_holds(const struct where *w, const struct where_row *row);
/* Could it hold, with a line of log that fits, or (WHERE_CHECK) if what is not known were? */
bool where_may_hold(const struct where *w, const struct where_row *row);
bool where_reads_log(const struct where *w);
int64_t where_for_ms(const struct where *w); /* 0: at once */

bool where_uses(const struct where *w, const struct where_column *k);
/* Is it a single test of a number?  Then it is COLUMN OP NUMBER; op is a word of the grammar. */
bool where_is_bound(
	const struct where *w, const struct where_column **column, const char **op, double *number);

/* The columns, for documentation and for the environment of commands. */
enum where_type { WHERE_TEXT, WHERE_NUMBER, WHERE_PERCENT, WHERE_BYTES, WHERE_SECONDS, WHERE_LOG };
struct where_column {
	const char *name, *help;
	enum where_type type;
	/* One of them, by type; false: not known. */
	bool (*text)(const struct where_row *row, char *buf, size_t cap);
	bool (*number)(const struct where_row *row, double *ret);
};
extern const struct where_column where_columns[]; /* ends in a NULL name */
#define WHERE_VALUE_MAX 256
/* Of this row, as text; false: not known. */
bool where_value(
	const struct where_column *k, const struct where_row *row, char buf[WHERE_VALUE_MAX]);

#endif
