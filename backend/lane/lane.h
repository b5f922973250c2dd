/*
 * lane.h - the fast lane: commands in a container without asking the engine.
 *
 * Every container that berth makes on a local engine has berth-guest as PID 1 and a lane directory
 * <runtime dir>/lanes/NAME, mounted into it read-only.  While a lane is offered there is a socket in
 * it, `boot`, on which the guest asks for another one, NAME.sock beside the directory, and then listens
 * on that.  Why a unix socket and not the attached stream: several berth processes use it at once, it
 * survives each of them, it needs no engine at all, and the kernel gives every command its own flow
 * control.
 *
 * The lane's own name is in no container: a process that can connect to it can issue commands as the host, and one
 * container could open it for another (a path descriptor is enough).  A container that its engine starts
 * again has no lane until one is offered again.
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
#define LANE_MARGIN_MS 5000 /* the guest is given that long before the host acts */

/* What the registry knows of one container; `<name>.lane` beside its directory. */
struct lane_about {
	char name[LANE_NAME_MAX];  /* the container's name */
	char id[LANE_ID_MAX];      /* full container id; "" while it is being made */
	char agent[LANE_NAME_MAX]; /* "" for a tool */
	char engine[128], session[64];
};

/* The host's side of making a container: directory and sockets exist before it starts. */
struct lane_offer {
	char dir[LANE_PATH_MAX]; /* bind-mount this, read-only, at LANE_DIR, and the guest in it */
	int boot, lane;          /* listening sockets */
	pid_t guest;             /* the init on the host, once it was handed over; else 0 */
	bool proxy; /* in: its init shall listen for clients of a proxy (lane_listeners) */
	const char *apparmor; /* in: the profile that must hold it, "": any; NULL: not looked at */
	/* in: what is left to be done from outside, before it gets anything; NULL: nothing is */
	int (*finish)(void *ctx, pid_t guest, struct err *e);
	void *ctx;
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
/* New sockets in the directory of a container that runs: its init was started again and asks for them. */
int lane_prepare_again(const char *name, struct lane_offer *ret, struct err *e);
/* Wait (timeout_ms) for the guest of container `id`, compare the mounts (ERR_REFUSED when one
 * differs), hand over secrets and socket, write the registry.  Closes the offer's descriptors
 * whatever happens. */
int lane_hand_over(struct lane_offer *o, const struct lane_about *about,
	const struct lane_mount *mounts, size_t nmounts, const struct lane_secret *secrets,
	size_t nsecrets, int timeout_ms, struct err *e);
/* Container `about` has no lane: its commands go by the engine.  It is known by name and agent all the same. */
int lane_do_without(struct lane_offer *o, const struct lane_about *about, struct err *e);
/* That is so: it is known, and there is no socket. */
bool lane_is_none(const char *name);
/* An offer ends: nobody is asked in any more. */
void lane_offer_release(struct lane_offer *o);
/* The container is gone: remove directory and registry entry. */
void lane_forget(const char *name);

/* <runtime dir>/lanes/NAME, whether or not it is there; refuses names that are no single harmless
 * component. */
int lane_place(const char *name, char path[LANE_PATH_MAX], struct err *e);
/* Its socket, beside that. */
#define LANE_SOCK ".sock"

/* Find by container name, else by agent.  ERR_NOT_FOUND when no lane is known; ERR_USAGE: two that live are of that agent. */
int lane_find(const char *name_or_agent, struct lane_about *ret, struct err *e);

/* The sockets that the init of `about` listens on for clients of a proxy: 127.0.0.1, and ::1 where there is such a
 * thing.  Each was looked at: it listens, for TCP, at that address and port; nothing that an agent ever held.  *guest is the
 * init's number on the host.  Returns a connection, to be kept by who accepts: once it is closed the init tells clients that
 * nobody does. */
#define LANE_LISTENERS_MAX 2
int lane_listeners(const struct lane_about *about, int fds[LANE_LISTENERS_MAX], int *n,
	pid_t *guest, struct err *e);

/* A way to a port of the container's own loopback, for as long as the connection that this returns is open.  *guest is
 * its init's number on the host.  ERR_REFUSED: it has no network namespace of its own, so that loopback is the host's. */
int lane_port(const struct lane_about *about, uint16_t port, pid_t *guest, struct err *e);
/* Ask for one connection more; an answer with that number comes.  Does not block when the connection does not. */
int lane_port_ask(int conn, uint32_t number);
/* 1: the answer to *number: *fd is a TCP socket, connected or about to be, or -1 and *error says why; 0 nothing yet; -1
 * the lane broke.  The container may hold the socket as well: whoever reads it never waits and never splices. */
int lane_port_answer(int conn, uint32_t *number, int *fd, int *error);

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
		error;    /* our ends, non-blocking, -1 when closed; with a terminal error is -1 */
	pid_t guest;      /* host pid of the container's init */
	pid_t supervisor; /* of the command's tree, 0: it has not started, -1: not known */
	const char *id;   /* of the container; the caller's, must stay */
	int64_t asked_ns,
		due_ns;    /* monotonic: sent; the end must have been told by then, 0: whenever */
	int64_t looked_ns; /* monotonic: when it was last looked whether the container stands still, */
	bool still;        /* and whether it did: that time does not count */
	bool cancelled;    /* somebody waits for its end, frozen or not */
};

/* Connect to the lane of `about` and start a command.  ERR_NOT_FOUND: nobody listens there (the engine's
 * exec is left); anything else: the request is wrong, or the lane is lost, which says so. */
int lane_start(const struct lane_about *about, const struct lane_request *r,
	struct lane_command *ret, struct err *e);
/* Does its init answer, within timeout_ms?  Errors as above.  That of a paused container is not asked. */
int lane_try(const struct lane_about *about, int timeout_ms, struct err *e);
/* One message: 1 started, 2 ended (*end filled), 0 nothing yet, -1 the lane broke. */
int lane_next(struct lane_command *c, struct lane_ended *end, struct err *e);
int lane_resize(struct lane_command *c, int columns, int rows);
int lane_cancel(struct lane_command *c);
void lane_command_release(struct lane_command *c);

/* The guest ends what a command started; these are for when it does not answer.  How long the caller may
 * wait before lane_overdue is called; -1: for ever. */
int lane_wait_ms(const struct lane_command *c);
/* 0 nothing to be done yet; 2 the host has ended the command, *end is filled and *why says what happened;
 * -1 nothing can come of it. */
int lane_overdue(struct lane_command *c, struct lane_ended *end, struct err *why);
/* After lane_next gave -1: what is left of the command is ended; *end and *why as above. */
void lane_broke(struct lane_command *c, struct lane_ended *end, struct err *why);

/* Everything below the command's supervisor, or below nobody, as the host sees the container's cgroup; each
 * process is held by a descriptor and looked at again before it is killed.  Returns how many still live
 * after `limit_ms`: those that wait in the kernel cannot be ended by anybody. */
int lane_end_command(const struct lane_command *c, int limit_ms);
/* The whole container with its init: by cgroup.kill, or frozen and then killed.  How many still live. */
int lane_end_container(pid_t guest, const char *id, int limit_ms);
/* Somebody has paused the container: nothing in it can answer. */
bool lane_frozen(pid_t guest, const char *id);
/* All its processes stand still when this returns 0; else none do.  ERR_SYS: this user may not write the cgroup's
 * files (the engine's pause is left), ERR_TIMEOUT.  Freezing what stands still, and thawing what runs, is fine. */
int lane_freeze(pid_t guest, const char *id, int limit_ms, struct err *e);
int lane_thaw(pid_t guest, const char *id, struct err *e);
/* What runs in it but its init and supervisors without a command; the first `max` of them. */
size_t lane_commands(pid_t guest, const char *id, pid_t *ret, size_t max);
/* Ends them; how many still live after `limit_ms`.  Its init stays, and whoever waits for one is told. */
int lane_end_commands(pid_t guest, const char *id, int limit_ms);

/* Who of berth's froze a container, and why: <runtime dir>/frozen/ID, until it is thawed. */
struct lane_hold {
	pid_t by, init;   /* init: the container's */
	bool alive;       /* that process is; else what it froze was forgotten */
	bool brief;       /* for a moment: a checkpoint; else until a person decides */
	bool paused;      /* by the engine, which then calls it paused */
	int64_t since_ms; /* Unix time */
	char why[256]; /* words for a sentence: "its workspace holds more than its limit of 1.0G" */
};
int lane_hold_save(const char *id, const struct lane_hold *h, struct err *e);
bool lane_hold_read(const char *id, struct lane_hold *ret); /* false: nobody is known to have */
void lane_hold_forget(const char *id);
typedef void lane_hold_fn(void *ctx, const char *id, const struct lane_hold *h);
void lane_hold_each(lane_hold_fn *tell, void *ctx);
/* Before its engine ends it: what the kernel's freezer holds cannot die. */
void lane_hold_release(const char *id);

/* An agent that is paused by the engine once nothing has run in it for `after_s`: <runtime dir>/lanes/NAME.idle. */
#define LANE_IDLE ".idle"
struct lane_idle {
	char name[LANE_NAME_MAX], id[LANE_ID_MAX];
	pid_t init;
	int64_t after_s;  /* 0: never */
	char socket[108]; /* of its engine */
};
int lane_idle_save(const struct lane_idle *i, struct err *e);
size_t lane_idle_list(struct lane_idle *ret, size_t max);
uint64_t lane_cpu_ns(pid_t init, const char *id); /* used by all of it; 0: not known */
/* ERR_CONFLICT: something began in it, or it is paused by somebody else. */
int lane_idle_pause(const struct lane_idle *i, struct err *e);
/* 1: it was paused so, and goes on; 0: it was not.  What a person paused is left alone. */
int lane_wake(const char *id, struct err *e);
void lane_wake_all(pid_t by); /* that this process paused */
/* Since when, Unix ms, and by whom it is paused so; 0: it is not. */
int64_t lane_asleep(const char *id, struct lane_idle *ret, pid_t *by);
int lane_asleep_note(const struct lane_idle *i, struct err *e);
void lane_asleep_forget(const char *id); /* somebody else let it go on */

/* Nothing new is to begin in a container, says this process as long as it lives: <runtime dir>/refused/ID.  `why`:
 * words for a sentence. */
int lane_refuse(const char *id, const char *why, struct err *e);
/* LANE_ASLEEP: paused for being idle, to be woken. */
enum lane_room { LANE_ROOM, LANE_REFUSED, LANE_ASLEEP };
enum lane_room lane_room(const char *id, char *why, size_t cap);
bool lane_refused(const char *id, char *why, size_t cap); /* false: nobody who lives says so */
void lane_refuse_no_more(const char *id);

/* --- what the kernel says of processes and their containers --- */

/* file_text of /proc/PID/NAME; 0 or -1. */
int proc_file(pid_t pid, const char *name, char *buf, size_t cap);

/* Whether a cgroup of process `pid` is named after container `id`, a full id. */
bool proc_in_container(pid_t pid, const char *id);

#define CGROUP_PATH_MAX 4200

/* The path of `file` in the cgroup of `pid`, of one controller (v1) or of all ("": v2).  -1 unless that
 * cgroup is the container's. */
int cgroup_file(pid_t pid, const char *id, const char *controller, const char *file,
	char path[CGROUP_PATH_MAX]);

/* The oom_kill counter of the memory cgroup that process `pid` of container `id` is in; 0 when it cannot
 * be read.  Read before and after a command, it tells an OOM kill from any other SIGKILL. */
uint64_t oom_kills(pid_t pid, const char *id);

#endif
