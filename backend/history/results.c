/* results.c - stores the results that tasks save. */
#include <berth/results.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include <berth/mem.h>
#include <berth/text.h>

#define BUSY_MS 5000
#define TASK_MOST 256
#define ALL_MOST 10000
#define PAGES_MOST 16384 /* of 4 KiB */
#define TABLES 1         /* user_version */

struct results {
	sqlite3 *db;
	char path[PATH_MAX];
};

static const char result_table[] =
	"CREATE TABLE result (task TEXT NOT NULL, name TEXT NOT NULL, of TEXT NOT NULL,"
	" text TEXT NOT NULL CHECK (length(CAST(text AS BLOB)) <= 65536),"
	" is_path INTEGER NOT NULL CHECK (is_path IN (0, 1)),"
	" shareable INTEGER NOT NULL CHECK (shareable IN (0, 1)),"
	" kept_ms INTEGER NOT NULL, PRIMARY KEY (task, name)) STRICT, WITHOUT ROWID;"
	"PRAGMA user_version = 1;";

static void finalize_statement(sqlite3_stmt **s)
{
	sqlite3_finalize(*s);
}
#define AUTO_STATEMENT __attribute__((cleanup(finalize_statement)))

static int fail_results(const struct results *r, const char *what, struct err *e)
{
	switch (sqlite3_errcode(r->db)) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_set(e, ERR_CONFLICT,
			"the results of tasks in %.300s are in use by another process: try again",
			r->path);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return err_set(e, ERR_FAILED,
			"the results of tasks in %.300s are damaged: move that file away, and a new one is created",
			r->path);
	case SQLITE_FULL:
		return err_set(e, ERR_REFUSED, "%.300s is full (or the disk is): drop some results",
			r->path);
	default:
		return err_set(e, ERR_FAILED, "cannot %s the results of tasks in %.200s: %.200s",
			what, r->path, sqlite3_errmsg(r->db));
	}
}

static sqlite3_stmt *prepare_statement(struct results *r, const char *sql, struct err *e)
{
	sqlite3_stmt *s;

	return sqlite3_prepare_v2(r->db, sql, -1, &s, NULL) == SQLITE_OK
		? s
		: err_null(fail_results(r, "read", e));
}

static int run_sql(struct results *r, const char *sql, struct err *e)
{
	return sqlite3_exec(r->db, sql, NULL, NULL, NULL) == SQLITE_OK
		? 0
		: fail_results(r, "change", e);
}

/* Its first value; -1: it has none. */
static int64_t ask_number(struct results *r, const char *sql, const char *task, struct err *e)
{
	AUTO_STATEMENT sqlite3_stmt *s = prepare_statement(r, sql, e);

	if (!s)
		return -1;
	if (task)
		sqlite3_bind_text(s, 1, task, -1, SQLITE_STATIC);
	return sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0)
					     : fail_results(r, "read", e);
}

/* --- opening --- */

/* Ours alone before there is anything in it; its journal gets the same mode. */
static int make_file(const char *path, struct err *e)
{
	AUTO_CLOSE int fd =
		open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, errno, "cannot open the results of tasks in %.400s", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 0077 || st.st_nlink != 1)
		return err_set(e, ERR_REFUSED,
			"%.400s must be your file, with mode 0600 and no other hard link", path);
	return 0;
}

static int check_sound(struct results *r, struct err *e)
{
	AUTO_STATEMENT sqlite3_stmt *s = prepare_statement(r, "PRAGMA quick_check(1)", e);

	if (!s)
		return -1;
	if (sqlite3_step(s) != SQLITE_ROW)
		return fail_results(r, "check", e);
	return strcmp((const char *)sqlite3_column_text(s, 0), "ok") == 0
		? 0
		: err_set(e, ERR_FAILED,
			  "the results of tasks in %.300s are damaged: move that file away, and a new one is created",
			  r->path);
}

static int make_table(struct results *r, struct err *e)
{
	int64_t version;

	if (run_sql(r, "BEGIN IMMEDIATE", e))
		return -1;
	version = ask_number(r, "PRAGMA user_version", NULL, e); /* another may have been first */
	if (version == 0 && run_sql(r, result_table, e))
		version = -1;
	if (version < 0) {
		sqlite3_exec(r->db, "ROLLBACK", NULL, NULL, NULL);
		return -1;
	}
	return run_sql(r, "COMMIT", e);
}

static int open_table(struct results *r, struct err *e)
{
	char pages[64];
	int64_t version;

	if (sqlite3_open_v2(r->path, &r->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL) !=
		SQLITE_OK)
		return fail_results(r, "open", e);
	sqlite3_busy_timeout(r->db, BUSY_MS);
	sqlite3_db_config(r->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(r->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_limit(r->db, SQLITE_LIMIT_LENGTH, 1 << 20);
	snprintf(pages, sizeof pages, "PRAGMA max_page_count = %d", PAGES_MOST);
	version = ask_number(r, "PRAGMA user_version", NULL, e);
	if (version < 0 || check_sound(r, e) ||
		run_sql(r, "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL", e) ||
		run_sql(r, pages, e))
		return -1;
	if (version > TABLES)
		return err_set(e, ERR_FAILED,
			"the results of tasks in %.300s were written by a newer berth: update this one",
			r->path);
	return version ? 0 : make_table(r, e);
}

struct results *results_open(const char *file, struct err *e)
{
	struct results *r;

	if (make_file(file, e))
		return NULL;
	r = xcalloc(1, sizeof *r);
	snprintf(r->path, sizeof r->path, "%s", file);
	if (open_table(r, e) == 0)
		return r;
	results_close(r);
	return NULL;
}

void results_close(struct results *r)
{
	if (!r)
		return;
	sqlite3_close(r->db);
	free(r);
}

/* --- changing --- */

static bool is_text(const char *s, size_t n)
{
	uint32_t cp;

	for (size_t i = 0; i < n;) {
		size_t used = utf8_next(s + i, n - i, &cp);

		if (!cp || (cp == TEXT_BAD && used < 3))
			return false;
		i += used;
	}
	return true;
}

static int check_result(const struct result *x, struct err *e)
{
	char shown[80];

	if (!text_is_plain_name(x->name, RESULT_NAME_MAX))
		return err_set(e, ERR_USAGE,
			"\"%s\" is not a valid result name: use 1 to 64 letters, digits, . _ or -, and no "
			"leading dot",
			text_clean(shown, sizeof shown, x->name));
	if (x->size > RESULT_TEXT_MAX)
		return err_set(e, ERR_REFUSED,
			"the result %s is longer than %d bytes: store it in a file and save its path here",
			x->name, RESULT_TEXT_MAX);
	if (!is_text(x->text, x->size))
		return err_set(e, ERR_USAGE,
			"the result %s is not text in UTF-8: store it in a file and save its path here",
			x->name);
	return 0;
}

static int check_room(struct results *r, const struct result *x, struct err *e)
{
	int64_t mine = ask_number(r, "SELECT count(*) FROM result WHERE task = ?", x->task, e);
	int64_t all = mine < 0 ? -1 : ask_number(r, "SELECT count(*) FROM result", NULL, e);

	if (all < 0)
		return -1;
	return mine <= TASK_MOST && all <= ALL_MOST
		? 0
		: err_set(e, ERR_REFUSED, "at most %d results per task and %d in total: drop some",
			  TASK_MOST, ALL_MOST);
}

static int write_result(struct results *r, const struct result *x, struct err *e)
{
	AUTO_STATEMENT sqlite3_stmt *s = prepare_statement(r,
		"INSERT OR REPLACE INTO result (task, name, of, text, is_path, shareable, kept_ms)"
		" VALUES (?, ?, ?, ?, ?, ?, ?)",
		e);

	if (!s)
		return -1;
	sqlite3_bind_text(s, 1, x->task, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, x->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 3, x->of, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 4, x->text, (int)x->size, SQLITE_STATIC);
	sqlite3_bind_int(s, 5, x->is_path);
	sqlite3_bind_int(s, 6, x->shareable);
	sqlite3_bind_int64(s, 7, x->kept_ms);
	return sqlite3_step(s) == SQLITE_DONE ? check_room(r, x, e) : fail_results(r, "change", e);
}

int results_put(struct results *r, const struct result *x, struct err *e)
{
	if (check_result(x, e) || run_sql(r, "BEGIN IMMEDIATE", e))
		return -1;
	if (write_result(r, x, e) == 0 && run_sql(r, "COMMIT", e) == 0)
		return 0;
	sqlite3_exec(r->db, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}

int results_drop(struct results *r, const char *task, const char *name, struct err *e)
{
	AUTO_STATEMENT sqlite3_stmt *s =
		prepare_statement(r, "DELETE FROM result WHERE task = ? AND name = ?", e);

	if (!s)
		return -1;
	sqlite3_bind_text(s, 1, task, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, name, -1, SQLITE_STATIC);
	if (sqlite3_step(s) != SQLITE_DONE)
		return fail_results(r, "change", e);
	return sqlite3_changes(r->db)
		? 0
		: err_set(e, ERR_NOT_FOUND, "the task %.64s has no result %.64s", task, name);
}

/* --- reading --- */

static struct result read_result(sqlite3_stmt *s)
{
	return (struct result){.task = (const char *)sqlite3_column_text(s, 0),
		.name = (const char *)sqlite3_column_text(s, 1),
		.of = (const char *)sqlite3_column_text(s, 2),
		.text = (const char *)sqlite3_column_text(s, 3),
		.size = (size_t)sqlite3_column_bytes(s, 3),
		.is_path = sqlite3_column_int(s, 4),
		.shareable = sqlite3_column_int(s, 5),
		.kept_ms = sqlite3_column_int64(s, 6)};
}

int results_each(struct results *r, const struct results_reader *by, const char *task,
	const char *name, results_fn *fn, void *ctx, struct err *e)
{
	AUTO_STATEMENT sqlite3_stmt *s = prepare_statement(r,
		"SELECT task, name, of, text, is_path, shareable, kept_ms FROM result"
		" WHERE (?1 IS NULL OR task = ?1) AND (?2 IS NULL OR name = ?2)"
		" AND (?3 IS NULL OR shareable OR (task = ?3 AND of = ?4)) ORDER BY task, name",
		e);
	int n = 0, rc = SQLITE_ROW;

	if (!s)
		return -1;
	sqlite3_bind_text(s, 1, task, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, name, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 3, by ? by->task : NULL, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 4, by ? by->of : NULL, -1, SQLITE_STATIC);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		struct result x = read_result(s);

		n++;
		if (fn(ctx, &x))
			return n;
	}
	return rc == SQLITE_DONE ? n : fail_results(r, "read", e);
}
