/* secrets.c - the variables that an env file gives, read as MassGen reads them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "container/container.h"

static char file[] = "/tmp/berth-XXXXXX";

static int setup(void **state)
{
	static const char text[] = "\xEF\xBB\xBF# keys\n"
				   "\n"
				   "PLAIN=a=b\n"
				   "  SPACED = c d \r\n"
				   "export OUT=\"e # f\"\n"
				   "exported=1\n"
				   "SINGLE='$HOME'\n"
				   "HALF=\"g\n"
				   "QUOTE=\"\n"
				   "EMPTY=\n"
				   "no value\n"
				   "=nothing\n"
				   "TWO WORDS=x\n"
				   " # PLAIN=no\n"
				   "LAST=h";
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
	return close(fd);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(file);
}

static const char *find_value(const struct secret_values *v, const char *name)
{
	for (size_t i = 0; i < v->n; i++)
		if (!strcmp(v->secret[i].name, name))
			return v->secret[i].value;
	return NULL;
}

static void test_lines(void **state)
{
	static const struct {
		const char *name, *value;
	} want[] = {{"$PLAIN", "a=b"}, {"$SPACED", "c d"}, {"$OUT", "e # f"}, {"$exported", "1"},
		{"$SINGLE", "$HOME"}, {"$HALF", "\"g"}, {"$QUOTE", "\""}, {"$EMPTY", ""},
		{"$LAST", "h"}};
	struct agent_def a = {.id = "a", .credentials.env_file = file};
	struct team t = {0};
	struct secret_values v = {0};
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(secrets_gather(&t, &a, &v, &e), 0);
	assert_int_equal(v.n, sizeof want / sizeof *want);
	for (size_t i = 0; i < v.n; i++) {
		assert_non_null(find_value(&v, want[i].name));
		assert_string_equal(find_value(&v, want[i].name), want[i].value);
	}
	secrets_release(&v);
}

static void test_chosen(void **state)
{
	static const char *const words[] = {"OUT", "LAST"}, *const missing[] = {"OUT", "NOWHERE"};
	struct agent_def a = {
		.id = "a", .credentials = {.env_file = file, .from_file = {2, words}}};
	struct team t = {0};
	struct secret_values v = {0}, w = {0};
	struct err e = ERR_INIT;
	char told[400];

	(void)state;
	assert_int_equal(secrets_gather(&t, &a, &v, &e), 0);
	assert_int_equal(v.n, 2);
	assert_string_equal(find_value(&v, "$OUT"), "e # f");
	assert_string_equal(find_value(&v, "$LAST"), "h");
	secrets_release(&v);
	a.credentials.from_file.word = missing;
	assert_int_equal(secrets_gather(&t, &a, &w, &e), -1);
	assert_int_equal(e.kind, ERR_CONFIG);
	assert_non_null(strstr(e.msg, "NOWHERE"));
	/* MassGen goes on without it, and its file's author is told. */
	a.credentials.lenient = true;
	assert_int_equal(secrets_foresee(&a.credentials, &e), 0);
	assert_true(secrets_absent(&a.credentials, told, sizeof told));
	assert_non_null(strstr(told, "$NOWHERE"));
	assert_null(strstr(told, "OUT"));
	a.credentials.lenient = false;
	assert_false(secrets_absent(&a.credentials, told, sizeof told));
	/* config check says the same. */
	e = (struct err)ERR_INIT;
	assert_int_equal(secrets_foresee(&a.credentials, &e), -1);
	assert_non_null(strstr(e.msg, "NOWHERE"));
	a.credentials.from_file.word = words;
	assert_int_equal(secrets_foresee(&a.credentials, &e), 0);
	secrets_release(&w);
}

/* What everybody has at the same place, or MassGen's file names, may be missing: that is told, and nothing is mounted. */
static void test_absent(void **state)
{
	static const char *const mount[] = {"git_config", "ssh_keys"};
	struct agent_def a = {.id = "a", .credentials = {.mount = {2, mount}}};
	struct mount_list l = {0};
	struct secret_values v = {0};
	struct team t = {0};
	struct err e = ERR_INIT;
	char told[400];

	(void)state;
	setenv("HOME", "/nonexistent", 1);
	assert_int_equal(secrets_mounts(&a.credentials, &l, &e), 0);
	assert_int_equal(l.n, 0);
	assert_true(secrets_absent(&a.credentials, told, sizeof told));
	assert_non_null(strstr(told, "~/.gitconfig, ~/.ssh"));
	a.credentials = (struct credentials){.env_file = "/nonexistent/.env"};
	assert_int_equal(secrets_gather(&t, &a, &v, &e), -1);
	assert_int_equal(secrets_foresee(&a.credentials, &e), -1);
	a.credentials.lenient = true;
	assert_int_equal(secrets_gather(&t, &a, &v, &e), 0);
	assert_int_equal(secrets_foresee(&a.credentials, &e), 0);
	assert_true(secrets_absent(&a.credentials, told, sizeof told));
	assert_non_null(strstr(told, "/nonexistent/.env"));
}

/* What sets nothing is told by its place alone. */
static void test_odd_lines(void **state)
{
	struct credentials c = {.env_file = file};
	char odd[512];

	(void)state;
	assert_true(secrets_odd_lines(&c, odd, sizeof odd));
	assert_non_null(
		strstr(odd, ":11: this line and 2 others are not NAME=value, so they set nothing"));
	assert_null(strstr(odd, "no value"));
	c.env_file = NULL;
	assert_false(secrets_odd_lines(&c, odd, sizeof odd));
}

/* The first name has no mark of editors before it, and a file with NUL bytes is refused, not cut off there. */
static void test_bytes(void **state)
{
	static const char marked[] = "\xEF\xBB\xBF"
				     "FIRST=1\r\n\r\nLAST=2\r\n",
			  cut[] = "FIRST=1\nSECOND=\0\nLAST=2\n";
	char name[] = "/tmp/berth-XXXXXX";
	struct agent_def a = {.id = "a", .credentials.env_file = name};
	struct secret_values v = {0};
	struct err e = ERR_INIT;
	int fd = mkstemp(name);

	(void)state;
	assert_int_equal(pwrite(fd, marked, sizeof marked - 1, 0), sizeof marked - 1);
	assert_int_equal(secrets_gather(&(const struct team){0}, &a, &v, &e), 0);
	assert_int_equal(v.n, 2);
	assert_string_equal(find_value(&v, "$FIRST"), "1");
	assert_string_equal(find_value(&v, "$LAST"), "2");
	secrets_release(&v);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, cut, sizeof cut - 1, 0), sizeof cut - 1);
	assert_int_equal(secrets_gather(&(const struct team){0}, &a, &v, &e), -1);
	assert_int_equal(e.kind, ERR_CONFIG);
	assert_non_null(strstr(e.msg, "holds NUL bytes"));
	assert_int_equal(v.n, 0);
	close(fd);
	unlink(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_chosen),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_odd_lines),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
