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
#include "terminals/pass.h"
#include "terminals/screen_file.h"
#include "terminals/seen.h"
#include "terminals/terminals.h"
#include "terminals/viewers.h"

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
	struct {
		int conn;        /* waits for the end of what it sends, or -1 */
		size_t from, to; /* what of the input is of it */
		size_t all;
		int64_t due_ms; /* clock_real_ms */
	} sending;
	struct viewers viewers;
	struct pass pass;
	struct str passed; /* of what was looked at last */
	bool redraw;       /* more changed than this says */
	bool size_due;     /* its container does not know its size yet */
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
/* Tell its container a size that is due, when there is room on the lane. */
void held_send_size(struct held *h);
/* Look at a piece of what waits; show what has changed, not more often than HELD_SHOW_MS says unless `now`. */
#define HELD_SHOW_MS 50
void held_look(struct held *h);
void held_show(struct held *h, bool now);
void held_take_screen(struct held *h); /* cells and title as they are now */
/* Type what TERMINALS_SEND says.  An errno, or 0: the connection is answered, and closed, later. */
int held_send(struct held *h, int conn, const char *body, size_t n);
/* As terminals_attach; an errno, or 0 and the connection is the terminal's. */
int held_attach(struct held *h, int conn, const struct terminals_attach *a);
/* One message of viewer `i`, which may be removed. */
void held_hear_viewer(struct held *h, size_t i);
/* false: one who types waits until the program has taken what was typed before. */
bool held_takes_keys(const struct held *h);
/* What is to be done without an event: answers, viewers' screens. */
void held_turn(struct held *h);

/* How long until it is to be shown; -1: nothing has changed.  Then the same for held_turn. */
int held_wait_ms(const struct held *h);
int held_turn_ms(const struct held *h);

#endif
