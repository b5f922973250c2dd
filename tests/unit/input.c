/* input.c - keys, clicks and pastes out of bytes that come in any pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <berth/str.h>
#include <berth/text.h>

#include "terminal/input.h"

static void print_input(struct str *out, const struct input *in)
{
	char buf[KEY_TEXT_MAX];

	switch (in->kind) {
	case INPUT_KEY: str_addf(out, "%s ", key_format(buf, in->key)); break;
	case INPUT_PASTE: str_addf(out, "paste(%.*s) ", (int)in->n, in->text); break;
	case INPUT_CLICK:
		str_addf(out, "click%s(%d,%d) ", in->twice ? "2" : "", in->x, in->y);
		break;
	case INPUT_WHEEL: str_addf(out, "wheel(%d) ", in->lines); break;
	default: str_adds(out, "? ");
	}
}

/* The bytes in pieces of `piece`, then nothing more. */
static void read_as(const char *bytes, size_t n, size_t piece, struct str *out)
{
	static struct input_reader r;
	struct input in;

	input_init(&r);
	input_extra(&r, "\033[[17~", (struct key){NAMED_F1 + 4, 0});
	for (size_t i = 0; i < n; i += piece) {
		size_t len = n - i < piece ? n - i : piece, cap;
		char *at = input_room(&r, &cap);

		assert_true(cap >= len);
		memcpy(at, bytes + i, len);
		input_took(&r, len);
		while (input_next(&r, false, 1000, &in))
			print_input(out, &in);
	}
	while (input_next(&r, true, 1000, &in))
		print_input(out, &in);
	input_release(&r);
}

static void expect_inputs(const char *bytes, const char *want)
{
	size_t n = strlen(bytes);

	for (size_t piece = 1; piece <= n + 1; piece += piece < 3 ? 1 : n) {
		struct str out = STR_INIT;

		read_as(bytes, n, piece, &out);
		if (strcmp(out.s, want) != 0)
			fail_msg("in pieces of %zu: %s, wanted %s", piece, out.s, want);
		str_release(&out);
	}
}

static void test_input_keys(void **state)
{
	(void)state;
	text_init();
	expect_inputs("aD\xc3\xa9 ", "a D \xc3\xa9 Space ");
	expect_inputs("\r\n\t\x7f\b", "Enter Enter Tab Backspace Backspace ");
	expect_inputs("\x03\x13\x1d\x1f", "C-c C-s C-] C-_ ");
	expect_inputs("\033[A\033OB\033[1;5C\033[1;2D\033[1;3H", "Up Down C-Right S-Left M-Home ");
	expect_inputs("\033[5~\033[6;5~\033[3~\033[Z\033OP\033[15~\033[24~\033[[C",
		"PgUp C-PgDn Del S-Tab F1 F5 F12 F3 ");
	expect_inputs("\033[27;5;13~\033[97;5u\033[13u", "C-Enter C-a Enter ");
	expect_inputs("\033[I\033[O\033[?1;2c\033[>0;276;0c", ""); /* focus, answers */
	expect_inputs("\033[999999999999999999999A", "Up ");
	expect_inputs("\xff\xc3(\xe2\x80", "( "); /* not UTF-8 */
}

static void test_escape(void **state)
{
	struct str out = STR_INIT;

	(void)state;
	expect_inputs("\033", "Esc ");
	/* In one piece these are Alt and a key. */
	read_as("\033x\033\033[A", 6, 6, &out);
	assert_string_equal(out.s, "M-x Esc Up ");
	str_clear(&out);
	read_as("\033[", 2, 2, &out);
	assert_string_equal(out.s, "M-[ ");
	str_clear(&out);
	read_as("\033[[17~", 6, 6, &out); /* of terminfo */
	assert_string_equal(out.s, "F5 ");
	str_release(&out);
}

static void test_mouse(void **state)
{
	(void)state;
	expect_inputs("\033[<0;5;7M\033[<0;5;7m\033[<0;5;7M", "click(4,6) click2(4,6) ");
	expect_inputs("\033[<64;1;1M\033[<65;1;1M\033[<66;1;1M", "wheel(-3) wheel(3) ");
	expect_inputs("\033[<2;5;7M\033[<32;5;7M\033[<0;0;0M", "");
}

static void test_paste(void **state)
{
	static char big[3 * INPUT_PASTE_MAX];
	struct str out = STR_INIT;

	(void)state;
	expect_inputs("\033[200~two\nlines \033[31m\033[201~x", "paste(two\nlines \033[31m) x ");
	expect_inputs("\033[200~\033[201~", "paste() ");
	memset(big, 'x', sizeof big);
	memcpy(big, "\033[200~", 6);
	memcpy(big + sizeof big - 7, "\033[201~q", 7);
	read_as(big, sizeof big, 1000, &out);
	assert_int_equal(out.len, strlen("paste() q ") + INPUT_PASTE_MAX);
	str_release(&out);
}

/* Nothing that a terminal may send stops the reader or makes it overflow. */
static void test_noise(void **state)
{
	static char noise[5000];
	uint32_t seed = 12345;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct str out = STR_INIT;

		for (size_t i = 0; i < sizeof noise; i++) {
			seed = seed * 1664525 + 1013904223;
			noise[i] = "\033[<;0159~MAuO\xe2\x80x"[seed >> 28];
		}
		read_as(noise, sizeof noise, 1 + seed % 97, &out);
		str_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_input_keys),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_mouse),
		cmocka_unit_test(test_paste),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
