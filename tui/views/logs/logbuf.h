/*
 * logbuf.h - the log lines a view holds: bounded, ordered by time, ready to draw.
 *
 * Text lies in chunks of 64 KiB that are used anew when the last line in them is gone, so that
 * appending never allocates once the bound is reached.  Lines of several containers are kept in
 * the order of their time stamps; lines of one container stay in the order they came, whatever
 * their clock did.  Cursor motion and all else that a terminal would obey is taken out, tabs expanded and "\r"
 * progress reduced to what would be left on the screen; the colours asked for are kept beside the text.
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

#include "views/ink.h"
#include "views/pattern.h"

#define LOGBUF_LINES 50000u
#define LOGBUF_SOURCES 1024u /* lines of sources beyond these are not kept */

struct log_key {
	int64_t ns;
	uint64_t serial; /* order of arrival, from 1 */
};

enum { LOG_CLIPPED = 1, LOG_NO_STAMP = 2, LOG_GAP = 4 /* a note of ours, not a line */ };

struct logbuf_line {
	struct log_key key;
	uint32_t at; /* chunk number and offset */
	uint16_t len, source, nruns;
	uint8_t stream, flags;
};

/* From that byte of a line on it has this ink, up to the next run. */
struct log_run {
	uint16_t at;
	struct ink ink;
};
#define LOG_RUNS_MAX 256 /* of a line; further changes of colour are not seen */

struct logbuf {
	struct logbuf_line *line; /* a ring */
	size_t max_lines, first, count;
	char **chunk;
	uint32_t *live, *used; /* per chunk: lines in it, bytes taken */
	size_t nchunks, current;
	int64_t *last_ns; /* per source */
	uint64_t serial;
	uint64_t lost; /* lines that never reached us */
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
/* The i-th of its l->nruns runs. */
struct log_run logbuf_run(const struct logbuf *b, const struct logbuf_line *l, size_t i);
/* Append a line of another one as it is there. */
void logbuf_copy(struct logbuf *b, const struct logbuf *from, const struct logbuf_line *l);
/* Index of the first line that is not before `key`; count when all are. */
size_t logbuf_find(const struct logbuf *b, struct log_key key);

/* Look for a hit from line *i on (forward) or back from it, *i included, over at most `budget`
 * bytes of text.  1: line *i has one; 0: none up to the end; -1: budget spent, go on at *i. */
int logbuf_search(
	const struct logbuf *b, const struct pattern *p, bool forward, size_t budget, size_t *i);

/* A line that is a JSON object as columns: level, time, message, then the other members (logs_fields.c). */
#define FIELD_RUNS 64 /* of members beyond these only the text is shown */

struct log_fields {
	struct str text; /* neutralised, one line */
	size_t n;
	struct {
		size_t at; /* from this byte on */
		enum role role;
	} run[FIELD_RUNS];
};

/* `times`: a column of its own for the time that it says; else that stands among the rest.  false: it is no object.
 * Release in any case. */
bool fields_unfold(const char *line, size_t n, bool times, struct log_fields *ret);
/* Of byte `at`; *stop becomes where another one begins, where that is before it. */
enum role fields_role(const struct log_fields *f, size_t at, size_t *stop);
void fields_release(struct log_fields *f);

#endif
