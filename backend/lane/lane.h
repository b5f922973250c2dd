/*
 * lane.h - the fast lane: commands in a container without asking the engine.
 *
 * Every container that berth makes on a local engine has berth-guest as PID 1 and a lane directory
 * <runtime dir>/lanes/NAME, mounted into it read-only, with two sockets: `boot`, on which the guest
 * asks for the other one, and `lane`, on which it then listens.  Why a unix socket in a directory
 * and not the attached stream: several berth processes use it at once, it survives each of them, it
 * needs no engine at all, and the kernel gives every command its own flow control.
 *
 * Before a byte is sent the socket is opened by O_PATH | O_NOFOLLOW, checked to be a socket, and
 * its listener checked to be process 1 of its PID namespace in a cgroup that holds the full
 * container id. A guest can only lie about the result of the command it was asked to run.
 *
 * Thread: any; a connection has one owner.  Nothing here blocks longer than the timeouts named.
 */
#ifndef LANE_LANE_H
#define LANE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <berth/err.h>

#include "lane/wire.h"

#define LANE_NAME_MAX 64
#define LANE_ID_MAX 65
#define LANE_PATH_MAX 256

/* What the registry knows of one container; `<name>.lane` beside its directory. */
struct lane_about {
	char name[LANE_NAME_MAX];  /* the container's name */
	char id[LANE_ID_MAX];      /* full container id; "" while it is being made */
	char agent[LANE_NAME_MAX]; /* "" for a tool */
	char engine[128], session[64];
};

/* The host's side of making a container: directory and sockets exist before it starts. */
struct lane_offer {
	char dir[LANE_PATH_MAX]; /* bind-mount this, read-only, at LANE_DIR */
	int boot, lane;          /* listening sockets */
	pid_t guest;             /* the init on the host, once it was handed over; else 0 */
};

struct lane_secret {
	const char *name, *value;
	size_t len;
};

/* What the guest must find at `target`: the file that was checked as the mount's source. */
struct lane_mount {
	const char *target;
	dev_t dev;
	ino_t ino;
};

/* Make directory and sockets, replacing what a dead container of that name left. */
int lane_prepare(const char *name, struct lane_offer *ret, struct err *e);
/* Wait (timeout_ms) for the guest of container `id`, compare the mounts (ERR_REFUSED when one
 * differs), hand over secrets and socket, write the registry.  Closes the offer's descriptors
 * whatever happens. */
int lane_hand_over(struct lane_offer *o, const struct lane_about *about,
	const struct lane_mount *mounts, size_t nmounts, const struct lane_secret *secrets,
	size_t nsecrets, int timeout_ms, struct err *e);
void lane_offer_release(struct lane_offer *o);
/* The container is gone: remove directory and registry entry. */
void lane_forget(const char *name);

/* <runtime dir>/lanes/NAME, whether or not it is there; refuses names that are no single harmless
 * component. */
int lane_place(const char *name, char path[LANE_PATH_MAX], struct err *e);

/* Find by container name or by agent.  ERR_NOT_FOUND when no lane is known. */
int lane_find(const char *name_or_agent, struct lane_about *ret, struct err *e);

struct lane_request {
	const char *const *argv;
	size_t argc;
	const char *const *env; /* "NAME=value", added to the container's */
	size_t envc;
	const char *cwd;        /* NULL: the container's */
	struct lane_run limits; /* flags, timeouts, size and limits; argc and envc are filled in */
};

struct lane_command {
	int conn; /* readable: call lane_next */
	int in, out,
		error; /* our ends, non-blocking, -1 when closed; with a terminal error is -1 */
	pid_t guest;   /* host pid of the container's init */
};

/* Connect to the lane of `about` and start a command.  ERR_NOT_FOUND: no usable lane (fall back to
 * the engine's exec); anything else: the lane is there but the request is wrong. */
int lane_start(const struct lane_about *about, const struct lane_request *r,
	struct lane_command *ret, struct err *e);
/* One message: 1 started, 2 ended (*end filled), 0 nothing yet, -1 the lane broke. */
int lane_next(struct lane_command *c, struct lane_ended *end, struct err *e);
int lane_signal(struct lane_command *c, int sig);
int lane_resize(struct lane_command *c, int columns, int rows);
int lane_cancel(struct lane_command *c);
void lane_command_release(struct lane_command *c);

#endif
