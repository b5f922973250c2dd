/* kept_routes.c - an agent's routes with references become those with keys, and nothing in a secret becomes a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <berth/file.h>
#include <berth/keeper.h>
#include <berth/mem.h>
#include <berth/str.h>

static char dir[64];

static int enter_folder(void **state)
{
	(void)state;
	snprintf(dir, sizeof dir, "/tmp/berth-kept-XXXXXX");
	return !mkdtemp(dir) || chdir(dir);
}

static int leave_folder(void **state)
{
	(void)state;
	unlink("key");
	return chdir("/") || rmdir(dir);
}

static void write_key(const char *bytes, size_t n)
{
	assert_int_equal(file_replace("key", bytes, n, false), 0);
}

static unsigned resolve_copy(const char *text, struct str *out)
{
	AUTO_FREE char *copy = xstrdup(text);
	unsigned missing = 99;

	str_clear(out);
	keeper_resolve_routes(copy, out, &missing);
	return missing;
}

static void test_file(void **state)
{
	AUTO_STR struct str out = STR_INIT;

	(void)state;
	write_key("0123456789\n", 11);
	assert_int_equal(
		resolve_copy("route a\nto https://x\nsecret file key\nprice m 1 2\n", &out), 0);
	assert_string_equal(out.s, "route a\nto https://x\nkey 0123456789\nprice m 1 2\n");
	assert_int_equal(resolve_copy("route a\nsecret file none\n", &out), 1);
	assert_string_equal(out.s, "route a\n");
	assert_int_equal(resolve_copy("", &out), 0);
	assert_string_equal(out.s, "");
}

static void test_command(void **state)
{
	AUTO_STR struct str out = STR_INIT;

	(void)state;
	assert_int_equal(
		resolve_copy(
			"route a\nsecret command\nword printf\nword %.4s-%s\nword word less\nword "
			"it's\nroute b\nsecret command\nword false\nroute c\nsecret command\n",
			&out),
		2);
	assert_string_equal(out.s, "route a\nkey word-it's\nroute b\nroute c\n");
}

/* The shell is gone; what this process has in its own environment is another's. */
static void test_environment(void **state)
{
	AUTO_STR struct str out = STR_INIT;

	(void)state;
	setenv("KEPT_ROUTE", "0123456789", 1);
	assert_int_equal(resolve_copy("route a\nsecret env KEPT_ROUTE\n", &out), 1);
	assert_string_equal(out.s, "route a\n");
}

static void test_no_line_by_a_secret(void **state)
{
	static const char *const bad[] = {"0123456789\nroute evil", "short", "with a blank",
		"control\x01xxxxxx", "\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8"};
	AUTO_STR struct str out = STR_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		write_key(bad[i], strlen(bad[i]));
		assert_int_equal(resolve_copy("route a\nsecret file key\n", &out), 1);
		assert_string_equal(out.s, "route a\n");
	}
	write_key("0123456\0"
		  "89",
		10);
	assert_int_equal(resolve_copy("route a\nsecret file key\n", &out), 1);
}

/* A file of ours that somebody broke: no crash, no key where none was. */
static void test_broken_routes(void **state)
{
	static const char *const texts[] = {"secret", "secret ", "secret file",
		"word x\nsecret other x", "\n\n\n", "secret command\nword\nword "};
	AUTO_STR struct str out = STR_INIT, many = STR_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		resolve_copy(texts[i], &out);
		assert_null(strstr(out.s, "key "));
	}
	str_adds(&many, "secret command\n");
	for (int i = 0; i < 200; i++)
		str_adds(&many, "word x\n");
	assert_int_equal(resolve_copy(many.s, &out), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_no_line_by_a_secret),
		cmocka_unit_test(test_broken_routes),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
