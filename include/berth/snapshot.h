/*
 * snapshot.h - the state of the world, as of one moment.
 *
 * The backend publishes an immutable, reference-counted snapshot in one arena; the newest wins.
 * State is here; what happened (log lines, engine events, results) comes as messages (message.h).
 *
 * Thread: read from any; everything is const after publication.  All strings are raw outside text
 * (bounded, never NULL unless said so): neutralise them before they reach a terminal.
 * Units are in the names; *_ns is CLOCK_MONOTONIC, *_wall_ms is Unix time; -1 means unknown.
 */
#ifndef BERTH_SNAPSHOT_H
#define BERTH_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job.h"

struct pool_info;

enum engine_phase {
	ENGINE_CONNECTING, /* never answered yet */
	ENGINE_UP,
	ENGINE_LOST, /* answered before; rows stay, with their age */
};

struct engine_state {
	enum engine_phase phase;
	int64_t since_ns;     /* when this phase began */
	int64_t retry_at_ns;  /* next attempt; 0 while up */
	const char *endpoint; /* "unix:///var/run/docker.sock" */
	const char *
		source; /* where it came from: "--host", "DOCKER_HOST", "context NAME", "default" */
	const char *id; /* the engine's own id; "" before the first answer */
	const char *name;                                             /* host name it reports */
	const char *version;                                          /* "20.10.24" */
	const char *api;                                              /* negotiated "1.41" */
	const char *product;                                          /* "docker", "podman" */
	const char *os, *kernel, *arch, *root_dir, *storage, *cgroup; /* "" when unknown */
	int cpus;
	uint64_t memory_bytes;
	bool apparmor;          /* it says that it puts AppArmor profiles around containers */
	bool local;             /* its containers' processes and cgroups are visible from here */
	bool read_only;         /* berth acts on nothing */
	const char *problem;    /* a sentence, or NULL */
	const char *unrecorded; /* why nothing can be recorded now; NULL: it can */
};

enum container_state {
	CONTAINER_CREATED,
	CONTAINER_RUNNING,
	CONTAINER_PAUSED,
	CONTAINER_RESTARTING,
	CONTAINER_REMOVING,
	CONTAINER_EXITED,
	CONTAINER_DEAD,
	CONTAINER_UNKNOWN,
};
const char *container_state_name(enum container_state s); /* "running" ... the engine's words */

enum health { HEALTH_NONE, HEALTH_STARTING, HEALTH_HEALTHY, HEALTH_UNHEALTHY };
const char *health_name(enum health h); /* "" for NONE */

/* Whether what is mounted in a container of berth's is what was checked, since its present start. */
enum mounts_state {
	MOUNTS_STRANGER, /* berth here did not make it, or it does not run */
	MOUNTS_CHECKED,
	MOUNTS_CHANGED, /* started again by somebody else, and something else is mounted: nothing runs in it */
	MOUNTS_UNKNOWN, /* likewise, but they cannot be read back from here */
};
const char *mounts_state_name(enum mounts_state m); /* "checked", "changed", else "not checked" */

/* What can be done to a container by hand. */
enum act {
	ACT_NONE,
	ACT_START,
	ACT_STOP,
	ACT_RESTART,
	ACT_PAUSE,
	ACT_UNPAUSE,
	ACT_KILL,
	ACT_REMOVE,
	ACT_COUNT,
};
const char *act_name(enum act a);  /* "stop" */
const char *act_doing(enum act a); /* "stopping" */

enum stats_source { STATS_NONE, STATS_CGROUP, STATS_ENGINE };

#define SPARK_LEN 32 /* CPU samples kept in a row for its sparkline, newest last */

/* Equal to what `docker stats` shows: 100 % is one core, the page cache is subtracted. */
struct container_stats {
	enum stats_source source; /* STATS_NONE: not running, or not yet sampled */
	int64_t at_ns;            /* when the newest sample was taken */
	bool rates;               /* two samples were there: cpu and rates are real */
	double cpu_percent;
	uint64_t memory_bytes;
	uint64_t memory_limit_bytes; /* the host's memory when unlimited */
	bool memory_limited;         /* a limit below the host's memory is set */
	bool net;                    /* false: no network, or not readable */
	double net_rx_bytes_per_s, net_tx_bytes_per_s;
	double block_read_bytes_per_s, block_write_bytes_per_s;
	uint64_t net_rx_bytes, net_tx_bytes, block_read_bytes, block_write_bytes; /* totals */
	uint64_t pids, pids_limit; /* limit 0: none */
	uint16_t spark[SPARK_LEN]; /* CPU in tenths of a percent, saturating */
	int spark_len;
};

struct container {
	const char *engine; /* engine id: with `id` the identity of this row */
	const char *id;     /* 64 hex digits */
	const char *name;   /* without the leading slash */
	const char *image, *image_id, *command;
	const char *ports;    /* "8080→80/tcp 443/tcp"; "" before it was inspected */
	const char *networks; /* by name: "bridge shop_internal" */
	const char *agent, *session, *role;            /* berth.* labels; "" when absent */
	const char *compose_project, *compose_service; /* "" when absent */
	enum container_state state;
	enum health health;     /* of a check of its image's or its maker's */
	enum health own_health; /* of the check that berth gives its containers, once an hour */
	enum mounts_state mounts;
	int exit_code; /* meaningful for exited and dead */
	bool oom_killed;
	int64_t created_wall_ms, started_wall_ms, finished_wall_ms;
	int restarts;
	int pid;             /* init process on the engine's host; 0 when not running */
	int64_t seen_ns;     /* when the engine last confirmed this row */
	enum act pending;    /* an act of ours is in flight */
	const char *problem; /* the sentence of the last failed act on it, or NULL */
	struct container_stats stats;
};

/* A container as the person saw it when choosing it; never looked up again by name. */
struct target {
	const char *engine, *id, *name;
};

/* What can be done to an agent. */
enum agent_act {
	AGENT_LEAVE,
	AGENT_BRING_UP,
	AGENT_TAKE_DOWN,
	AGENT_RECREATE,
	AGENT_RUN,
	AGENT_ACT_COUNT
};
const char *agent_act_name(enum agent_act a);  /* "bring up" */
const char *agent_act_doing(enum agent_act a); /* "coming up" */

enum agent_state {
	AGENT_DOWN,     /* defined, and not up */
	AGENT_UP,       /* its container runs */
	AGENT_STOPPED,  /* its container is there, but does not run */
	AGENT_GONE,     /* its session goes on, but its container is not there any more */
	AGENT_STRANGER, /* a container calls itself so, which berth did not make here */
};
const char *agent_state_name(enum agent_state s); /* "down", "up" ... */

/* One thing that was asked for, and what it is. */
struct agent_check {
	const char *what, *asked, *actual;
	bool same;
};

/* A command that an agent runs, or ran last. */
struct agent_command {
	uint64_t seq;                         /* names it within its agent */
	const char *text;                     /* its words, as a shell would read them */
	int64_t started_wall_ms, duration_ms; /* duration: so far, while it runs */
	const char *ended;                    /* "exit 0", "timeout" ...; "" while it runs */
	bool good;                            /* ended with 0 */
};

/* An agent: as defined in a team file, as on record since it came up, and its container. */
struct agent {
	const char *id, *role;
	const char *name;    /* of its container: the identity of this row */
	const char *session; /* "" when down */
	const char *file;    /* the team file; "" unknown */
	const char *base;  /* what relative paths in it count from, where that is not its folder */
	const char *image; /* asked for; the container's own where no definition is known */
	const char *workspace;
	enum agent_state state;
	bool defined;   /* stands in `file` as that is now */
	bool lane;      /* commands take the fast lane, not the engine's exec */
	bool lane_lost; /* it is there, and the init does not answer: nothing runs */
	enum mounts_state mounts;
	const char *mounts_problem; /* the sentence that refuses to run anything in it, or NULL */
	bool secrets_gone;          /* with an earlier start, and nothing runs without them */
	const struct container *container; /* NULL: none */
	enum agent_act pending;            /* an act of ours is under way */
	const char *problem;               /* the sentence of the last act that failed, or NULL */
	/* What berth runs in it now, oldest first, at most 16 of nrunning; and what ended last. */
	size_t nrunning, ncommands;
	const struct agent_command *commands;
	const struct agent_command *last; /* NULL: none yet */
	/* Asked for against what is in force, as of checked_wall_ms (0: not yet). */
	int64_t checked_wall_ms;
	size_t nchecks, ndrift; /* drift: those that are not the same */
	const struct agent_check *checks;
	size_t nloosened;
	const char *const *loosened;
};

struct key_value {
	const char *key, *value;
	bool secret; /* value is already masked */
};

struct mount_info {
	const char *type, *source, *target;
	bool read_only;
};

struct process_info {
	int pid; /* on the engine's host */
	const char *user, *state, *command;
	double cpu_percent; /* -1 unknown */
	uint64_t memory_bytes;
	int64_t cpu_ms; /* CPU time used so far */
};

/* One line of the security posture. */
struct posture_item {
	enum { POSTURE_GOOD, POSTURE_LOOSE, POSTURE_UNKNOWN } verdict;
	const char *what; /* "non-root 1000:1000", "no capabilities", "seccomp default" ... */
};

#define SERIES_LEN 180
/* History for charts, oldest first; one value per sample. */
struct series {
	int len;
	float v[SERIES_LEN];
};

/* All there is to know about the one container in focus (CMD_FOCUS). */
struct detail {
	const char *engine, *id;
	bool inspected;      /* the fields from config on are filled */
	const char *problem; /* why not, or NULL */
	double interval_s;   /* between two values of a series */
	struct series cpu_percent, memory_bytes, net_rx, net_tx, block_read, block_write;
	size_t nconfig;
	const struct key_value
		*config; /* image, command, workdir, restart policy, ports, networks ... */
	size_t nenv;
	const struct key_value *env; /* secret-looking values masked */
	size_t nlabels;
	const struct key_value *labels;
	size_t nmounts;
	const struct mount_info *mounts;
	size_t nlimits;
	const struct key_value *limits; /* "memory" -> "2.0G, enforced" ... */
	size_t nposture;
	const struct posture_item *posture;
	size_t nprocesses;
	const struct process_info *processes;
};

struct host_stats {
	double cpu_percent; /* of all cores together, 0..100 */
	int cpus;
	uint64_t memory_total_bytes, memory_available_bytes;
	uint64_t disk_total_bytes, disk_free_bytes; /* of the engine's root, when local; else 0 */
	double load1, load5, load15;
	int64_t uptime_s;
	struct series cpu, memory;
};

struct self_stats {
	double cpu_percent;    /* of one core */
	uint64_t memory_bytes; /* resident */
	int fds;
	double sweep_us; /* duration of the last stats sweep */
	double hz;       /* sampling rate now in force */
};

struct snapshot {
	uint64_t seq; /* grows by one per publication */
	int64_t at_ns, at_wall_ms;
	struct engine_state engine;
	struct host_stats host;
	struct self_stats self;
	bool listed;     /* the list of containers has been received at least once */
	bool stats_done; /* every running container has rates */
	size_t ncontainers;
	const struct container *containers; /* sorted by name, then id */
	size_t nagents;
	const struct agent *agents; /* by id, then name of the container */
	size_t npools;
	const struct pool_info *pools; /* warm containers of tools (pool.h), of all keepers */
	size_t njobs;
	const struct job_info *jobs;   /* running ones first, then newest first */
	const struct detail *detail;   /* NULL when nothing is in focus */
	int orphans;                   /* containers of ours that nobody else will remove */
	int images, networks, volumes; /* counts, -1 unknown */
};

struct snapshot *snapshot_ref(const struct snapshot *s);
void snapshot_unref(const struct snapshot *s); /* NULL is fine */

/* The row with this identity, or NULL.  `id` may not be abbreviated. */
/* Its containers, each in one state; unhealthy ones are running ones, too. */
struct container_counts {
	int state[CONTAINER_UNKNOWN + 1], unhealthy;
};
struct container_counts snapshot_counts(const struct snapshot *s);
/* Mean of its jobs that have not ended, 0..1; -1: there are none, or of one at work it is not known. */
double snapshot_progress(const struct snapshot *s);
const struct container *snapshot_find(const struct snapshot *s, const char *engine, const char *id);

#endif
