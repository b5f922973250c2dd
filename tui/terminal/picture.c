/* picture.c - draws a canvas as SVG, for documentation. */
#include <string.h>

#include "terminal/canvas.h"

#define CELL_W 8.4 /* pixels, of a monospace font of 14 */
#define CELL_H 18
#define BASE_LINE 14
#define PAPER 0x12161c /* what a theme leaves to the terminal */
#define INK 0xc9d1d9

struct look {
	int32_t fg, bg;
	uint8_t attrs;
};

static struct look look_of(const struct theme *t, struct style s)
{
	struct theme_style st =
		theme_inked(theme_resolve(t, s.role, s.attrs, s.under, false), s.ink, s.paper);
	struct look l = {st.fg == COLOUR_DEFAULT ? INK : st.fg,
		st.bg == COLOUR_DEFAULT ? PAPER : st.bg, st.attrs};

	if (l.attrs & ATTR_REVERSE)
		l = (struct look){l.bg, l.fg, l.attrs};
	return l;
}

static bool same_look(struct look a, struct look b)
{
	return a.fg == b.fg && a.bg == b.bg && a.attrs == b.attrs;
}

static void add_escaped(struct str *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (s[i]) {
		case '&': str_adds(out, "&amp;"); break;
		case '<': str_adds(out, "&lt;"); break;
		case '>': str_adds(out, "&gt;"); break;
		default: str_addc(out, s[i]);
		}
	}
}

/* Cells of one look: what lies below, then the text, without blanks at its end. */
static void add_run(struct str *out, const struct cell *cells, int n, int x, int y, struct look l)
{
	int last = n;

	if (l.bg != PAPER)
		str_addf(out,
			"<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#%06x\"/>\n",
			x * CELL_W, y * CELL_H, n * CELL_W, CELL_H, (unsigned)l.bg);
	while (last && (!cells[last - 1].len || !strcmp(cells[last - 1].text, " ")))
		last--;
	if (!last)
		return;
	str_addf(out, "<text x=\"%.1f\" y=\"%d\" textLength=\"%.1f\" fill=\"#%06x\"%s%s>",
		x * CELL_W, y * CELL_H + BASE_LINE, last * CELL_W, (unsigned)l.fg,
		l.attrs & ATTR_BOLD ? " font-weight=\"bold\"" : "",
		l.attrs & ATTR_DIM ? " opacity=\"0.7\"" : "");
	for (int i = 0; i < last; i++) {
		if (cells[i].len)
			add_escaped(out, cells[i].text, cells[i].len);
		else if (cells[i].width)
			str_addc(out, ' ');
	}
	str_adds(out, "</text>\n");
}

void canvas_svg(const struct canvas *c, const struct theme *t, struct str *out)
{
	int w = (int)(c->columns * CELL_W), h = c->rows * CELL_H;

	str_addf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-8 -8 %d %d\" width=\"%d\" font-size=\"14\" "
		"font-family=\"DejaVu Sans Mono,Menlo,Consolas,monospace\" xml:space=\"preserve\">\n"
		"<rect x=\"-8\" y=\"-8\" width=\"100%%\" height=\"100%%\" rx=\"6\" fill=\"#%06x\"/>\n",
		w + 16, h + 16, w + 16, (unsigned)PAPER);
	for (int y = 0; y < c->rows; y++) {
		const struct cell *row = &c->cells[(size_t)y * (size_t)c->columns];

		for (int x = 0, end; x < c->columns; x = end) {
			struct look l = look_of(t, row[x].style);

			for (end = x + 1; end < c->columns &&
				(!row[end].width || same_look(look_of(t, row[end].style), l));)
				end++;
			add_run(out, &row[x], end - x, x, y, l);
		}
	}
	str_adds(out, "</svg>\n");
}
