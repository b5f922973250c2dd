/*
 * format.h - numbers as people read them.  One idiom for the console and the command line.
 *
 * Every function fills a caller's buffer of FORMAT_MAX bytes, or as it says, and returns it.  Thread: any.
 */
#ifndef BERTH_FORMAT_H
#define BERTH_FORMAT_H

#include <stdint.h>

#define FORMAT_MAX 32

char *format_bytes(char *buf, uint64_t bytes); /* "0" "340K" "1.2M" "2.0G": powers of 1024 */
char *format_count(char *buf, uint64_t n);     /* "54,611" */
/* "1 file" "54,611 files"; the buffer is of FORMAT_COUNTED_MAX. */
#define FORMAT_COUNTED_MAX 64
char *format_counted(char *buf, uint64_t n, const char *one, const char *many);
char *format_percent(char *buf, double percent);   /* "38.4": one decimal, from 1000 on none */
char *format_span(char *buf, int64_t seconds);     /* "12s" "4m10s" "3h05m" "2d04h" */
char *format_age(char *buf, int64_t milliseconds); /* "0.4 s" "12 s" "4 m" "3 h" "2 d" */
char *format_wall(char *buf, int64_t wall_ms);     /* local "21:45:02" */
char *format_stamp(char *buf, int64_t wall_ms);    /* UTC "2026-11-20T21:45:02.123Z" */

#endif
