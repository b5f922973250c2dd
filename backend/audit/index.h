/*
 * index.h - an index of a closed segment, with one entry for every 64 KB of it.
 *
 * An entry over-approximates: it may say "perhaps" for what is not there, never "no" for what is.
 * It is kept beside the segment as NNNN.idx, made by whoever first needs it, and made again when it
 * is missing, damaged or does not fit the segment's size.  Not under any signature: it only decides
 * what `list` has to read; `verify` never looks at it.
 */
#ifndef BERTH_AUDIT_INDEX_H
#define BERTH_AUDIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/audit.h>

#include "audit/segments.h"

#define INDEX_STRIDE ((size_t)64 << 10)

struct index_entry {
	uint64_t offset; /* of the first line it is about; a line boundary */
	int64_t wall_min, wall_max;
	uint64_t agents;     /* bit per hash of an agent's id; bit 0: records without one */
	uint64_t operations; /* as of index_operation */
	uint64_t results;    /* bit per result */
};

struct index {
	size_t n;
	struct index_entry *v;
	uint64_t size; /* of the segment */
};

/* Read it, or make it (reading the segment: *ret_read says how many bytes) and keep it. */
int index_load(
	int dir, const struct segment *s, struct index *ret, size_t *ret_read, struct err *e);
void index_release(struct index *x);

/* May a record that passes the filter lie in this part?  `agent_bits`: index_agent of its agent, or
 * all ones. */
uint64_t index_agent(const char *agent);
uint64_t index_operation(enum operation d); /* a bit; operations may share one */
bool index_may_hold(const struct index_entry *x, const struct audit_filter *f, uint64_t agent_bits,
	uint64_t operation_bits);

#endif
