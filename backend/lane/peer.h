/*
 * peer.h - identifying the process at the other end of a socket.
 */
#ifndef LANE_PEER_H
#define LANE_PEER_H

#include <sys/types.h>

#include <berth/err.h>

#include "lane/lane.h"

/* The peer of this connection is process 1 of its own PID namespace, and its cgroup holds `id`.
 * ERR_FAILED else.  *pid gets its number on the host. */
int peer_is_init(int conn, const char *id, pid_t *pid, struct err *e);

#endif
