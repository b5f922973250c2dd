/*
 * typed.h - counts the keys in what a person's terminal sends, which reports of its own as well.
 *
 * A pasted character is a key.  Thread: one owner; plain data; a zeroed one is at the beginning.
 */
#ifndef TERMINALS_TYPED_H
#define TERMINALS_TYPED_H

#include "terminals/lex.h"

struct typed {
	struct lexer lexer;
	size_t report; /* bytes of a mouse report that are still to come */
	uint64_t keys;
};

void typed_take(struct typed *t, const char *bytes, size_t n);
/* So far: neither reports of the mouse nor of the focus. */
uint64_t typed_keys(const struct typed *t);

#endif
