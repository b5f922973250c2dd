/*
 * trace.h - BERTH_LOG=FILE[:topic,...]: a debug log of requests to the engine, of lanes and of threads.
 *
 * For debugging: one line for each request, answer, frame, command and event, appended to FILE (mode
 * 0600).  Masked are the values of Env, what has the name of a secret, header lines, credentials in URLs, and what
 * commands print is counted, not shown.  Everything is neutralised, ASCII and at most TRACE_LINE_MAX bytes long.
 *
 * Off, as nearly always, a place costs the branch in trace().  Opened once at the start of a program, before there
 * are threads; then from any thread.
 */
#ifndef BERTH_TRACE_H
#define BERTH_TRACE_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "str.h"

#define TRACE_LINE_MAX 8192

enum trace_topic { TRACE_ENGINE, TRACE_LANE, TRACE_COMMANDS, TRACE_EVENTS, TRACE_TOPICS };

extern unsigned trace_topics; /* a bit for each that is written; 0: off */

static inline bool trace_wants(enum trace_topic topic)
{
	return __builtin_expect((trace_topics & 1u << topic) != 0, 0);
}

#define trace(topic, ...)                               \
	do {                                            \
		if (trace_wants(topic))                 \
			trace_line(topic, __VA_ARGS__); \
	} while (0)

/* `spec` is the variable's value; NULL or "": off.  After its last colon it lists topics, unless there is a
 * slash in it.  ERR_USAGE: an unknown topic, or a file that cannot be
 * used: a link, another user's, not a regular file. */
int trace_open(const char *spec, struct err *e);
void trace_line(enum trace_topic topic, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* JSON with the values of Env, what has the name of a secret, header lines and credentials masked. */
void trace_mask_json(struct str *out, const char *json, size_t n);
bool trace_hides(
	const char *text); /* words of a shell, or a URL, that hold a secret by their looks */
/* The same with a request's target, whose secrets are masked, and a body, of which only JSON is shown; both may be
 * NULL. */
void trace_http(const char *what, const char *target, const char *body, size_t n);

#endif
