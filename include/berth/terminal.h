/*
 * terminal.h - agents' own terminals: what each shows, and the names of keys.
 *
 * A terminal is a command of an agent's on a pseudo-terminal in its container.  A process of the host, berth-terminal,
 * one for each agent that has terminals, keeps its screen and publishes it in a file that anybody of this user reads:
 * nothing is asked of that process for a preview.
 *
 * Texts are of the agent's choice.  In a screen that was read each character is one that may be shown (text.h), and
 * titles are neutralised.  Thread: any; nothing here keeps state.
 */
#ifndef BERTH_TERMINAL_H
#define BERTH_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "str.h"

#define TERMINAL_COLUMNS_MIN 2 /* a wide character needs as many */
#define TERMINAL_COLUMNS_MAX 512
#define TERMINAL_ROWS_MAX 256
#define TERMINAL_COLUMNS 80 /* where nothing else is said */
#define TERMINAL_ROWS 24
#define TERMINAL_NAME_MAX 33
#define TERMINAL_TITLE_MAX 256
#define TERMINAL_LINES 2000 /* of scrollback */
#define TERMINAL_LINES_BYTES ((size_t)2 << 20)

/* How a cell is drawn. */
enum {
	TERMINAL_BOLD = 1,
	TERMINAL_UNDERLINE = 2,
	TERMINAL_ITALIC = 4,
	TERMINAL_BLINK = 8,
	TERMINAL_REVERSE = 16,
	TERMINAL_STRIKE = 32,
	TERMINAL_FLAGS = 63
};

/* A colour: 0 the terminal's own, one of 256, or 24 bits of red, green and blue. */
#define TERMINAL_INDEXED 0x01000000u
#define TERMINAL_RGB 0x02000000u

#define TERMINAL_CELL_CHARS 3
struct terminal_cell {
	uint32_t ch[TERMINAL_CELL_CHARS]; /* a character and what combines with it; 0: none */
	uint32_t ink, paper;
	uint8_t flags;
	uint8_t width; /* 1, 2; 0: the right half of the one before */
	uint8_t unused[2];
};

/* TERMINAL_LOST: the process that kept it died, and its command with it. */
enum terminal_status { TERMINAL_RUNS, TERMINAL_ENDED, TERMINAL_LOST };

struct terminal_screen {
	int columns, rows;
	int cursor_x, cursor_y;
	bool cursor_shown;
	enum terminal_status status;
	int exit_code;           /* when it ended, by the contract of `exec` */
	int64_t started_ms;      /* Unix time */
	int64_t changed_ms;      /* when it last printed something, or ended */
	uint64_t bells, notices; /* so many since it started */
	uint64_t missed;         /* bytes that came too fast for the scrollback */
	pid_t keeper;            /* the process that keeps it */
	char title[TERMINAL_TITLE_MAX];
	char notice[TERMINAL_TITLE_MAX]; /* the last one; "" */
	char directory
		[TERMINAL_TITLE_MAX]; /* where its shell says that it is, in the container; "" */
	char command[TERMINAL_TITLE_MAX];
	struct terminal_cell *cells; /* rows * columns */
};
void terminal_screen_release(struct terminal_screen *s);

/* A to Z, a to z, 0 to 9, dots, hyphens and underscores, no dot in front.  0, or -1 with ERR_USAGE. */
int terminal_check_name(const char *name, struct err *e);

struct terminal_row {
	char container[64], agent[64]; /* agent: "" when it is not known */
	char name[TERMINAL_NAME_MAX];
	struct terminal_screen screen; /* without its cells */
};
/* Those of the container (NULL: of all), by container and name; one that ended is there until it is stopped, started again
 * or its container goes down. */
size_t terminals_list(const char *container, struct terminal_row *out, size_t most);
/* What it shows; *ret may be one that was read before.  ERR_NOT_FOUND: there is none of that name. */
int terminals_read(
	const char *container, const char *name, struct terminal_screen *ret, struct err *e);
/* End its command, and all that this started, if it runs, and remove it from the list.  Waits for the end, 10 s at most. */
int terminals_stop(const char *container, const char *name, struct err *e);

/* The program berth-terminal.  Returns when the last terminal of the container has ended. */
int terminals_main(struct err *e);

/* Row `y` as text without trailing blanks; with `styled` as a terminal prints it, ending in plain style. */
void terminal_row_text(const struct terminal_screen *s, int y, bool styled, struct str *out);
/* `n` cells of one row, the same way. */
void terminal_cells_text(const struct terminal_cell *cells, int n, bool styled, struct str *out);

/* What a key sends, behind what `out` holds, by tmux's names: Enter, Tab, BTab, Escape, Space, BSpace, Up, Home, PageUp,
 * F1 to F12, Delete; C-x, M-x, S-x in front; a single character is itself.  `application`: cursor keys are in that mode.
 * ERR_USAGE: there is no such key; the sentence says which are. */
int terminal_key(const char *name, bool application, struct str *out, struct err *e);

#endif
