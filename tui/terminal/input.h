/*
 * input.h - decoding terminal input: keys, clicks, pastes.
 *
 * Bytes come in pieces of any size; nothing blocks and nothing here knows a terminal.  Understands
 * the xterm family (CSI and SS3 with modifiers, SGR mouse, bracketed paste, modifyOtherKeys and
 * CSI u), the Linux console, and whatever sequences terminfo adds.  Sources: "XTerm Control
 * Sequences" (Dickey), ECMA-48 5.4.
 *
 * Why not curses' getch: it knows neither pastes nor modifyOtherKeys and CSI u, waits in its own way for the rest
 * of a sequence, and cannot be fed bytes, by a test or a fuzzer.
 *
 * Thread: main.
 */
#ifndef TERMINAL_INPUT_H
#define TERMINAL_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/str.h>

#include "terminal/keymap.h"

enum input_kind {
	INPUT_KEY,
	INPUT_PASTE,  /* text, n: until the next call */
	INPUT_CLICK,  /* x, y, twice */
	INPUT_WHEEL,  /* x, y, lines: negative up */
	INPUT_RESIZE, /* ask screen_size */
	INPUT_STOP,   /* SIGTSTP came: call screen_suspend */
	INPUT_END,    /* SIGINT, SIGTERM, SIGHUP: quit in order */
	INPUT_LOST,   /* the terminal is gone */
};

struct input {
	enum input_kind kind;
	struct key key;
	int x, y, lines;
	bool twice;
	const char *text;
	size_t n;
};

#define INPUT_PASTE_MAX 65536 /* the rest of a longer paste is dropped */
#define INPUT_EXTRA_MAX 48

struct input_reader {
	char buf[4096];
	size_t n;
	bool pasting;
	struct str paste;
	int click_x, click_y;
	int64_t click_ns; /* of the click before, for double clicks */
	size_t nextra;
	struct {
		char bytes[16];
		size_t n;
		struct key key;
	} extra[INPUT_EXTRA_MAX]; /* of terminfo */
};

void input_init(struct input_reader *r);
void input_release(struct input_reader *r);
void input_extra(struct input_reader *r, const char *bytes, struct key key);

/* Where to read to, and how much fits (never 0 after input_next returned false). */
char *input_room(struct input_reader *r, size_t *ret_cap);
void input_took(struct input_reader *r, size_t n);

/* Takes the next event off the bytes there are.  `final`: no more will follow soon, so that an ESC
 * on its own is the Esc key.  false: nothing whole is there. */
bool input_next(struct input_reader *r, bool final, int64_t now_ns, struct input *ret);
/* Something is there that more bytes may complete. */
static inline bool input_partial(const struct input_reader *r)
{
	return r->n > 0 && !r->pasting;
}

#endif
