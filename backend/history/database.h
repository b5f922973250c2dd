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
void history_new_uuid(char uuid[40]);

#endif
