/*
 * egress.h - the public header of this module: starting an agent's end, and its files.
 *
 * An agent in a container without a network reaches what its rules allow through its end: a process of the host, one for
 * each container, which accepts on sockets that the container's init made on its own loopback before any command ran
 * (lane_listeners), dials, and ends when that init ends.  Public words (rules, what an end says): berth/egress.h.
 */
#ifndef EGRESS_EGRESS_H
#define EGRESS_EGRESS_H

#include <berth/egress.h>
#include <berth/str.h>

#define EGRESS_PATH_MAX 280
#define EGRESS_RULES_BYTES (EGRESS_RULES_MAX * (EGRESS_HOST_MAX + 64))
#define EGRESS_PROGRAM "berth-egress"
#define EGRESS_FIGURES ".figures" /* of its routes (berth/route.h) */
#define EGRESS_ROUTES ".routes"
#define EGRESS_RELAY ".relay"

/* What the program finds open. */
enum { EGRESS_FD_CONTROL = 3, EGRESS_FD_GUEST, EGRESS_FD_LANE, EGRESS_FD_LISTENER };

/* <runtime dir>/egress/NAME and suffix; the folder is made. */
int egress_place(const char *name, const char *suffix, char path[EGRESS_PATH_MAX], struct err *e);

/* Rules as text, a line each: "allow session 1700000000 pypi.org". */
int egress_read_rules(
	const char *text, size_t len, struct egress_rule *out, size_t *n, struct err *e);
/* As they are, without writing them down. */
int egress_tell_saved(const char *name, const struct egress_rule *rules, size_t n, struct err *e);
int egress_tell_rules(const char *name, const char *text, size_t len, struct err *e);
/* Routes with their keys (route_tell.c), to the end that runs: on no disk. */
int egress_tell_routes(const char *name, const char *text, size_t len, struct err *e);

/* Where no descriptor crosses (or the definition says so), clients come by a program in the container (relay_start.c). */
struct egress_relay {
	char socket[108]; /* the engine's, a path */
	char id[65];      /* of the container */
	char user[24];    /* UID:GID that it runs as */
	pid_t init;       /* of the container, as the host numbers it */
};
/* From here on that way, also when the end is started again; NULL: by descriptors. */
int egress_keep_relay(const char *name, const struct egress_relay *r, struct err *e);
/* 1: that way; 0: by descriptors. */
int egress_kept_relay(const char *name, struct egress_relay *ret, struct err *e);
/* Run it: its input and output, for an end that has no other.  Blocks, 30 s at most.  ERR_CONFLICT: the port is taken. */
int egress_open_relay(const char *name, const struct egress_relay *r, struct err *e);

/* Start the end of the container `name` (full id `id`), whose lane is open; one that runs is
 * left alone.  Its rules are on disk.  Blocks for the time of a process's start. */
int egress_start(const char *name, const char *id, struct err *e);
/* One that stands still, or is of a berth with other words, is ended: nothing can be told it, and no other started beside it. */
int egress_end_silent(const char *name, struct err *e);

/* What is told of routes but for the keys, to be told again after a start by who keeps the end: on disk, with references in
 * the keys' place (keeper/kept_routes.c).  `text` "": there are none. */
int egress_keep_routes(const char *name, const char *text, size_t len, struct err *e);
int egress_kept_routes(const char *name, struct str *ret, struct err *e);
/* As egress_start, and what starts is told these routes before anybody else can: 0.  1: one runs, and nothing was said. */
int egress_start_again(
	const char *name, const char *id, const char *routes, size_t len, struct err *e);

/* What the team file and the engine say. */
struct egress_file_rules {
	const char *const *allow, *const *deny;
	const char *const
		*networks; /* subnets of the engine's networks; the public ones become rules */
	size_t nallow, ndeny, nnetworks;
	uint16_t ask_s;
	const char *upstream; /* as egress_parse_upstream reads it, NULL: none */
	uint64_t rate;        /* bytes a second, 0: none */
};
/* It takes the place of what they said before; decisions of a person stay. */
int egress_put_file_rules(const char *name, const struct egress_file_rules *f, struct err *e);

/* --- on the control socket --- */

enum egress_question_kind {
	EGRESS_ASK_USAGE = 1,
	EGRESS_ASK_LOG,
	EGRESS_TELL_RULES,
	EGRESS_ASK_QUEUE,
	EGRESS_WATCH,  /* the queue now, and again whenever it has changed */
	EGRESS_DECIDE, /* struct egress_decision behind it; answered by a verdict */
	EGRESS_TELL_ROUTES,
	EGRESS_REQUEST, /* struct egress_wish behind it; answered by a verdict when it is decided */
	EGRESS_ASK_REACHED,
};
#define EGRESS_MESSAGE_MAX (EGRESS_RULES_BYTES + 16)

struct egress_question {
	uint32_t what;  /* enum egress_question_kind */
	uint32_t count; /* events wanted, or bytes behind it */
};

struct egress_decision {
	struct egress_target to;
	uint32_t answer; /* enum egress_answer */
};

struct egress_wish {
	struct egress_target to;
	char reason[EGRESS_REASON_MAX];
};

struct egress_said {
	uint32_t
		verdict; /* EGRESS_ALLOWED, EGRESS_DENIED ...; of a decision EGRESS_ALLOWED: it was the first */
	uint32_t alone; /* EGRESS_NO_RULE: nobody is there to be asked */
	uint32_t once;  /* EGRESS_ALLOWED: for one connection */
};

#define EGRESS_QUEUE_BYTES(n) \
	(offsetof(struct egress_queue, asked) + (n) * sizeof(struct egress_asked))

/* The socket of an end (EGRESS_SOCK), or of what has ports open, for people; connected (`block`: each wait on it ends
 * after 2 s), or listening. */
#define EGRESS_SOCK ".sock"
#define EGRESS_PORTS ".ports" /* which are open (port_open.c) */
#define EGRESS_PORTS_SOCK ".ports.sock"
int egress_dial(const char *name, const char *suffix, bool block, struct err *e);
int egress_listen(const char *name, const char *suffix, struct err *e);
/* One message with descriptors, which become the receiver's; at most EGRESS_FDS_MAX.  -1 with errno: it is of another
 * size, or more than that came. */
#define EGRESS_FDS_MAX 2
int egress_say(int conn, const void *bytes, size_t size, const int *fds, int nfds);
int egress_hear(int conn, void *bytes, size_t size, int fds[EGRESS_FDS_MAX], int *nfds);

/* Start `argv` of EGRESS_PROGRAM with given[3] to given[n - 1] open at these numbers, and nothing else. */
#define EGRESS_GIVEN_MAX (EGRESS_FD_LISTENER + 2)
int egress_spawn(const char *name, char *const argv[], int *given, int n, struct err *e);

/* Containers that have the file, by name. */
size_t egress_places(const char *suffix, char (*names)[64], size_t most);

#endif
