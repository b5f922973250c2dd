/* trees.h - a manifest with the place where its contents are. */
#ifndef CHECKPOINT_TREES_H
#define CHECKPOINT_TREES_H

#include "checkpoint/below.h"
#include "checkpoint/pack.h"
#include "checkpoint/store.h"

#define NOT_FETCHED UINT64_MAX

enum tree_contents { TREE_PACKS, TREE_LIVE, TREE_NAMES, TREE_FETCHED };

struct checkpoint_tree {
	struct checkpoint_store *store;
	struct manifest m; /* indexed */
	enum tree_contents from;
	int root;                 /* TREE_LIVE: the directory, the caller's */
	struct below_place place; /* in it */
	bool opened;              /* packs are; TREE_PACKS only */
	struct packs packs;
	int scratch; /* TREE_FETCHED: the caller's, and where in it the content of each entry is */
	uint64_t *fetched;
};

/* Notes that the tree `root`, whose checkpoints s holds, begins as m, which it does not need any more then. */
int store_begin(struct checkpoint_store *s, int root, const struct manifest *m, struct err *e);

#endif
