/* restore.h - making a live tree what a manifest says, by changing only what differs. */
#ifndef CHECKPOINT_RESTORE_H
#define CHECKPOINT_RESTORE_H

#include "checkpoint/store.h"

/* From `live` (indexed, what the tree is) to `to`.  `begin` is called when all that is needed was found
 * sound, before anything changes; or NULL. */
int restore_tree(struct checkpoint_store *s, int root, const struct manifest *live,
	const struct manifest *to,
	int (*begin)(struct checkpoint_store *, const char *, struct err *),
	struct checkpoint_restored *ret, struct err *e);

#endif
