/*
 * later.h - slow disk operations that need not be waited for.
 *
 * Giving up the blocks of a file can take a millisecond (ext4 with discard), and flushing a file
 * system seconds: the first is left to the workers, the second is left alone when the operation is
 * stopped meanwhile.
 */
#ifndef BERTH_FILES_LATER_H
#define BERTH_FILES_LATER_H

#include <stddef.h>

#include "files/common/op.h"
#include "files/stage/staging.h"

/* As syncfs; -1 and ECANCELED as soon as op is stopped.  What is under way then ends by itself. */
int op_syncfs(const struct op *op, int fd);

/* Files that are not needed any more: names in the stage, open files, or both. */
struct leavings;
struct leavings *leavings_new(size_t most);
/* name NULL: it has none; fd -1: it is not open.  The descriptor is taken over. */
void leavings_add(struct leavings *l, const char *name, int fd);
/* Remove and close them, on workers where that takes long; l is gone.  A process that dies before
 * all is done leaves the rest to recovery. */
void leavings_go(struct leavings *l, struct files *f, struct staging *s);

#endif
