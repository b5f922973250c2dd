/*
 * stream.h - streams of an engine: log lines and events.
 *
 * Thread: plain data.  All text is raw outside text, bounded: neutralise it before a terminal.
 */
#ifndef BERTH_STREAM_H
#define BERTH_STREAM_H

#include <stdbool.h>
#include <stdint.h>

struct log_line {
	uint16_t source; /* index into the subscription's targets */
	uint8_t stream;  /* 1 stdout, 2 stderr */
	bool clipped; /* longer than may be, or cut by the end of the stream: the rest is missing */
	bool more;    /* the line continues in the next piece of this stream */
	bool unended; /* its writer ended without a newline */
	bool cr;      /* a CR before the newline, which is not in the text */
	int64_t wall_ns; /* the engine's time stamp, Unix nanoseconds */
	uint32_t len;
	const char *text; /* raw bytes without the newline */
};
#define LOG_LINE_MAX 8192

/* Which lines of a log are meant. */
struct log_span {
	int tail;                   /* so many of the last ones before those that follow; -1: all */
	int64_t since_ns, until_ns; /* Unix time; 0: open */
	int64_t started_ns;         /* when the container was last started; 0: not known */
	uint32_t line_max;          /* bytes of a line; 0: LOG_LINE_MAX */
	bool pieces; /* what is longer comes in pieces of that size, and is not clipped */
};

struct engine_event {
	int64_t wall_ns;
	const char *type;   /* container, image, network, volume ... */
	const char *action; /* start, die, destroy ... */
	const char *id, *name;
	const char *more; /* "exit 137", "image shell:1" ...; "" when nothing */
};

#endif
