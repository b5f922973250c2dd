/* screen_text.c - a terminal's cells as text, plain or with their styles. */
#include <string.h>

#include <berth/mem.h>
#include <berth/terminal.h>
#include <berth/text.h>

void terminal_screen_release(struct terminal_screen *s)
{
	free(STEAL(s->cells));
}

static bool same_style(const struct terminal_cell *a, const struct terminal_cell *b)
{
	return a->ink == b->ink && a->paper == b->paper && a->flags == b->flags;
}

static void add_colour(struct str *out, uint32_t colour, unsigned base)
{
	unsigned n = colour & 255;

	if (colour & TERMINAL_RGB)
		str_addf(out, ";%u;2;%u;%u;%u", base + 8, colour >> 16 & 255, colour >> 8 & 255, n);
	else if (colour & TERMINAL_INDEXED && n < 8)
		str_addf(out, ";%u", base + n);
	else if (colour & TERMINAL_INDEXED && n < 16)
		str_addf(out, ";%u", base + 60 + n - 8);
	else if (colour & TERMINAL_INDEXED)
		str_addf(out, ";%u;5;%u", base + 8, n);
}

void terminal_style_text(const struct terminal_cell *c, struct str *out)
{
	static const struct {
		uint8_t flag;
		char sgr;
	} flags[] = {{TERMINAL_BOLD, '1'}, {TERMINAL_ITALIC, '3'}, {TERMINAL_UNDERLINE, '4'},
		{TERMINAL_BLINK, '5'}, {TERMINAL_REVERSE, '7'}, {TERMINAL_STRIKE, '9'}};

	str_adds(out, "\x1b[0");
	for (size_t i = 0; i < COUNT(flags); i++)
		if (c->flags & flags[i].flag)
			str_addf(out, ";%c", flags[i].sgr);
	add_colour(out, c->ink, 30);
	add_colour(out, c->paper, 40);
	str_addc(out, 'm');
}

/* Nothing to be seen: a blank in the terminal's own colours. */
static bool is_empty(const struct terminal_cell *c, bool styled)
{
	return (!c->ch[0] || c->ch[0] == ' ') && c->width &&
		(!styled ||
			(!c->paper &&
				!(c->flags &
					(TERMINAL_REVERSE | TERMINAL_UNDERLINE |
						TERMINAL_STRIKE))));
}

void terminal_cells_text(const struct terminal_cell *cells, int n, bool styled, struct str *out)
{
	static const struct terminal_cell plain;
	const struct terminal_cell *last = &plain;
	char utf8[4];

	while (n && is_empty(&cells[n - 1], styled))
		n--;
	for (int x = 0; x < n; x++) {
		const struct terminal_cell *c = &cells[x];

		if (!c->width)
			continue;
		if (styled && !same_style(c, last))
			terminal_style_text(c, out);
		last = c;
		if (!c->ch[0])
			str_addc(out, ' ');
		for (int i = 0; i < TERMINAL_CELL_CHARS && c->ch[i]; i++)
			str_add(out, utf8, utf8_put(c->ch[i], utf8));
	}
	if (styled && !same_style(last, &plain))
		str_adds(out, "\x1b[0m");
}

void terminal_row_text(const struct terminal_screen *s, int y, bool styled, struct str *out)
{
	terminal_cells_text(s->cells + (size_t)y * (size_t)s->columns, s->columns, styled, out);
}

void terminal_title_text(const struct terminal_screen *s, struct str *out)
{
	size_t n = strcspn(s->command, " "), from = n;

	while (from && s->command[from - 1] != '/')
		from--;
	/* Many programs begin their titles with their names. */
	if (*s->title && strncmp(s->title, s->command + from, n - from) != 0)
		str_addf(out, "%.*s: ", (int)(n - from), s->command + from);
	str_adds(out, *s->title ? s->title : s->command);
}
