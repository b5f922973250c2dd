/* log_fields.c - log lines of JSON as columns: what comes first, what hostile ones do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <berth/str.h>
#include <berth/text.h>

#include "views/logs/logbuf.h"

static int setup(void **state)
{
	(void)state;
	text_init();
	return 0;
}

static void assert_unfolded(const char *line, const char *want)
{
	struct log_fields f = {.text = STR_INIT};
	bool is = fields_unfold(line, strlen(line), true, &f);

	assert_int_equal(is, want != NULL);
	if (want)
		assert_string_equal(f.text.s, want);
	fields_release(&f);
}

static enum role role_at(const char *line, const char *word)
{
	struct log_fields f = {.text = STR_INIT};
	size_t stop;
	enum role role;

	assert_true(fields_unfold(line, strlen(line), true, &f));
	stop = f.text.len;
	role = fields_role(&f, (size_t)(strstr(f.text.s, word) - f.text.s), &stop);
	fields_release(&f);
	return role;
}

static void test_level_time_message_first(void **state)
{
	(void)state;
	assert_unfolded(
		"{\"user\":\"a b\",\"msg\":\"started\",\"time\":\"2026-11-20T21:45:02.123456Z\",\"level\":\"info\",\"n\":3}",
		"info  21:45:02.123 started                                  user=a b n=3");
	/* pino: numbers, and an epoch. */
	assert_unfolded("{\"level\":50,\"time\":1732139102123,\"pid\":1,\"msg\":\"no\"}",
		"error 173213910212 no                                       pid=1");
	assert_unfolded("  {\"severity\":\"WARNING\",\"message\":\"m\"}", "WARNI              m");
	assert_unfolded("{\"a\":{\"b\":[1,null]},\"c\":true}",
		"                                                            a={\"b\":[1,null]} c=true");
	/* A message longer than its column moves the rest on. */
	assert_unfolded("{\"msg\":\"0123456789012345678901234567890123456789012345\",\"k\":1}",
		"                   0123456789012345678901234567890123456789012345 k=1");
	/* What is no string is a part of the line, and ends where it ends. */
	assert_unfolded("{\"level\":3,\"msg\":\"x\"}", "3                  x");
	assert_unfolded("{\"level\":null,\"msg\":\"x\"}", "null               x");
	/* An object under such a name is no level. */
	assert_unfolded("{\"level\":{\"x\":1},\"msg\":\"m\"}",
		"                   m                                        level={\"x\":1}");
}

static void test_what_is_no_object_stays(void **state)
{
	(void)state;
	assert_unfolded("", NULL);
	assert_unfolded("plain text", NULL);
	assert_unfolded("[1,2]", NULL);
	assert_unfolded("{\"a\":1", NULL);
	assert_unfolded("{\"a\":1} and more", NULL);
	/* What cannot be meant: which of the two is it? */
	assert_unfolded("{\"msg\":\"good\",\"msg\":\"bad\"}", NULL);
}

/* Beside the log's own stamps a second column of times would only take room. */
static void test_without_times(void **state)
{
	struct log_fields f = {.text = STR_INIT};
	const char *line = "{\"ts\":1,\"msg\":\"m\",\"level\":\"info\"}";

	(void)state;
	assert_true(fields_unfold(line, strlen(line), false, &f));
	assert_string_equal(f.text.s, "info  m                                        ts=1");
	fields_release(&f);
}

/* What JSON hides is decoded, and does nothing. */
static void test_escapes_are_neutral(void **state)
{
	struct log_fields f = {.text = STR_INIT};
	const char *line =
		"{\"msg\":\"\\u001b]0;x\\u0007\\r\\n\\u202e\\u009b1m\",\"\\u001b[2J\":\"\\u001b[2J\",\"level\":\"\\u001b[1m\"}";

	(void)state;
	assert_true(fields_unfold(line, strlen(line), true, &f));
	for (size_t i = 0; i < f.text.len; i++)
		assert_true((unsigned char)f.text.s[i] >= 0x20 && f.text.s[i] != 0x7f);
	assert_null(strstr(f.text.s, "\xc2\x9b"));
	assert_null(strstr(f.text.s, "\xe2\x80\xae"));
	fields_release(&f);
}

static void test_many_members(void **state)
{
	AUTO_STR struct str line = STR_INIT;
	struct log_fields f = {.text = STR_INIT};

	(void)state;
	str_adds(&line, "{\"m0\":0");
	for (int i = 1; i < 200; i++)
		str_addf(&line, ",\"m%d\":%d", i, i);
	str_addc(&line, '}');
	assert_true(fields_unfold(line.s, line.len, true, &f));
	assert_true(f.n <= FIELD_RUNS);
	assert_non_null(strstr(f.text.s, "m199=199"));
	fields_release(&f);
}

static void test_roles(void **state)
{
	(void)state;
	assert_int_equal(role_at("{\"level\":\"error\",\"msg\":\"boom\"}", "boom"), ROLE_BAD);
	assert_int_equal(role_at("{\"level\":\"WARN\",\"msg\":\"boom\"}", "boom"), ROLE_WARN);
	assert_int_equal(role_at("{\"level\":20,\"msg\":\"boom\"}", "boom"), ROLE_DIM);
	assert_int_equal(role_at("{\"level\":\"info\",\"msg\":\"boom\"}", "boom"), ROLE_TEXT);
	assert_int_equal(role_at("{\"msg\":\"boom\",\"k\":\"v\"}", "k="), ROLE_ACCENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_level_time_message_first),
		cmocka_unit_test(test_what_is_no_object_stays),
		cmocka_unit_test(test_without_times),
		cmocka_unit_test(test_escapes_are_neutral),
		cmocka_unit_test(test_many_members),
		cmocka_unit_test(test_roles),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
