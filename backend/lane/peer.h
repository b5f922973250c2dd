/*
 * peer.h - who is at the other end, and where lanes live on the host.
 */
#ifndef LANE_PEER_H
#define LANE_PEER_H

#include <sys/types.h>

#include <berth/err.h>

#include "lane/lane.h"

/* The peer of this connection is process 1 of its own PID namespace, and its cgroup holds `id`.
 * ERR_FAILED else.  *pid gets its number on the host. */
int peer_is_init(int conn, const char *id, pid_t *pid, struct err *e);

/* A small file of the kernel's as text, cut at cap - 1 bytes; -1 and "" when it cannot be opened. */
int text_file(const char *path, char *buf, size_t cap);
int proc_file(pid_t pid, const char *name, char *buf, size_t cap); /* /proc/PID/NAME */

#endif
