/* removal.h - deletes trees permanently, whatever their type and depth. */
#ifndef BERTH_FILES_REMOVAL_H
#define BERTH_FILES_REMOVAL_H

#include "files/stage/staging.h"

/* As renameat.  Moving a directory elsewhere writes its "..", so one that is closed is opened first. */
int removal_hide(int dir, const char *name, int stage, const char *to);

/* Remove what is at dir/name, whatever it is, without following anything.  Directories are emptied
 * by moving those below them into the stage, so depth costs nothing.  Adds to *t, where the first
 * error is kept, too. */
void remove_tree(struct staging *s, int dir, const char *name, const struct op *op,
	struct files_tree_totals *t);

/* The same of a directory where there is no room for a stage: what is below it is moved to its top. */
void remove_in_place(const struct files_root *r, int dir, const char *name, const struct op *op,
	struct files_tree_totals *t);

/* Finish the deletion on another file system that the note `name` speaks of; then the note goes. */
void remove_noted(struct files_root *r, struct staging *s, const char *name);

/* Out of sight into a directory beside it, where the stage is on another file system, then taken apart
 * there.  `leaf` points into `path`.  -1: it is still where it was. */
int remove_beside(struct staging *s, const char *path, int dir, const char *leaf,
	const struct op *op, struct files_tree_totals *t, struct err *e);

#endif
