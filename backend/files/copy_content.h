/*
 * copy_content.h - the bytes of one regular file.
 *
 * Thread: any; one buffer for each.
 */
#ifndef FILES_COPY_CONTENT_H
#define FILES_COPY_CONTENT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "files/files.h"
#include "files/walk/walk.h"

#define CONTENT_BUF (128u << 10) /* bytes: what is not longer is read and written in one piece */

struct content {
	struct op *op;            /* its job and its cancellation */
	struct walk *walk;        /* told of a copy that takes long; zeroed: none */
	char *buf;                /* CONTENT_BUF bytes */
	_Atomic bool *no_reflink; /* once it is known that the file system has none */
	struct files_tree_totals *t;
};

/* From `in`, whose stat is `st`, into the new file `out`.  -1 and errno, ECANCELED when the job was cancelled. */
int content_copy(const struct content *c, int in, int out, const struct stat *st);

#endif
