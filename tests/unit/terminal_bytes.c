/* terminal_bytes.c - a program's terminal output: cut into tokens, what it tells, what passes on, and the bytes of keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "terminals/lex.h"

static void write_token(void *ctx, const struct lex_token *t)
{
	struct str *out = ctx;

	switch (t->kind) {
	case LEX_ASCII: str_add(out, t->bytes, t->n); break;
	case LEX_CHAR: str_addf(out, "<%x>", t->cp); break;
	case LEX_CONTROL: str_addf(out, "<^%c>", (int)t->cp + 64); break;
	case LEX_ESCAPE:
		str_addf(out, "<esc %c%c>", t->between ? t->between : '-', t->final);
		break;
	case LEX_CSI:
		str_addf(out, "<csi %c", t->leader ? t->leader : '-');
		for (unsigned i = 0; i < t->nargs; i++)
			str_addf(out, " %d%s", t->arg[i] == LEX_NONE ? -1 : t->arg[i],
				t->joined >> i & 1 ? ":" : "");
		str_addf(out, " %c%c>", t->between ? t->between : '-', t->final);
		break;
	case LEX_STRING:
		str_addf(out, "<%c %.*s%s>", t->final, (int)t->n, t->bytes, t->cut ? " cut" : "");
		break;
	}
}

static void expect_tokens(const char *bytes, size_t n, const char *expected)
{
	for (size_t step = 1; step <= n; step++) {
		AUTO_FREE struct lexer *x = xcalloc(1, sizeof *x);
		AUTO_STR struct str out = STR_INIT;

		for (size_t i = 0; i < n; i += step)
			lex(x, bytes + i, n - i < step ? n - i : step, write_token, &out);
		assert_string_equal(out.s, expected);
	}
}
#define TOKENS(bytes, expected) expect_tokens(bytes, sizeof(bytes) - 1, expected)

static void bytes_become_tokens_however_they_are_cut(void **state)
{
	(void)state;
	TOKENS("ab\r\nc\0d", "ab<^M><^J>cd");
	TOKENS("\xC3\xA9\xF0\x9F\x98\x80", "<e9><1f600>");
	TOKENS("\x1b[1;31m\x1b[m\x1b[?25l", "<csi - 1 31 -m><csi - -m><csi ? 25 -l>");
	TOKENS("\x1b[;5H\x1b[4:3m\x1b[2 q", "<csi - -1 5 -H><csi - 4: 3 -m><csi - 2  q>");
	TOKENS("\x1b(0\x1b#8\x1b"
	       "7\x1b[!p",
		"<esc (0><esc #8><esc -7><csi - !p>");
	TOKENS("\x1b]0;a\xC3\xA9\x07\x1b]2;b\x1b\\x", "<] 0;a\xC3\xA9><] 2;b>x");
	TOKENS("\x1bPq#0\x07x\x1b\\y", "<P q#0x>y");
}

static void bad_sequences_hide_nothing(void **state)
{
	(void)state;
	TOKENS("\x1b[1\x18x\x1b[2\x1b[3mz", "x<csi - 3 -m>z");
	TOKENS("\x1b[1\n2mz", "<^J><csi - 12 -m>z");
	TOKENS("\x1b]0;never\x1b[1mz", "<csi - 1 -m>z");
	TOKENS("\x1b]0;never\x1az", "z");
	TOKENS("\x1b[99999999999999999999A", "<csi - 9999 -A>");
	TOKENS("\x1b[ 1mz\x1b[1?mz", "zz");
	TOKENS("\xff\xC3z\xE2\x82\x1b[m\xC0\xAF\x9b",
		"<fffd><fffd>z<fffd><csi - -m><fffd><fffd><fffd>");
	TOKENS("\xC2\x9b"
	       "31m",
		"<9b>31m");
	TOKENS("\x1b[1\xC3\xA9", "<e9>");
}

static void long_sequences_are_dropped_and_long_strings_cut(void **state)
{
	AUTO_FREE struct lexer *x = xcalloc(1, sizeof *x);
	AUTO_STR struct str in = STR_INIT, out = STR_INIT;

	(void)state;
	str_adds(&in, "\x1b[");
	for (int i = 0; i < 40; i++)
		str_adds(&in, "1;");
	str_adds(&in, "mx\x1b[");
	for (int i = 0; i < 4000; i++)
		str_addc(&in, '1');
	str_adds(&in, "my\x1b]0;");
	for (int i = 0; i < 5000; i++)
		str_addc(&in, 'a');
	str_adds(&in, "\az");
	lex(x, in.s, in.len, write_token, &out);
	assert_memory_equal(out.s, "xy<] 0;aaa", 10);
	assert_string_equal(out.s + out.len - 10, "aaaa cut>z");
	assert_int_equal(out.len, 2 + LEX_STRING_MAX + sizeof "<]  cut>z" - 1);
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_become_tokens_however_they_are_cut),
		cmocka_unit_test(bad_sequences_hide_nothing),
		cmocka_unit_test(long_sequences_are_dropped_and_long_strings_cut),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
