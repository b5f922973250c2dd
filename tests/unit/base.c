/* base.c - strings, arenas, neutralised text, numbers and the mailbox. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <berth/arena.h>
#include <berth/err.h>
#include <berth/hash.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/signals.h>
#include <berth/str.h>
#include <berth/text.h>

#include "base/mailbox.h"

static void test_signals(void **state)
{
	static const struct {
		const char *text, *name;
		int number;
	} good[] = {{"TERM", "SIGTERM", 15}, {"sigterm", "SIGTERM", 15}, {"9", "SIGKILL", 9},
		{"SIGUSR1", "SIGUSR1", 10}, {"RTMIN", "SIGRTMIN+0", 34},
		{"rtmin+3", "SIGRTMIN+3", 37}, {"64", "SIGRTMIN+30", 64}};
	static const char *const bad[] = {"", "SIG", "0", "65", "-9", "999", "TERM ", "RTMIN+31",
		"RTMIN+", "RTMIN+x", "SIGSIGTERM", "TERM\n"};
	char name[SIGNAL_NAME_MAX];
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_int_equal(signal_number(good[i].text, &e), good[i].number);
		assert_string_equal(signal_name(good[i].number, name), good[i].name);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(signal_number(bad[i], &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
	}
}

static void test_err(void **state)
{
	struct err e = ERR_INIT;
	char big[2 * ERR_MSG_MAX];

	(void)state;
	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	assert_int_equal(err_set(&e, ERR_CONFIG, "a %d", 1), -1);
	assert_string_equal(e.msg, "a 1");
	assert_int_equal(err_exit_code(&e), 2);
	err_wrap(&e, "in %s", "file");
	assert_string_equal(e.msg, "in file: a 1");
	assert_int_equal(e.kind, ERR_CONFIG);
	err_sys(&e, 2, "cannot open x");
	assert_string_equal(e.msg, "cannot open x: No such file or directory");
	err_set(&e, ERR_FAILED, "%s", big);
	assert_int_equal(strlen(e.msg), ERR_MSG_MAX - 1);
	assert_string_equal(e.msg + ERR_MSG_MAX - 4, "...");
	assert_int_equal(err_set(NULL, ERR_FAILED, "nobody cares"), -1);
}

static void test_str(void **state)
{
	struct str s = STR_INIT;

	(void)state;
	for (int i = 0; i < 1000; i++)
		str_addf(&s, "%d,", i);
	assert_int_equal(s.len, strlen(s.s));
	str_remove_front(&s, 2);
	assert_memory_equal(s.s, "1,2,", 4);
	free(str_detach(&s));
	assert_string_equal(s.s, "");
	str_release(&s);
	str_release(NULL);
}

/* RFC 4648, 10 */
static void test_base64(void **state)
{
	static const char *const want[] = {
		"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};

	(void)state;
	for (size_t n = 0; n <= 6; n++) {
		AUTO_STR struct str s = STR_INIT;

		str_add_base64(&s, "foobar", n);
		assert_string_equal(s.s, want[n]);
	}
}

/* draft-eastlake-fnv: they are kept in files, so they must not change. */
static void test_hash(void **state)
{
	(void)state;
	assert_int_equal(hash_more(HASH_START, "", 0), UINT64_C(0xcbf29ce484222325));
	assert_int_equal(hash_more(HASH_START, "foobar", 6), UINT64_C(0x85944171f73967e8));
	assert_int_equal(hash_string(HASH_START, "foobar"), UINT64_C(0x34531ca7168b8f38));
	assert_int_equal(hash_short("foobar"), 0xbf9cf968);
}

static void test_octal(void **state)
{
	char s[] = "/a\\040b\\134\\0409\\400\\04";

	(void)state;
	text_undo_octal(s);
	assert_string_equal(s, "/a b\\ 9\\400\\04");
}

static void test_arena(void **state)
{
	struct arena a;
	char *last = NULL;

	(void)state;
	arena_init(&a, 256);
	for (int i = 0; i < 5000; i++) {
		char *p = arena_printf(&a, "%d", i);

		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		assert_int_equal(atoi(p), i);
		last = p;
	}
	assert_string_equal(last, "4999");
	arena_reset(&a);
	assert_string_equal(arena_alloc(&a, 64), "");
	assert_null(arena_strdup(&a, NULL));
	arena_release(&a);
}

static void expect_neutral(const char *in, size_t n, const char *want)
{
	struct str out = STR_INIT;

	text_neutralise(&out, in, n, false);
	assert_string_equal(out.s, want);
	assert_int_equal(text_width(in, n), text_width(out.s, out.len));
	str_release(&out);
}

static void test_natural(void **state)
{
	static const char *const rising[] = {"", "a", "a-1", "a-2", "a-10", "a-10-3", "a-10-20",
		"a01", "a1", "b", "b2c", "b2d", "b10"};

	(void)state;
	for (size_t i = 0; i < COUNT(rising); i++)
		for (size_t k = 0; k < COUNT(rising); k++) {
			int order = text_natural(rising[i], rising[k]);

			assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
		}
	assert_true(text_natural("x99999999999999999999999", "x100000000000000000000000") < 0);
}

static void test_whole_characters(void **state)
{
	static const struct {
		const char *s;
		size_t whole;
	} cases[] = {{"", 0}, {"ab", 2}, {"a\xc3", 1}, {"a\xc3\xa4", 3}, {"\xe2", 0},
		{"\xe2\x82", 0}, {"\xe2\x82\xac", 3}, {"x\xf0\x9f\x8e", 1}, {"\xf0\x9f\x8e\x89", 4},
		/* what no byte more would make a character */
		{"\xff", 1}, {"\xc0", 1}, {"\x80\x80\x80\x80", 4}, {"\xc3\xa4\xa4", 3}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(utf8_whole(cases[i].s, strlen(cases[i].s)), cases[i].whole);
}

static void expect_quoted(const char *name, const char *want)
{
	struct str out = STR_INIT;

	text_quote_name(&out, name, strlen(name));
	assert_string_equal(out.s, want);
	str_release(&out);
}

/* As git does with core.quotePath=false, and also what may not be shown. */
/* Each byte at each place of a word and beside it, against one byte after the other. */
static void test_spans(void **state)
{
	char text[26];

	(void)state;
	for (size_t at = 0; at < sizeof text; at++) {
		for (int b = 0; b < 256; b++) {
			bool plain = b >= ' ' && b < 0x7F && b != '"' && b != '\\';

			memset(text, at % 2 ? '~' : ' ', sizeof text);
			text[at] = (char)b;
			assert_int_equal(
				text_plain_span(text, sizeof text), plain ? sizeof text : at);
			assert_int_equal(text_plain_span(text, at), at);
			assert_int_equal(utf8_valid(text, sizeof text), b < 0x80);
			assert_true(utf8_valid(text, at));
		}
		if (at + 1 < sizeof text) {
			memcpy(text + at, "\xc3\xa9", 2);
			assert_true(utf8_valid(text, sizeof text));
			assert_false(utf8_valid(text, at + 1));
			assert_int_equal(text_plain_span(text, sizeof text), at);
		}
	}
}

static void test_quoted_names(void **state)
{
	(void)state;
	text_init();
	expect_quoted("", "");
	expect_quoted("a b'c\xc3\xa9", "a b'c\xc3\xa9");
	expect_quoted("\xEF\xBF\xBD", "\xEF\xBF\xBD"); /* a character like any other */
	expect_quoted("a\n[DIR] b", "\"a\\n[DIR] b\"");
	expect_quoted("\a\b\t\v\f\r\x1b\x7f", "\"\\a\\b\\t\\v\\f\\r\\033\\177\"");
	expect_quoted("\"x\"", "\"\\\"x\\\"\"");
	expect_quoted("a\\n", "\"a\\\\n\"");
	expect_quoted("\xc3\xa9\xff", "\"\xc3\xa9\\377\"");
	expect_quoted("\xe2\x80\xae", "\"\\342\\200\\256\""); /* bidi override */
}

static void test_text(void **state)
{
	char small[6];
	struct str out = STR_INIT;

	(void)state;
	text_init();
	expect_neutral("plain", 5, "plain");
	expect_neutral("\x1b[31mred\a", 9, "^[[31mred^G");
	expect_neutral("a\0b", 3, "a^@b");
	expect_neutral("tab\there", 8, "tab here");
	expect_neutral("\xc2\x9b"
		       "31m",
		5,
		"\xef\xbf\xbd"
		"31m"); /* C1 CSI */
	expect_neutral("\xe2\x80\xae"
		       "x",
		4,
		"\xef\xbf\xbd"
		"x"); /* bidi override */
	expect_neutral("\xff\xc0\xaf", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* overlong */
	expect_neutral("\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* surrogate */
	assert_int_equal(text_width("\xe4\xb8\xad", 3), 2);
	assert_int_equal(text_width("e\xcc\x81", 3), 1);
	text_neutralise(&out, "\xc3\xa9t\xc3\xa9", 5, true);
	assert_string_equal(out.s, "?t?");
	str_release(&out);
	assert_string_equal(
		text_clean(small, sizeof small, "ab\xe4\xb8\xad\xe4\xb8\xad"), "ab\xe4\xb8\xad");
	assert_true(text_looks_secret("GITHUB_TOKEN"));
	assert_true(text_looks_secret("aws_secret_access_key"));
	assert_false(text_looks_secret("PATH"));
	assert_true(text_looks_secret("my-Database_Url"));
	assert_true(text_looks_secret("xpassphrase"));
	assert_false(text_looks_secret("command"));
	assert_false(text_looks_secret("pas"));
	assert_false(text_looks_secret(""));
}

static void test_format(void **state)
{
	char b[FORMAT_MAX], counted[FORMAT_COUNTED_MAX];

	(void)state;
	assert_string_equal(format_bytes(b, 0), "0");
	assert_string_equal(format_bytes(b, 999), "999");
	assert_string_equal(format_bytes(b, 1000), "1.0K");
	assert_string_equal(format_bytes(b, 412u << 20), "412M");
	assert_string_equal(format_bytes(b, UINT64_MAX), "16E");
	assert_string_equal(format_count(b, 54611), "54,611");
	assert_string_equal(format_count(b, 999), "999");
	assert_string_equal(format_counted(counted, 1, "file", "files"), "1 file");
	assert_string_equal(format_counted(counted, 0, "file", "files"), "0 files");
	assert_string_equal(format_counted(counted, 54611, "entry", "entries"), "54,611 entries");
	assert_string_equal(format_percent(b, 38.44), "38.4");
	assert_string_equal(format_percent(b, 1600.2), "1600");
	assert_string_equal(format_span(b, 250), "4m10s");
	assert_string_equal(format_span(b, 2 * 86400 + 4 * 3600), "2d04h");
	assert_string_equal(format_stamp(b, 1795211102123), "2026-11-20T21:45:02.123Z");
}

static int wakes;

static void count_wake(void *ctx)
{
	(void)ctx;
	wakes++;
}

static void test_mailbox_order(void **state)
{
	struct mailbox m;
	struct mail a = {.bytes = 3}, b = {.bytes = 4};

	(void)state;
	mailbox_init(&m, count_wake, NULL);
	mailbox_put(&m, &a);
	mailbox_put(&m, &b);
	assert_int_equal(wakes, 1);
	assert_int_equal(mailbox_bytes(&m), 7);
	assert_ptr_equal(mailbox_take(&m), &a);
	assert_ptr_equal(mailbox_take(&m), &b);
	assert_null(mailbox_take(&m));
	assert_int_equal(mailbox_bytes(&m), 0);
	mailbox_release(&m);
}

static void test_targets(void **state)
{
	struct command *c = command_new(CMD_ACT);
	char id[16];

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(id, sizeof id, "id%d", i);
		command_target(c, "engine", id, "name");
	}
	assert_int_equal(c->ntargets, 100);
	for (int i = 0; i < 100; i++) {
		snprintf(id, sizeof id, "id%d", i);
		assert_string_equal(c->targets[i].id, id);
	}
	command_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_err),
		cmocka_unit_test(test_str),
		cmocka_unit_test(test_base64),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_octal),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_natural),
		cmocka_unit_test(test_whole_characters),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_quoted_names),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_mailbox_order),
		cmocka_unit_test(test_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
