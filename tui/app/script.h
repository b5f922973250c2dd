/*
 * script.h - the console without a terminal: --script FILE, golden tests.
 *
 * One command a line, `#` begins a comment:
 *   size W H          the canvas (first; 80 24 unless said)
 *   key KEY...        as in keymap.h: key j Enter C-s
 *   type TEXT         every character of the rest of the line
 *   paste TEXT
 *   click X Y         click twice X Y, wheel LINES
 *   click on TEXT     where it begins, the first from above
 *   wait TEXT         until TEXT is on screen (at most 60 s), then goes on
 *   gone TEXT         until TEXT is no longer on screen
 *   expect TEXT       fails unless TEXT is on screen now; `refuse TEXT` the other way round
 *   snapshot          wait for the next snapshot
 *   advance MS        move a frozen clock; wait for the real one
 *   say TEXT          on the message line, until the next key
 *   dump [styles]     write the picture to the output
 *   dump svg          the same as an SVG document
 *   dump body [styles]   the view's part of it and the message or prompt below: no header, tabs, keys
 * Exit code 1 and a sentence when an expectation fails.
 *
 * On a terminal (--demo FILE, demo.c) the same at a pace that a person can follow; `size`, `click` and `dump` are not for it.
 *
 * Thread: main.
 */
#ifndef APP_SCRIPT_H
#define APP_SCRIPT_H

#include <stdbool.h>

#include <berth/err.h>

struct app;
struct script;

struct script *script_open(const char *file, struct err *e);
void script_free(struct script *s);
/* Run to the end on the app's canvas. */
int script_run(struct script *s, struct app *a, struct err *e);
/* The next command of it: 1 done, 0 there is none, -1. */
int script_next(struct script *s, struct app *a, struct err *e);
/* Between two keys, and while something is waited for: show it, let so many milliseconds pass; false: it was left. */
void script_pace(struct script *s, bool (*pace)(struct app *a, int ms));

#endif
