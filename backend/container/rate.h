/*
 * rate.h - a limit on how fast a container may send and receive.
 *
 * The engine has none, so the kernel's token bucket is set on both ends of the container's network
 * interface, by iproute2's `tc` in the two network namespaces: the container's own end limits what it
 * sends (it has no capability to change that), the engine's end what it receives.  That takes root,
 * tc, and an engine on this machine; otherwise the limit is refused.  It is gone when the container
 * is started anew, and set again by `berth up`; the console shows it as not enforced meanwhile.
 *
 * Thread: any.
 */
#ifndef CONTAINER_RATE_H
#define CONTAINER_RATE_H

#include <stdint.h>
#include <sys/types.h>

#include <berth/err.h>

/* Of the container whose init is `pid` (on this machine), in each direction; replaces one that is set.
 * ERR_REFUSED: this host does not allow it, and why. */
int rate_set(pid_t pid, uint64_t bytes_per_s, struct err *e);

/* Bytes per second in force on the container's end, 0: none, -1: cannot be seen from here. */
int64_t rate_get(pid_t pid);

#endif
