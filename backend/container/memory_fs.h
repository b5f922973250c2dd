/*
 * memory_fs.h - the limits of files in memory that an engine has no words for.
 *
 * Podman takes size and mode of a file system in memory, and neither a number of files nor an owner.  Both are set
 * from this side once the container runs, before its init gets its lane and its secrets, and read back.  A start
 * that is not berth's is without them again, so nothing runs in it (checked.h).
 *
 * Needs root on the engine's machine, Linux 5.2.  Thread: any.
 */
#ifndef CONTAINER_MEMORY_FS_H
#define CONTAINER_MEMORY_FS_H

#include <sys/types.h>

#include "container/spec.h"

/* Is there anything to set for this product? */
bool memory_fs_needed(const struct spec *s);
/* In the container whose init is `init`; ERR_REFUSED: it cannot be, or is not in force. */
int memory_fs_set(const struct spec *s, pid_t init, struct err *e);

#endif
