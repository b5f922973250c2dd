/* regex.c - the one dialect of regular expressions: what it knows, what it bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/regex.h>

static int find_in(const char *expression, unsigned flags, const char *text)
{
	char why[REGEX_WHY_MAX];
	struct regex *r = regex_new(expression, flags, why);
	int found;

	assert_non_null(r);
	found = regex_find(r, text, strlen(text), 0, NULL, NULL);
	regex_free(r);
	return found;
}

static void perl_words(void **state)
{
	(void)state;
	assert_int_equal(find_in("^\\w+-\\d{2}$", 0, "web-12"), 1);
	assert_int_equal(find_in("web(?!-db)", 0, "web-db"), 0);
	assert_int_equal(find_in("[[:alpha:]]+", 0, "12"), 0);
	assert_int_equal(find_in("a|b", 0, "xbx"), 1);
	assert_int_equal(find_in("Web", 0, "web"), 0);
	assert_int_equal(find_in("Web", REGEX_FOLD, "wEB"), 1);
	assert_int_equal(find_in("ä.ü", REGEX_FOLD, "ÄöÜ"), 1);
}

/* A byte that is not UTF-8 is matched by nothing, and hides nothing beside it. */
static void beside_bad_bytes(void **state)
{
	(void)state;
	assert_int_equal(find_in("b", 0,
				 "\xff"
				 "b"),
		1);
	assert_int_equal(find_in(".*b", 0,
				 "\xff"
				 "ab"),
		1);
	assert_int_equal(find_in("(.*)b$", REGEX_LINES,
				 "a\n\xe9"
				 "b\nc"),
		1);
	assert_int_equal(find_in("\\W*b", 0, "a\xc3 b"), 1);
	assert_int_equal(find_in("a.b", 0,
				 "a\xff"
				 "b"),
		0);
	assert_int_equal(find_in("[^x]", 0, "\xff"), 0);
}

static void lines_and_whole(void **state)
{
	(void)state;
	assert_int_equal(find_in("^two$", 0, "one\ntwo\nthree"), 0);
	assert_int_equal(find_in("^two$", REGEX_LINES, "one\ntwo\nthree"), 1);
	assert_int_equal(find_in("one$", 0, "one\n"), 0);
	assert_int_equal(find_in("rm|ls", REGEX_WHOLE, "ls -l"), 0);
	assert_int_equal(find_in("rm|ls .*", REGEX_WHOLE, "ls -l\n/"), 1);
	assert_int_equal(find_in("rm", REGEX_WHOLE, "rm\n"), 0);
}

static void where_it_is(void **state)
{
	char why[REGEX_WHY_MAX];
	struct regex *r = regex_new("o+", 0, why);
	size_t start = 9, end = 9;

	(void)state;
	assert_int_equal(regex_find(r, "foo boo", 7, 0, &start, &end), 1);
	assert_true(start == 1 && end == 3);
	assert_int_equal(regex_find(r, "foo boo", 7, 3, &start, &end), 1);
	assert_true(start == 5 && end == 7);
	/* No more than n bytes, and NUL is one of them. */
	assert_int_equal(regex_find(r, "f\0oo", 2, 0, &start, &end), 0);
	assert_int_equal(regex_find(r, "f\0oo", 4, 0, &start, &end), 1);
	assert_int_equal(start, 2);
	regex_free(r);
	r = regex_new("^b", 0, why);
	assert_int_equal(regex_find(r, "ab", 2, 1, &start, &end), 0);
	regex_free(r);
	regex_free(NULL);
}

static void bytes_that_are_no_text(void **state)
{
	(void)state;
	assert_int_equal(find_in("a.c", 0, "\xff abc \xc3"), 1);
	assert_int_equal(find_in("\xff\\d", 0,
				 "x\xff"
				 "7"),
		1);
}

static void wrong_ones(void **state)
{
	static const char *const wrong[] = {
		"(", "a{2,1}", "[b-a]", "\\", "*", "(?P<x", "\\C", "x)|(y"};

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		char why[REGEX_WHY_MAX] = "";

		assert_null(regex_new(wrong[i], 0, why));
		assert_non_null(strstr(why, ", at character "));
	}
}

/* The bound is one of steps: where it is reached no machine gives another answer. */
static void hard_ones(void **state)
{
	char *text = xmalloc(100001);

	(void)state;
	memset(text, 'a', 100000);
	text[100000] = '\0';
	assert_int_equal(find_in("^(a+)+$", 0, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"), -1);
	assert_int_equal(
		find_in("(a|aa)+", REGEX_WHOLE, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"), -1);
	assert_int_equal(find_in("(?:a|b)*c", REGEX_WHOLE, text), -1);
	assert_int_equal(find_in("(*LIMIT_MATCH=4000000000)^(a+)+$", 0,
				 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"),
		-1);
	assert_int_equal(find_in("a+", REGEX_WHOLE, text), 1);
	assert_int_equal(find_in("a.*b", 0, "xxaxxb"), 1);
	assert_int_equal(find_in("nothing", 0, text), 0);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(perl_words),
		cmocka_unit_test(beside_bad_bytes),
		cmocka_unit_test(lines_and_whole),
		cmocka_unit_test(where_it_is),
		cmocka_unit_test(bytes_that_are_no_text),
		cmocka_unit_test(wrong_ones),
		cmocka_unit_test(hard_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
