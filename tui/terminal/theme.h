/*
 * theme.h - roles of things on the screen, and their colours.
 *
 * Drawing code names a role, never a colour.  A theme (themes/NAME.yaml, embedded) maps every role
 * to foreground, background and attributes; the screen picks true colour, 256, 16 or none by what
 * the terminal can do.  Colour is never the only sign of anything.
 *
 * A theme file:
 *     about: one line
 *     colours:                 # true colour, and one of the 16 (or `default`) for small terminals
 *       ink: "#d0d4da 7"
 *       night: "#14171c default"
 *     styles:                  # ROLE: FG [on BG] [bold underline reverse dim italic]
 *       text: ink on night     # what names no background has that of text
 *       cursor: ink on night reverse
 * `default` is the terminal's own colour.  A role that is not named looks like text.
 */
#ifndef TERMINAL_THEME_H
#define TERMINAL_THEME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/config.h>
#include <berth/err.h>

#define THEME_ROLES(X)                                                      \
	X(TEXT, "text")     /* what people read */                          \
	X(DIM, "dim")       /* secondary, units, zeroes */                  \
	X(STRONG, "strong") /* names, headlines */                          \
	X(ACCENT, "accent") /* the one accent */                            \
	X(HEADER, "header") /* top line */                                  \
	X(TAB, "tab")                                                       \
	X(TAB_ACTIVE, "tab_active")                                         \
	X(COLUMN, "column") /* column heads */                              \
	X(COLUMN_SORT, "column_sort")                                       \
	X(RULE, "rule")     /* separating lines */                          \
	X(CURSOR, "cursor") /* the selected row */                          \
	X(MARK, "mark")     /* marked rows */                               \
	X(GROUP, "group")   /* group heads */                               \
	X(GOOD, "good")                                                     \
	X(WARN, "warn")                                                     \
	X(BAD, "bad")                                                       \
	X(BUSY, "busy")   /* in transition, pending */                      \
	X(STALE, "stale") /* old data */                                    \
	X(BAR, "bar")     /* filled part of meters */                       \
	X(BAR_WARN, "bar_warn")                                             \
	X(BAR_BAD, "bar_bad")                                               \
	X(BAR_REST, "bar_rest")                                             \
	X(CHART, "chart")                                                   \
	X(CHART_ALT, "chart_alt")                                           \
	X(KEY, "key")     /* keys in the footer and help */                 \
	X(INPUT, "input") /* prompts */                                     \
	X(HIT, "hit")     /* search hits */                                 \
	X(DIALOG, "dialog")                                                 \
	X(BUTTON, "button")                                                 \
	X(BUTTON_FOCUS, "button_focus")                                     \
	X(DANGER, "danger")   /* what cannot be undone */                   \
	X(SOURCE1, "source1") /* merged logs: one per container, in turn */ \
	X(SOURCE2, "source2")                                               \
	X(SOURCE3, "source3")                                               \
	X(SOURCE4, "source4")                                               \
	X(SOURCE5, "source5")                                               \
	X(SOURCE6, "source6")

enum role {
#define X(id, name) ROLE_##id,
	THEME_ROLES(X)
#undef X
		ROLE_COUNT
};

enum { ATTR_BOLD = 1, ATTR_UNDERLINE = 2, ATTR_REVERSE = 4, ATTR_DIM = 8, ATTR_ITALIC = 16 };

#define COLOUR_DEFAULT (-1)

struct theme_style {
	int32_t fg, bg;     /* 0xRRGGBB or COLOUR_DEFAULT */
	int16_t fg16, bg16; /* 0..15 or COLOUR_DEFAULT, for terminals with 16 colours */
	uint8_t attrs;
};

struct theme {
	char name[32];
	char about[96];
	struct theme_style style[ROLE_COUNT];
};

/* `name`: a shipped theme, or the path of a theme file (it holds a '/' or ends in ".yaml"). */
int theme_load(const char *name, struct theme *ret, struct err *e);
int theme_parse(const struct config *c, struct theme *ret, struct err *e);
/* The i-th shipped theme's name, or NULL.  buf: as theme.name. */
const char *theme_name(size_t i, char buf[32]);

/* What the cells of (role, attrs added, role below) look like. */
struct theme_style theme_resolve(
	const struct theme *t, uint8_t role, uint8_t attrs, uint8_t under, bool colours16);

/* The same with the colours that a log asks for (canvas.h: ink, paper), as far as they can be read there. */
struct theme_style theme_inked(struct theme_style st, uint8_t ink, uint8_t paper);

int theme_nearest_256(int32_t rgb);          /* 16..255, or COLOUR_DEFAULT */
double theme_contrast(int32_t a, int32_t b); /* WCAG 2.1: 1..21 */

#endif
