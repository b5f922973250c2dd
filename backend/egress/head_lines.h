/*
 * head_lines.h - the head of a request or an answer in pieces, without copying it.
 *
 * Sources: RFC 9110 5.5 and 5.6.2, RFC 9112 2.2.
 */
#ifndef EGRESS_HEAD_LINES_H
#define EGRESS_HEAD_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/err.h>

struct slice {
	const char *at;
	size_t n;
};

bool slice_is(struct slice s, const char *word); /* in either case */
bool slice_is_token(struct slice s);
bool slice_is_printable(struct slice s, bool blanks);
/* All up to the empty line that ends a head, of at most `most` bytes.  1: *ret is it; 0: more must come; -1: none ever
 * will be. */
int slice_find_head(const char *bytes, size_t len, size_t most, struct slice *ret, struct err *e);
/* Up to the next line end, which is CR LF and nothing else; .at NULL: there is none. */
struct slice slice_take_line(struct slice *rest);
/* Up to `end`, which is passed over; all where it does not come. */
struct slice slice_take_until(struct slice *rest, char end);
struct slice slice_trim(struct slice s);
/* Decimal digits and nothing else. */
int slice_read_number(struct slice value, uint64_t *out);

#endif
