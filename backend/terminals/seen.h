/*
 * seen.h - what a program tells its terminal besides what to draw: title, bells, notices, prompts and modes.
 *
 * From tokens (lex.h).  Titles (OSC 0, 2; xterm's ctlseqs), notices (OSC 9 of iTerm2, OSC 777;notify of rxvt-unicode, OSC
 * 99 of kitty), prompt marks (OSC 133 of FinalTerm), private modes.  All texts are neutralised.  A mark says what a program
 * wrote, which may be anything.
 *
 * Thread: one owner; plain data; seen_init first.
 */
#ifndef TERMINALS_SEEN_H
#define TERMINALS_SEEN_H

#include <berth/terminal.h>

#include "terminals/lex.h"

/* Private modes that change what a terminal sends, or how it draws: those that a person's terminal is to have. */
#define SEEN_MODES(X)                        \
	X(CURSOR_KEYS, 1)                    \
	X(ORIGIN, 6)                         \
	X(WRAP, 7)                           \
	X(MOUSE_X10, 9)                      \
	X(CURSOR, 25)                        \
	X(MOUSE, 1000)                       \
	X(MOUSE_DRAG, 1002)                  \
	X(MOUSE_MOVE, 1003)                  \
	X(FOCUS, 1004)                       \
	X(MOUSE_UTF8, 1005)                  \
	X(MOUSE_SGR, 1006)                   \
	X(MOUSE_URXVT, 1015)                 \
	X(ALTERNATE, 1049) /* or 47, 1047 */ \
	X(PASTE, 2004)

enum seen_mode {
#define X(name, number) SEEN_##name,
	SEEN_MODES(X)
#undef X
		SEEN_KEYPAD, /* ESC = */
	SEEN_INSERT,         /* CSI 4 h */
	SEEN_NEWLINE,        /* CSI 20 h */
	SEEN_SHIFTED,        /* SO */
	SEEN_MODES_COUNT
};
#define SEEN_BIT(name) (1u << SEEN_##name)
#define SEEN_AT_START (SEEN_BIT(WRAP) | SEEN_BIT(CURSOR))

/* The last of OSC 133: what a shell with its marks does now. */
enum seen_prompt { SEEN_NO_PROMPT, SEEN_PROMPT, SEEN_TYPING, SEEN_COMMAND, SEEN_DONE };

struct seen {
	uint32_t modes;       /* SEEN_BIT of each that is set */
	uint8_t cursor_shape; /* DECSCUSR, 0: the terminal's own */
	uint8_t prompt;       /* enum seen_prompt */
	uint16_t top, bottom; /* of the margins, from 1; 0: all of the screen */
	char charset[2];      /* G0 and G1: 'B', 'A' or '0' */
	uint64_t bells, notices;
	char title[TERMINAL_TITLE_MAX];
	char notice[TERMINAL_TITLE_MAX];
};

void seen_init(struct seen *s);
void seen_take(struct seen *s, const struct lex_token *t);
void seen_resized(struct seen *s); /* the terminal has another size, so no margins */

#endif
