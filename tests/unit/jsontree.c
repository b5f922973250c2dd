/* jsontree.c - reading JSON into the foldable tree of the inspect view. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "views/inspect/jsontree.h"

static const char sample[] =
	"{\"Id\":\"bfc8\",\"State\":{\"Pid\":18446744073709551615,\"OOM\":false,"
	"\"Error\":\"\"},\"Args\":[\"-c\",\"a\\n\\\"b\\\"\",null,[],{}],"
	"\"Config\":{\"Env\":[\"PATH=/bin\",\"API_TOKEN=hunter2\"],"
	"\"Labels\":{\"com.x/y\":\"1\",\"db_password\":\"p\"}}}";

static uint32_t find_path(const struct jsontree *t, const char *path)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct str s AUTO_STR = STR_INIT;

		jsontree_path(t, i, &s);
		if (!strcmp(s.s, path))
			return i;
	}
	fail_msg("no node %s", path);
	return 0;
}

static void assert_value(const struct jsontree *t, const char *path, const char *want)
{
	struct str s AUTO_STR = STR_INIT;

	jsontree_value(t, find_path(t, path), &s);
	assert_string_equal(s.s, want);
}

static void test_tree(void **state)
{
	struct jsontree t;
	uint32_t i;

	(void)state;
	jsontree_init(&t);
	jsontree_read(&t, sample, sizeof sample - 1, 1);
	assert_null(t.problem);
	assert_int_equal(t.count, 19);
	assert_int_equal(t.node[0].end, t.count);
	assert_int_equal(t.node[0].children, 4);
	/* Beyond what a double holds. */
	assert_value(&t, ".State.Pid", "18446744073709551615");
	assert_value(&t, ".Args[1]", "a\n\"b\"");
	assert_value(&t, ".Config.Env[0]", "PATH=/bin");
	assert_value(&t, ".Config.Env[1]", "API_TOKEN=******");
	assert_value(&t, ".Config.Labels[\"com.x/y\"]", "1");
	assert_value(&t, ".Config.Labels.db_password", "******");
	/* Folded: the root and its members. */
	assert_int_equal(t.nrows, 5);
	i = find_path(&t, ".Args");
	jsontree_fold(&t, i, true);
	assert_int_equal(t.nrows, 10);
	jsontree_fold(&t, i, false);
	assert_int_equal(t.nrows, 5);
	i = find_path(&t, ".Config.Env[1]");
	assert_int_equal(jsontree_row_of(&t, i), t.nrows);
	assert_int_equal(t.row[jsontree_reveal(&t, i)], i);
	jsontree_fold_depth(&t, 64);
	assert_int_equal(t.nrows, t.count);
	jsontree_release(&t);
}

static void test_print(void **state)
{
	struct str s AUTO_STR = STR_INIT, again AUTO_STR = STR_INIT;
	struct jsontree t;

	(void)state;
	jsontree_init(&t);
	jsontree_read(&t, sample, sizeof sample - 1, 1);
	jsontree_print(&t, find_path(&t, ".Args"), &s);
	assert_string_equal(s.s, "[\n  \"-c\",\n  \"a\\n\\\"b\\\"\",\n  null,\n  [],\n  {}\n]\n");
	str_clear(&s);
	jsontree_print(&t, 0, &s);
	assert_null(strstr(s.s, "hunter2"));
	assert_non_null(strstr(s.s, "\"API_TOKEN=******\""));
	jsontree_read(&t, s.s, s.len, 1);
	assert_null(t.problem);
	jsontree_print(&t, 0, &again);
	assert_string_equal(again.s, s.s);
	jsontree_release(&t);
}

static void test_broken(void **state)
{
	static const char *const bad[] = {"", "   ", "{", "[", "\"", "\"\\", "{\"a\"",
		"{\"a\":", "{\"a\":1", "{\"a\":1,", "{a:1}", "[1 2]", "[1,]", "{\"a\" 1}", "[1]]",
		"}", ",", "{\"a\":}", "\x01", "[\"\\u12"};
	struct jsontree t;
	char *deep, *wide;

	(void)state;
	jsontree_init(&t);
	for (size_t i = 0; i < COUNT(bad); i++) {
		jsontree_read(&t, bad[i], strlen(bad[i]), 9);
		if (!t.problem)
			fail_msg("accepted: %s", bad[i]);
		assert_true(t.nrows == t.count);
	}
	/* Every cut of a good text gives a tree and a reason, never more. */
	for (size_t n = 0; n + 1 < sizeof sample; n++) {
		struct str s AUTO_STR = STR_INIT;

		jsontree_read(&t, sample, n, 64);
		assert_non_null(t.problem);
		if (t.count)
			jsontree_print(&t, 0, &s);
	}
	deep = xmalloc(100000);
	memset(deep, '[', 100000);
	jsontree_read(&t, deep, 100000, 64);
	assert_int_equal(t.count, JSON_DEPTH_MAX);
	assert_non_null(t.problem);
	free(deep);
	wide = xmalloc(2 * (JSON_NODES_MAX + 10) + 1);
	for (size_t i = 0; i < JSON_NODES_MAX + 10; i++)
		memcpy(wide + 2 * i, i ? "1," : "[ ", 2);
	jsontree_read(&t, wide, 2 * (JSON_NODES_MAX + 10), 64);
	assert_int_equal(t.count, JSON_NODES_MAX);
	assert_non_null(t.problem);
	free(wide);
	jsontree_release(&t);
}

static void test_escapes(void **state)
{
	static const char *const pair[][2] = {{"\"\\u0041\\u00e9\"", "A\xc3\xa9"},
		{"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"}, {"\"\\ud83d\"", "\xef\xbf\xbd"},
		{"\"\\uzzzz\"", "\\uzzzz"}, {"\"\\q\"", "\\q"}, {"\"\\\\n\"", "\\n"},
		{"\"\\b\\f\\n\\r\\t\\/\"", "\b\f\n\r\t/"}};
	struct jsontree t;

	(void)state;
	jsontree_init(&t);
	for (size_t i = 0; i < COUNT(pair); i++) {
		jsontree_read(&t, pair[i][0], strlen(pair[i][0]), 1);
		assert_null(t.problem);
		assert_value(&t, ".", pair[i][1]);
	}
	jsontree_release(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_escapes),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
