/* table.c - order, filter, folds, marks by identity, the cursor, fitting columns. */
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

#include "widgets/widgets.h"
#include "widgets/table_draw.h"

struct thing {
	const char *name;
	int size;
};

static void thing_name_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	(void)st;
	snprintf(buf, cap, "%s", ((const struct thing *)r->item)->name);
}

static void thing_size_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	(void)st;
	if (!r->group)
		snprintf(buf, cap, "%d", ((const struct thing *)r->item)->size);
}

static int compare_things(const struct table_row *a, const struct table_row *b)
{
	return strcmp(((const struct thing *)a->item)->name, ((const struct thing *)b->item)->name);
}

static int by_size(const struct table_row *a, const struct table_row *b)
{
	return ((const struct thing *)a->item)->size - ((const struct thing *)b->item)->size;
}

static const struct table_column columns[] = {
	{.name = "name",
		.head = "NAME",
		.min = 8,
		.ideal = 20,
		.grow = 1,
		.text = thing_name_text,
		.compare = compare_things},
	{.name = "size",
		.head = "SIZE",
		.min = 6,
		.ideal = 8,
		.keep = 2,
		.right = true,
		.descending = true,
		.text = thing_size_text,
		.compare = by_size},
	{.name = "again",
		.head = "AGAIN",
		.min = 6,
		.ideal = 8,
		.keep = 3,
		.right = true,
		.text = thing_size_text},
};

static const struct thing group = {"group", 40}, a = {"apple", 3}, b = {"bread", 30},
			  c = {"cake", 10}, d = {"date\t\x1b[1m", 7};

static void fill_table(struct table *t)
{
	table_begin(t);
	table_add(t, (struct table_row){.id = "g", .item = &group, .group = true});
	table_add(t, (struct table_row){.engine = "e", .id = "b", .item = &b, .depth = 1});
	table_add(t, (struct table_row){.engine = "e", .id = "a", .item = &a, .depth = 1});
	table_add(t, (struct table_row){.engine = "e", .id = "c", .item = &c});
	table_add(t, (struct table_row){.engine = "e", .id = "d", .item = &d});
	table_end(t);
}

static void expect_order(const struct table *t, const char *want)
{
	char got[64] = "";

	for (size_t i = 0; i < t->nshown; i++)
		strcat(got, table_shown(t, i)->id);
	assert_string_equal(got, want);
}

static void test_sort_and_fold(void **state)
{
	struct table t;

	(void)state;
	table_init(&t, columns, COUNT(columns), NULL);
	fill_table(&t);
	expect_order(&t, "gbacd");
	table_act(&t, DO_SORT_NEXT);
	assert_string_equal(t.columns[t.sort].name, "name");
	expect_order(&t, "cdgab");
	table_act(&t, DO_SORT_NEXT);
	expect_order(&t, "gbacd"); /* the largest first */
	table_act(&t, DO_SORT_NEXT);
	assert_string_equal(t.columns[t.sort].name, "name"); /* AGAIN cannot be sorted by */
	table_act(&t, DO_SORT_INVERT);
	expect_order(&t, "gbadc");
	assert_string_equal(table_current(&t)->id, "g");
	assert_true(table_act(&t, DO_LEFT));
	expect_order(&t, "gdc");
	assert_false(table_act(&t, DO_LEFT));
	fill_table(&t);
	expect_order(&t, "gdc"); /* folds stay */
	assert_true(table_act(&t, DO_RIGHT));
	expect_order(&t, "gbadc");
	table_release(&t);
}

static void test_filter(void **state)
{
	struct err e = ERR_INIT;
	struct table t;
	char status[80];

	(void)state;
	table_init(&t, columns, COUNT(columns), "name");
	fill_table(&t);
	assert_int_equal(table_filter(&t, "APP|cake", &e), 0);
	expect_order(&t, "cga");
	table_status(&t, status, sizeof status);
	assert_string_equal(status, "filter: APP|cake  2 of 4");
	assert_int_equal(table_filter(&t, "!a", &e), 0);
	expect_order(&t, "");
	assert_null(table_current(&t));
	assert_int_equal(table_filter(&t, "(", &e), -1);
	assert_non_null(strstr(e.msg, "not a regular expression"));
	expect_order(&t, ""); /* the old one stays */
	assert_int_equal(table_filter(&t, "!", &e), 0);
	expect_order(&t, "cdgab");
	/* ^ and $ hold each text, the name as well as what stands behind it */
	assert_int_equal(table_filter(&t, "^(apple|cake)$", &e), 0);
	assert_int_equal(t.nmatching, 2);
	assert_int_equal(table_filter(&t, "!^cake$", &e), 0);
	assert_int_equal(t.nmatching, 3);
	assert_int_equal(table_filter(&t, "^cak$", &e), 0);
	assert_int_equal(t.nmatching, 0);
	/* Numbers in right-aligned columns are not searched. */
	assert_int_equal(table_filter(&t, "30", &e), 0);
	expect_order(&t, "");
	assert_int_equal(table_filter(&t, NULL, &e), 0);
	expect_order(&t, "cdgab");
	table_release(&t);
}

static void test_table_marks(void **state)
{
	struct err e = ERR_INIT;
	size_t hidden, at = 0;
	struct table t;

	(void)state;
	table_init(&t, columns, COUNT(columns), "name");
	fill_table(&t); /* c d g a b, cursor on c */
	table_act(&t, DO_MARK);
	assert_string_equal(table_current(&t)->id, "d");
	table_act(&t, DO_BOTTOM);
	table_act(&t, DO_MARK_RANGE);
	assert_int_equal(table_marked(&t, &hidden), 4); /* the head is none */
	assert_int_equal(hidden, 0);
	table_filter(&t, "apple", &e);
	assert_int_equal(table_marked(&t, &hidden), 4);
	assert_int_equal(hidden, 3);
	assert_string_equal(table_next_marked(&t, &at)->id, "a");
	assert_null(table_next_marked(&t, &at));
	table_filter(&t, "", &e);
	/* A row that is gone takes its mark along, whatever comes under its name. */
	table_begin(&t);
	table_add(&t, (struct table_row){.engine = "e", .id = "x", .item = &a});
	table_add(&t, (struct table_row){.engine = "f", .id = "c", .item = &c});
	table_end(&t);
	assert_int_equal(table_marked(&t, NULL), 0);
	fill_table(&t);
	assert_int_equal(table_marked(&t, NULL), 0);
	table_go(&t, "", "g");
	table_act(&t, DO_MARK);
	assert_int_equal(table_marked(&t, NULL), 2); /* both below the head */
	table_act(&t, DO_MARK);
	assert_int_equal(table_marked(&t, NULL), 0);
	table_act(&t, DO_MARK_ALL);
	assert_int_equal(table_marked(&t, NULL), 4);
	table_act(&t, DO_UNMARK);
	assert_int_equal(table_marked(&t, NULL), 0);
	table_release(&t);
}

static void test_cursor(void **state)
{
	struct table t;

	(void)state;
	table_init(&t, columns, COUNT(columns), "name");
	fill_table(&t);
	table_go(&t, "e", "a");
	table_act(&t, DO_SORT_NEXT);
	assert_string_equal(table_current(&t)->id, "a");
	/* Its row gone: the one in its place. */
	table_begin(&t);
	table_add(&t, (struct table_row){.engine = "e", .id = "b", .item = &b});
	table_add(&t, (struct table_row){.engine = "e", .id = "c", .item = &c});
	table_end(&t);
	assert_string_equal(table_current(&t)->id, "c");
	table_go(&t, "e", "d"); /* yet to come */
	assert_string_equal(table_current(&t)->id, "c");
	fill_table(&t);
	assert_string_equal(table_current(&t)->id, "d");
	table_release(&t);
}

static void test_many_things(void **state)
{
	static struct thing many[1000];
	static char ids[1000][8];
	struct table t;
	size_t at = 0, n = 0;

	(void)state;
	table_init(&t, columns, COUNT(columns), "size");
	for (int round = 0; round < 3; round++) {
		table_begin(&t);
		for (int i = 0; i < 1000; i++) {
			snprintf(ids[i], sizeof ids[i], "%d", i);
			many[i] = (struct thing){ids[i], i * 7919 % 1000};
			table_add(&t,
				(struct table_row){.engine = "e", .id = ids[i], .item = &many[i]});
		}
		table_end(&t);
		if (round == 0)
			table_act(&t, DO_MARK_ALL);
	}
	for (size_t i = 1; i < t.nshown; i++)
		assert_true(((const struct thing *)table_shown(&t, i - 1)->item)->size >=
			((const struct thing *)table_shown(&t, i)->item)->size);
	while (table_next_marked(&t, &at))
		n++;
	assert_int_equal(n, 1000);
	table_release(&t);
}

/* Texts are completed while blanks are left, and no text takes them all; rows that have no room are counted. */
static void test_widths_follow_texts(void **state)
{
	static const struct table_column texts[] = {
		{.name = "first", .head = "FIRST", .min = 8, .ideal = 10, .text = thing_name_text},
		{.name = "other",
			.head = "OTHER",
			.min = 8,
			.ideal = 10,
			.keep = 1,
			.text = thing_name_text},
		{.name = "rest", .head = "REST", .min = 6, .ideal = 8, .grow = 1, .keep = 2}};
	char name[101], status[64];
	struct thing long_one = {name, 0}, middle = {"a-name-of-twenty-six-columns", 0};
	struct table t;
	struct canvas cv;

	(void)state;
	memset(name, 'x', 100);
	name[100] = '\0';
	canvas_init(&cv, true);
	canvas_resize(&cv, 200, 3);
	table_init(&t, texts, COUNT(texts), NULL);
	for (int both = 0; both < 2; both++) {
		table_begin(&t);
		table_add(&t, (struct table_row){.engine = "e", .id = "m", .item = &middle});
		if (both)
			table_add(&t,
				(struct table_row){.engine = "e", .id = "l", .item = &long_one});
		table_end(&t);
		table_draw(&t, &cv, (struct area){0, 0, 200, 3});
		assert_true(t.w[0] >= 28 && t.w[1] >= 28 && t.w[2] >= 8);
		assert_true(both ? t.w[0] >= 70 && t.w[0] <= 100 : t.w[0] == 28 && t.w[1] == 28);
	}
	table_status(&t, status, sizeof status);
	assert_string_equal(status, "");
	table_draw(&t, &cv, (struct area){0, 0, 80, 2});
	assert_true(t.w[0] > 10 && t.x[2] + t.w[2] <= 80);
	table_status(&t, status, sizeof status);
	assert_string_equal(status, "1\u20131 of 2");
	table_act(&t, DO_BOTTOM);
	table_draw(&t, &cv, (struct area){0, 0, 80, 2});
	table_status(&t, status, sizeof status);
	assert_string_equal(status, "2\u20132 of 2");
	table_release(&t);
	canvas_release(&cv);
}

static void test_draw(void **state)
{
	struct canvas cv;
	struct str out = STR_INIT;
	struct table t;

	(void)state;
	text_init();
	canvas_init(&cv, true);
	canvas_resize(&cv, 40, 7);
	table_init(&t, columns, COUNT(columns), "name");
	fill_table(&t);
	table_go(&t, "e", "a");
	table_act(&t, DO_MARK);
	table_draw(&t, &cv, (struct area){0, 0, 40, 7});
	canvas_dump(&cv, &out, false);
	assert_string_equal(out.s,
		" NAME^                     SIZE    AGAIN\n"
		" cake                        10       10\n"
		" date ^[[1m                   7        7\n"
		" v group\n"
		"*apple                        3        3\n"
		"|bread                       30       30\n"
		"\n");
	/* Narrow: the columns with the largest keep go first, the first one never. */
	table_fit(&t, 0, 17);
	assert_int_equal(t.w[2], 0);
	assert_true(t.w[1] > 0);
	table_fit(&t, 0, 4);
	assert_int_equal(t.w[1], 0);
	assert_int_equal(t.w[0], 8);
	for (int w = 1; w < 250; w++) {
		canvas_resize(&cv, w, 4);
		table_draw(&t, &cv, (struct area){0, 0, w, 4});
		if (t.w[1] && w > 20)
			assert_true(t.x[1] + t.w[1] <= w);
	}
	/* Clicks: a head sorts, a row takes the cursor, the sign of a head folds. */
	canvas_resize(&cv, 40, 7);
	table_draw(&t, &cv, (struct area){0, 0, 40, 7});
	assert_true(table_click(&t, t.x[1] + 1, 0));
	assert_string_equal(t.columns[t.sort].name, "size");
	assert_true(table_click(&t, 10, 3));
	assert_string_equal(table_current(&t)->id, "a");
	assert_true(table_click(&t, 1, 1));
	assert_true(table_current(&t)->folded);
	assert_false(table_click(&t, 1, 6));
	/* Choosing columns. */
	table_act(&t, DO_COLUMNS);
	table_act(&t, DO_MARK);
	table_act(&t, DO_DOWN);
	table_act(&t, DO_MARK);
	table_draw(&t, &cv, (struct area){0, 0, 40, 7});
	table_act(&t, DO_BACK);
	assert_int_equal(t.chosen, 5);
	table_draw(&t, &cv, (struct area){0, 0, 40, 7});
	str_clear(&out);
	table_save(&t, &out);
	assert_string_equal(out.s, "name\tagain\ngroup\t\ncake\t10\ndate ^[[1m\t7\n");
	str_release(&out);
	table_release(&t);
	canvas_release(&cv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sort_and_fold),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_table_marks),
		cmocka_unit_test(test_cursor),
		cmocka_unit_test(test_many_things),
		cmocka_unit_test(test_draw),
		cmocka_unit_test(test_widths_follow_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
