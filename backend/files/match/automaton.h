/*
 * automaton.h - a shape as a table of states: whether a line can hold a match, at a byte a step.
 *
 * Made whole when the pattern is read and shared read-only; a shape that would need many states has none.
 */
#ifndef BERTH_FILES_AUTOMATON_H
#define BERTH_FILES_AUTOMATON_H

#include "files/match/pattern.h"

struct automaton;
/* NULL: it is too large, or a match may be empty. */
struct automaton *automaton_new(const struct shape *s);
void automaton_free(struct automaton *a);

/* Whether it takes things that are repeated a number of times for more than that; whether it goes from one byte
 * that a match may begin with to the next without looking at those between. */
bool automaton_clips(const struct automaton *a);
bool automaton_skips(const struct automaton *a);

/* The last byte of the first thing in s[0 .. n) that looks like a match within a line, or NULL.  s begins a
 * line. */
const char *automaton_find(const struct automaton *a, const char *s, size_t n);

#endif
