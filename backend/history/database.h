/* database.h - shared by the files of this module. */
#ifndef HISTORY_DATABASE_H
#define HISTORY_DATABASE_H

#include <limits.h>
#include <sqlite3.h>

#include "history/history.h"

extern const char *const history_steps[HISTORY_VERSION];

struct history {
	sqlite3 *db;
	char path[PATH_MAX];
};

/* A prepared statement; NULL and *e.  Finalised by AUTO_STMT. */
sqlite3_stmt *history_prepare(struct history *h, const char *sql, struct err *e);
int history_exec(struct history *h, const char *sql, struct err *e);
int history_failed(struct history *h, const char *what, struct err *e); /* always -1 */
void history_stmt_cleanup(sqlite3_stmt **s);
#define AUTO_STMT __attribute__((cleanup(history_stmt_cleanup)))

int history_insert_run(struct history *h, struct history_run *r, struct err *e);
int history_insert_case(
	struct history *h, int64_t run, const struct history_case *c, struct err *e);

/* What is in columns from `at` on, texts read by `text`: a run in the order of RUN_COLUMNS (find.c); suite, name, unit,
 * state, error, notes, baseline and higher of a case; value to peak_bytes of a sample. */
typedef void history_text_fn(sqlite3_stmt *s, int at, char *buf, size_t cap);
void history_run_of(sqlite3_stmt *s, history_text_fn *text, struct history_run *r);
void history_case_of(sqlite3_stmt *s, int at, history_text_fn *text, struct history_case *c);
void history_sample_of(sqlite3_stmt *s, int at, struct history_sample *v);
void history_new_uuid(char uuid[40]);

#endif
