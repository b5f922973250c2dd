/*
 * rooted.h - for tests of the file engine: an engine and an open root in a scratch directory (tree.h).
 *
 * Header only, for test programs of one file.
 */
#ifndef TESTS_LIB_ROOTED_H
#define TESTS_LIB_ROOTED_H

#include "files/files.h"
#include "lib/tree.h"

static struct files *f;
static struct files_root *root;

/* In the place of what was open: the directory `name` of the scratch directory. */
static inline void rooted_open(const struct files_options *o, const char *name)
{
	struct err e = ERR_INIT;

	files_root_close(root);
	files_close(f);
	f = files_open(o);
	root = files_root_open(f, tree_path(name), &e);
	if (!root)
		fail_msg("%s", e.msg);
}

/* A scratch directory with an empty root/, which is opened as most tests want it. */
static inline void rooted_make(const char *label)
{
	tree_make(label);
	tree_mkdirs("root");
	rooted_open(&(struct files_options){.avoid = FILES_AVOID_BOARD, .cpu_width = 3}, "root");
}

/* A group's teardown. */
static inline int rooted_remove(void **state)
{
	(void)state;
	files_root_close(root);
	files_close(f);
	root = NULL; /* another group may follow */
	f = NULL;
	tree_remove();
	return 0;
}

#endif
