/* theme.c - every shipped theme is whole and readable; wrong themes are refused with their place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "terminal/terminal.h"

static const char *const role_names[] = {
#define X(id, name) name,
	THEME_ROLES(X)
#undef X
};

/* WCAG 2.1: 4.5 is AA for text, 7 is AAA.  Rules and empty bars are no text. */
static void expect_readable(const struct theme *t, int role, int under, double least)
{
	struct theme_style st = theme_resolve(t, (uint8_t)role, 0, (uint8_t)under, false);
	double ratio = theme_contrast(st.fg, st.bg);

	if (ratio < least)
		fail_msg("%s: %s over %s has %.2f, wanted %.1f", t->name, role_names[role],
			under ? role_names[under] : "its own", ratio, least);
	/* In 16 colours nothing may vanish either. */
	st = theme_resolve(t, (uint8_t)role, 0, (uint8_t)under, true);
	if (st.fg16 == st.bg16 && st.fg16 != COLOUR_DEFAULT)
		fail_msg("%s: %s over %s vanishes in 16 colours", t->name, role_names[role],
			under ? role_names[under] : "its own");
}

static void test_shipped_themes(void **state)
{
	struct err e = ERR_INIT;
	char name[32];
	size_t n = 0;
	struct theme t;

	(void)state;
	for (; theme_name(n, name); n++) {
		double text = strcmp(name, "high-contrast") == 0 ? 7 : 4.5;

		if (theme_load(name, &t, &e) < 0)
			fail_msg("%s: %s", name, e.msg);
		assert_string_equal(t.name, name);
		assert_true(strlen(t.about) > 10);
		if (strcmp(name, "mono") == 0) {
			for (int r = 0; r < ROLE_COUNT; r++)
				assert_int_equal(t.style[r].fg, COLOUR_DEFAULT);
			continue;
		}
		for (int r = 0; r < ROLE_COUNT; r++) {
			bool drawn = r == ROLE_RULE || r == ROLE_BAR_REST;

			expect_readable(&t, r, 0, drawn ? 1.3 : text);
			if (drawn || r == ROLE_HIT || r >= ROLE_DIALOG)
				continue;
			expect_readable(
				&t, r, ROLE_CURSOR, r == ROLE_DIM || r == ROLE_STALE ? 3 : 3.5);
			expect_readable(&t, r, ROLE_MARK, 3.5);
		}
	}
	assert_true(n >= 6);
}

/* Whatever a log asks for can be read, and where a theme has no colours there are none. */
static void test_inked(void **state)
{
	struct err e = ERR_INIT;
	char name[32];
	struct theme t;

	(void)state;
	for (size_t n = 0; theme_name(n, name); n++) {
		struct theme_style plain, st;
		int coloured = 0;

		if (theme_load(name, &t, &e) < 0)
			fail_msg("%s: %s", name, e.msg);
		plain = theme_resolve(&t, ROLE_TEXT, 0, 0, false);
		for (int ink = 0; ink < 256; ink++)
			for (int paper = 0; paper < 256; paper += 15) {
				st = theme_inked(plain, (uint8_t)ink, (uint8_t)paper);
				coloured += st.fg != plain.fg || st.bg != plain.bg;
				if (plain.fg == COLOUR_DEFAULT)
					continue;
				assert_true(theme_contrast(st.fg, st.bg) >= 2.0);
				assert_int_not_equal(st.fg16, st.bg16);
			}
		assert_int_equal(coloured > 0, plain.fg != COLOUR_DEFAULT);
	}
}

static void test_nearest_256(void **state)
{
	(void)state;
	assert_int_equal(theme_nearest_256(0x000000), 16);
	assert_int_equal(theme_nearest_256(0xFFFFFF), 231);
	assert_int_equal(theme_nearest_256(0xFF0000), 196);
	assert_int_equal(theme_nearest_256(0x5F87AF), 67);
	assert_int_equal(theme_nearest_256(0x767676), 243);
	assert_int_equal(theme_nearest_256(COLOUR_DEFAULT), COLOUR_DEFAULT);
	/* No grey further than half a step of the grey ramp away. */
	for (int v = 0; v < 256; v++) {
		int i = theme_nearest_256(v << 16 | v << 8 | v);

		assert_in_range(i, 16, 255);
		if (i >= 232 && v <= 240)
			assert_in_range(8 + 10 * (i - 232), v > 6 ? v - 6 : 0, v + 6);
	}
}

static void refuse_theme(const char *text, const char *why)
{
	struct err e = ERR_INIT;
	struct config c;
	struct theme t = {0};

	assert_int_equal(config_parse("t.yaml", text, strlen(text), &c, &e), 0);
	assert_int_equal(theme_parse(&c, &t, &e), -1);
	if (!strstr(e.msg, why))
		fail_msg("%s", e.msg);
	config_release(&c);
}

static void test_wrong(void **state)
{
	struct err e = ERR_INIT;
	struct theme t;

	(void)state;
	assert_int_equal(theme_load("drak", &t, &e), -1);
	assert_non_null(strstr(e.msg, "did you mean `dark`"));
	assert_int_equal(theme_load("/nowhere/x.yaml", &t, &e), -1);
	refuse_theme("about: x\n", "has a map `styles`");
	refuse_theme("styles:\n  txt: default\n", "t.yaml:2:3: ");
	refuse_theme("styles:\n  text: red\n", "t.yaml:2:9: unknown colour `red`");
	refuse_theme("colours:\n  red: \"#ff00 1\"\nstyles:\n  text: red\n", "is not a colour");
	refuse_theme(
		"colours:\n  red: \"#ff0000 16\"\nstyles:\n  text: red\n", "not one of the 16");
	refuse_theme("styles:\n  text: default bald\n", "`bald` is not an attribute");
	refuse_theme("styles:\n  text: default on\n", "FG [on BG]");
	refuse_theme("styles:\n  text: [1]\n", "FG [on BG]");
}

static void test_resolve(void **state)
{
	struct theme t;
	struct theme_style st;

	(void)state;
	assert_int_equal(theme_load("mono", &t, NULL), 0);
	st = theme_resolve(&t, ROLE_BAD, ATTR_UNDERLINE, ROLE_CURSOR, false);
	assert_int_equal(st.attrs, ATTR_BOLD | ATTR_UNDERLINE | ATTR_REVERSE);
	st = theme_resolve(&t, 250, 0, 250, false);
	assert_int_equal(st.attrs, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shipped_themes),
		cmocka_unit_test(test_inked),
		cmocka_unit_test(test_nearest_256),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_resolve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
