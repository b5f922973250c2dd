/*
 * form.h - --format: lines of the person's own form, with fields in braces such as {{.Name}}.
 *
 * One language for all commands: {{.Name}}, {{json .Name}}, \t and \n; "table " in front prints a heading and columns.
 * Thread: main.
 */
#ifndef CLI_FORM_H
#define CLI_FORM_H

#include <berth/err.h>
#include <berth/str.h>

#define FORM_CELL_MAX 512 /* bytes of a cell's text */

struct form {
	const char *text;     /* of --format; NULL: the command's own form */
	const char *words[3]; /* that name such a one instead of fields: table, json */
	bool no_table;        /* rows come one by one, or are documents */
	/* Append the field of that name; row NULL: only say whether there is one.  ERR_USAGE: there is none. */
	int (*cell)(struct str *out, const char *name, bool json, const void *row, struct err *e);
};

/* Take the text, which may be NULL.  ERR_USAGE: a field is unknown, or there is none at all: every line would be the same. */
int form_read(struct form *f, const char *text, struct err *e);
/* Append the line of a row, with its newline. */
int form_line(const struct form *f, const void *row, struct str *out, struct err *e);
/* Of all lines, one after the other: as a table where that was asked for.  On stdout. */
void form_print(const struct form *f, const struct str *lines);
/* For `cell`: a text that is known, a dash where it is empty. */
int form_text(struct str *out, const char *text, bool json);
/* Which of the names, up to NULL, it is; -1: none. */
int form_field(const char *const *names, const char *name, struct err *e);
/* ERR_USAGE: no field of that name, and which there are. */
int form_no_field(const char *name, const char *fields, struct err *e);

#endif
