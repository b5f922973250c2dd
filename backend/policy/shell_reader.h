/*
 * shell_reader.h - finds the simple commands that sh (dash) or bash would run for a script, as far as that is known
 * without running it.
 *
 * Quotes, escapes, $'...', comments, operators, redirections, here-documents, substitutions,
 * subshells, functions, arrays, [[ ]], arithmetic, simple assignments, $HOME and ~, $IFS and brace
 * lists are understood; what depends on the machine (other variables, globs, output of commands)
 * stays in the word and marks it dynamic.
 *
 * It is no whole grammar.  What it passes over or cannot be sure of (coproc, ${x@P}, a here-document
 * whose delimiter is computed, ...) is named in `unclear`: the commands found are then a guess.
 *
 * Limits: 256 KiB of script, 4,096 commands, nesting 32.  Beyond them the script is not understood.
 * Thread: pure.
 */
#ifndef POLICY_SHELL_READER_H
#define POLICY_SHELL_READER_H

#include <stdbool.h>
#include <stddef.h>

#include <berth/arena.h>

struct shell_word {
	const char *text;
	bool dynamic; /* holds an expansion that is not known here */
	bool quoted;  /* any part was quoted: no keyword */
	bool glob;    /* holds an unquoted wildcard */
	bool loose;   /* dynamic and unquoted: it may become no word at all, or several */
	bool assigns; /* NAME=..., NAME+=... or NAME[...]=..., its name unquoted */
	bool appends; /* as the target of a redirection: >> */
};

struct shell_command {
	size_t n;
	struct shell_word *word; /* assignments before the name are left out */
	size_t nwrites;
	struct shell_word *writes; /* targets of > >> >| &> <> */
	bool piped, background;    /* followed by | or by & */
	const char *function;      /* it stands in the body of this function; NULL */
	const char *input;         /* its here-document or here-string, where that is known; NULL */
	const char *cwd;           /* where it runs, NULL: not known */
	const char *or_cwd;        /* the same, if a cd before it fails and nobody looks; NULL */
};

struct shell_script {
	size_t n;
	struct shell_command *command;
	const char *problem; /* why it was not understood, or NULL */
	const char *unclear; /* a construct that was not understood for sure, or NULL */
	bool nounset;        /* set -u: an unset variable ends it */
	/* what hides in quotes is run by something that expands it a second time */
	bool evaluates, hidden;
	struct arena mem;
};

enum shell_reading {
	SHELL_GUESS,   /* a variable has the value that was last assigned to it */
	SHELL_CERTAIN, /* ... if nothing else can have changed it; else it is not known */
	SHELL_EMPTY    /* ... and is empty if the script never assigns it */
};

struct shell_options {
	const char *home; /* replaces ~ and $HOME; NULL: "/root" */
	const char *cwd;  /* where it begins; NULL: not known */
	bool bash;        /* by bash; else by whatever sh is */
	bool errexit;     /* -e was given */
	enum shell_reading reading;
};

void shell_parse(const char *text, const struct shell_options *o, struct shell_script *ret);
void shell_release(struct shell_script *s);

/* A variable that makes the shell, or what it starts, run something else first (BASH_ENV, LD_PRELOAD ...). */
bool shell_variable_runs(const char *name, size_t n);
/* One of these, or one by which a name means another program, or a program runs another one (PATH, GIT_PAGER ...). */
bool shell_variable_changes(const char *name, size_t n);

#endif
