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

static void finds(const char *word, const char *expected)
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
	finds("hx", "hz");
	finds("thme", "theme");
	finds("htmee", "theme");
	finds("readonly", "read_only");
	finds("mosue", "mouse");
	finds("MOUSE", NULL);
	finds("enable_mcp_comand_line", "enable_mcp_command_line");
	finds("command_line_docker_memroy_limit", "command_line_docker_memory_limit");
}

static void nothing_near(void **state)
{
	char huge[5000];

	(void)state;
	memset(huge, 'a', sizeof huge - 1);
	huge[sizeof huge - 1] = '\0';
	finds("", NULL);
	finds("colour", NULL);
	finds("ab", NULL); /* as far from "hz" as a word of two letters can be */
	finds(huge, NULL);
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
