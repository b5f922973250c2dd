/*
 * canvas.h - a grid of cells in memory; every view draws on it, only the screen knows curses.
 *
 * Text is neutralised on the way in (berth/text.h), clipped at the edges of the canvas, and wide
 * characters are never cut in half.  In ASCII mode glyphs become their ASCII twins and other
 * non-ASCII characters '?'.  Nothing here allocates after canvas_resize.
 *
 * Why not curses' windows: they need a terminal, and what is drawn must be readable without one (golden tests,
 * benchmarks, saved screens); they take text as it comes, control characters and all.
 *
 * Thread: main.
 */
#ifndef TERMINAL_CANVAS_H
#define TERMINAL_CANVAS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/str.h>

#include "terminal/theme.h"

struct style {
	uint8_t role;  /* enum role */
	uint8_t attrs; /* added to what the theme gives */
	uint8_t under; /* role whose background lies below (ROLE_CURSOR: selected row); 0: none */
	/* What a log asked for itself: numbers of the 256 colours, black as 16; 0: as the role has it. */
	uint8_t ink, paper;
};
#define STYLE(r) ((struct style){.role = ROLE_##r})

#define CELL_BYTES 12 /* base character and a few combining ones */
struct cell {
	char text[CELL_BYTES];
	uint8_t len;   /* 0: blank */
	uint8_t width; /* 1, 2; 0: right half of the wide cell before it */
	struct style style;
};

struct area {
	int x, y, w, h;
};

struct canvas {
	int columns, rows;
	bool ascii;
	bool blocks;            /* the terminal has no braille: charts of blocks */
	struct cell *cells;     /* rows * columns */
	int cursor_x, cursor_y; /* where the terminal's cursor is shown; -1: hidden */
};

/* Signs with an ASCII twin, one column each.  canvas_text turns the same characters into the same
 * twins, so a view may also write them in its texts. */
#define GLYPHS(X)                                            \
	X(HLINE, "\u2500", '-')    /* ─ */                 \
	X(VLINE, "\u2502", '|')    /* │ */                 \
	X(DOT, "\u25cf", 'o')      /* ● runs */            \
	X(RING, "\u25cb", '.')     /* ○ created, waits */  \
	X(CROSS, "\u2717", 'x')    /* ✗ ended, failed */   \
	X(PAUSE, "\u2016", '=')    /* ‖ */                 \
	X(OPEN, "\u25be", 'v')     /* ▾ */                 \
	X(CLOSED, "\u25b8", '>')   /* ▸ */                 \
	X(BRANCH, "\u2514", '`')   /* └ */                 \
	X(BAR, "\u2587", '#')      /* ▇ */                 \
	X(BAR_REST, "\u2591", '.') /* ░ */                 \
	X(TICK, "\u2713", '+')     /* ✓ */                 \
	X(BANG, "!", '!')                                    \
	X(ELLIPSIS, "\u2026", '~') /* … */                 \
	X(DOWN, "\u2193", 'v')     /* ↓ */                 \
	X(UP, "\u2191", '^')       /* ↑ */                 \
	X(MARK, "\u25c6", '*')     /* ◆ marked row */      \
	X(RIGHT, "\u25b8", '>')    /* ▸ */                 \
	X(DASH, "\u2013", '-')     /* – nothing to show */ \
	X(EDGE, "\u258c", '|')     /* ▌ selected row, text cursor */

enum glyph {
#define X(id, text, ascii) GLYPH_##id,
	GLYPHS(X)
#undef X
		GLYPH_COUNT
};
const char *glyph_text(const struct canvas *c, enum glyph g);

void canvas_init(struct canvas *c, bool ascii);
void canvas_release(struct canvas *c);
void canvas_resize(struct canvas *c, int columns, int rows); /* clears; at most 1000 x 500 */
void canvas_clear(struct canvas *c);

/* Draw text at (x, y), at most `w` columns (-1: to the edge); returns the columns used. */
int canvas_text(struct canvas *c, int x, int y, int w, struct style st, const char *text);
int canvas_textn(
	struct canvas *c, int x, int y, int w, struct style st, const char *text, size_t n);
int canvas_printf(struct canvas *c, int x, int y, int w, struct style st, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
/* Right-aligned in [x, x + w). */
void canvas_right(struct canvas *c, int x, int y, int w, struct style st, const char *text);
/* As canvas_text, but a text that does not fit ends in an ellipsis. */
int canvas_clip(struct canvas *c, int x, int y, int w, struct style st, const char *text);
/* As canvas_clip, but what goes is the middle: names often differ at their end only. */
int canvas_clip_name(struct canvas *c, int x, int y, int w, struct style st, const char *name);
/* Folded at blanks and '\n' into the area; returns the lines it takes (more than a.h: cut off).
 * c NULL: only counts. */
int canvas_wrap(struct canvas *c, struct area a, struct style st, const char *text);
int canvas_glyph(struct canvas *c, int x, int y, struct style st, enum glyph g);
void canvas_fill(struct canvas *c, struct area a, struct style st, char ch);
void canvas_hline(struct canvas *c, int x, int y, int w, struct style st);
void canvas_frame(struct canvas *c, struct area a, struct style st); /* fills, and draws its edge */
/* Give the cells of an area another lower style (selected row) or role (dimmed, stale) in place. */
void canvas_under(struct canvas *c, struct area a, enum role under);
void canvas_restyle(struct canvas *c, struct area a, enum role role);

/* The picture as text, one line per row, trailing blanks cut.  With `styles` each row is followed
 * by lines of role letters and of colours that a log asked for (golden tests). */
void canvas_dump(const struct canvas *c, struct str *out, bool styles);
/* Its rows from `from` up to before `to` alone. */
void canvas_dump_rows(const struct canvas *c, int from, int to, struct str *out, bool styles);
/* The picture as an SVG document in the colours of a theme. */
void canvas_svg(const struct canvas *c, const struct theme *t, struct str *out);

#endif
