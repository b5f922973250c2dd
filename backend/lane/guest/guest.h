/*
 * guest.h - the files of the guest: guest.c (PID 1), supervise.c (one command), command_tree.c (ending what
 * it started), health.c, and wire_io.c, which the host shares.  libc only, no allocation after start but the
 * words of a request.
 */
#ifndef LANE_GUEST_H
#define LANE_GUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lane/wire_io.h"

#define GUEST_PROCESSES_MAX 32768 /* seen at once; more are found when these have ended */

/* Where the definition allows sudo the guest is root, so that it can end what sudo started, and commands
 * become this user; else all is one user. */
struct guest_user {
	bool other;
	uid_t uid;
	gid_t gid;
};
extern struct guest_user guest_user;

/* What /proc/1/comm says from the moment that the lane is there; before, GUEST_WAITS. */
#define GUEST_NAME "berth-guest"
#define GUEST_WAITS "berth-no-lane"

/* `berth-guest health ...` (health.c): its exit code. */
int guest_health(int argc, char **argv);

/* Serve one connection from request to result.  Returns the exit code of the supervisor. */
int supervise(int conn);

int64_t guest_now_ns(void);

/* Children of `parent`; returns how many were stored, at most max. */
int guest_children(pid_t parent, pid_t *out, int max);

/* Signal every descendant of this process that lives now; returns how many were found. */
unsigned guest_signal_tree(int sig);

/* End every descendant of this process, which is their subreaper, and reap them; returns how many
 * could not be ended within `limit_ns`. */
unsigned guest_end_tree(int64_t limit_ns);

#endif
