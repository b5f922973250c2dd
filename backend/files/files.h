/*
 * files.h - the public header of this module for the backend: include/berth/files.h on an existing job board, and its
 * worker threads.
 */
#ifndef BERTH_FILES_FILES_H
#define BERTH_FILES_FILES_H

#include <sys/stat.h>

#include <berth/files.h>

#include "files/common/workers.h"
#include "job/board.h"

/* As files_open; the board stays the caller's and must outlive the struct files. */
struct files *files_open_on(struct board *board, const struct files_options *o);

/* What a copy took of its source, so that a move takes away no more than that. */
struct copied {
	char *path; /* below the root of the source */
	struct stat st;
};

struct copied_list {
	struct copied *v; /* directories before what is in them */
	size_t n, cap;
};

/* files_copy, which notes what it took; `noted` may be NULL. */
int files_copy_noting(struct files *f, struct files_root *from_root, const char *from,
	struct files_root *to_root, const char *to, const struct files_copy_options *o,
	struct copied_list *noted, struct files_tree_totals *totals, struct err *e);

/* What is still as it was noted goes; a directory when it is empty then.  Returns what changed and stays, *ret_first the
 * first of it. */
size_t copied_take_away(
	struct files_root *from_root, const struct copied_list *l, const char **ret_first);
void copied_release(struct copied_list *l);
/* ERR_REFUSED for what cannot be deleted or moved (`verb`: "moved") whatever lies there: what is read-only, or holds that, and
 * where others prepare changes. */
int files_check_going(struct files_root *r, const char *path, const char *verb, struct err *e);

#endif
