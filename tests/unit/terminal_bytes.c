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

#include "terminals/pass.h"
#include "terminals/seen.h"

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

static void take_seen(void *ctx, const struct lex_token *t)
{
	seen_take(ctx, t);
}

static struct seen see(const char *bytes)
{
	AUTO_FREE struct lexer *x = xcalloc(1, sizeof *x);
	struct seen s;

	seen_init(&s);
	/* One by one: nothing depends on what comes together. */
	for (size_t i = 0; bytes[i]; i++)
		lex(x, bytes + i, 1, take_seen, &s);
	return s;
}

static void titles_and_notices_are_told(void **state)
{
	struct seen s = see("\x1b]0;\xE2\x9C\xB3 build \xE2\x80\xAE"
			    "evil\a\a$ \a");

	(void)state;
	assert_string_equal(s.title,
		"\xE2\x9C\xB3 build \xEF\xBF\xBD"
		"evil");
	assert_int_equal(s.bells, 2);
	s = see("\x1b]2;one\x1b\\\x1b]1;icon\a\x1b]9;may I?\a");
	assert_string_equal(s.title, "one");
	assert_string_equal(s.notice, "may I?");
	assert_int_equal(s.notices, 1);
	s = see("\x1b]777;notify;Claude;waits\a\x1b]9;4;1;50\a");
	assert_string_equal(s.notice, "Claude;waits");
	assert_int_equal(s.notices, 1);
	assert_string_equal(see("\x1b]99;i=1:d=0;Hello\x1b\\").notice, "Hello");
}

static void prompts_are_told(void **state)
{
	(void)state;
	assert_int_equal(see("$ ").prompt, SEEN_NO_PROMPT);
	assert_int_equal(see("\x1b]133;A\a").prompt, SEEN_PROMPT);
	assert_int_equal(see("\x1b]133;A;k=s\a\x1b]133;C\a").prompt, SEEN_COMMAND);
	assert_int_equal(see("\x1b]133;AB\a\x1b]133;Z\a\x1b]133;\a").prompt, SEEN_NO_PROMPT);
	assert_int_equal(see("\x1b]133;D;130\a").prompt, SEEN_DONE);
	assert_int_equal(see("\x1b]133;D\a").prompt, SEEN_DONE);
}

static void modes_are_followed(void **state)
{
	uint32_t start = SEEN_BIT(WRAP) | SEEN_BIT(CURSOR);

	(void)state;
	assert_int_equal(see("").modes, start);
	assert_int_equal(see("\x1b[?1049h\x1b[?1;2004h\x1b[?25l\x1b=").modes,
		SEEN_BIT(WRAP) | SEEN_BIT(ALTERNATE) | SEEN_BIT(CURSOR_KEYS) | SEEN_BIT(PASTE) |
			SEEN_BIT(KEYPAD));
	assert_int_equal(see("\x1b[?47h\x1b[?1047l\x1b[1h\x1b[?1000$p\x1b[>1000h").modes, start);
	assert_int_equal(see("\x1b[?1006h\x1b[?1003h\x1b"
			     "c")
				 .modes,
		start);
	assert_int_equal(see("\x1b[?1h\x1b=\x1b[!p").modes, start);
	assert_int_equal(see("\x1b[?6h\x1b[4;20h\x0e").modes,
		start | SEEN_BIT(ORIGIN) | SEEN_BIT(INSERT) | SEEN_BIT(NEWLINE) |
			SEEN_BIT(SHIFTED));
	assert_int_equal(see("\x1b[?6h\x1b[4h\x0e\x1b[!p").modes, start);
	assert_int_equal(see("\x1b[3;20r").top, 3);
	assert_int_equal(see("\x1b[3;20r").bottom, 20);
	assert_int_equal(see("\x1b[3;20r\x1b[r").bottom, 0);
	assert_int_equal(see("\x1b(0").charset[0], '0');
	assert_int_equal(see("\x1b)0\x1b[!p").charset[1], 'B');
	assert_int_equal(see("\x1b[5 q").cursor_shape, 5);
	assert_int_equal(see("\x1b[99 q").cursor_shape, 0);
}

static void expect_passed(
	const char *bytes, size_t n, const char *expected, enum pass_reason reason)
{
	for (size_t step = 1; step <= n; step++) {
		AUTO_FREE struct pass *p = xcalloc(1, sizeof *p);
		AUTO_STR struct str out = STR_INIT;
		uint64_t all = 0;

		for (size_t i = 0; i < n; i += step)
			pass_through(p, bytes + i, n - i < step ? n - i : step, &out);
		assert_string_equal(out.s, expected);
		for (int r = 1; r < PASS_REASONS_COUNT; r++)
			all += p->refused[r];
		assert_int_equal(all, reason ? 1 : 0);
		if (reason)
			assert_int_equal(p->refused[reason], 1);
	}
}
#define SAME(bytes) expect_passed(bytes, sizeof(bytes) - 1, bytes, PASS_OK)
#define PASSED(bytes, expected) expect_passed(bytes, sizeof(bytes) - 1, expected, PASS_OK)
#define REFUSED(bytes, reason) expect_passed("a" bytes "b", sizeof(bytes) + 1, "ab", PASS_##reason)

static void what_draws_passes(void **state)
{
	(void)state;
	SAME("plain \xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x98\x80\r\n\t\b\a");
	SAME("\x1b[1;38;2;1;2;3m\x1b[4:3m\x1b[38:5:7mx\x1b[m\x1b[K\x1b[2J\x1b[;5H\x1b[3;20r\x1b[5b");
	SAME("\x1b[?1048h\x1b[?25l\x1b[?2004h\x1b[?1006h\x1b[?2026h\x1b[4l\x1b[2 q\x1b[!p");
	SAME("\x1b"
	     "7\x1b"
	     "8\x1bM\x1b=\x1b(0\x0e\x0f\x1b(B\x1b#8");
	SAME("\x1b]8;;https://example.org/a\x1b\\here\x1b]8;;\x1b\\");
	PASSED("\x1b]0;ti\xE2\x80\xAEtle\a", "\x1b]0;ti\xEF\xBF\xBDtle\x1b\\");
	PASSED("\x1b[?1;25h", "\x1b[?1h\x1b[?25h");
	PASSED("\x80\xC2\x9b\xE2\x80\xAE\x7f", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
	PASSED("\x1b[99999C", "\x1b[9999C");
}

static void what_does_more_is_refused(void **state)
{
	(void)state;
	REFUSED("\x1b[c", QUERY);
	REFUSED("\x1b[>c", QUERY);
	REFUSED("\x1b[6n", QUERY);
	REFUSED("\x1b[?6n", QUERY);
	REFUSED("\x1b[?2026$p", QUERY);
	REFUSED("\x1b[>q", QUERY);
	REFUSED("\x1b[?u", QUERY);
	REFUSED("\x1bZ", QUERY);
	REFUSED("\x05", QUERY);
	REFUSED("\x1b[1;1;1;1;1;1*y", QUERY);
	REFUSED("\x1b[21t", WINDOW);
	REFUSED("\x1b[8;10;10t", WINDOW);
	REFUSED("\x1b]52;c;cm0gLXJmIC8=\a", CLIPBOARD);
	REFUSED("\x1b]52;c;?\x1b\\", CLIPBOARD);
	REFUSED("\x1b]11;?\a", LASTING);
	REFUSED("\x1b]4;1;#000000\a", LASTING);
	REFUSED("\x1b[>1u", LASTING);
	REFUSED("\x1b[>4;2m", LASTING);
	REFUSED("\x1b[5i", DEVICE);
	REFUSED("\x1bP$qm\x1b\\", DEVICE);
	REFUSED("\x1b_Ga=T;AAAA\x1b\\", DEVICE);
	REFUSED("\x1b^pm\x1b\\", DEVICE);
	REFUSED("\x1b]1337;File=:AAAA\a", DEVICE);
	REFUSED("\x1b]8;;file:///etc/passwd\a", LINK);
	REFUSED("\x1b]9;look\a", NOTICE);
	REFUSED("\x1b[?1049h", SCREEN);
	REFUSED("\x1b[?1047l", SCREEN);
	REFUSED("\x1b[?47h", SCREEN);
	REFUSED("\x1b"
		"c",
		SCREEN);
	REFUSED("\x1b[3J", LASTING);
	REFUSED("\x1b[;3J", LASTING);
	REFUSED("\x1bH", LASTING);
	REFUSED("\x1b[?2J", UNKNOWN);
	REFUSED("\x1b[3g", LASTING);
	REFUSED("\x1b[1;2;3;4;5T", UNKNOWN);
	REFUSED("\x1b[?69h", UNKNOWN);
	REFUSED("\x1b[?3h", UNKNOWN);
	REFUSED("\x1b[2h", UNKNOWN);
	REFUSED("\x1b%@", UNKNOWN);
	REFUSED("\x1b G", UNKNOWN);
	REFUSED("\x1b]8\a", LINK);
	REFUSED("\x1b]\a", UNKNOWN);
	REFUSED("\x01", UNKNOWN);
}

static void expect_key(const char *name, bool application, const char *bytes, size_t n)
{
	AUTO_STR struct str out = STR_INIT;
	struct err e = ERR_INIT;

	assert_int_equal(terminal_key(name, application, &out, &e), 0);
	assert_int_equal(out.len, n);
	assert_memory_equal(out.s, bytes, n);
}
#define KEY(name, bytes) expect_key(name, false, bytes, sizeof(bytes) - 1)

static void keys_send_what_xterm_sends(void **state)
{
	(void)state;
	KEY("Enter", "\r");
	KEY("enter", "\r");
	KEY("Tab", "\t");
	KEY("BTab", "\x1b[Z");
	KEY("S-Tab", "\x1b[Z");
	KEY("Escape", "\x1b");
	KEY("BSpace", "\x7f");
	KEY("C-c", "\x03");
	KEY("C-C", "\x03");
	KEY("C-[", "\x1b");
	KEY("C-Space", "\0");
	KEY("M-x", "\x1bx");
	KEY("M-Enter", "\x1b\r");
	KEY("C-M-d", "\x1b\x04");
	KEY("Up", "\x1b[A");
	expect_key("Up", true, "\x1bOA", 3);
	expect_key("C-Up", true, "\x1b[1;5A", 6);
	KEY("S-Left", "\x1b[1;2D");
	KEY("F1", "\x1bOP");
	KEY("F5", "\x1b[15~");
	KEY("C-F5", "\x1b[15;5~");
	KEY("M-F1", "\x1b[1;3P");
	KEY("PageUp", "\x1b[5~");
	KEY("Delete", "\x1b[3~");
	KEY("Esc", "\x1b");
	KEY("Backspace", "\x7f");
	KEY("PgDn", "\x1b[6~");
	KEY("C-Del", "\x1b[3;5~");
	KEY("-", "-");
	KEY("\xC3\xA9", "\xC3\xA9");
}

static void other_words_are_not_keys(void **state)
{
	static const char *const words[] = {"", "Return!", "F13", "F0", "C-", "C-1", "S-a", "ab",
		"\x1b", "\x7f", "\xff", "C-\xC3\xA9"};

	(void)state;
	for (size_t i = 0; i < COUNT(words); i++) {
		AUTO_STR struct str out = STR_INIT;
		struct err e = ERR_INIT;

		assert_int_equal(terminal_key(words[i], false, &out, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_int_equal(out.len, 0);
		assert_null(strpbrk(e.msg, "\x1b\x7f\xff"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_become_tokens_however_they_are_cut),
		cmocka_unit_test(bad_sequences_hide_nothing),
		cmocka_unit_test(long_sequences_are_dropped_and_long_strings_cut),
		cmocka_unit_test(titles_and_notices_are_told),
		cmocka_unit_test(prompts_are_told),
		cmocka_unit_test(modes_are_followed),
		cmocka_unit_test(what_draws_passes),
		cmocka_unit_test(what_does_more_is_refused),
		cmocka_unit_test(keys_send_what_xterm_sends),
		cmocka_unit_test(other_words_are_not_keys),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
