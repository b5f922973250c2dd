/*
 * ring.h - one io_uring for the life of a struct files, used for reads that have to wait.
 *
 * Optional: NULL where the kernel, a sandbox or a limit says no.  Thread: one user at a time
 * (files.ring_lock).
 */
#ifndef BERTH_FILES_RING_H
#define BERTH_FILES_RING_H

#include "files/disk/reader.h"

#define FILES_IO_DEPTH 64

struct ring;

struct ring *ring_new(unsigned depth);
void ring_free(struct ring *ring);
/* Bring every task to its end, at most `depth` at once.  Returns how many really were. */
unsigned ring_read(
	struct ring *ring, struct reading *r, struct task **tasks, size_t n, unsigned depth);

#endif
