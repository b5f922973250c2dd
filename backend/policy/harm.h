/*
 * harm.h - detecting destructive commands, and the commands that wrappers run.
 */
#ifndef POLICY_HARM_H
#define POLICY_HARM_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <berth/err.h>

#include "policy/shell_reader.h"

#define HARM_INNER_MAX 16

struct command {
	const struct shell_word *word;
	size_t n;
	const char *cwd, *or_cwd; /* as in shell_command */
	const char *input;
	const char *listing; /* what it reads is this: see listing_of; NULL */
};

struct harm_options {
	bool sudo;
	char *home;
	char **writable;
	size_t nwritable;
};

const char *harm_name(const struct command *c); /* first word without its directory */
bool harm_is(const struct command *c, const char *name);
bool harm_one_of(const char *word, const char *const *list);

static inline bool harm_same(const char *a, const char *b)
{
	return *a == *b && !strcmp(a, b);
}

/* A name, or how it begins with a * behind it. */
static inline bool harm_like(const char *pattern, const char *name)
{
	size_t n = strlen(pattern) - 1;

	if (*pattern != *name)
		return false;
	return pattern[n] == '*' ? !strncmp(pattern, name, n) : !strcmp(pattern, name);
}

/* harm_places.c: which place a word names */
enum place_kind {
	PLACE_OTHER,
	PLACE_SYSTEM,   /* the root, a directory of the system, a home */
	PLACE_WORKSPACE /* a directory that the agent works in, or one that holds it */
};

struct place {
	enum place_kind kind;
	bool all;    /* not itself, but all that is in it: a bare wildcard */
	bool unless; /* only if the cd before it fails */
};

struct place place_of(
	const struct harm_options *o, const struct command *c, const struct shell_word *w);
/* A place that is known, and in no directory that the agent works in. */
bool place_is_outside(
	const struct harm_options *o, const struct command *c, const struct shell_word *w);
bool place_is_device(const char *path);

int harm_refuse(const struct command *c, struct err *e, const char *why);

/* Is the short option letter or the long option (or an abbreviation of it) there? */
bool harm_option(const struct command *c, char letter, const char *word, size_t least);

/* listing.c: the files that find visits */
struct search {
	size_t from, to; /* words that are paths, and options among them; none: where it is */
	bool narrowed;   /* a test picks some of what is there */
	char type;       /* of files; 0: any */
	bool deletes, runs;
};

void search_read(const struct shell_word *word, size_t n, struct search *ret);
/* A wildcard for all that it finds, NULL: it finds some. */
const char *search_all(const struct shell_word *word, size_t n, struct arena *mem);
/* A wildcard for what a command prints, if that is the names of all that is in a directory; NULL */
const char *listing_of(const struct shell_word *word, size_t n, struct arena *mem);
/* Does this pattern of a name match everything, or nearly? */
bool listing_is_bare(const char *pattern);

/* empty.c: commands that empty a directory */
int harm_rm(const struct harm_options *o, const struct command *c, struct err *e);
int harm_mv(const struct harm_options *o, const struct command *c, struct err *e);
int harm_find(const struct harm_options *o, const struct command *c, struct err *e);
int harm_rsync(const struct harm_options *o, const struct command *c, struct err *e);
int harm_archive(const struct harm_options *o, const struct command *c, struct err *e);
int harm_git(const struct harm_options *o, const struct command *c, struct err *e);
int harm_remover(const struct harm_options *o, const struct command *c, struct err *e);

/* One command by itself: -1 and ERR_REFUSED. */
int harm_command(const struct harm_options *o, const struct command *c, struct err *e);
/* Redirections onto devices, and > "$f" for all that is here. */
int harm_writes(const struct harm_options *o, const struct shell_command *c, struct err *e);
/* A function that pipes itself into itself in the background. */
int harm_script(const struct shell_script *s, struct err *e);

/* wrapper.c: does it only run another command (env, nice, timeout ...)?  Then that one is judged. */
bool wrap_is_wrapper(const struct command *c);

/* Does it read a script from its standard input? */
bool wrap_reads_script(const struct command *c);

/* What a command would run: commands, and a script if it gets one as text. */
struct wrapped {
	struct command inner[HARM_INNER_MAX];
	size_t n;
	const char *script;
	char *made; /* text and words that are its own */
	struct shell_word *words;
	struct arena mem;
	bool dynamic; /* something of the text is not known here */
	bool loose;   /* words in front of the inner command may become several */
	bool runs,
		changes; /* a variable is set for it: shell_variable_runs, shell_variable_changes */
	bool bash, sh, foreign; /* the shell that reads it; none: the one that runs the command */
	bool errexit, nounset;
	bool startup;   /* the shell reads a start-up file before it */
	bool harm_only; /* no list judges it: a guess at what another program runs */
};

void wrap_open(const struct command *c, struct wrapped *ret);
void wrap_release(struct wrapped *w);

/* interpreter.c: the shell commands in a program of another language, as text to be freed; NULL: none. */
char *embed_commands(const struct command *c);

#endif
