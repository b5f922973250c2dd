/* restore.h - makes live trees equal to a manifest by changing only what differs. */
#ifndef CHECKPOINT_RESTORE_H
#define CHECKPOINT_RESTORE_H

#include "checkpoint/store.h"

struct restore {
	struct checkpoint_store
		*store; /* whose packs have the contents; NULL where `get` has them */
	struct pool *pool;
	int root;
	const struct manifest *live, *to; /* what the tree is (indexed), what it shall be */
	bool sound;                       /* the packs are known to have what is needed of them */
	/* Called when all that is needed was found sound, before anything changes; or NULL. */
	int (*begin)(struct checkpoint_store *s, const char *name, struct err *e);
	/* In place of packs: content i of `to` into an empty file, one after another in their order.  -1 and errno. */
	int (*get)(void *ctx, uint32_t i, int file);
	void *ctx;
};
int restore_tree(const struct restore *how, struct checkpoint_restored *ret, struct err *e);

struct restore_result {
	bool failed;
	struct err err; /* of what failed */
	struct checkpoint_restored done;
};
/* Several at once that have all but `root` and `live` in common, without `get`; what fails in one does not stop the
 * others. */
void restore_trees(const struct restore *how, size_t n, struct restore_result *ret);

#endif
