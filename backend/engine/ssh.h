/*
 * ssh.h - an engine behind ssh: ssh://[user@]host[:port][/socket].
 *
 * The person's own ssh forwards the far socket to one of ours (RUNTIME/ssh/HASH, 0700); one ssh for each such
 * engine, of all berth processes of this user, which ends by itself SSH_IDLE_S after the last of them.  Forwarded
 * connections are no sessions: sshd's MaxSessions does not count them, nothing runs on the far side, and no docker
 * program is needed there.  AllowStreamLocalForwarding must not be off.
 * Host, keys, jump hosts: as the user's ssh configuration says, never weaker; without agent, X11 and configured
 * forwardings, without LocalCommand and RemoteCommand.  A question is answered by the person or not at all.
 */
#ifndef ENGINE_SSH_H
#define ENGINE_SSH_H

#include "engine/endpoint.h"

#define SSH_IDLE_S "60"
#define SSH_ALIVE_S "1" /* a dead link is noticed after three of these */
#define SSH_WAIT_S 45   /* for ssh as a whole, where nobody is asked */

/* What follows ssh://.  Fills in url, host, user, port, far_path and path. */
int ssh_parse(const char *s, struct endpoint *ep, struct err *e);

/* ERR_UNREACHABLE: why, as ssh said it.  Thread: any; blocks, at most until stop_fd (-1: none) is readable: ERR_CANCELLED. */
int ssh_forward(const struct endpoint *ep, bool ask, int stop_fd, struct err *e);

/* Ends that ssh, of whichever process it is, and removes its sockets; the lock stays, for others may wait for it.  Thread: any; blocks. */
int ssh_forget(const struct endpoint *ep, struct err *e);

#endif
