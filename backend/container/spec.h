/*
 * spec.h - the specification of a container, with the hardening profile as data.
 *
 * Everything berth makes (agent, tool, pool, helper) is described by a struct spec and turned into
 * the body of POST /containers/create here and nowhere else.  Hardened by default: non-root, no
 * capability, no new privileges, berth's own seccomp profile, an AppArmor profile, read-only root with sized tmpfs,
 * memory = memory + swap, CPU, pids, file-size and open-file limits, no core files, private cgroup,
 * IPC and PID namespaces, no network, berth's guest as process 1.  What a definition loosens is
 * listed by spec_loosened.
 *
 * Sources: CIS Docker benchmark 1.6 section 5; Engine API 1.41 ContainerCreate.
 */
#ifndef CONTAINER_SPEC_H
#define CONTAINER_SPEC_H

#include <berth/arena.h>
#include <berth/err.h>
#include <berth/str.h>
#include <berth/team.h>

#include "engine/engine.h"
#include "team/mounts.h"

enum spec_role { SPEC_AGENT, SPEC_TOOL, SPEC_POOL, SPEC_HELPER };
const char *spec_role_name(enum spec_role r); /* the berth.role label */

struct spec {
	enum spec_role role;
	const struct product *product;                /* whose engine makes it; NULL: docker's */
	const char *name;                             /* of the container */
	const char *agent;                            /* "" for none */
	const char *session, *engine, *proof, *owner; /* labels; owner NULL for agents */
	const char *image;
	const char *const *entry; /* NULL: the guest; else run as PID 1 under no init (helpers) */
	size_t nentry;
	uid_t uid;
	gid_t gid;
	const char *workdir; /* NULL: the image's */
	const char *home;    /* volume to mount as HOME; NULL: HOME is on the tmpfs */
	struct limits limits;
	enum net_mode network;
	const char *net_id;   /* NET_INTERNAL: the engine's network */
	bool proxy;           /* without a network, and its init listens for clients of a proxy */
	bool relay;           /* these come by a relay, and its init listens for nobody */
	const char *own_host; /* by what its proxy reaches the host's loopback; NULL */
	uint64_t
		net_rate; /* bytes per second, each way; 0: unlimited.  Set after the start (rate.h) */
	bool sudo;        /* root inside, writable root, apt's capabilities, new privileges */
	bool writable_root;      /* helpers only */
	const char *const *caps; /* helpers only: exactly these */
	size_t ncaps;
	const struct words *env;       /* "NAME=value" */
	const struct words *route_env; /* what leads programs to routes; env counts more */
	struct mount_list mounts;
	const char *
		apparmor; /* the profile that it is held by; NULL: not asked for, "": any (armour.h) */
	bool apparmor_optional; /* loosened: nor is it looked at */
	const char *runtime;    /* of the engine; NULL: its default */
	bool no_lane; /* that runtime lets no descriptor in: its init asks for no lane (sandbox.h) */
	bool secrets; /* a tmpfs at /run/secrets */
	const char *
		seccomp_file; /* where an engine that wants it so finds the filter; set when it is made */
	uint64_t user_processes; /* ulimit nproc; 0: the engine's own; likewise */
	const struct words
		*handed[2]; /* names of secrets and variables; NULL: none.  Compared, not sent */
};

#define SPEC_HOME "/home/agent"

/* JSON for POST /containers/create. */
void spec_body(const struct spec *s, struct str *out);

/* 16 hex digits over everything that is asked for but the labels that differ each time. */
void spec_hash(const struct spec *s, char hash[17]);

/* Berth's filter as an engine takes it. */
void spec_seccomp(struct str *out);

/* What this product cannot be asked for, said by ERR_REFUSED. */
int spec_refuses(const struct spec *s, struct err *e);

/* The file systems in memory that it is given. */
struct memory_fs {
	const char *target;
	uint64_t bytes, files; /* at most */
	bool exec, owned;      /* owned: by the user inside, else by root */
	unsigned mode;
};
#define SPEC_MEMORY_MAX 5
size_t spec_memory(const struct spec *s, struct memory_fs out[SPEC_MEMORY_MAX]);

/* A share of more cores than the engine's machine has (`there`; 0: it does not say) is all of them: Docker refuses
 * to ask for more, and the default of two would keep agents from machines with one. */
double spec_cpus(double asked, int there);

/* The capabilities left to it; a table of ours. */
size_t spec_caps(const struct spec *s, const char *const **out);

/* One sentence for each thing looser than the default; returns how many. */
size_t spec_loosened(const struct spec *s, const char *out[8]);

/* The environment of commands: HOME, PATH, package prefixes on the home volume, then the
 * definition's. */
void spec_environment(const struct spec *s, struct arena *mem, const char *const **env, size_t *n);

#endif
