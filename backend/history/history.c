/* history.c - opens the database, whatever state it is in, and writes runs to it. */
#include "history/database.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/hex.h>
#include <berth/mem.h>
#include <berth/runtime.h>

#define BUSY_MS 10000 /* another process writes one case: milliseconds */

void history_stmt_cleanup(sqlite3_stmt **s)
{
	sqlite3_finalize(*s);
}

int history_failed(struct history *h, const char *what, struct err *e)
{
	int code = sqlite3_errcode(h->db);

	if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
		return err_set(e, ERR_CONFLICT,
			"the benchmark history %s is in use by another process: try again.",
			h->path);
	return err_set(e, ERR_FAILED, "cannot %s the benchmark history %s: %s.", what, h->path,
		sqlite3_errmsg(h->db));
}

sqlite3_stmt *history_prepare(struct history *h, const char *sql, struct err *e)
{
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(h->db, sql, -1, &s, NULL) != SQLITE_OK)
		return err_null(history_failed(h, "read", e));
	return s;
}

int history_exec(struct history *h, const char *sql, struct err *e)
{
	return sqlite3_exec(h->db, sql, NULL, NULL, NULL) == SQLITE_OK
		? 0
		: history_failed(h, "change", e);
}

/* Opening. */

static int64_t read_pragma(struct history *h, const char *sql, bool *damaged)
{
	sqlite3_stmt *s = NULL;
	int64_t v = -1;
	int rc = sqlite3_prepare_v2(h->db, sql, -1, &s, NULL);

	if (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(s, 0);

		v = sqlite3_column_int64(s, 0);
		/* quick_check says "ok", or what is wrong. */
		if (strstr(sql, "check") && (!text || strcmp(text, "ok") != 0))
			*damaged = true;
	} else if (rc != SQLITE_BUSY && rc != SQLITE_LOCKED) {
		*damaged = true;
	}
	sqlite3_finalize(s);
	return v;
}

static int migrate_schema(struct history *h, int64_t from, struct err *e)
{
	char version[64];

	if (history_exec(h, "BEGIN IMMEDIATE", e) < 0)
		return -1;
	/* Another process may have been first. */
	from = read_pragma(h, "PRAGMA user_version", &(bool){false});
	for (int64_t v = from < 0 ? 0 : from; v < HISTORY_VERSION; v++)
		if (history_exec(h, history_steps[v], e) < 0) {
			history_exec(h, "ROLLBACK", NULL);
			return -1;
		}
	snprintf(version, sizeof version, "PRAGMA user_version = %d", HISTORY_VERSION);
	return history_exec(h, version, e) < 0 || history_exec(h, "COMMIT", e) < 0 ? -1 : 0;
}

static int try_open(struct history *h, bool *damaged, struct err *e)
{
	int64_t version;

	if (sqlite3_open_v2(h->path, &h->db,
		    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW,
		    NULL) != SQLITE_OK)
		return history_failed(h, "open", e);
	sqlite3_busy_timeout(h->db, BUSY_MS);
	/* A file from elsewhere is data: no functions of its schema, and no row that is too large. */
	sqlite3_db_config(h->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(h->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_limit(h->db, SQLITE_LIMIT_LENGTH, 64 << 20);
	version = read_pragma(h, "PRAGMA user_version", damaged);
	if (!*damaged)
		read_pragma(h, "PRAGMA quick_check(1)", damaged);
	if (*damaged)
		return err_set(e, ERR_FAILED, "the benchmark history %s is damaged.", h->path);
	if (version > HISTORY_VERSION)
		return err_set(e, ERR_FAILED,
			"the benchmark history %s was written by a newer berth (version %lld of its "
			"tables, this one knows %d): update berth, or move the file away.",
			h->path, (long long)version, HISTORY_VERSION);
	if (history_exec(h, "PRAGMA journal_mode = DELETE; PRAGMA foreign_keys = ON", e) < 0)
		return -1;
	return version < HISTORY_VERSION ? migrate_schema(h, version, e) : 0;
}

static int set_database_aside(struct history *h, struct str *notice, struct err *e)
{
	static const char *const parts[] = {"", "-journal", "-wal", "-shm"};
	time_t now = (time_t)(clock_wall_ms() / 1000);
	char stamp[32], from[PATH_MAX + 16], to[PATH_MAX + 64];
	struct tm tm;

	strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	for (size_t i = 0; i < COUNT(parts); i++) {
		snprintf(from, sizeof from, "%s%s", h->path, parts[i]);
		snprintf(to, sizeof to, "%s.damaged-%s%s", h->path, stamp, parts[i]);
		if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) < 0 &&
			errno != ENOENT)
			return err_sys(e, errno, "cannot set the damaged history %s aside", from);
	}
	str_addf(notice,
		"The benchmark history was damaged: it is kept as %s.damaged-%s, and a "
		"new one was started.",
		h->path, stamp);
	return 0;
}

struct history *history_open(const char *path, struct str *notice, struct err *e)
{
	struct history *h = xcalloc(1, sizeof *h);
	char state[PATH_MAX], dir[PATH_MAX];
	bool damaged = false;
	struct stat st;

	if (path)
		snprintf(h->path, sizeof h->path, "%s", path);
	else if (state_dir(state, sizeof state, e) < 0 ||
		runtime_subdir(dir, sizeof dir, state, "bench", e) < 0)
		goto fail;
	else
		snprintf(h->path, sizeof h->path, "%s/history.db", dir);
	if (lstat(h->path, &st) == 0 && !S_ISREG(st.st_mode)) {
		err_set(e, ERR_FAILED, "the benchmark history %s is not a regular file.", h->path);
		goto fail;
	}
	if (try_open(h, &damaged, e) == 0)
		return h;
	sqlite3_close(h->db);
	h->db = NULL;
	if (!damaged || set_database_aside(h, notice, e) < 0)
		goto fail;
	damaged = false;
	if (try_open(h, &damaged, e) < 0)
		goto fail;
	return h;
fail:
	history_close(h);
	return NULL;
}

void history_close(struct history *h)
{
	if (!h)
		return;
	sqlite3_close(h->db);
	free(h);
}

void history_case_release(struct history_case *c)
{
	for (size_t i = 0; i < c->narms; i++)
		free(c->arms[i].v);
	c->narms = 0;
}

/* Writing. */

void history_new_uuid(char uuid[40])
{
	unsigned char b[16] = {0};

	if (getrandom(b, sizeof b, 0) < 0)
		memcpy(b, &(int64_t){clock_wall_ms()}, 8);
	hex_text(uuid, b, sizeof b);
}

static void bind_text(sqlite3_stmt *s, int at, const char *text)
{
	sqlite3_bind_text(s, at, text, -1, SQLITE_TRANSIENT);
}

/* NaN has no place in SQL: it is stored, and read again, as NULL. */
static void bind_number(sqlite3_stmt *s, int at, double v)
{
	if (isfinite(v))
		sqlite3_bind_double(s, at, v);
	else
		sqlite3_bind_null(s, at);
}

static int finish_statement(struct history *h, sqlite3_stmt *s, struct err *e)
{
	int rc = sqlite3_step(s);

	if (rc != SQLITE_DONE)
		return history_failed(h, "write to", e);
	sqlite3_reset(s);
	return 0;
}

int history_insert_run(struct history *h, struct history_run *r, struct err *e)
{
	AUTO_STMT sqlite3_stmt *s = history_prepare(h,
		"INSERT INTO run (uuid, started_ms, ended_ms, pid, state, version, commit_id, release, seed,"
		" machine, cpu, kernel, fs, engine, versions, cores, memory_bytes, load_start, load_end,"
		" steal_percent, others_percent, noise_low, noise_point, noise_high)"
		" VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
		e);
	const char *const texts[] = {r->state, r->version, r->commit, r->release};
	const char *const machine[] = {
		r->machine, r->cpu, r->kernel, r->fs, r->engine, r->versions};
	const double numbers[] = {r->load_start, r->load_end, r->steal_percent, r->others_percent,
		r->noise_low, r->noise_point, r->noise_high};
	int at = 1;

	if (!s)
		return -1;
	bind_text(s, at++, r->uuid);
	sqlite3_bind_int64(s, at++, r->started_ms);
	sqlite3_bind_int64(s, at++, r->ended_ms);
	sqlite3_bind_int64(s, at++, r->pid);
	for (size_t i = 0; i < COUNT(texts); i++)
		bind_text(s, at++, texts[i]);
	sqlite3_bind_int64(s, at++, (int64_t)r->seed);
	for (size_t i = 0; i < COUNT(machine); i++)
		bind_text(s, at++, machine[i]);
	sqlite3_bind_int64(s, at++, r->cores);
	sqlite3_bind_int64(s, at++, r->memory_bytes);
	for (size_t i = 0; i < COUNT(numbers); i++)
		bind_number(s, at++, numbers[i]);
	if (finish_statement(h, s, e) < 0)
		return -1;
	r->id = sqlite3_last_insert_rowid(h->db);
	return 0;
}

int history_begin(struct history *h, struct history_run *r, struct err *e)
{
	history_new_uuid(r->uuid);
	r->pid = (int32_t)getpid();
	snprintf(r->state, sizeof r->state, "running");
	return history_insert_run(h, r, e);
}

static int insert_samples(
	struct history *h, int64_t result, size_t place, const struct history_arm *a, struct err *e)
{
	AUTO_STMT sqlite3_stmt *s =
		history_prepare(h, "INSERT INTO sample VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", e);

	if (!s)
		return -1;
	for (size_t i = 0; i < a->n; i++) {
		const struct history_sample *v = &a->v[i];
		const uint64_t counts[] = {v->minor_faults, v->major_faults, v->read_bytes,
			v->write_bytes, v->syscalls_rw, v->peak_bytes};

		if (!isfinite(v->value))
			continue;
		sqlite3_bind_int64(s, 1, result);
		sqlite3_bind_int64(s, 2, (int64_t)place);
		sqlite3_bind_int64(s, 3, (int64_t)i);
		sqlite3_bind_double(s, 4, v->value);
		sqlite3_bind_double(s, 5, v->user_s);
		sqlite3_bind_double(s, 6, v->system_s);
		for (int k = 0; k < 6; k++)
			sqlite3_bind_int64(s, 7 + k, (int64_t)counts[k]);
		if (finish_statement(h, s, e) < 0)
			return -1;
	}
	return 0;
}

int history_insert_case(struct history *h, int64_t run, const struct history_case *c, struct err *e)
{
	AUTO_STMT sqlite3_stmt *s = history_prepare(h,
		"INSERT INTO result (run, suite, name, unit, state, error, notes, baseline, higher)"
		" VALUES (?,?,?,?,?,?,?,?,?)",
		e);
	AUTO_STMT sqlite3_stmt *a = NULL;
	const char *const texts[] = {c->suite, c->name, c->unit, c->state, c->error, c->notes};
	int64_t result;

	if (!s)
		return -1;
	sqlite3_bind_int64(s, 1, run);
	for (size_t i = 0; i < COUNT(texts); i++)
		bind_text(s, 2 + (int)i, texts[i]);
	sqlite3_bind_int(s, 8, c->baseline);
	sqlite3_bind_int(s, 9, c->higher);
	if (finish_statement(h, s, e) < 0)
		return -1;
	result = sqlite3_last_insert_rowid(h->db);
	a = history_prepare(h, "INSERT INTO arm VALUES (?,?,?)", e);
	for (size_t i = 0; a && i < c->narms; i++) {
		sqlite3_bind_int64(a, 1, result);
		sqlite3_bind_int64(a, 2, (int64_t)i);
		bind_text(a, 3, c->arms[i].name);
		if (finish_statement(h, a, e) < 0 ||
			insert_samples(h, result, i, &c->arms[i], e) < 0)
			return -1;
	}
	return a ? 0 : -1;
}

int history_add_case(struct history *h, int64_t run, const struct history_case *c, struct err *e)
{
	if (history_exec(h, "BEGIN IMMEDIATE", e) < 0)
		return -1;
	if (history_insert_case(h, run, c, e) < 0 || history_exec(h, "COMMIT", e) < 0) {
		history_exec(h, "ROLLBACK", NULL);
		return -1;
	}
	return 0;
}

int history_end(struct history *h, const struct history_run *r, struct err *e)
{
	AUTO_STMT sqlite3_stmt *s = history_prepare(h,
		"UPDATE run SET ended_ms = ?, state = ?, load_end = ?, steal_percent = ?,"
		" others_percent = ?, noise_low = ?, noise_point = ?, noise_high = ?, engine = ?"
		" WHERE id = ?",
		e);

	if (!s)
		return -1;
	sqlite3_bind_int64(s, 1, r->ended_ms);
	bind_text(s, 2, r->state);
	bind_number(s, 3, r->load_end);
	bind_number(s, 4, r->steal_percent);
	bind_number(s, 5, r->others_percent);
	bind_number(s, 6, r->noise_low);
	bind_number(s, 7, r->noise_point);
	bind_number(s, 8, r->noise_high);
	bind_text(s, 9, r->engine);
	sqlite3_bind_int64(s, 10, r->id);
	return finish_statement(h, s, e);
}
