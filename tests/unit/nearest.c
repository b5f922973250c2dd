/* nearest.c - which known word a mistyped one is taken for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <berth/config.h>

static const char *const words[] = {"hz", "theme", "read_only", "mouse", "confirm_threshold",
	"command_line_docker_memory_limit", "enable_mcp_command_line", NULL};

static void expect_nearest(const char *word, const char *expected)
{
	const char *got = nearest_word(word, words);

	if (!expected) {
		assert_null(got);
	} else {
		assert_non_null(got);
		assert_string_equal(got, expected);
	}
}

static void one_or_two_letters(void **state)
{
	(void)state;
	expect_nearest("hx", "hz");
	expect_nearest("thme", "theme");
	expect_nearest("htmee", "theme");
	expect_nearest("readonly", "read_only");
	expect_nearest("mosue", "mouse");
	expect_nearest("MOUSE", NULL);
	expect_nearest("enable_mcp_comand_line", "enable_mcp_command_line");
	expect_nearest("command_line_docker_memroy_limit", "command_line_docker_memory_limit");
}

static void nothing_near(void **state)
{
	char huge[5000];

	(void)state;
	memset(huge, 'a', sizeof huge - 1);
	huge[sizeof huge - 1] = '\0';
	expect_nearest("", NULL);
	expect_nearest("colour", NULL);
	expect_nearest("ab", NULL); /* as far from "hz" as a word of two letters can be */
	expect_nearest(huge, NULL);
}

static void the_nearest_of_two(void **state)
{
	static const char *const near[] = {"stop", "stops", "start", NULL};

	(void)state;
	assert_string_equal(nearest_word("stpo", near), "stop");
	assert_string_equal(nearest_word("stopss", near), "stops");
	assert_string_equal(nearest_word("strat", near), "start");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_or_two_letters),
		cmocka_unit_test(nothing_near),
		cmocka_unit_test(the_nearest_of_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
