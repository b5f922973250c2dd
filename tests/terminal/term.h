/*
 * term.h - a program in a terminal, for tests: a pty whose other end is libvterm.
 *
 * Everything that waits feeds the program's output to the emulator, answers its queries (cursor
 * position, device attributes) and gives up at a deadline: no test sleeps.  Failures end the test
 * through cmocka, with the screen as it was.
 *
 * Thread: one.
 */
#ifndef TERM_H
#define TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct term;

/* argv is NULL-terminated; env holds "NAME=value" (or "NAME" to take away) on top of our own. */
struct term *term_start(const char *const *argv, const char *const *env, int columns, int rows);
void term_free(struct term *t); /* kills what still runs; NULL is fine */
void term_free_last(void);      /* for a teardown: what a failed test could not free */

void term_send(struct term *t, const char *bytes);
void term_resize(struct term *t, int columns, int rows);
void term_signal(struct term *t, int sig);
void term_hang_up(struct term *t); /* close our end, as a lost connection does */
pid_t term_pid(const struct term *t);
int term_columns(const struct term *t);
int term_rows(const struct term *t);

/* Feed what there is until `until` holds; false after `ms`. */
bool term_wait(struct term *t, bool (*until)(struct term *t, void *ctx), void *ctx, int ms);
/* Fail the test unless the text stands on the screen (in one row) within a minute; or, again, no
 * longer. */
void term_expect(struct term *t, const char *text);
void term_expect_gone(struct term *t, const char *text);
/* The program ends within a minute: its wait status. */
int term_expect_end(struct term *t);
/* Fail the test unless the terminal is as it was before the program: main screen, cursor, no mouse,
 * no bracketed paste, no focus reports, same termios. */
void term_expect_restored(struct term *t);

/* Row `row` as UTF-8 without trailing blanks; valid until the next call. */
const char *term_row(struct term *t, int row);
bool term_find(struct term *t, const char *text, int *row, int *column);
void term_dump(struct term *t); /* the screen, to stderr */

struct term_cell {
	uint32_t ch; /* 0: empty */
	bool fg_default, bg_default;
	uint8_t fg[3], bg[3]; /* RGB */
	bool bold, underline, reverse;
};
struct term_cell term_cell(struct term *t, int row, int column);

bool term_mode(
	const struct term *t, int mode); /* of CSI ? mode h: 1049 alt screen, 25 cursor, 2004 ... */
bool term_mouse(const struct term *t);   /* any kind of mouse report is on */
void term_cursor(const struct term *t, int *row, int *column);
/* All bytes that the program wrote so far. */
const char *term_output(const struct term *t, size_t *len);

#endif
