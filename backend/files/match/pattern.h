/*
 * pattern.h - the structure of a pattern as far as it is plain: byte sets in sequence, alternatives, repetitions.
 *
 * A shape describes never less than the pattern matches, often exactly that, sometimes more: assertions
 * are left out, and of what is not ASCII it knows only that it is not.  Sieves are made from it
 * (sieve.h, automaton.h).
 */
#ifndef BERTH_FILES_PATTERN_H
#define BERTH_FILES_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHAPE_NODES 512
#define SHAPE_MANY UINT16_MAX

struct byte_set {
	uint64_t ascii[2];
	bool high; /* characters that are not ASCII, each of one or more bytes */
};

enum shape_kind { SHAPE_EMPTY, SHAPE_SET, SHAPE_THEN, SHAPE_EITHER, SHAPE_REPEAT };

/* A node stands behind those that it is made of. */
struct shape_node {
	enum shape_kind kind;
	uint16_t a, b;
	uint16_t min, max; /* SHAPE_REPEAT; SHAPE_MANY: without end */
	struct byte_set set;
};

struct shape {
	struct shape_node nodes[SHAPE_NODES];
	size_t n;          /* the last one is the whole */
	bool begins, ends; /* matches are at the start of a line; at its end */
};

/* false: the pattern, which PCRE2 took, has something that is not plain: what looks around or back, what
 * takes without giving back, verbs, and whatever else is rare. */
bool pattern_shape(struct shape *s, const char *p, size_t n, bool ignore_case);

static inline bool set_has(const struct byte_set *set, unsigned char c)
{
	return c < 0x80 ? set->ascii[c >> 6] >> (c & 63) & 1 : set->high;
}

#endif
