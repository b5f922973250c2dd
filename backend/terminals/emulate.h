/*
 * emulate.h - the screen of a terminal and its scrollback, kept by libvterm.
 *
 * libvterm never sees a program's bytes: the Debian release reads past its arrays when a sequence has too many numbers,
 * when characters of no width pile up, when margins or a saved cursor are outside a screen that became smaller, and
 * stands still when a character of no width is to be repeated.  Tokens (lex.h) are written for it anew: sequences of a
 * table, each number bounded, characters whose width it gets right.
 *
 * Limits: TERMINAL_COLUMNS_MIN to TERMINAL_COLUMNS_MAX columns, 1 to TERMINAL_ROWS_MAX rows, other sizes become the
 * nearest; TERMINAL_LINES lines and TERMINAL_LINES_BYTES of scrollback, the oldest go; EMULATOR_ANSWERS bytes of answers.
 * 5 to 10 MB/s.  Thread: one owner.
 */
#ifndef TERMINALS_EMULATE_H
#define TERMINALS_EMULATE_H

#include <berth/terminal.h>

#include "terminals/lex.h"

#define EMULATOR_ANSWERS 1024

struct emulator;
struct emulator *emulator_open(int columns, int rows);
void emulator_close(struct emulator *em); /* NULL is fine */
void emulator_take(struct emulator *em, const struct lex_token *t);
void emulator_resize(struct emulator *em, int columns, int rows);
/* `bytes` of output were left out here: a line of the scrollback says so. */
void emulator_skip(struct emulator *em, uint64_t bytes);

/* Size, cursor and cells as they are now; *s keeps its memory from one call to the next, and its other members. */
void emulator_show(struct emulator *em, struct terminal_screen *s);
/* How what is printed next is drawn: a cell without a character. */
struct terminal_cell emulator_pen(struct emulator *em);
/* What the program saved of its cursor, to be restored by ESC 8; false: nothing. */
struct emulator_cursor {
	int x, y;
	bool shown;
	struct terminal_cell pen;
};
bool emulator_saved(const struct emulator *em, struct emulator_cursor *ret);
/* Lines that left the screen at its top, 0 the oldest that is kept: as terminal_cells_text writes them, styled. */
size_t emulator_lines(struct emulator *em);
const char *emulator_line(const struct emulator *em, size_t i, size_t *ret_n);
/* What the program asked its terminal and is to be answered; they are given once, at most `cap` bytes. */
size_t emulator_answers(struct emulator *em, char *buf, size_t cap);

/* --- its parts --- */

/* Characters as libvterm is given them: of the width that terminals of today give them, where its tables are older.
 * 0: it is left out. */
uint32_t emulator_disguise(uint32_t cp);
uint32_t emulator_undisguise(uint32_t cp);
/* What combines with the character before it, and is known to libvterm to. */
bool emulator_combines(uint32_t cp);

/* The sequences of a token that libvterm is to obey, behind what `out` holds. */
void emulator_rewrite(const struct lex_token *t, struct str *out);

struct scrollback {
	struct {
		char *text;
		size_t n;
	} line[TERMINAL_LINES];
	size_t first, count, bytes;
};
void scrollback_add(struct scrollback *b, const char *text, size_t n);
void scrollback_release(struct scrollback *b);

#endif
