/*
 * screen.h - the terminal: the only file that knows curses.
 *
 * Takes a canvas and a theme and writes what changed since the last time, once; turns what the
 * terminal sends into keys, clicks and pastes; gives the terminal back whatever ends the program
 * (quit, signal, crash, CHECK on any thread, lost terminal).
 *
 * Thread: main.  One screen at a time.
 */
#ifndef TERMINAL_SCREEN_H
#define TERMINAL_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include <berth/err.h>

#include "terminal/canvas.h"
#include "terminal/input.h"
#include "terminal/theme.h"

struct screen;

enum colours { COLOURS_NONE, COLOURS_8, COLOURS_16, COLOURS_256, COLOURS_TRUE };

/* ERR_FAILED with a sentence when there is no terminal or nothing is known about it. */
struct screen *screen_open(bool mouse, struct err *e);
void screen_close(struct screen *s);

enum colours screen_colours(const struct screen *s);
bool screen_light(const struct screen *s);   /* the terminal says its background is light */
bool screen_utf8(const struct screen *s);    /* the locale's characters; else draw ASCII */
bool screen_braille(const struct screen *s); /* its font may have it: not the kernel's console */
const char *screen_notice(const struct screen *s); /* something to tell the person; or NULL */
void screen_size(const struct screen *s, int *columns, int *rows);

void screen_paint(struct screen *s, const struct canvas *c, const struct theme *t);
void screen_redraw(struct screen *s); /* the next paint writes every cell */
void screen_mouse(struct screen *s, bool on);
void screen_copy(
	struct screen *s, const char *text, size_t n); /* OSC 52; at most SCREEN_COPY_MAX */
void screen_bell(struct screen *s);
/* The terminal's own notification, by OSC 9, or with `titled` by OSC 777. */
void screen_notify(struct screen *s, const char *text, bool titled);
#define SCREEN_COPY_MAX 74994 /* base64 of it is 100,000 bytes less the frame: xterm's limit */

/* Poll both for reading; `hangup` to screen_next when the terminal's had POLLHUP or POLLERR. */
int screen_fd(const struct screen *s);
int screen_signal_fd(const struct screen *s);
bool screen_next(struct screen *s, bool hangup, struct input *ret); /* false: nothing more now */
/* Of that only the signals, no byte is read; `away`: between screen_leave and screen_return. */
bool screen_signal(struct screen *s, bool away, struct input *ret);

void screen_suspend(struct screen *s); /* stop this process; returns when it goes on */
/* Hand the raw terminal to somebody else, and take it back in a known state. */
void screen_leave(struct screen *s);
void screen_lend(struct screen *s); /* the same for a program that sets its modes itself */
void screen_return(struct screen *s);

#endif
