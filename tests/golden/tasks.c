/* tasks.c - file jobs started from the console: words, output as it comes, hits, dialogs. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/settings.h>
#include <berth/str.h>
#include <berth/text.h>

#include "app/app.h"
#include "lib/orphans.h"
#include "lib/tree.h"
#include "golden/fixture/play.h"

static void test_words(void **state)
{
	char line[] = "  one 'two three' fo\"u r\"\\ five '' ", open[] = "a 'b", many[200];
	const char *words[TASK_WORDS_MAX];
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(task_words(line, words, &e), 4);
	assert_string_equal(words[0], "one");
	assert_string_equal(words[1], "two three");
	assert_string_equal(words[2], "fou r five");
	assert_string_equal(words[3], "");
	assert_int_equal(task_words(open, words, &e), -1);
	for (size_t i = 0; i + 1 < sizeof many; i += 2)
		memcpy(many + i, "a ", 2);
	many[sizeof many - 1] = '\0';
	assert_int_equal(task_words(many, words, &e), -1);
}

/* It closes what it prints to, and ends when it is told to: that is told, too, and not only seen by who looks. */
static void test_end_is_told(void **state)
{
	const char *const argv[] = {/* task_start starts what lies beside this program */
		"../../../../../../../../../../../../../../../../bin/sh", "-c",
		"echo some; exec >&- 2>&-; read line <gate; exit 3", NULL};
	struct err e = ERR_INIT;
	struct pollfd p = {.events = POLLIN};
	struct task *t;
	int gate;

	(void)state;
	assert_int_equal(mkfifo("gate", 0600), 0);
	t = task_start("ends later", argv, &e);
	assert_non_null(t);
	while (t->fd >= 0) {
		p.fd = task_fd(t);
		assert_int_equal(poll(&p, 1, 60000), 1);
		task_read(t);
	}
	assert_string_equal(t->text.s, "some\n");
	p.fd = task_fd(t);
	assert_true(p.fd >= 0);
	assert_int_equal(poll(&p, 1, 0), 0);
	gate = open("gate", O_WRONLY | O_CLOEXEC);
	assert_true(gate >= 0);
	close(gate);
	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_true(task_read(t));
	assert_true(task_ended(t));
	assert_int_equal(t->code, 3);
	task_unref(t);
}

/* A hit leads to its line; the page below it is there again. */
static void test_search_task(void **state)
{
	(void)state;
	tree_text("a/long", "1\n2\n3\n4 needle\n5\n");
	play_script("empty",
		"size 80 24\nkey :\ntype search needle a\nkey Enter\n"
		"wait search needle a: done.\nexpect a/long:4:4 needle\n"
		"key Enter\nwait 5 lines\nkey y\nexpect Copied: 4 needle\n"
		"key Esc\nexpect a/long:4:4 needle\n"
		"key :\ntype search\nkey Enter\nexpect search, PATTERN [DIR]\n"
		"type 'no such thing' a\nkey Enter\nwait nothing found\n"
		"key :\ntype search 'a\nkey Enter\nexpect a quote is not closed\n",
		false);
}

/* The style in which that text begins; plain ones at the end of a row are not dumped. */
static char style_of(const struct str *out, const char *text)
{
	const char *at = strstr(out->s, text), *row = at, *next;
	size_t column;

	assert_non_null(at);
	while (row > out->s && row[-1] != '\n')
		row--;
	next = strchr(at, '\n') + 1;
	assert_memory_equal(next, "  ~ ", 4);
	column = 4 + (size_t)text_width(row, (size_t)(at - row));
	return column < strcspn(next, "\n") ? next[column] : '.';
}

/* The match is marked, wherever it is in the line but not in the path; a word sought by hand is anywhere. */
static void test_search_marks(void **state)
{
	AUTO_STR struct str out = STR_INIT;
	char plain;

	(void)state;
	tree_text("needle/of", "a needle and a needle.\nNeedle\n");
	play_dumps("empty",
		"size 80 24\nkey :\ntype search needle needle\nkey Enter\n"
		"wait search needle needle: done.\nexpect needle/of:1:a needle\n"
		"dump body styles\n",
		false, &out);
	plain = style_of(&out, "of:1:");
	assert_int_equal(style_of(&out, "needle/of:1:"), plain);
	assert_int_not_equal(style_of(&out, "needle and"), plain);
	assert_int_equal(style_of(&out, " and a"), plain);
	assert_int_not_equal(style_of(&out, "needle."), plain);
	str_clear(&out);
	play_dumps("empty",
		"size 80 24\nkey :\ntype search needle needle\nkey Enter\n"
		"wait search needle needle: done.\nkey /\ntype of\nkey Enter\ndump body styles\n",
		false, &out);
	assert_int_not_equal(style_of(&out, "of:1:"), plain);
	assert_int_equal(style_of(&out, "needle and"), plain);
}

/* Nothing is changed before the diff was seen and agreed to. */
static void test_transform_task(void **state)
{
	(void)state;
	tree_text("b/file", "old\n");
	play_script("empty",
		"size 80 24\nkey :\ntype transform old new b\nkey Enter\n"
		"wait Replace text in files\nexpect +new\nadvance 400\nkey Esc\n"
		"expect Cancelled: nothing was done.\n",
		false);
	assert_true(tree_has("b/file", "old\n"));
	play_script("empty",
		"size 80 24\nkey :\ntype transform old new b\nkey Enter\n"
		"wait Replace text in files\nadvance 400\nkey y\n"
		"wait transform old new b: done.\n",
		false);
	assert_true(tree_has("b/file", "new\n"));
}

static void test_delete_task(void **state)
{
	(void)state;
	tree_text("c/file", "x");
	play_script("empty",
		"size 80 24\nkey :\ntype delete -r c\nkey Enter\n"
		"expect This cannot be undone.\nadvance 400\nkey y Enter\n"
		"expect Delete a file or tree\nkey C-u\ntype delete\nkey Enter\n"
		"wait delete -r c: done.\n",
		false);
	assert_false(access(tree_path("c"), F_OK) == 0);
	/* What it says: each path, where, and that directories go with all that is in them. */
	tree_text("c/file", "x");
	play_script("empty",
		"size 80 24\nkey :\ntype delete 'c/a b' c/file\nkey Enter\n"
		"expect Delete 2 files\nexpect on this machine\nexpect 1 byte in all\nexpect /c/a b \n"
		"expect /c/file \nrefuse everything in them\nkey Esc\n"
		"key :\ntype delete -r c\nkey Enter\nexpect Delete a file or tree\n"
		"expect deleted with everything in them\nrefuse   -r\nkey Esc\n"
		"key :\ntype delete -r\nkey Enter\nexpect Which files?\n",
		false);
	assert_int_equal(access(tree_path("c/file"), F_OK), 0);
	/* Without a version the newest benchmarks are compared with those before. */
	play_script("empty",
		"size 80 24\nkey :\ntype compare\nkey Enter\n"
		"wait compare previous: failed (exit 2): the benchmark history has no run\n"
		"refuse needs BASELINE\n",
		false);
	/* A console that may change nothing reads, and no more. */
	play_script("empty",
		"size 80 24\nkey :\ntype delete -r c\nkey Enter\nrefuse This cannot be undone.\n"
		"key :\ntype scan c\nkey Enter\nwait scan c: done.\nexpect c/file\n",
		true);
	assert_int_equal(access(tree_path("c/file"), F_OK), 0);
}

/* What failed, and why, where it is looked for: never one sentence for two outcomes. */
static void test_failures(void **state)
{
	AUTO_FREE char *script = NULL;

	(void)state;
	tree_text("f/one", "1");
	play_script("empty",
		"size 120 24\nkey :\ntype copy-files f/none f/two\nkey Enter\n"
		"wait copy f/none f/two: failed (exit 1): cannot copy f/none: it does not exist\n"
		"key :\ntype search one /nosuch\nkey Enter\n"
		"wait search one /nosuch: failed (exit 2): cannot open the directory /nosuch\n"
		"key :\ntype search zwei f\nkey Enter\nwait search zwei f: nothing found.\n"
		"refuse failed\n",
		false);
	/* Absolute paths, as anywhere. */
	script = xasprintf(
		"size 200 24\nkey :\ntype copy-files %s/f/one %s/f/two\nkey Enter\nwait : done.\n",
		tree_top, tree_top);
	play_script("empty", script, false);
	assert_true(tree_has("f/two", "1"));
}

/* What the tests before this one left in the log. */
static void test_audit_view(void **state)
{
	(void)state;
	play_script("empty",
		"size 120 24\nkey 6\nwait file.delete\n"
		"expect TIME\nexpect WHO\nexpect OUTCOME\n"
		"key /\ntype agnt=x\nkey Enter\nexpect there is no field `agnt`\nkey Esc\n"
		"key /\ntype act=file.delete\nkey Enter\nexpect file.delete\n"
		"refuse file.scan\n"
		"key v\nexpect checking\n"
		"size 40 12\nexpect WHO\nexpect file.del\n",
		false);
}

static int setup(void **state)
{
	(void)state;
	tree_make("tasks");
	setenv("XDG_RUNTIME_DIR", tree_path(""), 1);
	setenv("XDG_STATE_HOME", tree_path("state"), 1);
	setenv("XDG_CONFIG_HOME", tree_path("config"), 1);
	/* What the commands leave behind to sign the log ends as a child of ours. */
	prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
	return chdir(tree_top);
}

static int teardown(void **state)
{
	int left = orphans_wait();

	(void)state;
	tree_remove();
	return left;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_end_is_told),
		cmocka_unit_test(test_search_task),
		cmocka_unit_test(test_search_marks),
		cmocka_unit_test(test_transform_task),
		cmocka_unit_test(test_delete_task),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_audit_view),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
