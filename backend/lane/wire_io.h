/*
 * wire_io.h - sending and receiving one lane message, descriptors included.  Host and guest.
 */
#ifndef LANE_WIRE_IO_H
#define LANE_WIRE_IO_H

#include <stddef.h>
#include <sys/types.h>

#include "lane/wire.h"

#define LANE_FDS_MAX 3

/* 0, or -1 with errno.  Never raises SIGPIPE. */
int wire_send(int conn, enum lane_type type, const void *body, size_t len);
int wire_send_fds(
	int conn, enum lane_type type, const void *body, size_t len, const int *fds, int nfds);

/* One message: 1, 0 at the end, -1 with errno (EPROTO: not one of ours; EPROTONOSUPPORT: of another
 * version).  `body` has LANE_MSG_MAX bytes.  Received descriptors are close-on-exec and the caller's. */
int wire_recv(int conn, struct lane_msg *head, char *body, int fds[LANE_FDS_MAX], int *nfds);
/* The same on a socket with SO_PASSCRED: *sender is the process that sent it, as the kernel knows it here; 0
 * when it does not say. */
int wire_recv_from(int conn, struct lane_msg *head, char *body, int fds[LANE_FDS_MAX], int *nfds,
	pid_t *sender);
void wire_close_all(const int *fds, int nfds);

/* LANE_ENDED with LANE_NOT_RUN. */
void wire_refuse(int conn, enum lane_stage stage, int errnum);

#endif
