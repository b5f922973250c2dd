/*
 * record.h - records to lines and back: the canonical form of audit.h.
 *
 * A body is the part of a line from `,"act":` to before `,"prev"`: what does not depend on where in
 * the chain the record stands, so it can be made before that is known.
 */
#ifndef BERTH_AUDIT_RECORD_H
#define BERTH_AUDIT_RECORD_H

#include <berth/arena.h>
#include <berth/audit.h>
#include <berth/str.h>

#include "audit/seal.h"

#define RECORD_TEXT_MAX 2048   /* encoded bytes of one text; longer ones are clipped */
#define RECORD_PARAMS_MAX 8192 /* of all params together */
#define RECORD_TAIL 150        /* bytes from `,"prev"` to the newline, both included */

/* Private use plane: a byte that is not UTF-8 is written as this plus itself. */
#define RECORD_BYTE_PLANE 0x10FE00u

/* Append the body.  Never longer than AUDIT_LINE_MAX - RECORD_TAIL - 64. */
void record_body(struct str *out, const struct audit_record *r);
/* The part of it that is the same for all records of a process, made once (host to user) ... */
void record_self(struct str *out, const struct audit_record *r);
/* ... and the body around it. */
void record_body_by(struct str *out, const struct audit_record *r, const struct str *self);

/* Append the whole line; computes the hash into ret_hash. */
void record_line(struct str *out, uint64_t seq, uint64_t intent, const char *body, size_t len,
	const uint8_t prev[SEAL_HASH], uint8_t ret_hash[SEAL_HASH]);

/* The frame of a line, cheap enough to be looked at for every record of a large log. */
struct record_frame {
	uint64_t seq;
	bool internal;    /* the act begins with "log." */
	const char *text; /* the line */
	size_t hashed;    /* bytes of it under the hash */
	uint8_t prev[SEAL_HASH], hash[SEAL_HASH];
};
/* `line` without its newline.  False when it is no frame of a record. */
bool record_frame(const char *line, size_t len, struct record_frame *ret);
bool record_frame_holds(const struct record_frame *f); /* hash is right */

/* All of a line: members in their order, nothing else.  (Needless escapes pass; whether a line is
 * what was written is for its hash to say.)  Texts live in mem. */
bool record_parse(const char *line, size_t len, struct arena *mem, struct audit_record *ret);

/* The value of a parameter, or NULL. */
const char *record_param(const struct audit_record *r, const char *key);

#endif
