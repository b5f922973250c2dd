/*
 * ink.h - interprets colours in text from outside (ECMA-48 SGR), and drops all other sequences.
 *
 * Foreground, background, bold, dim, italic, underline and reverse; hidden text, blinking and fonts are left
 * out.  What cannot be read on the theme's background is not drawn so (terminal/theme.h).
 *
 * Thread: any; plain data.
 */
#ifndef TUI_VIEWS_INK_H
#define TUI_VIEWS_INK_H

#include <stddef.h>
#include <stdint.h>

#include "terminal/terminal.h"

struct ink {
	uint8_t fg, bg, attrs; /* as ink, paper and attrs of struct style */
};

/* `s`: what stands between "ESC [" and "m". */
void ink_take(struct ink *k, const char *s, size_t n);
struct style ink_style(struct ink k, struct style st);

#endif
