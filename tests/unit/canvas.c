/* canvas.c - drawing: clipping, wide and combining characters, hostile text, ASCII, dumps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <berth/str.h>
#include <berth/text.h>

#include "terminal/terminal.h"

static struct canvas canvas;

static void start_canvas(int columns, int rows, bool ascii)
{
	text_init();
	canvas_release(&canvas);
	canvas_init(&canvas, ascii);
	canvas_resize(&canvas, columns, rows);
}

static void expect_canvas(const char *want, bool styles)
{
	struct str out = STR_INIT;

	canvas_dump(&canvas, &out, styles);
	assert_string_equal(out.s, want);
	str_release(&out);
}

static void test_clipping(void **state)
{
	(void)state;
	start_canvas(6, 2, false);
	assert_int_equal(canvas_text(&canvas, 3, 0, -1, STYLE(TEXT), "abcdef"), 3);
	assert_int_equal(canvas_text(&canvas, -2, 1, -1, STYLE(TEXT), "abcd"), 4);
	assert_int_equal(canvas_text(&canvas, 0, 2, -1, STYLE(TEXT), "no"), 0);
	assert_int_equal(canvas_text(&canvas, 0, -1, -1, STYLE(TEXT), "no"), 0);
	assert_int_equal(canvas_text(&canvas, 6, 0, -1, STYLE(TEXT), "no"), 0);
	expect_canvas("   abc\ncd\n", false);
	canvas_clear(&canvas);
	canvas_clip(&canvas, 0, 0, 4, STYLE(TEXT), "abcdef");
	canvas_right(&canvas, 0, 1, 6, STYLE(TEXT), "12");
	expect_canvas("abc\xe2\x80\xa6\n    12\n", false);
	start_canvas(12, 3, false);
	assert_int_equal(canvas_clip_name(&canvas, 0, 0, 12, STYLE(TEXT), "web-frontend-1"), 12);
	assert_int_equal(canvas_clip_name(&canvas, 0, 1, 12, STYLE(TEXT), "twelve-bytes"), 12);
	assert_int_equal(canvas_clip_name(&canvas, 0, 2, 9, STYLE(TEXT), "web-frontend-1"), 9);
	expect_canvas("web-fr…end-1\ntwelve-bytes\nweb-fron…\n", false);
	/* A wide character that does not fit leaves no hole. */
	start_canvas(11, 1, false);
	canvas_clip_name(&canvas, 0, 0, 11, STYLE(TEXT), "a中中中中中中b");
	expect_canvas("a中中…中中b\n", false);
	start_canvas(6, 2, false);
	canvas_clip(&canvas, 0, 0, 4, STYLE(TEXT), "abcdef");
	canvas_right(&canvas, 0, 1, 6, STYLE(TEXT), "12");
	canvas_fill(&canvas, (struct area){-5, -5, 100, 6}, STYLE(TEXT), '#');
	expect_canvas("######\n    12\n", false);
}

static void test_wide(void **state)
{
	(void)state;
	start_canvas(6, 1, false);
	/* Never cut at the edge, and cut in half only to a blank. */
	assert_int_equal(canvas_text(&canvas, 0, 0, 3, STYLE(TEXT), "\xe4\xb8\xad\xe4\xb8\xad"), 2);
	expect_canvas("\xe4\xb8\xad\n", false);
	canvas_text(&canvas, 1, 0, -1, STYLE(TEXT), "x");
	expect_canvas(" x\n", false);
	canvas_text(&canvas, 0, 0, -1, STYLE(TEXT),
		"a\xe4\xb8\xad"
		"b");
	canvas_text(&canvas, 1, 0, -1, STYLE(TEXT), "y");
	expect_canvas("ay b\n", false);
	canvas_text(&canvas, 0, 0, -1, STYLE(TEXT), "\xe4\xb8\xad\xe4\xb8\xad");
	canvas_text(&canvas, 1, 0, -1, STYLE(TEXT), "\xe4\xb8\xad");
	expect_canvas(" \xe4\xb8\xad\n", false);
	/* Combining marks join their base as far as there is room; joiners vanish. */
	canvas_clear(&canvas);
	assert_int_equal(canvas_text(&canvas, 0, 0, -1, STYLE(TEXT),
				 "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81z"),
		2);
	expect_canvas("e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81z\n", false);
	canvas_clear(&canvas);
	assert_int_equal(canvas_text(&canvas, 0, 0, -1, STYLE(TEXT),
				 "\xcc\x81"
				 "a\xe2\x80\x8d"
				 "b\xef\xb8\x8f"),
		2);
	expect_canvas("ab\n", false);
}

static void test_hostile_text(void **state)
{
	(void)state;
	start_canvas(20, 1, false);
	canvas_text(&canvas, 0, 0, -1, STYLE(TEXT), "\x1b]0;t\a\t\xc2\x9b\xe2\x80\xae\xff!");
	expect_canvas("^[]0;t^G \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd!\n", false);
}

static void test_ascii(void **state)
{
	(void)state;
	start_canvas(20, 1, true);
	canvas_text(&canvas, 0, 0, -1, STYLE(TEXT), "\xe2\x97\x8f \xc3\xa9\xe4\xb8\xad e\xcc\x81");
	canvas_glyph(&canvas, 10, 0, STYLE(TEXT), GLYPH_TICK);
	expect_canvas("o ??? e   +\n", false);
	for (int g = 0; g < GLYPH_COUNT; g++) {
		assert_in_range(glyph_text(&canvas, (enum glyph)g)[0], 0x21, 0x7E);
		assert_int_equal(strlen(glyph_text(&canvas, (enum glyph)g)), 1);
	}
	start_canvas(20, 1, false);
	for (int g = 0; g < GLYPH_COUNT; g++) {
		const char *text = glyph_text(&canvas, (enum glyph)g);

		assert_int_equal(text_width(text, strlen(text)), 1);
	}
}

static void test_styles(void **state)
{
	(void)state;
	start_canvas(8, 2, false);
	canvas_text(&canvas, 0, 0, -1, STYLE(STRONG), "ab");
	canvas_text(&canvas, 3, 0, -1, STYLE(TEXT), "cd");
	canvas_under(&canvas, (struct area){0, 0, 8, 1}, ROLE_DIM);
	expect_canvas("ab cd\n  ~ bb\n  _ aaaaaaaa\n\n", true);
	canvas_restyle(&canvas, (struct area){4, 0, 1, 9}, ROLE_DIM);
	expect_canvas("ab cd\n  ~ bb..a\n  _ aaaaaaaa\n\n  ~ ....a\n", true);
}

static void test_canvas_size(void **state)
{
	(void)state;
	start_canvas(100000, -3, false);
	assert_int_equal(canvas.columns, 1000);
	assert_int_equal(canvas.rows, 1);
	canvas_text(&canvas, 999, 0, -1, STYLE(TEXT), "\xe4\xb8\xad");
	expect_canvas("\n", false);
	canvas_release(&canvas);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clipping),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_ascii),
		cmocka_unit_test(test_styles),
		cmocka_unit_test(test_canvas_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
