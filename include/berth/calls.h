/*
 * calls.h - the calls of tools that agents make of `berth mcp`, as they happen.
 *
 * Each server keeps its last CALLS_KEPT calls in one file of the runtime directory, which every berth
 * process of the user reads.  Texts are the beginnings of what was asked and answered, likely secrets masked; they
 * are an agent's, so neutralise them before they reach a terminal.
 *
 * Thread: plain data.
 */
#ifndef BERTH_CALLS_H
#define BERTH_CALLS_H

#include <stddef.h>
#include <stdint.h>

#define CALLS_KEPT 128
#define CALL_NAME_MAX 64
#define CALL_TEXT_MAX 856 /* bytes of a text, with its NUL */

enum call_state {
	CALL_RUNS,
	CALL_DONE,
	CALL_FAILED, /* answered with an error */
	CALL_CANCELLED,
	CALL_LOST, /* its server died before it answered */
};

struct call_info {
	int32_t pid; /* with `serial` its identity */
	uint64_t serial;
	enum call_state state;
	char agent[CALL_NAME_MAX], tool[CALL_NAME_MAX];
	int64_t started_wall_ms, duration_us; /* duration: so far, while it runs; -1: not known */
	uint64_t in_bytes, out_bytes;         /* of the message, and of the answer */
	char arguments[CALL_TEXT_MAX], result[CALL_TEXT_MAX];
};

/* Of all calls of the servers that still run, those that are kept no longer included. */
struct call_totals {
	size_t servers;
	uint64_t calls, failed, in_bytes, out_bytes;
	uint32_t running, minute; /* minute: those that began in the last one */
};

/* What an agent asks of its servers now. */
struct calls_now {
	struct call_totals totals;
	char tool[CALL_NAME_MAX]; /* the oldest that runs; "": none */
	int64_t started_wall_ms;
};

#endif
