/* keymap.c - the shipped keys, writing keys, re-binding, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#include "terminal/terminal.h"

static struct key parse_key(const char *text)
{
	struct err e = ERR_INIT;
	struct key k = {0};

	if (key_parse(text, strlen(text), &k, &e) < 0)
		fail_msg("%s: %s", text, e.msg);
	return k;
}

static void refuse_key_text(const char *text, const char *why)
{
	struct err e = ERR_INIT;
	struct key k;

	assert_int_equal(key_parse(text, strlen(text), &k, &e), -1);
	if (!strstr(e.msg, why))
		fail_msg("%s: %s", text, e.msg);
}

static void test_writing(void **state)
{
	static const char *const same[] = {"a", "D", "?", "\xc3\xa9", "C-s", "M-x", "S-Tab", "F1",
		"F12", "Enter", "Esc", "Space", "C-Space", "PgUp", "Backspace", "-", "C-\\",
		"M-S-Up", "\xe4\xb8\xad"};
	char buf[KEY_TEXT_MAX];

	(void)state;
	text_init();
	for (size_t i = 0; i < COUNT(same); i++)
		assert_string_equal(key_format(buf, parse_key(same[i])), same[i]);
	assert_string_equal(key_format(buf, parse_key("S-a")), "A");
	assert_string_equal(key_format(buf, parse_key("C-S")), "C-s");
	assert_string_equal(key_format(buf, parse_key("pageup")), "PgUp");
	refuse_key_text("", "empty");
	refuse_key_text("Entr", "did you mean `Enter`?");
	refuse_key_text("C-m", "cannot tell key `C-m` from `Enter`");
	refuse_key_text("C-i", "`Tab`");
	refuse_key_text("C-1", "cannot be typed");
	refuse_key_text("S-1", "write the shifted character itself");
	refuse_key_text("F13", "unknown key");
	refuse_key_text("\xff", "unknown key");
	refuse_key_text("\x01", "cannot be typed");
	assert_int_equal(key_char(parse_key("\xc3\xa9")), 0xE9);
	assert_int_equal(key_char(parse_key("C-s")), 0);
	assert_int_equal(key_char(parse_key("Enter")), 0);
}

/* Every default key does one thing in every view, and nothing destructive is easy to hit. */
static void test_defaults(void **state)
{
	static struct keymap k;
	char buf[64];

	(void)state;
	keymap_defaults(&k);
	for (size_t i = 0; i < k.n; i++) {
		const struct action_info *a = &action_info[k.bound[i].action];

		for (size_t j = 0; j < i; j++)
			if (key_same(k.bound[i].key, k.bound[j].key) &&
				a->where & action_info[k.bound[j].action].where)
				fail_msg("%s and %s share a key", a->name,
					action_info[k.bound[j].action].name);
		if (a->flags & ACTION_DESTRUCTIVE)
			assert_false(k.bound[i].key.code >= 'a' && k.bound[i].key.code <= 'z');
	}
	assert_int_equal(keymap_find(&k, parse_key("D"), IN_CONTAINERS), DO_REMOVE);
	assert_int_equal(keymap_find(&k, parse_key("D"), IN_LOGS), DO_NONE);
	assert_int_equal(keymap_find(&k, parse_key("F1"), IN_LOGS), DO_HELP);
	assert_string_equal(keymap_first(&k, DO_SAVE, buf), "C-s");
	assert_string_equal(keymap_all(&k, DO_REMOVE, buf, sizeof buf), "D Del");
	assert_string_equal(keymap_first(&k, DO_READ_ONLY, buf), "");
	assert_int_equal(action_by_name("remove"), DO_REMOVE);
	assert_int_equal(action_by_name("nothing"), DO_NONE);
}

static void collect_problems(void *ctx, const struct err *e)
{
	str_addf(ctx, "%s\n", e->msg);
}

static void test_rebinding(void **state)
{
	static const char text[] = "keys:\n"
				   "  remove: d X\n"
				   "  freeze: [J, F9]\n"
				   "  restart: C-r\n"
				   "  follow: J\n"
				   "  remov: Q\n"
				   "  wrap: C-i\n"
				   "  help: \"\"\n"
				   "  kill: K\n"
				   "  pause: K\n"
				   "  zoom: {z: 1}\n";
	static struct keymap k;
	struct config c;
	struct str out = STR_INIT;
	char buf[64];

	(void)state;
	keymap_defaults(&k);
	assert_int_equal(config_parse("b.yaml", text, strlen(text), &c, NULL), 0);
	assert_int_equal(keymap_apply(&k, &c, node_get(c.root, "keys"), collect_problems, &out), 6);
	assert_string_equal(out.s,
		"b.yaml:2:11: `remove` cannot be undone and is never bound to a bare "
		"lower-case letter: `d` is left out\nb.yaml:5:11: key `J` is bound to "
		"both `freeze` and `follow` in view logs; it stays with "
		"`freeze`\nb.yaml:6:3: unknown action `remov` (did you mean "
		"`remove`?)\nb.yaml:7:9: a terminal cannot tell key `C-i` from "
		"`Tab`\nb.yaml:10:10: key `K` is bound to both `kill` and `pause` in "
		"view containers; it stays with `kill`\nb.yaml:11:9: keys are text, as "
		"in `zoom: \"z\"`\n");
	assert_string_equal(keymap_all(&k, DO_REMOVE, buf, sizeof buf), "X");
	assert_string_equal(keymap_all(&k, DO_FREEZE, buf, sizeof buf), "J F9");
	assert_string_equal(keymap_all(&k, DO_RESTART, buf, sizeof buf), "C-r");
	assert_string_equal(keymap_all(&k, DO_HELP, buf, sizeof buf), "");
	assert_string_equal(keymap_all(&k, DO_QUIT, buf, sizeof buf), "Q C-c");
	config_release(&c);
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writing),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_rebinding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
