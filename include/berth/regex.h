/*
 * regex.h - regular expressions, in one dialect everywhere: Perl's, as PCRE2 has it.
 *
 * What a person typed, or a definition says, against text from anywhere.  A match is bounded by the steps and
 * the memory that it may take, never by time, so the same text always gives the same answer.  Text need not be
 * valid UTF-8; an expression that is not is meant as bytes.
 *
 * Thread: any; an expression is read-only once made.
 */
#ifndef BERTH_REGEX_H
#define BERTH_REGEX_H

#include <stddef.h>

#define REGEX_WHY_MAX 160

struct regex;

enum {
	REGEX_FOLD = 1,  /* capitals are small letters */
	REGEX_LINES = 2, /* ^ and $ hold at each line */
	REGEX_WHOLE = 4, /* from the beginning to the end of the text, line feeds too */
};

/* NULL, and what is wrong with it and where: no sentence yet. */
struct regex *regex_new(const char *text, unsigned flags, char why[REGEX_WHY_MAX]);
void regex_free(struct regex *r); /* NULL is fine */

/* The first match that begins at `from` or behind it: 1 and where it is (both may be NULL), 0 there is none, -1 the
 * bound was reached, so it is not known. */
int regex_find(const struct regex *r, const char *s, size_t n, size_t from, size_t *ret_start,
	size_t *ret_end);

#endif
