/*
 * split.h - cuts the engine's byte streams into frames, lines and JSON objects.
 *
 * Pure functions over bytes: no I/O, no clock.  Every splitter takes input in pieces of any size
 * and gives the same output however it was cut.  Memory is bounded by the limits given.
 *
 * Why no library: none knows these frames, and cJSON, which reads the objects afterwards, wants each one whole and
 * puts no bound on it.
 *
 * Thread: one owner at a time.
 */
#ifndef BERTH_SPLIT_H
#define BERTH_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <berth/err.h>
#include <berth/stream.h>
#include <berth/str.h>

/*
 * The frames of attach, exec and logs without a terminal: one byte stream (0 stdin, 1 stdout, 2
 * stderr, 3 the engine's own complaint), three zero, four of length (big-endian), then the bytes.
 * A payload is passed on in pieces, so its length needs no limit.
 * Source: Engine API reference, ContainerAttach, "Stream format"; moby pkg/stdcopy.
 */
struct demux {
	unsigned char head[8];
	unsigned have;
	uint32_t left;
	bool fresh; /* what fn gets is the first of a frame */
};
typedef void (*demux_fn)(void *ctx, int stream, const char *bytes, size_t n);
/* 0, or -1 with ERR_PROTOCOL when these are no frames; what came before was delivered. */
int demux_feed(struct demux *d, const char *bytes, size_t n, demux_fn fn, void *ctx, struct err *e);
bool demux_inside(const struct demux *d); /* the stream ended in the middle of a frame */

/* RFC 3339 with any fraction, "2026-11-20T22:59:35.702837759Z" or with an offset, at the start of
 * s[0..n): Unix nanoseconds.  Returns the bytes used, 0 when this is no time.  Years before 1970
 * (the engine's "0001-01-01T00:00:00Z" for never) give 0. */
size_t stamp_parse(const char *s, size_t n, int64_t *ret_ns);

/*
 * Lines of a log with the engine's time stamp in front.  stdout and stderr are cut apart; a CR at the end is told apart
 * from the text.  A line without a stamp keeps its text and takes the stamp of the line before it.
 *
 * A line longer than most (log_span.line_max) is clipped and the rest dropped, or comes in pieces of that size.
 * Engines store a long line in pieces of 16 KiB and stamp each of them: those stamps are taken out.  In frames each piece
 * is one (lines_frame); a terminal's bytes (raw) have no frames, so there they are looked for where a piece ends.
 * Podman's pieces are what conmon read at once, at most 8 KiB, and each has the time of that (piece_stamps): a frame
 * without a newline is the beginning of a line, and only a start of the container tells that its writer ended there.
 * Source: moby daemon/logger/copier.go, api/server/httputils/write_log_stream.go; podman 4.3
 * pkg/api/handlers/compat/containers_logs.go, conmon src/ctr_logging.c.
 */
enum { STAMP_MAX = 40 };
struct line_part {
	struct str text; /* of a line that was cut by the end of the input */
	char head[STAMP_MAX];
	size_t nhead;
	uint64_t length; /* of the line so far, also of what is not in text any more */
	int64_t ns;
	bool open, begun, heading, stamped,
		clipped; /* heading: a stamp may come, head has its first bytes */
};
struct lines {
	struct line_part part[2];
	int64_t last_ns;
	int64_t run_ns; /* the second in which the container was last started; 0: not known */
	size_t most;
	bool pieces, raw;
	bool piece_stamps; /* set after lines_init */
	bool stamped;      /* the line that is given to fn has a stamp of its own */
};
typedef void (*line_fn)(void *ctx, const struct log_line *line); /* text: during the call */
void lines_init(
	struct lines *l, const struct log_span *as, bool raw); /* NULL: as the console shows them */
void lines_release(struct lines *l);
void lines_frame(
	struct lines *l, int stream, line_fn fn, void *ctx); /* what is fed next begins one */
void lines_feed(struct lines *l, int stream, const char *bytes, size_t n, line_fn fn, void *ctx);
/* What has no newline is a line, too; cut: there would have been more. */
void lines_end(struct lines *l, bool cut, line_fn fn, void *ctx);

/*
 * JSON objects one after the other, separated by white space or RS (RFC 7464) or nothing: events,
 * import and pull.  An object longer than max is dropped: fn gets NULL and its length.
 */
struct objects {
	struct str text;
	size_t max, length;
	unsigned depth;
	bool in_string, escaped;
};
typedef void (*object_fn)(void *ctx, const char *json, size_t n);
void objects_init(struct objects *o, size_t max);
void objects_release(struct objects *o);
/* -1 with ERR_PROTOCOL when something that is no object stands between objects. */
int objects_feed(
	struct objects *o, const char *bytes, size_t n, object_fn fn, void *ctx, struct err *e);
bool objects_inside(const struct objects *o); /* the stream ended in the middle of one */

#endif
