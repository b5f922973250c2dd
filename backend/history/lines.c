/*
 * lines.c - exports and imports the history as JSON Lines. SQLite's own JSON functions write and read them: they are
 * bounded, and there is no second parser to keep.
 */
#include "history/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

#define LINE_MAX_BYTES ((size_t)16 << 20)

static int print_rows(struct history *h, const char *sql, FILE *out, struct err *e)
{
	AUTO_STMT sqlite3_stmt *s = history_prepare(h, sql, e);
	int rc;

	if (!s)
		return -1;
	while ((rc = sqlite3_step(s)) == SQLITE_ROW)
		fprintf(out, "%s\n", (const char *)sqlite3_column_text(s, 0));
	if (rc != SQLITE_DONE)
		return history_failed(h, "read", e);
	return ferror(out) ? err_sys(e, errno, "cannot write the exported history") : 0;
}

int history_export(struct history *h, FILE *out, struct err *e)
{
	int rc;

	/* One picture of it, though others may write meanwhile. */
	if (history_exec(h, "BEGIN", e) < 0)
		return -1;
	rc = print_rows(h,
		"SELECT json_object('schema', 'berth.bench.run/1', 'run', uuid, 'started_ms', started_ms,"
		" 'ended_ms', ended_ms, 'state', state, 'version', version, 'commit', commit_id,"
		" 'release', release, 'seed', CAST(seed AS TEXT), 'machine', machine, 'cpu', cpu,"
		" 'kernel', kernel, 'fs', fs, 'engine', engine, 'versions', versions, 'cores', cores,"
		" 'memory_bytes', memory_bytes, 'load_start', load_start, 'load_end', load_end,"
		" 'steal_percent', steal_percent, 'others_percent', others_percent, 'noise_low', noise_low,"
		" 'noise_point', noise_point, 'noise_high', noise_high) FROM run ORDER BY id",
		out, e);
	if (rc == 0)
		rc = print_rows(h,
			"SELECT json_object('schema', 'berth.bench.case/1', 'run', run.uuid, 'suite', suite,"
			" 'case', name, 'unit', unit, 'state', r.state, 'error', error, 'notes', notes,"
			" 'baseline', baseline, 'higher_is_better', json(CASE higher WHEN 0 THEN 'false' ELSE"
			" 'true' END), 'arms', (SELECT json_group_array(json_object('name', a.name, 'samples',"
			" (SELECT json_group_array(json_array(value, user_s, system_s, minor_faults,"
			" major_faults, read_bytes, write_bytes, syscalls_rw, peak_bytes)) FROM (SELECT * FROM"
			" sample WHERE result = r.id AND place = a.place ORDER BY n)))) FROM (SELECT * FROM arm"
			" WHERE result = r.id ORDER BY place) a)) FROM result r JOIN run ON run.id = r.run"
			" ORDER BY r.id",
			out, e);
	history_exec(h, "COMMIT", NULL);
	return rc;
}

/* Import: each line becomes a row of values. */

static void get_text(sqlite3_stmt *s, int at, char *buf, size_t cap)
{
	const char *t = (const char *)sqlite3_column_text(s, at);

	snprintf(buf, cap, "%s", t ? t : "");
}

static sqlite3_stmt *prepare_line(
	struct history *h, const char *sql, const char *line, size_t n, struct err *e)
{
	sqlite3_stmt *s = history_prepare(h, sql, e);

	if (s)
		sqlite3_bind_text64(s, 1, line, n, SQLITE_STATIC, SQLITE_UTF8);
	return s;
}

#define J(path) "json_extract(?1, '$." path "'),"

static int run_line(struct history *h, const char *line, size_t n, struct history_imported *count,
	struct err *e)
{
	AUTO_STMT sqlite3_stmt *s = prepare_line(h,
		"SELECT 0," J("run") J("started_ms") J("ended_ms") "0," J("state") J("version") J(
			"commit") J("release") J("seed") J("machine") J("cpu") J("kernel") J("fs")
			J("engine") J("versions") J("cores") J("memory_bytes") J("load_start") J(
				"load_end") J("steal_percent") J("others_percent") J("noise_low")
				J("noise_point") J(
					"noise_high") "EXISTS (SELECT 1 FROM run WHERE uuid = json_extract(?1, '$.run'))",
		line, n, e);
	struct history_run r;

	if (!s || sqlite3_step(s) != SQLITE_ROW)
		return s ? history_failed(h, "import into", e) : -1;
	history_run_of(s, get_text, &r);
	if (strlen(r.uuid) != 32)
		return err_set(e, ERR_CONFIG, "a run without its id");
	if (sqlite3_column_int(s, 25)) {
		count->known++;
		return 0;
	}
	if (!strcmp(r.state, "running"))
		snprintf(r.state, sizeof r.state, "interrupted");
	count->runs++;
	return history_insert_run(h, &r, e);
}

static int import_arms(
	struct history *h, const char *line, size_t n, struct history_case *c, struct err *e)
{
	AUTO_STMT sqlite3_stmt *arms = prepare_line(
		h, "SELECT json_extract(value, '$.name') FROM json_each(?1, '$.arms')", line, n, e);
	AUTO_STMT sqlite3_stmt *s = NULL;
	size_t cap;
	int rc;

	if (!arms)
		return -1;
	while ((rc = sqlite3_step(arms)) == SQLITE_ROW) {
		if (c->narms == HISTORY_ARMS_MAX)
			return err_set(e, ERR_CONFIG, "more than %d arms", HISTORY_ARMS_MAX);
		get_text(arms, 0, c->arms[c->narms++].name, HISTORY_NAME_MAX);
	}
	for (size_t i = 0; i < c->narms; i++) {
		struct history_arm *a = &c->arms[i];

		history_stmt_cleanup(&s);
		s = prepare_line(h,
			"SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'),"
			" json_extract(value, '$[2]'), json_extract(value, '$[3]'), json_extract(value, '$[4]'),"
			" json_extract(value, '$[5]'), json_extract(value, '$[6]'), json_extract(value, '$[7]'),"
			" json_extract(value, '$[8]') FROM json_each(?1, '$.arms[' || ?2 || '].samples')",
			line, n, e);
		if (!s)
			return -1;
		sqlite3_bind_int64(s, 2, (int64_t)i);
		cap = 0;
		while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
			if (a->n == HISTORY_SAMPLES_MAX)
				return err_set(
					e, ERR_CONFIG, "more than %d samples", HISTORY_SAMPLES_MAX);
			if (sqlite3_column_type(s, 0) != SQLITE_FLOAT &&
				sqlite3_column_type(s, 0) != SQLITE_INTEGER)
				return err_set(e, ERR_CONFIG, "a sample that is not a number");
			a->v = mem_grow(a->v, &cap, a->n + 1, sizeof *a->v);
			history_sample_of(s, 0, &a->v[a->n++]);
		}
		if (rc != SQLITE_DONE)
			return history_failed(h, "import into", e);
	}
	return 0;
}

/* `first`: runs up to this id were here before, and their cases too. */
static int case_line(struct history *h, const char *line, size_t n, int64_t first,
	struct history_imported *count, struct err *e)
{
	AUTO_STMT sqlite3_stmt *s = prepare_line(h,
		"SELECT " J("suite") J("case") J("unit") J("state") J("error") J("notes") J(
			"baseline")
			J("higher_is_better") "(SELECT id FROM run WHERE uuid = json_extract(?1, '$.run'))",
		line, n, e);
	struct history_case c;
	int64_t run;
	int rc;

	if (!s || sqlite3_step(s) != SQLITE_ROW)
		return s ? history_failed(h, "import into", e) : -1;
	run = sqlite3_column_int64(s, 8);
	if (!run)
		return err_set(e, ERR_CONFIG, "a case whose run did not come before it");
	if (run <= first)
		return 0;
	history_case_of(s, 0, get_text, &c);
	if (!*c.suite || !*c.name)
		return err_set(e, ERR_CONFIG, "a case without a name");
	rc = import_arms(h, line, n, &c, e);
	if (rc == 0)
		rc = history_insert_case(h, run, &c, e);
	history_case_release(&c);
	count->cases++;
	return rc;
}

static int import_line(struct history *h, const char *line, size_t n, int64_t first,
	struct history_imported *count, struct err *e)
{
	char schema[64] = "";
	AUTO_STMT sqlite3_stmt *s = prepare_line(h,
		"SELECT CASE WHEN json_valid(?1) THEN json_extract(?1, '$.schema') ELSE '' END",
		line, n, e);

	if (!s || sqlite3_step(s) != SQLITE_ROW)
		return s ? history_failed(h, "import into", e) : -1;
	get_text(s, 0, schema, sizeof schema);
	if (!strcmp(schema, "berth.bench.run/1"))
		return run_line(h, line, n, count, e);
	if (!strcmp(schema, "berth.bench.case/1"))
		return case_line(h, line, n, first, count, e);
	return err_set(e, ERR_CONFIG, "neither a berth.bench.run/1 nor a berth.bench.case/1");
}

int history_import(
	struct history *h, FILE *in, const char *name, struct history_imported *ret, struct err *e)
{
	AUTO_FREE char *line = NULL;
	sqlite3_stmt *top;
	size_t cap = 0;
	int64_t first = 0;
	ssize_t n;
	int rc = 0, at = 0;

	memset(ret, 0, sizeof *ret);
	if (history_exec(h, "BEGIN IMMEDIATE", e) < 0)
		return -1;
	top = history_prepare(h, "SELECT coalesce(max(id), 0) FROM run", NULL);
	if (top && sqlite3_step(top) == SQLITE_ROW)
		first = sqlite3_column_int64(top, 0);
	sqlite3_finalize(top);
	while (rc == 0 && (n = getline(&line, &cap, in)) > 0) {
		at++;
		while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
			n--;
		if (!n)
			continue;
		rc = (size_t)n > LINE_MAX_BYTES ? err_set(e, ERR_CONFIG, "longer than 16 MiB")
						: import_line(h, line, (size_t)n, first, ret, e);
		if (rc < 0)
			err_wrap(e, "%s:%d", name, at);
	}
	if (rc == 0 && ferror(in))
		rc = err_sys(e, errno, "cannot read %s", name);
	if (rc == 0)
		rc = history_exec(h, "COMMIT", e);
	if (rc < 0)
		history_exec(h, "ROLLBACK", NULL);
	return rc;
}
