/*
 * wire.h - the protocol between the host and the guest.
 *
 * Transport: one SOCK_SEQPACKET unix connection per command.  The kernel keeps messages apart, each
 * connection has its own buffers (a command that writes without end blocks nobody else and grows
 * nothing), and a client's death is the end of its connection.  Standard input, output and error do
 * not go over it: the client makes pipes and passes the command's ends along with LANE_RUN, so
 * bytes move at the speed of a pipe and the guest never touches them (a terminal apart, which lives
 * in the guest and is relayed).  Only pipes are ever passed: a terminal or file of the host could
 * be reopened through /proc/self/fd or stuffed with TIOCSTI.
 *
 * Every message is a struct lane_msg followed by `len` bytes, at most LANE_MSG_MAX in all.  Numbers
 * are in host order: both ends run on one kernel.
 *
 *   client -> guest   LANE_WORDS*  LANE_RUN  (LANE_RESIZE | LANE_CANCEL)*
 *   guest -> client   LANE_STARTED  LANE_ENDED       or  LANE_ENDED alone
 *   client -> guest   LANE_LISTENERS   guest -> client   LANE_LISTENERS (+ sockets)
 *   client -> guest   LANE_PORT   guest -> client   LANE_PORT (+ socket)   then
 *   client -> guest   LANE_DIAL*  guest -> client   LANE_DIAL* (+ socket)
 *   boot connection   guest: LANE_HELLO   host: LANE_SECRET*  LANE_PROXY  LANE_LISTEN (+ socket)   guest:
 * LANE_READY
 *
 * Used by the static guest as well as by the host: libc only.
 */
#ifndef LANE_WIRE_H
#define LANE_WIRE_H

#include <stdint.h>

#define LANE_VERSION 2
#define LANE_MSG_MAX 65536
/* argv and environment with a pointer for each word: the most that execve takes, however large the stack may
 * grow.  What it takes in there it says itself. */
#define LANE_WORDS_MAX ((uint32_t)6 << 20)
#define LANE_POINTER 8u

/* Where the guest finds its files inside the container.  The directory is a mount, read-only, so that not
 * even root in there can rename it or put another in its place; the guest's program is mounted over a file in
 * it. */
#define LANE_DIR "/.berth"
#define LANE_GUEST "init"
#define LANE_GUEST_PATH LANE_DIR "/" LANE_GUEST
#define LANE_GUEST_HEALTH "health"   /* its first argument as the container's health check */
#define LANE_GUEST_CONNECT "connect" /* as a program of commands: HOST PORT, through the proxy */
#define LANE_GUEST_ALONE "alone"   /* as the init of a container into which no descriptor passes */
#define LANE_GUEST_RELAY "relay"   /* in such a one: relay.c */
#define LANE_GUEST_RUN "run"       /* and before its commands: run.c */
#define GUEST_RUN_MARK "BERTH_RUN" /* the variable by which what a command started is known */
/* What that says on standard error of one that could not be run, before its name. */
#define GUEST_NOT_RUN "berth-guest: cannot run "
#define LANE_BOOT_SOCK "boot"
#define LANE_SECRETS_DIR "/run/secrets"

/* Where commands find the proxy of a container without a network: on 127.0.0.1 and ::1. */
#define LANE_PROXY_PORT 3128

enum lane_type {
	LANE_HELLO = 1, /* struct lane_hello */
	LANE_SECRET,    /* name NUL value */
	LANE_STAT,      /* path: what is there?  answered by LANE_STATED */
	LANE_STATED,    /* struct lane_stated */
	LANE_LISTEN,    /* the listening socket, as SCM_RIGHTS */
	LANE_READY,     /* nothing */
	LANE_WORDS,   /* a piece of the NUL-terminated words, cut anywhere: cwd, argv..., env... */
	LANE_RUN,     /* struct lane_run, and two or three pipe ends */
	LANE_RESIZE,  /* uint16_t columns, rows */
	LANE_CANCEL,  /* end the whole tree now */
	LANE_STARTED, /* uint32_t: the supervisor's pid in there; from now on it may run */
	LANE_ENDED,   /* struct lane_ended */
	LANE_PROXY,   /* nothing: listen for clients of a proxy, before any command runs */
	LANE_LISTENERS, /* nothing; answered by itself with the listening sockets, as SCM_RIGHTS */
	LANE_PORT, /* uint16_t: connect to that port; answered with a socket that is not connected, as SCM_RIGHTS */
	LANE_DIAL, /* uint32_t: its number; answered by struct lane_dialled, and the socket */
};

struct lane_msg {
	uint16_t type;
	uint16_t version;
	uint32_t len;
};

struct lane_hello {
	uint32_t pid; /* must be 1 */
	uint32_t uid, gid;
};

struct lane_dialled {
	uint32_t number;
	int32_t error; /* errno, or 0 with a socket that is connected or about to be */
};

struct lane_stated {
	int32_t error; /* errno, or 0 */
	uint32_t mode;
	uint64_t dev, ino;
};

enum {
	LANE_TTY = 1, /* a terminal: two pipes (in, out) instead of three */
};

struct lane_run {
	uint32_t flags;
	uint32_t argc,
		envc; /* words after the first, which is the working directory ("" for none) */
	uint32_t timeout_ms; /* 0: none */
	uint16_t columns, rows;
};

enum lane_how {
	LANE_EXIT = 1,  /* code is the exit code */
	LANE_BY_SIGNAL, /* code is the signal */
	LANE_TIMED_OUT,
	LANE_CANCELLED,
	LANE_NOT_RUN, /* code is errno: of execve, or of what went wrong before it (stage) */
};

enum lane_stage { LANE_AT_EXEC = 1, LANE_AT_CWD, LANE_AT_FORK, LANE_AT_SETUP, LANE_AT_REQUEST };

struct lane_ended {
	uint32_t how, code, stage;
	uint32_t left; /* processes the guest could not end: the host must */
	uint64_t wall_ns, user_us, system_us, max_rss_bytes;
};

#endif
