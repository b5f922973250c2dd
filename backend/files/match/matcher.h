/*
 * matcher.h - finding a pattern in bytes: literal bytes by SIMD, regular expressions by PCRE2.
 *
 * A matcher is compiled once and shared read-only; every thread has its own matcher_local.  Lines
 * are what is matched: no match reaches beyond a line feed.  A pattern that runs into its limit on a
 * line (exponential ones do), or takes seconds for one, is given up for that line and counted.
 */
#ifndef BERTH_FILES_MATCHER_H
#define BERTH_FILES_MATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/files.h>

struct matcher;
struct op;
struct matcher_local {
	const struct matcher *m;
	const struct op *op;           /* or NULL; cancelled: nothing more is found */
	void *match, *context, *stack; /* PCRE2's */
	void *part;                    /* the pattern again, for parts of long lines, or NULL */
	uint64_t gave_up;
	size_t expand_most; /* what one replacement expands to is not built further than one piece beyond it; 0: any */
	uint64_t passed, missed; /* bytes, and lines that a sieve named in vain */
	bool dense;              /* those were too many of all */
	bool steady; /* from one call to the next the text is the same: set line_to to 0 for another one */
	size_t line_from,
		line_to; /* between them is no line feed, and behind them one, or the end */
	bool cut;        /* the text ends within a line: its end is none of a line */
};

struct matcher *matcher_new(const struct files_pattern *p, struct err *e);
void matcher_free(struct matcher *m);
const char *matcher_engine(const struct matcher *m);
/* Bytes that a match may need before a cut through a line; of a pattern, what is kept for it, and the
 * byte before that, so that the cut is not taken for the start of a line (*skip). */
size_t matcher_overlap(const struct matcher *m, size_t *skip);

void matcher_local_init(struct matcher_local *l, const struct matcher *m);
void matcher_local_release(struct matcher_local *l);

/* The first match in s[from .. n) that lies within one line.  s starts at the start of a line. */
bool matcher_find(struct matcher_local *l, const char *s, size_t n, size_t from, size_t *ret_start,
	size_t *ret_end);

/* Append what replaces the match found last (in the same s): the text itself for a literal, else
 * with $1, ${name} and $$ expanded. */
int matcher_replace(struct matcher_local *l, const char *s, const char *replacement, size_t n,
	struct str *out, struct err *e);
/* Leave the CR of a CR LF out of the match found last, s[*start .. *end), unless the pattern may speak of one: an empty match
 * behind it moves to before it.  false: nothing is left, or what is was replaced already, up to `done`. */
bool matcher_leave_line_end(
	struct matcher_local *l, const char *s, size_t n, size_t done, size_t *start, size_t *end);
/* Whether a replacement names only groups that the pattern has. */
int matcher_check_replacement(
	const struct matcher *m, const char *replacement, size_t n, struct err *e);

/* literal.c: the first place of needle in s[0..n), or NULL. */
struct literal {
	const char *text;
	size_t len;
	size_t rare, rare2; /* places of its two rarest bytes */
};
void literal_init(struct literal *l, const char *text, size_t len);
const char *literal_find(const struct literal *l, const char *s, size_t n);

#endif
