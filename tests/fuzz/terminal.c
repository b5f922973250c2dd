/*
 * terminal.c - fuzz target: what a program writes to its terminal, at every cut.  Its screen stays within its bounds at
 * every size, and what passes on to a person's terminal is only what is known, the same for every cut, and passes again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "terminals/emulate.h"
#include "terminals/pass.h"
#include "terminals/seen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct kept {
	struct lexer lexer;
	struct emulator *em;
	struct seen seen;
	struct terminal_screen screen;
};

static void keep_token(void *ctx, const struct lex_token *t)
{
	struct kept *k = ctx;

	emulator_take(k->em, t);
	seen_take(&k->seen, t);
}

static void check_screen(struct kept *k)
{
	char answers[EMULATOR_ANSWERS];
	size_t n, bytes = 0;

	emulator_show(k->em, &k->screen);
	if (k->screen.cursor_x < 0 || k->screen.cursor_x >= k->screen.columns ||
		k->screen.cursor_y < 0 || k->screen.cursor_y >= k->screen.rows)
		abort();
	for (int i = 0; i < k->screen.columns * k->screen.rows; i++) {
		const struct terminal_cell *c = &k->screen.cells[i];

		if (c->ch[0] && text_cp_width(c->ch[0]) != c->width)
			abort();
		if (c->width == 2 && i % k->screen.columns == k->screen.columns - 1)
			abort();
	}
	if (emulator_answers(k->em, answers, sizeof answers) > EMULATOR_ANSWERS ||
		emulator_lines(k->em) > TERMINAL_LINES)
		abort();
	for (size_t i = 0; i < emulator_lines(k->em); i++, bytes += n)
		if (!utf8_valid(emulator_line(k->em, i, &n), n))
			abort();
	if (bytes > TERMINAL_LINES_BYTES)
		abort();
	if (!utf8_valid(k->seen.title, strlen(k->seen.title)))
		abort();
}

/* A byte of 0xFE is a new size, of the two behind it. */
static void keep_screen(const char *s, size_t size, struct kept *k)
{
	size_t from = 0;

	for (size_t i = 0; i + 2 < size; i++) {
		if (s[i] != '\xFE')
			continue;
		lex(&k->lexer, s + from, i - from, keep_token, k);
		emulator_resize(k->em, (unsigned char)s[i + 1] % 100, (unsigned char)s[i + 2] % 40);
		check_screen(k);
		from = i += 2;
	}
	lex(&k->lexer, s + from, size - from, keep_token, k);
	check_screen(k);
}

static void pass_in_steps(struct str *out, const char *s, size_t size, size_t step)
{
	struct pass *p = xcalloc(1, sizeof *p);

	for (size_t i = 0; i < size; i += step)
		pass_through(p, s + i, size - i < step ? size - i : step, out);
	free(p);
}

/* By other means than pass.c's: no control string but OSC, no final byte that a terminal answers. */
static void check_passed(const char *s, size_t n)
{
	if (!utf8_valid(s, n))
		abort();
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == 5 || c == 0x18 || c == 0x1A || c == 0x7F || !c)
			abort();
		if (c == 0xC2 && (unsigned char)s[i + 1] < 0xA0)
			abort();
		if (c != 0x1B)
			continue;
		if (++i >= n || !strchr("[]\\78DEHMc=>()#", s[i]))
			abort();
		if (s[i] == '[') {
			while (++i < n && strchr("0123456789;:? !", s[i]) && s[i])
				;
			if (i >= n || strchr("cntixyRw|", s[i]))
				abort();
		} else if (s[i] == ']') {
			if (!strncmp(s + i, "]52", 3) || strchr("3456", s[i + 1]))
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_STR struct str whole = STR_INIT, cut = STR_INIT, again = STR_INIT;
	struct kept *k;

	text_init();
	if (size < 1)
		return 0;
	k = xcalloc(1, sizeof *k);
	k->em = emulator_open(20, 6);
	seen_init(&k->seen);
	keep_screen((const char *)data + 1, size - 1, k);
	emulator_close(k->em);
	terminal_screen_release(&k->screen);
	free(k);
	pass_in_steps(&whole, (const char *)data + 1, size - 1, size);
	pass_in_steps(&cut, (const char *)data + 1, size - 1, data[0] % 64 + 1);
	if (whole.len != cut.len || memcmp(whole.s, cut.s, cut.len) != 0)
		abort();
	check_passed(whole.s, whole.len);
	pass_in_steps(&again, whole.s, whole.len, size);
	if (whole.len != again.len || memcmp(whole.s, again.s, again.len) != 0)
		abort();
	return 0;
}
