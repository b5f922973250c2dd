/*
 * cli.h - the command line: the table of commands, the parser and error reporting.
 *
 * commands.h holds the table; help, man page, completions and the parser all come from it.  A
 * command lives in a program: `berth` itself is a thin launcher that knows the table and starts the
 * right one, so that the short answers (--version, help, wrong usage) load no library.  That one
 * reads the same argv by the same table.
 *
 * Thread: main.
 */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/err.h>

struct cli;
struct settings;
/* Runs a command.  Returns the process's exit code, or -1 with *e for the caller to say.  Options are
 * looked up by name in `c`; `s`, with the global options laid over it, is NULL without NEEDS_SETTINGS. */
typedef int cli_run_fn(const struct cli *c, const struct settings *s, struct err *e);

/* Verbs of a group, which share what is around them: policy, record, signals and settings.  They return the same. */
struct files_cli;
struct image_cli;
struct workspace_cli;
typedef int files_verb_fn(struct files_cli *x, struct err *e);
typedef int image_verb_fn(struct image_cli *x, struct err *e);
typedef int workspace_verb_fn(struct workspace_cli *x, struct err *e);

struct cli_option {
	char letter;      /* 'c'; 0: none */
	const char *name; /* "settings", without dashes; NULL ends a table */
	const char *arg;  /* "FILE"; NULL: a flag */
	const char *help;
};

/* What may stand behind "--": operands, or the words of a command, which it may or must have. */
enum cli_words { CLI_WORDS_NONE, CLI_WORDS_TAKEN, CLI_WORDS_NEEDED };

enum cli_needs {
	NEEDS_SETTINGS = 1, /* they are read first; without it a wrong file is not in its way */
	NEEDS_ENGINE = 2,   /* says on stderr when that keeps it waiting */
	TAKES_TEAM = 4,     /* has a use for -c FILE; others refuse it */
	ANY_STATE = 16,  /* has no use for the state directory, or reports what is wrong with it */
	PRINTS_USE = 32, /* of CPU, memory ...: containers are measured for it */
	IS_PLUGIN = 8,   /* for monitoring: an error is "UNKNOWN" on stdout, and exit code 3 */
};

struct cli_command {
	const char *name;               /* one word; NULL ends a table */
	const char *operands;           /* "FILE"; "" */
	int min_operands, max_operands; /* -1: any number */
	const char *program;            /* where it lives: "berth-core" */
	cli_run_fn *run;                /* NULL: in another program than this */
	files_verb_fn *files;           /* what it runs between opening and closing */
	image_verb_fn *image;
	workspace_verb_fn *workspace;
	int what;                         /* which of several: an enum act or operation */
	unsigned needs;                   /* of enum cli_needs */
	const char *help;                 /* one line */
	const char *about;                /* what the man page adds; may be NULL */
	const struct cli_option *options; /* of its own; may be NULL */
	const char *schema;              /* of --json: "berth.ps/1"; several: with " or " between */
	const char *const *words;        /* the first operand is one of these; may be NULL */
	const char *former;              /* its former name: accepted, not shown; may be NULL */
	enum cli_words takes_words;      /* then max_operands is what stands before "--" */
	const struct cli_command *verbs; /* `engine start`; then the rest above is theirs */
	const char *usual;               /* the one that need not be said; may be NULL */
};

struct cli_given {
	const struct cli_option *option;
	const char *value; /* NULL for a flag */
};

#define CLI_GIVEN_MAX 64

/* A command line, parsed.  All text points into argv. */
struct cli {
	const struct cli_command *root;    /* the console; its verbs are all commands */
	const struct cli_command *group;   /* `engine` of `engine start`; else NULL */
	const struct cli_command *command; /* NULL: the console */
	bool help, version;
	size_t ngiven; /* global options and the command's own, in order */
	struct cli_given given[CLI_GIVEN_MAX];
	int argc; /* operands */
	char **argv;
	int nwords; /* behind "--", where the command takes_words */
	char **words;
	char **line; /* all of the line, for a program that becomes another */
};

/* ERR_USAGE with a sentence that names the nearest known word. */
int cli_parse(
	const struct cli_command *root, int argc, char **argv, struct cli *ret, struct err *e);

/* All that main does in a program that berth becomes: parse, check what the command needs, run it.
 * Returns the process's exit code. */
int cli_main(const struct cli_command *root, int argc, char **argv);

/* By its letter, else by its name: what may be given to the command in hand.  NULL: nothing like it. */
const struct cli_option *cli_known_option(
	const struct cli *c, char letter, const char *name, size_t len);

/* Make the command of that name the one in hand; with a group, its verb of that name. */
int cli_find(struct cli *c, const char *name, struct err *e);

bool cli_flag(const struct cli *c, const char *name);
const char *cli_value(const struct cli *c, const char *name);     /* the last one given, or NULL */
const char *cli_path(const struct cli *c, char *buf, size_t cap); /* "engine start"; "" */

#define CLI_HELP_MAX 160
/* A line about an option of `k`; that of --json names the schema. */
const char *cli_option_help(
	const struct cli_command *k, const struct cli_option *o, char buf[CLI_HELP_MAX]);

/* Help for the whole, for a group or for one command, on stdout.  0, or 1 when stdout is closed. */
int cli_help(const struct cli *c);

/* -H NAME of a host of the settings: its endpoint takes the place of the name, and is *ret, which must stay; else NULL. */
int cli_name_host(struct cli *c, char **ret, struct err *e);

/* Become `program` of the same build as this one.  Returns only with an error. */
int cli_become(const char *program, char **argv, struct err *e);

/* How this berth calls another one: the program, then each global option of this line but the team file, which not every
 * command takes, and those of the console or of this line alone.  In `mem`, as are the words. */
struct arena;
const char **cli_call_words(const struct cli *c, const char *program, struct arena *mem, size_t *n);
/* The whole line for cli_become: those, then `words`, of which the last is NULL. */
char **cli_call_line(const struct cli *c, const char *const *words, struct arena *mem);
/* Run `program` so, and wait for its end; `out` is its standard output.  0: it succeeded; -1: what was wrong is on stderr. */
int cli_call(const struct cli *c, const char *program, const char *const *words, int out);

/* "berth: sentence" on stderr, neutralised; returns the exit code of its kind. */
int cli_fail(const struct err *e);
/* The same in the form of the command in hand (IS_PLUGIN). */
int cli_fail_command(const struct cli *c, const struct err *e);
/* Flush stdout: 0, or 1 with a sentence when what was printed did not arrive. */
int cli_finish(void);
/* Print what was found in a file, as `config check` does; the exit code. */
int cli_conclude_check(
	const struct cli *c, const char *kind, const struct err *found, size_t n, const char *file);
/* The same for a document: what is still open in it is ended, and it is released. */
struct jsonw;
int jsonw_print(struct jsonw *j);
/* A number, or 10K, 2M, 1G ...; of an option that is not given `otherwise`. */
int cli_number(
	const struct cli *c, const char *name, uint64_t otherwise, uint64_t *ret, struct err *e);
/* --timeout, "1.5" seconds; 0: it was not given. */
int cli_timeout(const struct cli *c, int64_t *ms, struct err *e);

#endif
