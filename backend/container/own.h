/*
 * own.h - decides which containers are berth's, by proof.
 *
 * A label proves nothing: `docker commit` hands labels on, and anybody may set them.  A container
 * is ours when its full id stands in our session record, or its berth.proof label is our keyed hash
 * (HMAC-SHA256, key in the state directory, mode 0600) over engine id, container name and session.
 *
 * A session lives from `up` to `down`, without any process of ours: its record is one file,
 * <state>/sessions/NAME.session.  What a process of ours made for itself (tool, pool, helper)
 * carries berth.owner, which names that process so exactly (machine, boot, PID namespace, pid,
 * start time) that it can be seen to be dead.
 *
 * Thread: any; files are written whole and renamed.
 */
#ifndef CONTAINER_OWN_H
#define CONTAINER_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/err.h>
#include <berth/str.h>

#define SESSION_MAX 33 /* 32 hex digits */
#define PROOF_MAX 65

struct session {
	char name[64]; /* of the container */
	char id[65];   /* full container id; "" until it is made */
	char engine[128];
	char session[SESSION_MAX];
	char agent[64];
	char spec[17];      /* hash of what was asked for */
	char file[512];     /* the team file it came from, absolute */
	char base[512];     /* what relative paths in it count from; "" in old records */
	char endpoint[512]; /* where its engine was reached; "" in old records */
	int64_t created_ms;
};

int session_new(struct session *s, struct err *e); /* fills in session and created_ms */
int session_save(const struct session *s, struct err *e);
int session_load(const char *name, struct session *ret, struct err *e); /* ERR_NOT_FOUND */
void session_forget(const char *name);
/* Lane, journal, rules and record go by the name alone.  ERR_CONFLICT: they are those of a container on
 * another engine. */
int session_here(const char *name, const char *engine, struct err *e);
/* Agents of that engine were brought up, and never at `endpoint`: whoever says there that it is that engine may be another.
 * `other` is where they were. */
bool session_at_other(const char *engine, const char *endpoint, char other[512]);
/* On this engine another container than `id` was brought up under that name, or as that agent. */
bool session_elsewhere(const char *name, const char *agent, const char *id, const char *engine);
/* Who brings up or takes down a name holds this (a descriptor; closing it lets go).  ERR_CONFLICT: another
 * does. */
int session_hold(const char *name, struct err *e);
/* Every record, for `down --all` and the search for orphans; at most max. */
size_t session_all(struct session *out, size_t max);

/* While an agent is brought up there are things whose session is not recorded yet.  Who brings one up
 * holds this (a descriptor; closing it lets go) and waits for those who take leftovers away. */
int sessions_enter(struct err *e);
bool sessions_making(void); /* does anybody? */
/* Nobody does, and nobody begins until this descriptor is closed; -1: somebody does. */
int sessions_exclude(void);

/* Hex HMAC over (engine, name, session).  Volumes and networks outlive sessions and have these in its
 * place. */
#define OWN_HOME "home"
#define OWN_NETWORK "network"
#define OWN_IMAGE "image"
int own_proof(const char *engine, const char *name, const char *session, char proof[PROOF_MAX],
	struct err *e);
bool own_proven(const char *engine, const char *name, const char *session, const char *proof);
/* Either: our session record names it, or it is proven.  All of its labels may be "". */
bool own_made(const char *engine, const char *name, const char *id, const char *session,
	const char *proof);

/* berth.owner of this process, JSON; and whether the process that such a label names still lives.
 * Owners on other machines or other boots are judged by those: another boot is dead, another
 * machine is not for us to say (alive). */
void own_label(struct str *out);
bool own_alive(const char *label);

#endif
