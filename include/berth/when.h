/*
 * when.h - a moment as people write it, and as berth and docker print it.
 *
 *   2026-11-20  2026-11-20T21:45  2026-11-20 21:45:02.123     local time; of another zone with Z or +02:00
 *   11-20 21:45:02  21:45:02                                  the last one that has passed, local
 *   1795211102  1795211102.123456789                          seconds since 1970, as docker takes them
 *   90s  1h30m  2d04h  1.5h  .5h  300ms                       so long ago: Go's durations, and d for days
 *
 * Sources: RFC 3339; docker's `--since`; Go's time.ParseDuration.  Thread: any (local time is read from TZ).
 */
#ifndef BERTH_WHEN_H
#define BERTH_WHEN_H

#include <stdint.h>

#include <berth/err.h>

/* Unix time in nanoseconds, at least 1: what is earlier than 1970 is 1970, and never "not given".  -1: ERR_USAGE, also
 * for a day that does not exist. */
int64_t when_ns(const char *text, int64_t now_ms, struct err *e);
/* The same in milliseconds. */
int64_t when_ms(const char *text, int64_t now_ms, struct err *e);

#endif
