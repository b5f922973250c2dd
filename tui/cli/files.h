/* files.h - shared by the verbs of `berth files`. */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include <berth/arena.h>
#include <berth/operation.h>
#include <berth/files.h>
#include <berth/jsonw.h>

#include "cli/commands.h"

/* A command in hand. */
struct files_cli {
	const struct cli *c;
	struct files *files;
	struct files_root *root;
	const char *start;  /* of a tree, below the root */
	const char *prefix; /* what to print before paths: the start, where that is its own root */
	struct arena mem;   /* of the paths that were changed */
	bool json, terminal;
};

/* Open the root; `start` is the operand that names a tree or file, or NULL.  Without --root what the working directory
 * does not hold is looked at where it is. */
int files_cli_root(struct files_cli *x, const char *start, struct err *e);
/* The root of operands: --root's, which confines them; else the working directory, or where one of them is not in it the
 * nearest that holds all of them, and they become relative to that.  `through`: also a link that is named is followed.
 * *ret_near, if wanted: that directory, or NULL for one that was given.  The caller closes it. */
struct files_root *files_cli_near(struct files_cli *x, const char **path, size_t n, bool through,
	const char **ret_near, struct err *e);

/* Of what becomes a file, or what `from` is: a name that ends with a slash is that of a directory. */
int files_cli_check_target(const char *from, const char *to, struct err *e);

/* Options. */
struct files_cli_filter {
	struct files_filter filter;
	const char *globs[CLI_GIVEN_MAX], *excludes[CLI_GIVEN_MAX];
};
int files_cli_filter(const struct cli *c, struct files_cli_filter *f, struct err *e);
int files_cli_promise(const struct cli *c, enum files_promise *ret, struct err *e);

/* Print a path in a listing, below x->prefix: quoted where it would not stay in its line (text_quote_name). */
void files_cli_path(const struct files_cli *x, const char *path, size_t n);
/* Print a line (or a path that a program takes): as it is where no terminal reads it, else neutralised. */
void files_cli_text(const struct files_cli *x, const char *s, size_t n);
/* {"path", "error"} members of a JSON object. */
void files_cli_json_err(struct jsonw *j, const char *path, const struct err *e);

/* Progress of the running operation on stderr until files_cli_quiet: a line that changes on a
 * terminal, else a line every ten seconds. */
void files_cli_progress(struct files_cli *x);
void files_cli_quiet(void);

#endif
