/*
 * segments.h - the files of a log: finding and naming them, reading lines out of them.
 */
#ifndef BERTH_AUDIT_SEGMENTS_H
#define BERTH_AUDIT_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <berth/err.h>
#include <berth/mem.h>

#define SEGMENT_NAME 40
#define SEGMENTS_MAX 1000000

/* "00000000000000000042.jsonl" */
char *segment_name(char buf[SEGMENT_NAME], uint64_t first);

struct segments {
	size_t n, cap;
	struct segment {
		uint64_t first; /* sequence number its name says */
		uint64_t size;
	} * v; /* sorted by first */
};
int segments_list(int dir, struct segments *ret, struct err *e);
void segments_release(struct segments *s);

/* This user's log directory when dir is NULL, made when missing; opened.  Descriptor or -1. */
int segments_dir(const char *dir, bool make, char *ret_path, size_t cap, struct err *e);

#endif
