/* recover.h - completes, undoes or removes what processes that died left in the stage of a root. */
#ifndef BERTH_FILES_RECOVER_H
#define BERTH_FILES_RECOVER_H

#include "files/stage/staging.h"

/* The staging of this root, made at the first call, to be used until it is put back; what dead processes left is
 * finished or undone before the first call returns.  NULL and *e when it cannot be made. */
struct staging *staging_get(struct files_root *r, const struct patience *p, struct err *e);
void staging_put(struct staging *const *s);
#define AUTO_STAGING __attribute__((cleanup(staging_put)))

/* Batches of dead processes that are past their commit point, if there are any: cheap when not. */
int staging_recover(struct files_root *r, struct staging *s, bool thorough,
	const struct patience *p, struct err *e);

#endif
