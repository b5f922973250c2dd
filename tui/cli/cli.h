/*
 * cli.h - the command line: one table of commands, one parser, one way to say what went wrong.
 *
 * commands.c holds the table; help, man page, completions and the parser all come from it.  A
 * command lives in a program: `berth` itself is a thin launcher that knows the table and starts the
 * right one, so that the short answers (--version, help, wrong usage) load no library.
 *
 * Thread: main.
 */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>

#include <berth/err.h>

struct cli_option {
	char letter;      /* 'c'; 0: none */
	const char *name; /* "settings", without dashes; NULL ends a table */
	const char *arg;  /* "FILE"; NULL: a flag */
	const char *help;
};

#define CLI_MIXED (-2) /* max_operands: any number, and options may stand between them */
#define CLI_MIXED_MAX 256

struct cli_command {
	const char *name;               /* one word; NULL ends a table */
	const char *operands;           /* "FILE"; "" */
	int min_operands, max_operands; /* -1: any number, and they may look like options */
	const char *program; /* where it lives: "berth-core"; NULL: the launcher itself */
	const char *help;    /* one line */
	const char *about;   /* what the man page adds; may be NULL */
	const struct cli_option *options; /* of its own, before the operands; may be NULL */
	const char *const *words;         /* the first operand is one of these; may be NULL */
	const struct cli_command *verbs;  /* `engine start`; then the rest above is theirs */
};

extern const struct cli_option cli_globals[];
extern const struct cli_command cli_commands[];

struct cli_given {
	const struct cli_option *option;
	const char *value; /* NULL for a flag */
};

#define CLI_GIVEN_MAX 64

/* A command line, parsed.  All text points into argv. */
struct cli {
	const struct cli_command *group;   /* `engine` of `engine start`; else NULL */
	const struct cli_command *command; /* NULL: the console */
	bool help, version;
	size_t ngiven; /* global options and the command's own, in order */
	struct cli_given given[CLI_GIVEN_MAX];
	int argc; /* operands */
	char **argv;
};

/* ERR_USAGE with a sentence that names the nearest known word. */
int cli_parse(int argc, char **argv, struct cli *ret, struct err *e);

/* Make the command of that name the one in hand; with a group, its verb of that name. */
int cli_find(struct cli *c, const char *name, struct err *e);

bool cli_flag(const struct cli *c, const char *name);
const char *cli_value(const struct cli *c, const char *name);     /* the last one given, or NULL */
const char *cli_path(const struct cli *c, char *buf, size_t cap); /* "engine start"; "" */

/* Help for the whole, for a group or for one command, on stdout.  0, or 1 when stdout is closed. */
int cli_help(const struct cli_command *group, const struct cli_command *command);
/* `berth help [COMMAND [VERB]]`. */
int cli_help_for(int argc, char **argv, struct err *e);

/* The completions of bash, zsh or fish on stdout. */
int cli_completion(const char *shell);

/* Become `program` of the same build as this one.  Returns only with an error. */
int cli_become(const char *program, char **argv, struct err *e);

/* "berth: sentence" on stderr, neutralised; returns the exit code of its kind. */
int cli_fail(const struct err *e);
/* Flush stdout: 0, or 1 with a sentence when what was printed did not arrive. */
int cli_finish(void);

#endif
