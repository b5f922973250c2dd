/* missed.h - files that are not in memory: as many at once as the disk is worth. */
#ifndef BERTH_FILES_MISSED_H
#define BERTH_FILES_MISSED_H

#include "files/disk/reader.h"

struct ring;

/* Bring every task to its end, in their order, at most `depth` at once: through the ring, or (NULL) on threads.
 * Orders `tasks`.  Returns how many there were at once. */
unsigned missed_read(
	struct reading *r, struct task **tasks, size_t n, struct ring *ring, unsigned depth);

#endif
