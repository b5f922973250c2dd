/*
 * wrap.h - where a long line is cut so that it fits a width in columns.
 *
 * Measures what the canvas draws: neutralised text, in which wide characters are not cut.
 * Thread: main.
 */
#ifndef TUI_VIEWS_WRAP_H
#define TUI_VIEWS_WRAP_H

#include <stddef.h>

/* Where the row after the one that starts at byte `from` starts, `width` columns to a row; `len`
 * when that was the last.  Wide characters are not cut. */
size_t wrap_next(const char *text, size_t len, size_t from, int width);
/* How many rows the line takes: at least 1. */
size_t wrap_rows(const char *text, size_t len, int width);
/* Where column `column` is, in bytes; at a character's beginning. */
size_t text_skip(const char *text, size_t len, int column);

#endif
