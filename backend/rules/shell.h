/*
 * shell.h - the simple commands that a POSIX shell (or bash) would run for a script, as far as that
 * can be told without running it.
 *
 * Quotes, escapes, $'...', comments, operators, redirections, here-documents, substitutions,
 * subshells, functions, simple assignments, $HOME and ~, $IFS and brace lists are understood; what
 * depends on the machine (other variables, globs, output of commands) stays in the word and marks
 * it dynamic.
 *
 * Limits: 256 KiB of script, 4,096 commands, nesting 32.  Beyond them the script is not understood.
 * Thread: pure.
 */
#ifndef RULES_SHELL_H
#define RULES_SHELL_H

#include <stdbool.h>
#include <stddef.h>

#include <berth/arena.h>

struct shell_word {
	const char *text;
	bool dynamic; /* holds an expansion that is not known here */
	bool quoted;  /* any part was quoted: no keyword */
	bool glob;    /* holds an unquoted wildcard */
};

struct shell_command {
	size_t n;
	struct shell_word *word; /* assignments before the name are left out */
	size_t nwrites;
	struct shell_word *writes; /* targets of > >> >| &> <> */
	bool piped, background;    /* followed by | or by & */
	const char *function;      /* it stands in the body of this function; NULL */
};

struct shell_script {
	size_t n;
	struct shell_command *command;
	const char *problem; /* why it was not understood, or NULL */
	struct arena mem;
};

/* `home` replaces ~ and $HOME; NULL: "/root". */
void shell_parse(const char *text, const char *home, struct shell_script *ret);
void shell_release(struct shell_script *s);

#endif
