/*
 * tape.h - a session of the console on a file: what the backend said, what was pressed, and when (--record, --replay).
 *
 * Recorded is what passes between the backend and the console (backend.h), in the order in which the console took it,
 * with the time that it then went by: a picture is made of these and of nothing else, so that playing them makes the
 * same pictures, without an engine.  A line of JSON for each, compressed by gzip: `zcat FILE` shows what is in it.
 *
 * Masked are the values of Env and what has the name of a secret (backend_options.masked), so that what is on the
 * screen is what is on the tape.  What programs in a shell print and read is not on it; logs are, as they were.
 *
 * Writing: everything is made into text, compressed and written by a thread of its own.  At most TAPE_FILE_MAX bytes;
 * what ends it earlier (a full disk) is told by tape_stopped and tape_close.
 * Reading trusts nothing: lines of TAPE_LINE_MAX bytes, numbers, words and lists within what the console can be shown.
 *
 * Thread: the console's.
 */
#ifndef BERTH_TAPE_H
#define BERTH_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define TAPE_FILE_MAX ((size_t)256 << 20)
#define TAPE_LINE_MAX ((size_t)16 << 20)
#define TAPE_SETTINGS_MAX ((size_t)1 << 20)

struct snapshot;
struct event;
struct tape;
struct tape_reader;

/* What the console began with. */
struct tape_head {
	const char *berth; /* version */
	int columns, rows;
	bool ascii, read_only;
	int utc_offset_s;     /* of the local time that was shown */
	const char *settings; /* the text of the settings' file; "": the defaults */
	const char *notice;   /* said at the start; "" */
};

struct tape_input {
	char what[8]; /* "key", "paste", "click", "wheel", "size" */
	char key[24]; /* "C-s" */
	int x, y, lines;
	bool twice;
	const char *text;
	size_t n;
};

/* One thing that happened: exactly one of its four last members is there. */
struct tape_moment {
	int64_t mono_ns, wall_ms;
	uint64_t sent; /* id of the last command that the console had sent */
	const struct snapshot *snapshot;
	struct event *event;
	const struct tape_input *input;
	uint64_t picture; /* one was drawn: its checksum, never 0 */
};

/* A new file, mode 0600; ERR_USAGE when there is one of that name. */
struct tape *tape_create(const char *path, struct err *e);
/* Once, before the first moment. */
int tape_begin(struct tape *t, const struct tape_head *head, struct err *e);
/* Takes the event and a reference of the snapshot's; copies the input. */
void tape_add(struct tape *t, const struct tape_moment *m);
/* It ended before the session did: true once, with the sentence. */
bool tape_stopped(struct tape *t, struct err *e);
/* Writes what is left.  -1 and *e: not all is on it.  NULL is fine.  A file with nothing on it is removed. */
int tape_close(struct tape *t, struct err *e);

/* ERR_USAGE when that is not the recording of a session. */
struct tape_reader *tape_open(const char *path, struct err *e);
const struct tape_head *tape_head_of(const struct tape_reader *r);
/* 1: *ret is the next one, whose event and snapshot are the caller's, and whose input lives until the next call.  0: the
 * end.  -1: from here on it is damaged. */
int tape_next(struct tape_reader *r, struct tape_moment *ret, struct err *e);
bool tape_is_cut(const struct tape_reader
		*r); /* at its end: whoever wrote it was ended before it could end */
void tape_release(struct tape_reader *r); /* NULL is fine */

#endif
