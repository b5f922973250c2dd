/*
 * parser.h - what the reader of shell scripts knows while it reads; for shell.c, expand.c and here.c.
 *
 * Every reader gets the text that is left and returns how many of its bytes it has used.
 * Thread: pure.
 */
#ifndef RULES_PARSER_H
#define RULES_PARSER_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>

#include <berth/str.h>

#include "rules/shell.h"

#define WORDS_MAX 4096
#define DEPTH_MAX 32
#define VARIABLES_MAX 64

struct variable {
	const char *name, *value;
};

struct here {
	const char *end;
	bool tabs, quoted; /* tabs before a line go; nothing in it is expanded */
};

struct parser {
	struct shell_script *out;
	size_t cap;
	const char *home;
	struct variable variable[VARIABLES_MAX];
	size_t nvariables;
	int depth;
	/* the function in whose body it stands, and the one around that; `body`: it begins next */
	const char *function, *outer;
	bool body;
	/* what is open: ( or { or a case */
	struct frame {
		char kind;
		int depth;            /* of parentheses in a pattern */
		const char *function; /* what holds again behind it */
	} frame[64];
	size_t nframes;
	/* the here-documents that begin behind this line */
	struct here here[16];
	size_t nhere;
	bool nested; /* a ) without a ( ends the script */
	/* the command being collected; last, as an inner script does not begin with its words */
	size_t nwords, nwrites;
	struct shell_word writes[64], word[WORDS_MAX];
};

static inline bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static inline bool space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The first reason stays. */
void parser_fail(struct parser *p, const char *why);

/* One more level of nesting?  false, and failed, when there are too many; else p->depth-- ends it. */
bool parser_deeper(struct parser *p);

/* The commands of a substitution; `nested`: it ends at its ')', which is used too. */
size_t parse_inside(struct parser *p, const char *s, size_t n, bool nested);

/*
 * $... at s[0], added to w.  *dynamic: something in it is not known; *split: it brought white space
 * that makes several words of it.  split is NULL inside double quotes.
 */
size_t expand_dollar(
	struct parser *p, const char *s, size_t n, struct str *w, bool *dynamic, bool *split);

/* `...` at s[0] */
size_t expand_backtick(struct parser *p, const char *s, size_t n, struct str *w, bool *dynamic);

/* What is expanded as between double quotes, up to and with `stop`; 0: all of it. */
size_t expand_quoted(
	struct parser *p, const char *s, size_t n, char stop, struct str *w, bool *dynamic);

/* How far an expression behind "((" goes, with its "))"; 0: there is none, but commands. */
size_t arithmetic_end(const char *s, size_t n);

/* The same, and what is run in it. */
size_t expand_arithmetic(struct parser *p, const char *s, size_t n);

/* The delimiter behind <<; `tabs`: behind <<- */
size_t here_begin(struct parser *p, const char *s, size_t n, bool tabs);

/* The bodies of all here-documents of the line that has just ended. */
size_t here_bodies(struct parser *p, const char *s, size_t n);

#endif
