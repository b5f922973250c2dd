/*
 * container_id.h - ids that an engine reports, and the cgroups named after them.
 *
 * An engine can report anything as an id.  It becomes part of paths and decides which processes are killed, so it
 * is checked before it is used.
 *
 * Thread: any.
 */
#ifndef BERTH_CONTAINER_ID_H
#define BERTH_CONTAINER_ID_H

#include <stdbool.h>

#define CONTAINER_ID_DIGITS 64

/* A full id: 64 lower-case hex digits. */
bool id_is_whole(const char *id);
/* The same with or without "sha256:" in front, as images have it. */
bool id_is_image(const char *id);

/* The end of the component of a cgroup's path that names the container: ID, docker-ID.scope, libpod-ID, ...  NULL when
 * none does or the id is not a full one.  `groups`: one path, or all of /proc/PID/cgroup. */
const char *id_in_cgroup(const char *groups, const char *id);

#endif
