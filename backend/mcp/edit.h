/*
 * edit.h - one edit of a text: replaces the old text by the new one, or refuses.
 *
 * The old text is looked for as it is; where it is nowhere, by whole lines, whatever blanks end them (a CR too), and with
 * one indentation more or less than the edit says.  Refused where it stands in no place or in several, where it would begin
 * or end inside a word, and where the new text's indentation or line ends cannot be told from those of the file: what comes
 * out is what the author of the edit meant.  Line ends of the new text become those of the lines that it replaces.
 *
 * Linear in the lengths.  Thread: pure.
 */
#ifndef MCP_EDIT_H
#define MCP_EDIT_H

#include <stdbool.h>
#include <stddef.h>

#include <berth/err.h>
#include <berth/str.h>

struct edit_request {
	const char *text, *old, *new;
	size_t text_n, old_n, new_n; /* old_n is not 0 */
	bool (*stopped)(void *ctx);  /* or NULL: whether to give up (ERR_CANCELLED) */
	void *ctx;
};

/* The whole new text is added to `out`.  ERR_NOT_FOUND: nowhere; ERR_CONFLICT: in several places, with their lines;
 * ERR_REFUSED: the new text would not fit in. */
int edit_apply(const struct edit_request *q, struct str *out, struct err *e);

#endif
