/*
 * parser.h - the state of the shell parser, shared by the files of this module.
 *
 * Every reader gets the text that is left and returns how many of its bytes it has used.
 * Thread: pure.
 */
#ifndef POLICY_PARSER_H
#define POLICY_PARSER_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>

#include <berth/str.h>

#include "policy/shell_reader.h"

#define WORDS_MAX 4096
#define DEPTH_MAX 32
#define VARIABLES_MAX 256

/* frames: the patterns of a case, and the commands behind one; ( and { stand for themselves */
#define FRAME_PATTERN 'p'
#define FRAME_CASE 'c'

struct variable {
	const char *name, *value; /* NULL: assigned, but not known to what */
	bool certain;
	bool each; /* one after the other all that the wildcard in `value` matches: for f in * */
};

struct here {
	const char *end;
	bool tabs, quoted; /* tabs before a line go; nothing in it is expanded */
	size_t command;    /* whose input it is, or NO_COMMAND */
};

#define NO_COMMAND ((size_t)-1)

struct parser {
	/* shell_reader.c's parse_commands: a word holds commands, commands hold words.  The grammar goes
	 * round here and nowhere else; all files call down. */
	size_t (*parse)(struct parser *p, const char *s, size_t n, bool nested);
	struct shell_script *out;
	const struct shell_options *o;
	const char *text; /* the whole script */
	size_t cap;
	struct variable *variable;
	size_t nvariables, variables_room;
	int depth;
	const char *cwd, *or_cwd;
	const char *behind_cwd; /* or_cwd behind this chain of && and ||, NULL */
	size_t behind_frames;   /* where that chain stands */
	bool after_or;          /* the command is one behind || */
	const char *listing;    /* what the command before this pipe lists; NULL */
	bool errexit;
	/* the function in whose body it stands, and the one around that; `body`: it begins next */
	const char *function, *outer;
	bool body;
	/* what is open: ( or { or a case */
	struct frame {
		char kind;
		int depth; /* of parentheses in a pattern */
		/* what holds again behind it */
		const char *function, *cwd, *or_cwd;
	} frame[64];
	size_t nframes;
	/* the here-documents that begin behind this line */
	struct here here[16];
	size_t nhere;
	bool nested;     /* a ) without a ( ends the script */
	bool linear;     /* so far every command runs, one after the other, in this shell */
	bool redirected; /* a redirection stands before: no keyword can follow */
	const char *input;
	/* the command being collected */
	size_t nwords, nwrites, words_room, writes_room;
	struct shell_word *writes, *word;
};

/* A word while it is read. */
struct reading {
	struct str text;
	bool dynamic, quoted, started, split, glob, loose, assigns;
	bool operand; /* it stands behind the name of a command */
};

#define READING_INIT             \
	{                        \
		.text = STR_INIT \
	}

static inline bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static inline bool space(char c)
{
	return c == ' ' || c == '\t';
}

/* The first reason stays. */
void parser_fail(struct parser *p, const char *why);
void parser_unclear(struct parser *p, const char *construct);

/* One more level of nesting?  false, and failed, when there are too many; else p->depth-- ends it. */
bool parser_deeper(struct parser *p);

/* Blanks, and lines that go on in the next one. */
size_t parser_blanks(struct parser *p, const char *s, size_t n);

/* The same, line ends and comments. */
size_t parser_lines(struct parser *p, const char *s, size_t n);

bool keyword(const struct shell_word *w);

/* Does a command begin here?  Keywords may stand before it. */
bool at_start(const struct parser *p);
void frame_open(struct parser *p, char kind);
/* Closes the innermost of its kind, and what was left open in it. */
bool frame_close(struct parser *p, char kind);

/* The commands of a substitution; `nested`: it ends at its ')', which is used too. */
static inline size_t parse_inside(struct parser *p, const char *s, size_t n, bool nested)
{
	return p->parse(p, s, n, nested);
}

/* variable.c: an assignment; value NULL: to what is not known */
void variable_set(struct parser *p, const char *name, size_t n, const char *value, bool certain);
const struct variable *variable_find(const struct parser *p, const char *name, size_t n);

/* The value of a variable, or NULL: not known; *each as in struct variable */
const char *variable_value(struct parser *p, const char *name, size_t n, bool *each);

/* A loop goes through what this wildcard matches, NULL: through what is not known. */
void variable_loop(struct parser *p, const char *name, size_t n, const char *pattern);

/* Something is asked of it, or the loop ends: it is not each of them any more. */
void variable_end_loops(struct parser *p);

/* builtin.c: what cd, read, export, set ... do to the reader's knowledge; `checked`: if it fails,
 * what is behind it does not run */
void builtin_command(struct parser *p, const struct shell_word *word, size_t n, bool checked);

/* $... at s[0], added to w; `quoted`: inside double quotes */
size_t expand_dollar(struct parser *p, const char *s, size_t n, struct reading *w, bool quoted);

/* `...` at s[0] */
size_t expand_backtick(struct parser *p, const char *s, size_t n, struct reading *w, bool quoted);

/* What is expanded as between double quotes, up to and with `stop`; 0: all of it. */
size_t expand_quoted(struct parser *p, const char *s, size_t n, char stop, struct reading *w);

/* An expression behind "((", with its "))", and what is run in it; 0: there is none, but commands. */
size_t expand_arithmetic(struct parser *p, const char *s, size_t n);

/* One word at s, 0 when none starts here; and adding it to the command. */
size_t word_read(struct parser *p, const char *s, size_t n, struct reading *w);
void word_take(struct parser *p, const struct reading *w);
void word_add(struct parser *p, const char *text, size_t n, struct shell_word like);

/* compound.c: what follows a keyword */
bool function_head(struct parser *p, const char *s, size_t n, size_t *used);
size_t function_word(struct parser *p, const char *s, size_t n);
size_t case_head(struct parser *p, const char *s, size_t n);
size_t case_pattern(struct parser *p, const char *s, size_t n);
size_t for_head(struct parser *p, const char *s, size_t n);
size_t condition(struct parser *p, const char *s, size_t n);
size_t array(struct parser *p, const char *s, size_t n);

/* The delimiter behind <<; `tabs`: behind <<- */
size_t here_begin(struct parser *p, const char *s, size_t n, bool tabs);

/* The bodies of all here-documents of the line that has just ended. */
size_t here_bodies(struct parser *p, const char *s, size_t n);

#endif
