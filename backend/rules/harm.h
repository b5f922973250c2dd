/*
 * harm.h - what is plainly destructive, and what a wrapper would run.
 */
#ifndef RULES_HARM_H
#define RULES_HARM_H

#include <stdbool.h>
#include <stddef.h>

#include <berth/err.h>

#include "rules/shell.h"

#define HARM_INNER_MAX 16

struct command {
	struct shell_word *word;
	size_t n;
};

struct harm_options {
	bool sudo;
	char *home;
	char **writable;
	size_t nwritable;
};

const char *harm_name(const struct command *c); /* first word without its directory */

/* One command by itself: -1 and ERR_REFUSED. */
int harm_command(const struct harm_options *o, const struct command *c, struct err *e);
/* Redirections onto devices. */
int harm_writes(const struct shell_command *c, struct err *e);
/* A function that pipes itself into itself in the background. */
int harm_script(const struct shell_script *s, struct err *e);

/* It does nothing but run another command (env, nice, timeout ...): lists judge that one. */
bool harm_is_wrapper(const struct command *c);
/* Commands that this one would run, and a shell script if it gets one as text.  *made must be
 * freed. */
void harm_unwrap(const struct command *c, struct command inner[HARM_INNER_MAX], size_t *n,
	const char **script, char **made);

#endif
