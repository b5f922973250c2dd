/*
 * paint.h - a terminal's screen as the bytes that draw it on another terminal, whatever that one shows.
 *
 * Made of nothing but cells that may be shown and sequences that pass.h passes.  Thread: any; nothing here keeps state.
 */
#ifndef TERMINALS_PAINT_H
#define TERMINALS_PAINT_H

#include <berth/terminal.h>

#include "terminals/emulate.h"
#include "terminals/seen.h"

/* All of it, with modes, margins, cursor and pen as they are, and as they were saved (NULL: they were not), so that what the program prints next has the same effect
 * there.  The other terminal has the same size. */
void paint_all(const struct terminal_screen *s, const struct seen *seen,
	const struct terminal_cell *pen, const struct emulator_cursor *saved, struct str *out);
/* Its cells, as many as fit, the row of the cursor among them; no mode of the program's.  Other rows than the first
 * `rows` are not touched. */
void paint_part(const struct terminal_screen *s, int columns, int rows, struct str *out);

#endif
