/*
 * hold.h - one terminal in the process that keeps it: what its command prints, and what it is sent.
 *
 * libvterm is slower than a program can print.  What is read waits in a ring of HELD_RING bytes; when that is full the
 * oldest of it is left out, which the scrollback says, so that the program is not held up and its end is always seen.
 * Thread: one owner.
 */
#ifndef TERMINALS_HOLD_H
#define TERMINALS_HOLD_H

#include <berth/str.h>

#include "terminals/emulate.h"
#include "terminals/screen_file.h"
#include "terminals/seen.h"
#include "terminals/terminals.h"

#define HELD_RING ((size_t)256 << 10)

struct held {
	char name[TERMINAL_NAME_MAX];
	struct lane_command c;
	struct screen_file file;
	struct terminal_screen screen;
	struct lexer lexer;
	struct emulator *em;
	struct seen seen;
	struct str input; /* that its program has not taken yet */
	char *ring;
	size_t at,
		waiting; /* of the ring: where what was not looked at begins, and how much there is */
	uint64_t missed;  /* left out since it was last looked at */
	bool changed;     /* since it was last shown */
	int64_t shown_ms; /* clock_real_ms */
	bool ended;
	int stopper; /* a connection that waits for its end, or -1 */
};

/* The descriptors are the terminal's.  NULL: its screen cannot be shown. */
struct held *held_open(
	const struct terminals_keep *k, int screen, int conn, int in, int out, struct err *e);
void held_close(struct held *h);

/* When there is something to be read: of its output, of the lane. */
void held_read(struct held *h);
void held_hear(struct held *h);
/* Give its program what it has not taken. */
void held_write(struct held *h);
/* Look at a piece of what waits; show what has changed, not more often than HELD_SHOW_MS says unless `now`. */
#define HELD_SHOW_MS 50
void held_look(struct held *h);
void held_show(struct held *h, bool now);
/* How long until it is to be shown; -1: nothing has changed. */
int held_wait_ms(const struct held *h);

#endif
