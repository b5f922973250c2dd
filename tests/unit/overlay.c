/* overlay.c - what lies over a view: the prompt, the palette, the dialog and its rules. */
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

#include "widgets/widgets.h"

static struct key parse_key_name(const char *text)
{
	struct key k = {0};

	assert_int_equal(key_parse(text, strlen(text), &k, NULL), 0);
	return k;
}

static enum prompt_end press_keys(struct prompt *p, const char *keys)
{
	enum prompt_end end = PROMPT_STAYS;
	char copy[256], *rest = NULL;

	snprintf(copy, sizeof copy, "%s", keys);
	for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
		end = prompt_key(p, parse_key_name(w));
	return end;
}

static void test_prompt(void **state)
{
	static struct prompt p;
	struct history h = {0};
	struct canvas c;
	struct str out = STR_INIT;

	(void)state;
	text_init();
	prompt_open(&p, "abc", &h);
	press_keys(&p, "Home X End \xc3\xa9 Left Backspace");
	assert_string_equal(p.text, "Xab\xc3\xa9");
	press_keys(&p, "End Space o n e Space t w o C-w");
	assert_string_equal(p.text, "Xab\xc3\xa9 one ");
	press_keys(&p, "Home Del C-k");
	assert_string_equal(p.text, "");
	assert_int_equal(press_keys(&p, "f i r s t Enter"), PROMPT_DONE);
	prompt_open(&p, "", &h);
	press_keys(&p, "s e c o n d Enter");
	prompt_open(&p, "", &h);
	press_keys(&p, "d r a f t Up");
	assert_string_equal(p.text, "second");
	press_keys(&p, "Up Up");
	assert_string_equal(p.text, "first");
	press_keys(&p, "Down Down Down");
	assert_string_equal(p.text, "draft");
	assert_int_equal(press_keys(&p, "Esc"), PROMPT_CANCELLED);
	assert_int_equal(press_keys(&p, "C-c"), PROMPT_CANCELLED);
	/* Pasted text is one line without controls; what does not fit is left out. */
	prompt_open(&p, "", NULL);
	prompt_paste(&p, "a\nb\x1b[31mc\xff", 10);
	assert_string_equal(p.text, "a b [31mc ");
	for (int i = 0; i < 600; i++)
		press_keys(&p, "\xe4\xb8\xad");
	assert_true(p.len < PROMPT_MAX);
	assert_int_equal(text_width(p.text, p.len), 10 + 2 * ((PROMPT_MAX - 1 - 10) / 3));
	canvas_init(&c, false);
	canvas_resize(&c, 20, 1);
	prompt_draw(&p, &c, 0, 0, 20, " / ");
	assert_in_range(c.cursor_x, 17, 19);
	canvas_dump(&c, &out, false);
	assert_memory_equal(out.s, " / \xe4\xb8\xad", 6);
	str_release(&out);
	canvas_release(&c);
	history_release(&h);
}

static void test_palette(void **state)
{
	static const char *const names[] = {
		"quit", "remove", "restart", "refresh", "read-only", "theme dark", "start-stop"};
	struct palette p = {0};
	const struct palette_item *got;

	(void)state;
	assert_true(palette_score("re", "remove") > palette_score("re", "start-restart"));
	assert_true(palette_score("ss", "start-stop") > palette_score("ss", "this sea is"));
	assert_int_equal(palette_score("xyz", "remove"), -1);
	palette_open(&p, NULL);
	for (size_t i = 0; i < COUNT(names); i++) {
		struct palette_item it = {.action = (enum action)i};

		snprintf(it.name, sizeof it.name, "%s", names[i]);
		snprintf(it.help, sizeof it.help, "help %zu", i);
		palette_add(&p, it);
	}
	palette_ready(&p);
	assert_int_equal(p.nshown, COUNT(names));
	palette_key(&p, parse_key_name("t"), &got);
	palette_key(&p, parse_key_name("d"), &got);
	assert_int_equal(palette_key(&p, parse_key_name("Enter"), &got), PROMPT_DONE);
	assert_string_equal(got->name, "theme dark");
	palette_key(&p, parse_key_name("z"), &got);
	assert_int_equal(palette_key(&p, parse_key_name("Enter"), &got), PROMPT_DONE);
	assert_null(got);
	palette_key(&p, parse_key_name("C-u"), &got);
	assert_int_equal(palette_key(&p, parse_key_name("Backspace"), &got), PROMPT_CANCELLED);
	palette_close(&p);
}

#define SEEN (DIALOG_BLIND_NS + 1)

static void ask_dialog(struct dialog *d, bool danger, const char *word)
{
	static const char *const items[] = {"one\033[31m", "two", "three"};

	dialog_open(d,
		&(struct dialog_ask){.title = "Remove",
			.where = "on here",
			.effect = "gone\nfor good",
			.items = items,
			.nitems = 3,
			.verb = "Remove",
			.word = word,
			.danger = danger},
		0);
}

static enum dialog_end answer_dialog(struct dialog *d, const char *keys)
{
	enum dialog_end end = DIALOG_STAYS;
	char copy[256], *rest = NULL;

	snprintf(copy, sizeof copy, "%s", keys);
	for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
		end = dialog_key(d, parse_key_name(w), SEEN);
	return end;
}

static void test_dialog(void **state)
{
	struct dialog d = {0};

	(void)state;
	/* Reversible: y or the other button; Enter alone means the focus, which is Cancel. */
	ask_dialog(&d, false, NULL);
	assert_int_equal(dialog_key(&d, parse_key_name("y"), DIALOG_BLIND_NS - 1), DIALOG_STAYS);
	assert_int_equal(dialog_key(&d, parse_key_name("Enter"), 5), DIALOG_STAYS);
	assert_int_equal(answer_dialog(&d, "y"), DIALOG_CONFIRMED);
	assert_int_equal(answer_dialog(&d, "Enter"), DIALOG_CANCELLED);
	assert_int_equal(answer_dialog(&d, "Tab Enter"), DIALOG_CONFIRMED);
	assert_int_equal(answer_dialog(&d, "q"), DIALOG_CANCELLED);
	assert_int_equal(answer_dialog(&d, "Esc"), DIALOG_CANCELLED);
	assert_int_equal(answer_dialog(&d, "C-c"), DIALOG_CANCELLED);
	/* Destructive: only the word. */
	ask_dialog(&d, true, "3");
	assert_int_equal(answer_dialog(&d, "y"), DIALOG_STAYS);
	assert_int_equal(answer_dialog(&d, "Enter"), DIALOG_STAYS);
	assert_non_null(d.said);
	assert_int_equal(answer_dialog(&d, "C-u 3"), DIALOG_STAYS);
	assert_int_equal(answer_dialog(&d, "Enter"), DIALOG_CONFIRMED);
	assert_int_equal(answer_dialog(&d, "3 Enter"), DIALOG_STAYS); /* 33 */
	assert_int_equal(answer_dialog(&d, "C-u Enter"), DIALOG_CANCELLED);
	/* Destructive without a word: no key at all confirms. */
	ask_dialog(&d, true, NULL);
	assert_int_equal(answer_dialog(&d, "y Tab Enter"), DIALOG_STAYS);
	dialog_close(&d);
}

static void test_dialog_sizes(void **state)
{
	struct dialog d = {0};
	struct canvas c;

	(void)state;
	canvas_init(&c, false);
	ask_dialog(&d, true, "three");
	for (int w = 1; w < 130; w += 7)
		for (int h = 1; h < 40; h += 3) {
			canvas_resize(&c, w, h);
			dialog_draw(&d, &c);
			answer_dialog(&d, "PgDn Down PgUp");
		}
	canvas_resize(&c, 80, 24);
	dialog_draw(&d, &c);
	assert_int_equal(dialog_click(&d, d.cancel_box.x, d.cancel_box.y, SEEN), DIALOG_CANCELLED);
	assert_int_equal(dialog_click(&d, 0, 0, SEEN), DIALOG_STAYS);
	dialog_close(&d);
	canvas_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prompt),
		cmocka_unit_test(test_palette),
		cmocka_unit_test(test_dialog),
		cmocka_unit_test(test_dialog_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
