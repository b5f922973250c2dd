/*
 * logbuf.h - the log lines a view holds: bounded, ordered by time, ready to draw.
 *
 * Text lies in chunks of 64 KiB that are used anew when the last line in them is gone, so that
 * appending never allocates once the bound is reached.  Lines of several containers are kept in
 * the order of their time stamps; lines of one container stay in the order they came, whatever
 * their clock did.  Terminal colours and cursor motion are taken out, tabs expanded and "\r"
 * progress reduced to what would be left on the screen.
 *
 * Thread: main.  Lines are named by index (0 is the oldest held) for as long as nothing is
 * appended, and by key for longer.
 */
#ifndef LOGS_LOGBUF_H
#define LOGS_LOGBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/stream.h>

#include "views/pattern.h"

#define LOGBUF_LINES 100000u
#define LOGBUF_SOURCES 1024u /* lines of sources beyond these are not kept */

struct log_key {
	int64_t ns;
	uint64_t serial; /* order of arrival, from 1 */
};

enum { LOG_CLIPPED = 1, LOG_NO_STAMP = 2, LOG_GAP = 4 /* a note of ours, not a line */ };

struct logbuf_line {
	struct log_key key;
	uint32_t at; /* chunk number and offset */
	uint16_t len, source;
	uint8_t stream, flags;
};

struct logbuf {
	struct logbuf_line *line; /* a ring */
	size_t max_lines, first, count;
	char **chunk;
	uint32_t *live, *used; /* per chunk: lines in it, bytes taken */
	size_t nchunks, current;
	int64_t *last_ns; /* per source */
	uint64_t serial;
	uint64_t evicted; /* lines given up for newer ones */
	uint64_t lost;    /* lines that never reached us */
	struct logbuf_line *scratch;
	size_t scratch_cap;
};

void logbuf_init(struct logbuf *b, size_t max_bytes, size_t max_lines);
void logbuf_release(struct logbuf *b);
void logbuf_clear(struct logbuf *b);

void logbuf_append(struct logbuf *b, const struct log_line *lines, size_t n);
/* Note in place that `n` lines are missing here. */
void logbuf_gap(struct logbuf *b, uint64_t n);

const struct logbuf_line *logbuf_at(const struct logbuf *b, size_t i);
const char *logbuf_text(const struct logbuf *b, const struct logbuf_line *l);
/* Index of the first line that is not before `key`; count when all are. */
size_t logbuf_find(const struct logbuf *b, struct log_key key);

/* Look for a hit from line *i on (forward) or back from it, *i included, over at most `budget`
 * bytes of text.  1: line *i has one; 0: none up to the end; -1: budget spent, go on at *i. */
int logbuf_search(
	const struct logbuf *b, const struct pattern *p, bool forward, size_t budget, size_t *i);

#endif
