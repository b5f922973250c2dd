/*
 * output.h - what a command printed on one stream: all of it up to a limit, beyond that its beginning and its end.
 *
 * Positions are those of the stream, whatever was left out.  Thread: the owner's lock.
 */
#ifndef MCP_OUTPUT_H
#define MCP_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include <berth/str.h>

struct output {
	struct str kept;
	size_t gap_at, gap; /* so many bytes are left out there */
};

/* `bytes` belong to the output, not to the caller, and are at `at`; n may be 0. */
struct output_part {
	const char *bytes;
	size_t n, at;
};

size_t output_len(const struct output *o); /* all that was printed */

/* At most `most` bytes are kept, if those kept now are not more. */
void output_add(struct output *o, const char *bytes, size_t n, size_t most);

/* What is kept from `offset` on, at most about `limit` bytes: up to where something was left out, or from behind it, and
 * whole characters, unless it ended (`more` is false) within one.  A character that `offset` is in the middle of is given. */
struct output_part output_from(const struct output *o, size_t offset, size_t limit, bool more);

#endif
