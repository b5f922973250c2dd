/*
 * pass.h - what of a program's output may reach the terminal of a person who is attached.
 *
 * Text, styles, motion, and the modes that programs on a whole screen need pass; that of the alternate screen does not, as a
 * person who is attached has that screen all the time and each change of it is drawn again from the cells.  All else is refused, by a table whose
 * rows have reasons: what a terminal would answer (the answer would be typed into the program, or into the person's shell
 * after a detach), what reads or sets the clipboard, what outlives the program, and what is not known.  Text is UTF-8 that
 * may be shown (text.h); numbers are at most LEX_ARG_MAX.
 *
 * Holds for any cut of the bytes: what is not whole yet is kept.  Thread: one owner; plain data; a zeroed one is at the
 * beginning.
 */
#ifndef TERMINALS_PASS_H
#define TERMINALS_PASS_H

#include <berth/str.h>

#include "terminals/lex.h"

/* DECSET's numbers that pass, and are off before a screen is drawn. */
#define PASS_MODES 1, 5, 6, 7, 9, 12, 25, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 2004, 2026

enum pass_reason {
	PASS_OK,
	PASS_QUERY,     /* the terminal's answer would be typed into the program */
	PASS_CLIPBOARD, /* the clipboard is not the agent's */
	PASS_WINDOW,    /* the window is not the agent's */
	PASS_LASTING,   /* it would outlive the program */
	PASS_DEVICE,    /* it programs keys, prints, or sends data to the terminal's extensions */
	PASS_LINK,      /* only links to http and https pass */
	PASS_SCREEN,    /* berth draws the other screen, and a cleared one, itself */
	PASS_NOTICE,    /* berth reports notices itself */
	PASS_UNKNOWN,   /* it is not known to be harmless */
	PASS_REASONS_COUNT
};

struct pass {
	struct lexer lexer;
	uint64_t refused[PASS_REASONS_COUNT]; /* so many were, by reason */
};

/* Behind what `out` holds: of bytes, or of a token of another lexer. */
void pass_take(struct pass *p, const struct lex_token *t, struct str *out);
void pass_through(struct pass *p, const char *bytes, size_t n, struct str *out);

#endif
