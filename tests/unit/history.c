/* history.c - the history of benchmarks: finding, exporting, damage, older and newer files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "history/database.h"

static char dir[64], path[128];

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof dir, "/tmp/berth-history.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof path, "%s/history.db", dir);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

static struct history *open_history(void)
{
	AUTO_STR struct str notice = STR_INIT;
	struct err e = ERR_INIT;
	struct history *h = history_open(path, &notice, &e);

	if (!h)
		fail_msg("%s", e.msg);
	assert_string_equal(notice.s, "");
	return h;
}

static int64_t add_ended(struct history *h, const char *release, const char *commit, int64_t ms,
	const char *machine, double value, const char *end)
{
	struct history_sample v[3] = {
		{.value = value, .read_bytes = 7, .peak_bytes = UINT64_MAX / 4},
		{.value = value * 1.5, .user_s = 0.25}, {.value = value * 2}};
	struct history_run r = {.started_ms = ms, .seed = 42, .cores = 2, .noise_low = NAN};
	struct history_case c = {.baseline = 0, .narms = 2};
	struct err e = ERR_INIT;

	snprintf(r.version, sizeof r.version, "0.1.0");
	snprintf(r.release, sizeof r.release, "%s", release);
	snprintf(r.commit, sizeof r.commit, "%s", commit);
	snprintf(r.machine, sizeof r.machine, "%s", machine);
	strcpy(c.suite, "files");
	strcpy(c.name, "read");
	strcpy(c.unit, "s");
	strcpy(c.state, "ok");
	strcpy(c.notes, "a \"note\"\twith 'quotes'");
	strcpy(c.arms[0].name, "loop");
	strcpy(c.arms[1].name, "engine");
	c.arms[0].v = c.arms[1].v = v;
	c.arms[0].n = 3;
	c.arms[1].n = 2;
	assert_int_equal(history_begin(h, &r, &e), 0);
	assert_int_equal(history_add_case(h, r.id, &c, &e), 0);
	strcpy(r.state, end);
	r.ended_ms = ms + 1000;
	r.noise_point = 1.5;
	assert_int_equal(history_end(h, &r, &e), 0);
	return r.id;
}

static int64_t add_run(struct history *h, const char *release, const char *commit, int64_t ms,
	const char *machine, double value)
{
	return add_ended(h, release, commit, ms, machine, value, "done");
}

static int64_t find_run_id(struct history *h, const char *word, const char *machine, int64_t before)
{
	struct history_run r;
	struct err e = ERR_INIT;

	return history_find(h, word, machine, before, &r, &e) == 0 ? r.id : -(int64_t)e.kind;
}

static void test_find(void **state)
{
	struct history *h = open_history();
	struct history_case c = {0};
	struct err e = ERR_INIT;
	int64_t a, b, other, cut;

	(void)state;
	assert_int_equal(find_run_id(h, "last", NULL, 0), -ERR_NOT_FOUND);
	a = add_run(h, "v0.1.14", "aaaa1111", 1763596800000, "m", 1); /* 2025-11-20 */
	b = add_run(h, "", "bbbb2222+", 1763683200000, "m", 2);
	other = add_run(h, "v0.1.14", "cccc3333", 1763683200000, "n", 3);
	assert_int_equal(find_run_id(h, "v0.1.14", "m", 0), a);
	assert_int_equal(find_run_id(h, "0.1.14", "m", 0), a);
	assert_int_equal(find_run_id(h, "v0.1.14", NULL, 0), other);
	assert_int_equal(find_run_id(h, "!v0.2.0", "m", 0), a);
	assert_int_equal(find_run_id(h, "!v0.1.14", "m", 0), -ERR_NOT_FOUND);
	assert_int_equal(find_run_id(h, "bbbb", "m", 0), b);
	assert_int_equal(find_run_id(h, "bbb", "m", 0), -ERR_NOT_FOUND);
	assert_int_equal(find_run_id(h, "2025-11-20", "m", 0), a);
	assert_int_equal(find_run_id(h, "2025-11-19", "m", 0), -ERR_NOT_FOUND);
	assert_int_equal(find_run_id(h, "last", "m", 0), b);
	assert_int_equal(find_run_id(h, "last", "m", b), a);
	assert_int_equal(find_run_id(h, "previous", "m", 0), b); /* the newest of all is other's */
	assert_int_equal(find_run_id(h, "#1", "m", 0), a);
	/* What was cancelled stands for no release: only its number, commit or place finds it. */
	cut = add_ended(h, "v0.1.15", "dddd4444", 1763683200000, "m", 4, "cancelled");
	assert_int_equal(find_run_id(h, "v0.1.15", "m", 0), -ERR_NOT_FOUND);
	assert_int_equal(find_run_id(h, "!v0.2.0", "m", 0), a);
	assert_int_equal(find_run_id(h, "dddd", "m", 0), cut);
	assert_int_equal(find_run_id(h, "last", "m", 0), cut);
	assert_int_equal(find_run_id(h, "x' OR 1 = 1 --", NULL, 0), -ERR_NOT_FOUND);
	assert_int_equal(history_case(h, b, "files", "read", &c, &e), 0);
	assert_int_equal(c.narms, 2);
	assert_int_equal(c.arms[0].n, 3);
	assert_int_equal(c.arms[1].n, 2);
	assert_true(c.arms[0].v[1].value == 3 && c.arms[0].v[1].user_s == 0.25);
	assert_true(c.arms[0].v[0].peak_bytes == UINT64_MAX / 4);
	assert_string_equal(c.notes, "a \"note\" with 'quotes'");
	history_case_release(&c);
	assert_int_equal(history_case(h, b, "files", "write", &c, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	history_close(h);
}

static void export_to(struct history *h, char **text, size_t *n)
{
	FILE *f = open_memstream(text, n);
	struct err e = ERR_INIT;

	assert_int_equal(history_export(h, f, &e), 0);
	fclose(f);
}

static int import_from(
	struct history *h, const char *text, struct history_imported *n, struct err *e)
{
	FILE *f = fmemopen((char *)text, strlen(text), "r");
	int rc = history_import(h, f, "in", n, e);

	fclose(f);
	return rc;
}

static void test_history_lines(void **state)
{
	struct history *h = open_history();
	char *first, *second, *cut;
	size_t n1, n2;
	struct history_imported n;
	struct err e = ERR_INIT;

	(void)state;
	add_run(h, "v1", "aaaa", 1000, "m", 0.001234567890123);
	add_run(h, "", "", 2000, "m", 1e-9);
	export_to(h, &first, &n1);
	assert_int_equal(import_from(h, first, &n, &e), 0);
	assert_int_equal(n.known, 2);
	assert_int_equal(n.runs + n.cases, 0);
	history_close(h);
	unlink(path);
	h = open_history();
	assert_int_equal(import_from(h, first, &n, &e), 0);
	assert_int_equal(n.runs, 2);
	assert_int_equal(n.cases, 2);
	export_to(h, &second, &n2);
	assert_string_equal(first, second);
	history_close(h);
	/* All or nothing: the last line is torn. */
	unlink(path);
	h = open_history();
	cut = strdup(first);
	cut[n1 - 20] = '\0';
	assert_int_equal(import_from(h, cut, &n, &e), -1);
	assert_non_null(strstr(e.msg, "in:4"));
	assert_int_equal(find_run_id(h, "last", NULL, 0), -ERR_NOT_FOUND);
	assert_int_equal(
		import_from(h, "{\"schema\":\"berth.bench.case/1\",\"run\":\"x\"}\n", &n, &e), -1);
	assert_int_equal(import_from(h, "[[[[[[\n", &n, &e), -1);
	assert_int_equal(
		import_from(h, "{\"schema\":\"berth.bench.run/1\",\"run\":7}\n", &n, &e), -1);
	history_close(h);
	free(first);
	free(second);
	free(cut);
}

static void damage_at(long at)
{
	FILE *f = fopen(path, "r+");

	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	for (int i = 0; i < 3000; i++)
		fputc(0xA5, f);
	fclose(f);
}

static void test_damage(void **state)
{
	static const long places[] = {0, 20, 4096};

	(void)state;
	for (size_t i = 0; i < COUNT(places); i++) {
		AUTO_STR struct str notice = STR_INIT;
		struct err e = ERR_INIT;
		struct history *h;
		glob_t g;
		char pattern[160];

		unlink(path);
		h = open_history();
		for (int k = 0; k < 20; k++)
			add_run(h, "v1", "", 1000, "m", 1);
		history_close(h);
		damage_at(places[i]);
		h = history_open(path, &notice, &e);
		if (!h)
			fail_msg("at %ld: %s", places[i], e.msg);
		assert_non_null(strstr(notice.s, "is kept as"));
		assert_int_equal(find_run_id(h, "last", NULL, 0), -ERR_NOT_FOUND);
		add_run(h, "v2", "", 1000, "m", 1);
		history_close(h);
		snprintf(pattern, sizeof pattern, "%s.damaged-*", path);
		assert_int_equal(glob(pattern, 0, NULL, &g), 0);
		assert_int_equal(g.gl_pathc, 1);
		unlink(g.gl_pathv[0]);
		globfree(&g);
	}
}

/* Version 1 had no noise floor: its runs stay. A newer version is left alone. */
static void test_versions(void **state)
{
	AUTO_STR struct str notice = STR_INIT;
	struct err e = ERR_INIT;
	struct history_run *runs;
	struct history *h;
	sqlite3 *db;
	size_t n;

	(void)state;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, history_steps[0], NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db,
			"PRAGMA user_version = 1; INSERT INTO run (uuid, started_ms, state, version, commit_id,"
			" seed, machine, cpu, kernel, fs, engine, versions, cores, memory_bytes) VALUES"
			" ('u', 5, 'done', '0.0.9', '', 1, 'm', '', '', '', '', '', 1, 1)",
			NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	h = open_history();
	assert_int_equal(history_runs(h, 10, &runs, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_string_equal(runs[0].version, "0.0.9");
	assert_true(isnan(runs[0].noise_point));
	free(runs);
	history_exec(h, "PRAGMA user_version = 99", NULL);
	history_close(h);
	assert_null(history_open(path, &notice, &e));
	assert_non_null(strstr(e.msg, "newer"));
	assert_string_equal(notice.s, "");
	assert_int_equal(access(path, F_OK), 0);
}

/* Killed in the middle of a case: the cases before it are there, this one is not. */
static void test_killed_run(void **state)
{
	struct history_run *runs;
	struct history *h = open_history();
	struct err e = ERR_INIT;
	struct history_case *cases;
	size_t n;
	int status;
	pid_t pid;

	(void)state;
	history_close(h);
	pid = fork();
	if (pid == 0) {
		struct history_run r = {.started_ms = 1};
		struct history_case c = {.suite = "s", .name = "whole", .state = "ok"};

		h = history_open(path, &(struct str)STR_INIT, &e);
		history_begin(h, &r, &e);
		history_add_case(h, r.id, &c, &e);
		history_exec(h, "BEGIN IMMEDIATE", &e);
		strcpy(c.name, "half");
		history_insert_case(h, r.id, &c, &e);
		sqlite3_db_cacheflush(h->db);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status));
	h = open_history();
	assert_int_equal(history_runs(h, 10, &runs, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_string_equal(runs[0].state, "interrupted");
	assert_int_equal(history_cases(h, runs[0].id, &cases, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_string_equal(cases[0].name, "whole");
	free(cases);
	free(runs);
	history_close(h);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(test_find), TEST(test_history_lines),
		TEST(test_damage), TEST(test_versions), TEST(test_killed_run)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
