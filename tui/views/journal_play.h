/*
 * journal_play.h - plays back a command's output: how much of it is visible at a time.
 *
 * Thread: main.
 */
#ifndef VIEWS_JOURNAL_PLAY_H
#define VIEWS_JOURNAL_PLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAY_IDLE_MS 2000 /* longer pauses are as long as that */

struct player {
	bool on, paused;
	int speed;               /* which of its speeds, from 1; 0: the usual one */
	int64_t played_ns, seen; /* so far; when that was counted */
	struct play_mark {
		size_t upto; /* bytes that are there */
		int64_t ms;  /* from then on, pauses shortened */
	} * mark;
	size_t n, cap;
	int64_t last_ms; /* as told by the newest */
};

/* The next piece: all up to byte `upto` has come by `at_ms`; negative: with what came before. */
void player_add(struct player *p, size_t upto, int64_t at_ms);
void player_clear(struct player *p); /* of another command; the speed stays */
void player_release(struct player *p);

void player_press(struct player *p, int64_t now_ns); /* play, pause, go on; at the end: again */
void player_change(struct player *p, int by);        /* faster (1) or slower (-1) */
void player_step(struct player *p, int64_t now_ns);  /* at its end it stays there, paused */
size_t player_shown(const struct player *p);
void player_text(const struct player *p, char *buf, size_t cap);

#endif
