/*
 * ssh.h - an engine behind ssh: ssh://[user@]host[:port][/socket].
 *
 * The person's own ssh forwards each far socket to one here (RUNTIME/ssh/HOST-SOCKET, 0700): one ssh (a master,
 * RUNTIME/ssh/HOST.ctl) for each user@host:port, for all its sockets and all berth processes of this user, which ends
 * SSH_IDLE_S after the last of them.  Forwarded connections are not sessions: sshd's MaxSessions does not count them,
 * nothing runs on the far side, and no docker program is needed there.  AllowStreamLocalForwarding must not be off.
 * It runs under berth-ssh, which ends whatever ssh leaves behind: when berth gives up or is killed, when the connection ends.
 * Host, keys, jump hosts: as the user's ssh configuration says, never weaker; without agent, X11 and configured
 * forwardings, without LocalCommand and RemoteCommand.  A question is answered by the person or not at all.
 */
#ifndef ENGINE_SSH_H
#define ENGINE_SSH_H

#include "engine/endpoint.h"

#define SSH_IDLE_S "60"
#define SSH_ALIVE_S "1" /* a dead link is noticed after three of these */
#define SSH_CHANNELS 5  /* of an engine: requests at once; its events are the sixth */
#define SSH_WAIT_S \
	45 /* for ssh as a whole, where nobody is asked, and BERTH_SSH_TIMEOUT does not say it */
#define SSH_WAIT_MAX_S 300

/* What follows ssh://.  Fills in url, host, user, port, far_path and path. */
int ssh_parse(const char *s, struct endpoint *ep, struct err *e);

/* ERR_UNREACHABLE: why, as ssh said it; ERR_CANCELLED: reach->stop.  Thread: any; blocks. */
int ssh_forward(const struct endpoint *ep, const struct endpoint_reach *reach, struct err *e);

/* Ends that ssh, of whichever process it is, with all the sockets of that host; the lock stays, for others may wait for it.
 * Thread: any; blocks. */
int ssh_forget(const struct endpoint *ep, struct err *e);

#endif
