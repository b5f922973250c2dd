/* mcp_lines.c - messages of a client, one a line: the same however the bytes arrive, and a long one is only skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "mcp/server.h"

#define MOST 8

/* Each message in <>, each that was too long as !. */
static void note_line(void *ctx, const char *text, size_t n)
{
	struct str *said = ctx;

	if (!text) {
		str_addc(said, '!');
		return;
	}
	assert_int_equal(text[n], '\0');
	str_addc(said, '<');
	str_add(said, text, n);
	str_addc(said, '>');
}

static void expect_lines(const char *bytes, size_t n, const char *expected, size_t len)
{
	for (size_t first = 0; first <= n; first++)
		for (size_t step = 1; step <= n + 1; step++) {
			AUTO_STR struct str said = STR_INIT;
			struct client_lines l = {
				.most = MOST, .take = note_line, .ctx = &said, .held = STR_INIT};

			client_lines_split(&l, bytes, first);
			for (size_t at = first; at < n; at += step)
				client_lines_split(&l, bytes + at, n - at < step ? n - at : step);
			client_lines_end(&l);
			client_lines_release(&l);
			assert_int_equal(said.len, len);
			assert_memory_equal(said.s, expected, len);
		}
}

static void test_lines(void **state)
{
	static const struct {
		const char *bytes, *expected;
	} cases[] = {
		{"", ""},
		{"{}\n", "<{}>"},
		{"{}", "<{}>"},
		{"a\nb\r\n\nc", "<a><b\r><c>"},
		{" \t\r\n  \n\n", ""},
		{" a\n \t", "< a>"},
		{"12345678\n12345678", "<12345678><12345678>"},
		{"123456789\na\n", "!<a>"},
		{"a\n1234567890123456789", "<a>!"},
		{"          \na\n", "!<a>"},
		{"123456789\n123456789\n", "!!"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		expect_lines(cases[i].bytes, strlen(cases[i].bytes), cases[i].expected,
			strlen(cases[i].expected));
}

static void test_bytes(void **state)
{
	(void)state;
	expect_lines("a\0b\n\0\n\xff", 7, "<a\0b><\0><\xff>", 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
