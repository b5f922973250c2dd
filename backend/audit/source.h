/*
 * source.h - the lines of a log in order, from a directory of segments or from a bundle.
 */
#ifndef BERTH_AUDIT_SOURCE_H
#define BERTH_AUDIT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/head.h"
#include "audit/keys.h"
#include "audit/segments.h"

struct source {
	int dir;              /* -1: a bundle */
	struct segments segs; /* of a bundle: one */
	bool has_head;        /* of a directory: head was readable */
	struct head head;
	uint8_t key[KEYS_SLOTS][SEAL_KEY]; /* of a directory, as they were with that head */
	size_t nkeys;
	char first_key[AUDIT_HEX]; /* what a bundle claims; "" */
	uint64_t bytes;            /* all there is to read */
	size_t at;                 /* the segment being read */
	int fd;
	uint64_t offset; /* of the next read in it */
	char *buf;
	size_t start, len; /* what is buffered and not handed out */
	uint64_t line;     /* lines handed out of this segment */
	uint64_t done;     /* bytes handed out of all */
	bool torn;         /* the segment ended within a line */
	size_t torn_bytes;
};

/* path NULL: this user's log. */
int source_open(struct source *s, const char *path, struct err *e);
void source_close(struct source *s);
/* Has the log changed since `s` was opened?  Retention may then have removed what was still to be read.  Of a
 * bundle: no. */
bool source_moved(const struct source *s, const char *path);
/* 1 with the next line (without its newline, valid until the next call), 0 at the end, -1.  A line
 * that is longer than AUDIT_LINE_MAX is handed out in pieces. */
int source_line(struct source *s, const char **ret_line, size_t *ret_len, struct err *e);
/* The name of the file being read. */
const char *source_name(const struct source *s, char buf[64]);

/* The first line of a bundle: fixed length, so that it can be filled in last. */
#define SOURCE_BUNDLE_LINE 256
void source_bundle_line(char out[SOURCE_BUNDLE_LINE], const char *first_key, const struct head *h);

#endif
