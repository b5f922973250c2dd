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
/* A terminal without a command: sh -c this, which is called TERMINAL_SHELL_NAME. */
#define TERMINAL_SHELL "command -v bash >/dev/null 2>&1 && exec bash; exec sh"
#define TERMINAL_SHELL_NAME "shell"
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
	int exit_code;      /* when it ended, by the contract of `exec` */
	int64_t started_ms; /* Unix time */
	int64_t changed_ms; /* when it last printed something, or ended */
	int64_t answered_ms; /* when somebody last typed into it, or `send` did; 0: never.  What it marked before is
				  * answered. */
	uint64_t bells, notices; /* so many since it started */
	uint64_t missed;         /* bytes that came too fast for the scrollback */
	pid_t keeper;            /* the process that keeps it */
	pid_t supervisor;        /* of its processes, as the host numbers it; 0: not known */
	int64_t marked_ms;       /* Unix time of the last bell or notice; 0: none came */
	bool marked_notice;      /* it was a notice */
	uint8_t prompt;          /* the last prompt mark (OSC 133): 0 none, 1 to 4: A to D */
	char title[TERMINAL_TITLE_MAX];
	char notice[TERMINAL_TITLE_MAX]; /* the last one; "" */
	char command[TERMINAL_TITLE_MAX];
	struct terminal_cell *cells; /* rows * columns */
};
void terminal_screen_release(struct terminal_screen *s);
/* n, or what is nearest to it from `least` to `most`, which is not less. */
static inline int terminal_within(int least, int n, int most)
{
	return n < least ? least : n > most ? most : n;
}

/* A to Z, a to z, 0 to 9, dots, hyphens and underscores, no dot in front.  0, or -1 with ERR_USAGE. */
int terminal_check_name(const char *name, struct err *e);

struct terminal_row {
	char container[64], agent[64],
		id[65]; /* agent; full id of the container: "" when it is not known */
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

/* Type into it: `text` (n bytes, as a paste where its program asks for that), then keys by their names (terminal_key).
 * Waits until the terminal has taken it, TERMINAL_SEND_MS at most.  ERR_USAGE: control characters or what is not UTF-8 in
 * the text, an unknown key, a terminal that has ended; or its program does not read, and the sentence says how much was
 * taken.  What was not is dropped. */
#define TERMINAL_SEND_MAX 32768 /* bytes of text, and of the names of keys */
#define TERMINAL_SEND_MS 5000
struct terminal_typing {
	const char *text;
	size_t n;
	const char *const *keys;
	size_t nkeys;
};
int terminals_check_typing(const struct terminal_typing *t, struct err *e);
int terminals_type(
	const char *container, const char *name, const struct terminal_typing *t, struct err *e);

/*
 * A terminal as one person's terminal shows it, who may type into it if nobody else does.
 *
 * What the one who types sees is what the program prints, less what may not pass (backend/terminals/pass.h); its size is
 * his.  All others see its cells, drawn in all rows of theirs but the last one.  Whoever does not read misses what was
 * shown meanwhile, holds nobody up, and sees the newest screen afterwards.
 */
struct terminal_view;
#define TERMINAL_WHO_MAX 64
struct terminal_view_wish {
	const char *who; /* for the others */
	int columns, rows;
	bool watches; /* never types */
};
/* Returns when it is known who types; 10 s at most. */
struct terminal_view *terminal_view_open(
	const char *container, const char *name, const struct terminal_view_wish *w, struct err *e);
void terminal_view_close(struct terminal_view *v); /* NULL is fine */
int terminal_view_fd(const struct terminal_view *v);
/* One message, when there is one: what may be printed on a person's terminal, behind what `out` holds.  1: there was one;
 * 0: not now; -1: nothing more comes. */
int terminal_view_read(struct terminal_view *v, struct str *out);
bool terminal_view_types(const struct terminal_view *v);
const char *terminal_view_typist(const struct terminal_view *v); /* who else does; "": nobody */
/* How much was sent; less when its process does not read. */
size_t terminal_view_type(struct terminal_view *v, const char *bytes, size_t n);
/* That were sent so far, also those that the program never takes: its process is not asked. */
uint64_t terminal_view_keys(const struct terminal_view *v);
/* These are lost only with the connection. */
void terminal_view_resize(struct terminal_view *v, int columns, int rows);
void terminal_view_take(struct terminal_view *v); /* to be the one who types */

/* The program berth-terminal.  Returns when the last terminal of the container has ended. */
int terminals_main(struct err *e);

/* Row `y` as text without trailing blanks; with `styled` as a terminal prints it, ending in plain style. */
void terminal_row_text(const struct terminal_screen *s, int y, bool styled, struct str *out);
/* What it is called in a list: its program, and the title that this gave it. */
void terminal_title_text(const struct terminal_screen *s, struct str *out);
/* The sequence after which text is drawn as that cell is. */
void terminal_style_text(const struct terminal_cell *c, struct str *out);
/* `n` cells of one row, the same way. */
void terminal_cells_text(const struct terminal_cell *cells, int n, bool styled, struct str *out);

/* What a key sends, behind what `out` holds, by tmux's names: Enter, Tab, BTab, Escape, Space, BSpace, Up, Home, PageUp,
 * F1 to F12, Delete; C-x, M-x, S-x in front; a single character is itself.  `application`: cursor keys are in that mode.
 * ERR_USAGE: there is no such key; the sentence says which are. */
int terminal_key(const char *name, bool application, struct str *out, struct err *e);

#endif
