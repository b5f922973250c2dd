/* results.c - the table of results: who may read what, limits, files that are damaged or not ours alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>
#include <sys/wait.h>

#include <berth/results.h>

#include "lib/tree.h"

static struct results *r;
static struct err e;

static int setup_results(void **state)
{
	(void)state;
	tree_make("results");
	e = (struct err)ERR_INIT;
	r = results_open(tree_path("db"), &e);
	return r ? 0 : -1;
}

static int clear_results(void **state)
{
	(void)state;
	results_close(r);
	tree_remove();
	return 0;
}

static int put_text(
	const char *task, const char *of, const char *name, const char *text, bool shared)
{
	const struct result x = {.task = task,
		.of = of,
		.name = name,
		.text = text,
		.size = strlen(text),
		.shareable = shared,
		.kept_ms = 5};

	e = (struct err)ERR_INIT;
	return results_put(r, &x, &e);
}

static char seen[4096];

static int note_seen(void *ctx, const struct result *x)
{
	size_t n = strlen(seen);

	(void)ctx;
	snprintf(seen + n, sizeof seen - n, "%s.%s=%.*s;", x->task, x->name, (int)x->size, x->text);
	return 0;
}

static const char *list_for(const char *task, const char *of)
{
	const struct results_reader by = {task, of};

	seen[0] = '\0';
	if (results_each(r, task ? &by : NULL, NULL, NULL, note_seen, NULL, &e) < 0)
		fail_msg("%s", e.msg);
	return seen;
}

static void test_who_reads(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(stat(tree_path("db"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(put_text("a", "1", "own", "x", false), 0);
	assert_int_equal(put_text("a", "1", "all", "y", true), 0);
	assert_int_equal(put_text("b", "2", "own", "z", false), 0);
	assert_string_equal(list_for(NULL, NULL), "a.all=y;a.own=x;b.own=z;");
	assert_string_equal(list_for("a", "1"), "a.all=y;a.own=x;");
	assert_string_equal(list_for("b", "2"), "a.all=y;b.own=z;");
	/* A later task of that name. */
	assert_string_equal(list_for("a", "9"), "a.all=y;");
	assert_int_equal(put_text("a", "1", "all", "", false), 0);
	assert_string_equal(list_for("b", "2"), "b.own=z;");
	assert_int_equal(results_drop(r, "a", "own", &e), 0);
	assert_int_equal(results_drop(r, "a", "own", &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
}

static void test_result_limits(void **state)
{
	char name[20], *large = calloc(1, RESULT_TEXT_MAX + 2);

	(void)state;
	memset(large, 'x', RESULT_TEXT_MAX + 1);
	assert_int_equal(put_text("a", "1", "large", large, false), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	large[RESULT_TEXT_MAX] = '\0';
	assert_int_equal(put_text("a", "1", "large", large, false), 0);
	free(large);
	assert_int_equal(put_text("a", "1", "bad", "\xff", false), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_int_equal(put_text("a", "1", "fine", "\xef\xbf\xbd", false), 0);
	assert_int_equal(put_text("a", "1", "../x", "y", false), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_int_equal(put_text("a'; DROP TABLE result; --", "1", "odd", "y", false), 0);
	for (int i = 0; i < 254; i++) {
		snprintf(name, sizeof name, "n%d", i);
		assert_int_equal(put_text("a", "1", name, "y", false), 0);
	}
	assert_int_equal(put_text("a", "1", "more", "y", false), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(put_text("a", "1", "n0", "again", false), 0);
	assert_int_equal(put_text("b", "1", "more", "y", false), 0);
}

/* What was said to be kept is, and what was not is not, whenever it is killed. */
static void test_killed_in_the_middle(void **state)
{
	int told[2];
	char name[20], last[20] = "";
	ssize_t n;
	pid_t pid;

	(void)state;
	for (int round = 0; round < 20; round++) {
		results_close(r);
		r = NULL;
		assert_int_equal(pipe(told), 0);
		pid = fork();
		if (pid == 0) {
			r = results_open(tree_path("db"), &e);
			for (int i = 0; r && i < 200; i++) {
				snprintf(name, sizeof name, "k%d", i);
				if (put_text("t", "1", name, name, false) ||
					write(told[1], name, sizeof name) != sizeof name)
					break;
			}
			_exit(0);
		}
		close(told[1]);
		for (int i = 0; i <= round && (n = read(told[0], last, sizeof last)) > 0; i++)
			;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while ((n = read(told[0], last, sizeof last)) > 0)
			;
		close(told[0]);
		r = results_open(tree_path("db"), &e);
		if (!r)
			fail_msg("%s", e.msg);
		seen[0] = '\0';
		assert_int_equal(results_each(r, NULL, "t", last, note_seen, NULL, &e), 1);
	}
}

static void test_two_at_once(void **state)
{
	pid_t pid[4];
	int status;

	(void)state;
	results_close(r);
	r = NULL;
	assert_int_equal(unlink(tree_path("db")), 0);
	for (int k = 0; k < 4; k++)
		if ((pid[k] = fork()) == 0) {
			char name[20];
			bool fine = (r = results_open(tree_path("db"), &e)) != NULL;

			for (int i = 0; fine && i < 20; i++) {
				snprintf(name, sizeof name, "p%d-%d", k, i);
				fine = put_text("t", "1", name, "x", false) == 0;
			}
			_exit(fine ? 0 : 1);
		}
	for (int k = 0; k < 4; k++) {
		waitpid(pid[k], &status, 0);
		assert_int_equal(status, 0);
	}
	r = results_open(tree_path("db"), &e);
	seen[0] = '\0';
	assert_int_equal(results_each(r, NULL, "t", NULL, note_seen, NULL, &e), 80);
}

static void refuse_database(const char *path, enum err_kind kind)
{
	e = (struct err)ERR_INIT;
	assert_null(results_open(tree_path(path), &e));
	if (e.kind != kind)
		fail_msg("%s: %s", path, e.msg);
}

static void test_file_is_not_trusted(void **state)
{
	sqlite3 *db;
	struct stat st;

	(void)state;
	tree_text("other", "");
	assert_int_equal(chmod(tree_path("other"), 0644), 0);
	refuse_database("other", ERR_REFUSED);
	assert_int_equal(symlink("db", tree_path("link")), 0);
	refuse_database("link", ERR_SYS);
	assert_int_equal(mkfifo(tree_path("fifo"), 0600), 0);
	refuse_database("fifo", ERR_REFUSED);
	assert_int_equal(link(tree_path("db"), tree_path("second")), 0);
	refuse_database("second", ERR_REFUSED);
	tree_text("text", "this is no database, and long enough to be taken for one");
	assert_int_equal(chmod(tree_path("text"), 0600), 0);
	refuse_database("text", ERR_FAILED);
	assert_int_equal(stat(tree_path("text"), &st), 0);
	assert_int_equal(st.st_size, 56); /* left as it is */
	assert_int_equal(sqlite3_open(tree_path("newer"), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(chmod(tree_path("newer"), 0600), 0);
	refuse_database("newer", ERR_FAILED);
	assert_non_null(strstr(e.msg, "newer berth"));
}

/* A page of it overwritten is found, whichever. */
static void test_damage_is_found(void **state)
{
	char text[3000], junk[512];
	struct stat st;

	(void)state;
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	memset(junk, 0xa5, sizeof junk);
	for (int i = 0; i < 40; i++) {
		snprintf(seen, sizeof seen, "n%d", i);
		assert_int_equal(put_text("t", "1", seen, text, false), 0);
	}
	results_close(r);
	r = NULL;
	assert_int_equal(stat(tree_path("db"), &st), 0);
	{
		int fd = open(tree_path("db"), O_RDWR | O_CLOEXEC);

		for (off_t at = 4096; at < st.st_size; at += 4096)
			assert_int_equal(pwrite(fd, junk, sizeof junk, at), sizeof junk);
		close(fd);
	}
	refuse_database("db", ERR_FAILED);
	assert_non_null(strstr(e.msg, "damaged"));
}

int main(void)
{
#define RESULTS_CASE(f) cmocka_unit_test_setup_teardown(f, setup_results, clear_results)
	const struct CMUnitTest tests[] = {RESULTS_CASE(test_who_reads),
		RESULTS_CASE(test_result_limits), RESULTS_CASE(test_killed_in_the_middle),
		RESULTS_CASE(test_two_at_once), RESULTS_CASE(test_file_is_not_trusted),
		RESULTS_CASE(test_damage_is_found)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
