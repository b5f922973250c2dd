/*
 * screen.h - a program in a pty, read by a terminal emulator (libvterm), with the time of each change.
 *
 * Thread: one.
 */
#ifndef BENCH_SCREEN_H
#define BENCH_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <berth/err.h>

struct screen_peer;

struct screen_peer *peer_start(
	const char *const *argv, const char *const *env, int columns, int rows, struct err *e);
void peer_end(struct screen_peer *p); /* kills; NULL is fine */
pid_t peer_pid(const struct screen_peer *p);
void peer_send(struct screen_peer *p, const char *keys);

/* Feed output until `until` holds or the deadline passes.  The time at which the bytes that made it hold
 * were read, CLOCK_MONOTONIC; 0: it never did. */
int64_t peer_wait(struct screen_peer *p, bool (*until)(struct screen_peer *p, void *ctx), void *ctx,
	int timeout_ms);
/* Feed what is there without waiting longer than `ms`. */
void peer_drain(struct screen_peer *p, int ms);

/* Row as text, valid until the next call. */
const char *peer_row(struct screen_peer *p, int row);
int peer_rows(const struct screen_peer *p);
bool peer_shows(struct screen_peer *p, const char *text);

#endif
