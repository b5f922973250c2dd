/*
 * guest.h - shared by the files of the guest: guest.c (PID 1), supervise.c (one command), command_tree.c (killing),
 * health.c, connect.c, dial.c, relay.c, run.c; wire_io.c and mux.c are shared with the host. libc only, no allocation
 * after start but the words of a request.
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

/* The sockets for clients of a proxy, made before any command ran; the host asks for them, also for a second time. */
extern int guest_listener[LANE_FDS_MAX];
extern int guest_nlisteners;
/* Shared by PID 1 and its supervisors: the one whose connection says that the host accepts; 0: nobody does. */
extern volatile pid_t *guest_accepting;

/* What /proc/1/comm says from the moment that the lane is there; before, GUEST_WAITS. */
#define GUEST_NAME "berth-guest"
#define GUEST_WAITS "berth-no-lane"

/* `berth-guest health ...` (health.c): its exit code. */
int guest_health(int argc, char **argv);

/* `berth-guest connect HOST PORT` (connect.c): its exit code. */
int guest_connect(const char *host, const char *port);

/* Makes guest_listener; none: errno says why. */
void guest_listen(void);

/* `berth-guest relay` (relay.c) and `berth-guest run CMD ARG...` (run.c): their exit codes. */
int guest_relay(void);
int guest_run(char **argv);

/* Serve one connection from request to result.  Returns the exit code of the supervisor. */
int supervise(int conn);

/* Connect to a port of this loopback as often as the host asks, until it hangs up (dial.c). */
int guest_dial(int conn, uint16_t port);

int64_t guest_now_ns(void);

/* Children of `parent`; returns how many were stored, at most max. */
int guest_children(pid_t parent, pid_t *out, int max);

/* Signal every descendant of this process that lives now; returns how many were found. */
unsigned guest_signal_tree(int sig);

/* End every descendant of this process, which is their subreaper, and reap them; returns how many
 * could not be ended within `limit_ns`. */
unsigned guest_end_tree(int64_t limit_ns);

#endif
