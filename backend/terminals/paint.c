/* paint.c - draws a terminal's cells on another terminal. */
#include "terminals/paint.h"

#include <berth/mem.h>

#include "terminals/pass.h"

/* Without what a terminal does at the end of a row, or of a screen, and with the characters as they are. */
static void begin_paint(struct str *out)
{
	static const uint16_t off[] = {PASS_MODES};

	/* CAN: whatever was begun before is not ended. */
	str_adds(out, "\x18\x1b[!p\x1b]8;;\x1b\\\x1b[4l\x1b[20l\x1b>\x1b(B\x1b)B\x0f\x1b[r");
	for (size_t i = 0; i < COUNT(off); i++)
		str_addf(out, "\x1b[?%ul", off[i]);
}

static void paint_row(
	const struct terminal_screen *s, int from, int to, int columns, struct str *out)
{
	const struct terminal_cell *row;
	int n = columns < s->columns ? columns : s->columns;

	str_addf(out, "\x1b[%d;1H\x1b[m\x1b[K", to + 1);
	if (from >= s->rows)
		return;
	row = s->cells + (size_t)from * (size_t)s->columns;
	if (n && row[n - 1].width == 2)
		n--;
	terminal_cells_text(row, n, true, out);
}

static void add_title(const struct terminal_screen *s, struct str *out)
{
	if (*s->title)
		str_addf(out, "\x1b]2;%s\x1b\\", s->title);
}

void paint_part(const struct terminal_screen *s, int columns, int rows, struct str *out)
{
	int first = s->rows <= rows || s->cursor_y < rows ? 0 : s->cursor_y - rows + 1;

	begin_paint(out);
	for (int y = 0; y < rows; y++)
		paint_row(s, first + y, y, columns, out);
	add_title(s, out);
	if (rows > 0)
		str_addf(out, "\x1b[%d;%dH", s->cursor_y - first + 1, s->cursor_x + 1);
	str_adds(out, s->cursor_shown && rows > 0 ? "\x1b[?7h\x1b[?25h" : "\x1b[?7h");
}

static void add_modes(const struct seen *seen, struct str *out)
{
	static const struct {
		uint32_t bit;
		const char *on;
	} modes[] = {
#define X(name, number) {SEEN_BIT(name), "\x1b[?" #number "h"},
		SEEN_MODES(X)
#undef X
			{SEEN_BIT(KEYPAD), "\x1b="},
		{SEEN_BIT(INSERT), "\x1b[4h"}, {SEEN_BIT(NEWLINE), "\x1b[20h"},
		{SEEN_BIT(SHIFTED), "\x0e"}};

	/* That of origins moves the cursor: it has been set. */
	for (size_t i = 0; i < COUNT(modes); i++)
		if (seen->modes & modes[i].bit & ~(SEEN_BIT(ORIGIN) | SEEN_BIT(ALTERNATE)))
			str_adds(out, modes[i].on);
}

/* Before there are margins, out of which it may be. */
static void save_cursor(const struct terminal_screen *s, const struct emulator_cursor *saved,
	const struct seen *seen, struct str *out)
{
	int x = saved->x < s->columns ? saved->x : s->columns - 1,
	    y = saved->y < s->rows ? saved->y : s->rows - 1;

	str_addf(
		out, "\x1b[%d;%dH\x1b(%c\x1b)%c", y + 1, x + 1, seen->charset[0], seen->charset[1]);
	terminal_style_text(&saved->pen, out);
	/* Some terminals save that, too. */
	str_addf(out, "\x1b[?25%c\x1b%c\x1b[?25l", saved->shown ? 'h' : 'l', '7');
}

void paint_all(const struct terminal_screen *s, const struct seen *seen,
	const struct terminal_cell *pen, const struct emulator_cursor *saved, struct str *out)
{
	int top = 1;

	begin_paint(out);
	for (int y = 0; y < s->rows; y++)
		paint_row(s, y, y, s->columns, out);
	add_title(s, out);
	if (saved)
		save_cursor(s, saved, seen, out);
	if (seen->top || seen->bottom)
		str_addf(out, "\x1b[%u;%ur", seen->top ? seen->top : 1,
			seen->bottom ? seen->bottom : (unsigned)s->rows);
	if (seen->modes & SEEN_BIT(ORIGIN)) {
		str_adds(out, "\x1b[?6h");
		top = seen->top ? seen->top : 1;
	}
	str_addf(out, "\x1b(%c\x1b)%c\x1b[%u q", seen->charset[0], seen->charset[1],
		seen->cursor_shape);
	str_addf(out, "\x1b[%d;%dH", s->cursor_y + 2 - top, s->cursor_x + 1);
	terminal_style_text(pen, out);
	add_modes(seen, out);
}
