/*
 * private_engine.h - a Docker engine of berth's own, for machines that have dockerd but run none.
 *
 * Everything it keeps is in <state dir>/engine (runtime.h), mode 0700: docker.sock,
 * docker.pid, dockerd.log, lock and data/ (images and containers: they stay when it is stopped).
 * What must not outlive a boot is in /run/berth-engine-HASH and goes with the engine; it is not in
 * the user's runtime directory because that vanishes when the person logs out, and the engine does
 * not.
 *
 * Beside another dockerd in the same network namespace it gets one to itself, so that docker0 and
 * iptables of the machine stay the other one's: its containers reach each other, but not the outside.
 * The containerd namespace is its own, for a containerd of the machine may be shared.
 *
 * Only root can start it.  All functions block; for the command line: they fork, with no other thread than
 * the audit log's.
 */
#ifndef BERTH_PRIVATE_ENGINE_H
#define BERTH_PRIVATE_ENGINE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"

struct private_engine {
	char socket[108];    /* sun_path's size: longer ones are refused */
	char data[PATH_MAX]; /* its data root */
	char log[PATH_MAX];
	pid_t pid;    /* of its dockerd; 0: not running */
	bool answers; /* /_ping got a 200 */
	bool started; /* private_engine_start: by this call, it did not run before */
};

/* Where it is and whether it runs.  -1 only when the state directory is unusable. */
int private_engine_status(struct private_engine *ret, struct err *e);

/* Start it and wait until it answers, at most 30 s; already running is success.  Fails with a
 * sentence that holds dockerd's own last words.  A failed start leaves no process. */
int private_engine_start(struct private_engine *ret, struct err *e);

/* Stop its containers and itself: SIGTERM, 30 s, SIGKILL.  Not running is success; ret->pid then
 * tells the one that was stopped, 0 when there was none. */
int private_engine_stop(struct private_engine *ret, struct err *e);

/* The socket where it would listen, for the list of default sockets: -1 when it cannot be named. */
int private_engine_socket(char *buf, size_t cap);

#endif
