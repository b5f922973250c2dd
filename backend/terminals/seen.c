/* seen.c - reads titles, marks and modes from what a program writes to its terminal. */
#include "terminals/seen.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

static const uint16_t modes[] = {
#define X(name, number) [SEEN_##name] = (number),
	SEEN_MODES(X)
#undef X
};

void seen_init(struct seen *s)
{
	*s = (struct seen){.modes = SEEN_AT_START, .charset = {'B', 'B'}};
}

static void set_text(char to[TERMINAL_TITLE_MAX], const char *s, size_t n)
{
	AUTO_FREE char *text = xstrndup(s, n < LEX_STRING_MAX ? n : LEX_STRING_MAX);

	text_clean(to, TERMINAL_TITLE_MAX, text);
}

static void set_mode(struct seen *s, unsigned number, bool on)
{
	if (number == 47 || number == 1047)
		number = 1049;
	for (unsigned i = 0; i < COUNT(modes); i++)
		if (modes[i] == number)
			s->modes = on ? s->modes | 1u << i : s->modes & ~(1u << i);
}

static void set_bit(struct seen *s, uint32_t bit, bool on)
{
	s->modes = on ? s->modes | bit : s->modes & ~bit;
}

/* DECSTR; and what a new size does to the margins. */
static void reset_softly(struct seen *s)
{
	s->modes = (s->modes &
			   ~(SEEN_BIT(CURSOR_KEYS) | SEEN_BIT(KEYPAD) | SEEN_BIT(ORIGIN) |
				   SEEN_BIT(INSERT) | SEEN_BIT(SHIFTED))) |
		SEEN_AT_START;
	s->top = s->bottom = 0;
	s->charset[0] = s->charset[1] = 'B';
}

void seen_resized(struct seen *s)
{
	s->modes &= ~SEEN_BIT(ORIGIN);
	s->top = s->bottom = 0;
}

static void take_plain_modes(struct seen *s, const struct lex_token *t)
{
	for (unsigned i = 0; i < t->nargs; i++)
		if (t->arg[i] == 4)
			set_bit(s, SEEN_BIT(INSERT), t->final == 'h');
		else if (t->arg[i] == 20)
			set_bit(s, SEEN_BIT(NEWLINE), t->final == 'h');
}

static void take_csi(struct seen *s, const struct lex_token *t)
{
	if (t->leader == '?' && !t->between && (t->final == 'h' || t->final == 'l'))
		for (unsigned i = 0; i < t->nargs; i++)
			set_mode(s, t->arg[i], t->final == 'h');
	else if (!t->leader && t->between == ' ' && t->final == 'q' && lex_arg(t, 0, 0) <= 6)
		s->cursor_shape = (uint8_t)lex_arg(t, 0, 0);
	else if (!t->leader && t->between == '!' && t->final == 'p')
		reset_softly(s);
	else if (!t->leader && !t->between && (t->final == 'h' || t->final == 'l'))
		take_plain_modes(s, t);
	else if (!t->leader && !t->between && t->final == 'r' && t->nargs <= 2) {
		s->top = (uint16_t)lex_arg(t, 0, 0);
		s->bottom = (uint16_t)lex_arg(t, 1, 0);
	}
}

static void take_escape(struct seen *s, const struct lex_token *t)
{
	if (t->between) {
		if ((t->between == '(' || t->between == ')') && strchr("0AB", t->final))
			s->charset[t->between == ')'] = t->final;
		return;
	}
	if (t->final == '=')
		s->modes |= SEEN_BIT(KEYPAD);
	else if (t->final == '>')
		s->modes &= ~SEEN_BIT(KEYPAD);
	else if (t->final == 'c') {
		s->modes = 0;
		reset_softly(s);
		s->cursor_shape = 0;
	}
}

static void take_title(struct seen *s, const char *text, size_t n)
{
	set_text(s->title, text, n);
}

static void take_notice(struct seen *s, const char *text, size_t n)
{
	s->notices++;
	set_text(s->notice, text, n);
}

/* KEYS:VALUES;text */
static void take_kitty_notice(struct seen *s, const char *text, size_t n)
{
	const char *at = memchr(text, ';', n);

	if (at)
		take_notice(s, at + 1, n - (size_t)(at + 1 - text));
}

/* "A", "B", "C", "D;1": the letter, and what belongs to it behind semicolons. */
static void take_prompt(struct seen *s, const char *text, size_t n)
{
	static const char letters[] = "ABCD";
	const char *at = n && (n == 1 || text[1] == ';') ? memchr(letters, text[0], 4) : NULL;

	if (at)
		s->prompt = (uint8_t)(SEEN_PROMPT + (at - letters));
}

static void take_string(struct seen *s, const struct lex_token *t)
{
	static const struct {
		const char *word;
		void (*take)(struct seen *s, const char *text, size_t n);
	} words[] = {{"0;", take_title}, {"2;", take_title},
		{"9;4;", NULL}, /* how far something is, of ConEmu */
		{"9;", take_notice}, {"777;notify;", take_notice}, {"99;", take_kitty_notice},
		{"133;", take_prompt}};

	for (size_t i = 0; t->final == ']' && i < COUNT(words); i++) {
		size_t n = strlen(words[i].word);

		if (t->n < n || memcmp(t->bytes, words[i].word, n) != 0)
			continue;
		if (words[i].take)
			words[i].take(s, t->bytes + n, t->n - n);
		return;
	}
}

static void take_control(struct seen *s, uint32_t c)
{
	if (c == 7)
		s->bells++;
	else if (c == 0x0E || c == 0x0F)
		set_bit(s, SEEN_BIT(SHIFTED), c == 0x0E);
}

void seen_take(struct seen *s, const struct lex_token *t)
{
	switch (t->kind) {
	case LEX_CONTROL: take_control(s, t->cp); break;
	case LEX_ESCAPE: take_escape(s, t); break;
	case LEX_CSI: take_csi(s, t); break;
	case LEX_STRING: take_string(s, t); break;
	case LEX_ASCII:
	case LEX_CHAR: break;
	}
}
