/* jsonr.c - reading a stranger's JSON: exact, bounded, and what is wrong with it told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <berth/jsonr.h>
#include <berth/str.h>

static struct arena mem;
static struct err fault;

static int make_arena(void **state)
{
	(void)state;
	arena_init(&mem, 256);
	return 0;
}

static int drop_arena(void **state)
{
	(void)state;
	arena_release(&mem);
	return 0;
}

static const struct json *parse_text_as_json(const char *text)
{
	return json_parse(&mem, text, strlen(text), &fault, NULL);
}

static void test_values(void **state)
{
	const struct json *j =
		parse_text_as_json(" {\"a\": [1, -2.5e+3, true, false, null, \"x\"], \"b\": {} } ");
	int64_t n;

	(void)state;
	assert_non_null(j);
	assert_int_equal(j->n, 2);
	j = json_member(j, "a");
	assert_int_equal(j->n, 6);
	assert_true(json_integer(j->first, &n));
	assert_int_equal(n, 1);
	assert_true(json_integer(j->first->next, &n));
	assert_int_equal(n, -2500);
	assert_true(json_integer(parse_text_as_json("1.0"), &n));
	assert_int_equal(n, 1);
	assert_false(json_integer(parse_text_as_json("1.5"), &n));
	assert_false(json_integer(parse_text_as_json("1e300"), &n));
	assert_true(json_integer(parse_text_as_json("9223372036854775807"), &n));
	assert_true(n == INT64_MAX);
	assert_false(json_integer(parse_text_as_json("9223372036854775808"), &n));
	assert_null(json_member(parse_text_as_json("[1]"), "a"));
	assert_null(json_member(NULL, "a"));
}

static void test_strings(void **state)
{
	const struct json *j = parse_text_as_json("\"\\u00e4\\ud83d\\ude00\\n\\/\\u0000z\"");

	(void)state;
	assert_int_equal(j->len, 10);
	assert_memory_equal(j->text, "\xC3\xA4\xF0\x9F\x98\x80\n/\0z", 10);
	assert_int_equal(fault.kind, ERR_NONE);
	assert_null(json_string(parse_text_as_json("{\"a\": \"x\\u0000\"}"), "a"));
	assert_string_equal(json_string(parse_text_as_json("{\"a\": \"x\"}"), "a"), "x");
}

/* Read to the end, for the id is wanted; and told. */
static void test_faults(void **state)
{
	static const char *const wrong[] = {"{\"id\": 7, \"x\": \"\\ud800\"}",
		"{\"id\": 7, \"x\": \"\\udc00\\ud800\"}", "{\"id\": 7, \"x\": \"\xff\"}",
		"{\"id\": 7, \"x\": \"\xc0\x80\"}", "{\"id\": 7, \"x\": 1, \"x\": 2}",
		"{\"id\": 7, \"x\\u0000\": 1, \"x\\u0000\": 2}"};
	int64_t id;

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		const struct json *j = parse_text_as_json(wrong[i]);

		assert_non_null(j);
		assert_true(json_integer(json_member(j, "id"), &id));
		assert_int_equal(fault.kind, ERR_PROTOCOL);
	}
	assert_non_null(parse_text_as_json("{\"x\": 1, \"x\\u0000\": 2}"));
	assert_int_equal(fault.kind, ERR_NONE);
}

static void test_no_json(void **state)
{
	static const char *const none[] = {"", " ", "{", "[1", "[1,", "[1,]", "{\"a\"}", "{\"a\":}",
		"{\"a\":1,}", "{a:1}", "\"", "\"\\", "\"\\u12\"", "\"\\x\"", "\"\n\"", "01", "1.",
		"-", "1e", "+1", ".5", "nul", "tru e", "1 2", "[1]]", "NaN", "'a'", "\"\\u123"};

	(void)state;
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
		assert_null(parse_text_as_json(none[i]));
}

/* What is beyond the limits is left out and told, and the id behind it is still found. */
static void check_excess(const struct str *text, size_t most)
{
	const struct json *j = parse_text_as_json(text->s);
	int64_t id;

	assert_non_null(j);
	assert_int_equal(fault.kind, ERR_PROTOCOL);
	assert_true(json_integer(json_member(j, "id"), &id));
	assert_int_equal(id, 7);
	assert_true(arena_bytes(&mem) < most);
}

static void test_bounds(void **state)
{
	AUTO_STR struct str deep = STR_INIT;
	AUTO_STR struct str keys = STR_INIT;
	AUTO_STR struct str many = STR_INIT;

	(void)state;
	for (int i = 0; i < 100000; i++)
		str_addc(&deep, '[');
	assert_null(parse_text_as_json(deep.s));
	str_clear(&deep);
	str_adds(&deep, "{\"x\":");
	for (int i = 0; i < 200; i++)
		str_adds(&deep, "[ \"]\\\"\", {\"a\": ");
	str_adds(&deep, "-1");
	for (int i = 0; i < 200; i++)
		str_adds(&deep, "}]");
	str_adds(&deep, ",\"id\":7}");
	check_excess(&deep, 1 << 20);
	str_addc(&keys, '{');
	for (int i = 0; i < 1000; i++)
		str_addf(&keys, "\"k%d\":0,", i);
	str_adds(&keys, "\"id\" : 7 }");
	check_excess(&keys, 1 << 20);
	str_adds(&many, "{\"x\":[0");
	for (int i = 0; i < JSON_MOST * 2; i++)
		str_adds(&many, ", 0");
	str_adds(&many, "],\"id\":7}");
	check_excess(&many, (size_t)JSON_MOST * 2 * sizeof(struct json));
}

/* What is left out takes no memory, neither as keys nor as ids, of which a request has one. */
static void test_left_out(void **state)
{
	static const char *const again[] = {
		"\"\":0,", "\"k\":{\"\":[]},", "\"id\":0,", "\"id\":[[]],"};

	(void)state;
	for (size_t i = 0; i < sizeof again / sizeof again[0]; i++) {
		AUTO_STR struct str text = STR_INIT;

		arena_reset(&mem);
		str_adds(&text, "{\"id\":7");
		for (int k = 0; k < 100000; k++) {
			str_addc(&text, ',');
			str_add(&text, again[i], strlen(again[i]) - 1);
		}
		str_addc(&text, '}');
		check_excess(&text, 1 << 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_values, make_arena, drop_arena),
		cmocka_unit_test_setup_teardown(test_strings, make_arena, drop_arena),
		cmocka_unit_test_setup_teardown(test_faults, make_arena, drop_arena),
		cmocka_unit_test_setup_teardown(test_no_json, make_arena, drop_arena),
		cmocka_unit_test_setup_teardown(test_bounds, make_arena, drop_arena),
		cmocka_unit_test_setup_teardown(test_left_out, make_arena, drop_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
