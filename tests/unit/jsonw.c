/* jsonw.c - the JSON writer: commas, nesting, escapes, hostile bytes, exact integers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include <berth/text.h>

#include <berth/jsonw.h>

static void test_json_shape(void **state)
{
	struct jsonw j;

	(void)state;
	jsonw_init(&j, false);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "schema", "x/1");
	jsonw_array(&j, "list");
	jsonw_int(&j, NULL, 1);
	jsonw_object(&j, NULL);
	jsonw_end(&j);
	jsonw_array(&j, NULL);
	jsonw_end(&j);
	jsonw_end(&j);
	jsonw_bool(&j, "yes", true);
	jsonw_null(&j, "none");
	jsonw_end(&j);
	assert_string_equal(j.out.s,
		"{\n  \"schema\": \"x/1\",\n  \"list\": [\n    1,\n    {},\n    []\n"
		"  ],\n  \"yes\": true,\n  \"none\": null\n}\n");
	jsonw_release(&j);
}

static void test_one_line(void **state)
{
	struct jsonw j;

	(void)state;
	jsonw_init(&j, true);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "a", "b");
	jsonw_array(&j, "c");
	jsonw_uint(&j, NULL, 1);
	jsonw_uint(&j, NULL, 2);
	jsonw_end(&j);
	jsonw_end(&j);
	assert_string_equal(j.out.s, "{\"a\": \"b\", \"c\": [1, 2]}\n");
	jsonw_object(&j, NULL);
	jsonw_end(&j);
	assert_string_equal(j.out.s, "{\"a\": \"b\", \"c\": [1, 2]}\n{}\n");
	jsonw_release(&j);
}

static void expect_json(const char *text, size_t n, const char *expected)
{
	struct jsonw j;

	jsonw_init(&j, true);
	jsonw_array(&j, NULL);
	jsonw_textn(&j, NULL, text, n);
	jsonw_end(&j);
	assert_memory_equal(j.out.s, "[", 1);
	assert_int_equal(j.out.len, strlen(expected) + 3);
	assert_memory_equal(j.out.s + 1, expected, strlen(expected));
	jsonw_release(&j);
}

static void test_json_text(void **state)
{
	(void)state;
	expect_json("a\"b\\c/\n\t", 8, "\"a\\\"b\\\\c/\\n\\t\"");
	expect_json("\0\x1b[31m\x7f", 7, "\"\\u0000\\u001b[31m\\u007f\"");
	expect_json("h\xc3\xa9\xe4\xb8\xad\xf0\x9f\x90\xb3", 10,
		"\"h\xc3\xa9\xe4\xb8\xad\xf0\x9f\x90\xb3\"");
	expect_json("\xff\xc0\xaf", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	expect_json("\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	expect_json("\xe2\x80\xae\xc2\x9b", 5, "\"\\u202e\\u009b\""); /* RLO, CSI */
	expect_json("\xf3\xa0\x81\x81", 4, "\"\\udb40\\udc41\"");     /* a tag character */
	expect_json("", 0, "\"\"");
}

static void test_written_numbers(void **state)
{
	struct jsonw j;

	(void)state;
	jsonw_init(&j, true);
	jsonw_array(&j, NULL);
	jsonw_int(&j, NULL, INT64_MIN);
	jsonw_uint(&j, NULL, UINT64_MAX);
	jsonw_uint(&j, NULL, 9007199254740993u);
	jsonw_number(&j, NULL, 38.4, 2);
	jsonw_number(&j, NULL, 100, 2);
	jsonw_number(&j, NULL, 0.001, 2);
	jsonw_number(&j, NULL, -0.001, 2);
	jsonw_number(&j, NULL, 10, 0);
	jsonw_number(&j, NULL, (double)NAN, 2);
	jsonw_number(&j, NULL, (double)INFINITY, 2);
	jsonw_end(&j);
	assert_string_equal(j.out.s,
		"[-9223372036854775808, 18446744073709551615, 9007199254740993, "
		"38.4, 100, 0, 0, 10, null, null]\n");
	jsonw_release(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_shape),
		cmocka_unit_test(test_one_line),
		cmocka_unit_test(test_json_text),
		cmocka_unit_test(test_written_numbers),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
