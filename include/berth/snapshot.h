/*
 * snapshot.h - the state that the console displays, at one moment.
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

#include "calls.h"
#include "job.h"
#include "terminal_status.h"

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
	const char *runtimes;   /* that it has, the default first: "runc, runsc"; "" unknown */
	bool apparmor;          /* it says that it puts AppArmor profiles around containers */
	uint64_t lacks;         /* what it cannot do: bits of enum lack (product.h) */
	bool local;             /* its containers' processes and cgroups are visible from here */
	bool read_only;         /* berth acts on nothing */
	const char *problem;    /* a sentence, or NULL */
	const char *unrecorded; /* why nothing can be recorded now; NULL: it can */
};

#define HOSTS_MAX 64 /* engines shown together */

/* One of several engines that are shown together. */
struct engine_host {
	const char *name; /* as the settings or docker's contexts call it, or as it is reached */
	struct engine_state engine;
	bool listed;        /* its containers are known */
	bool ended;         /* it failed, and is not tried again (backend_options.once) */
	int64_t heard_ns;   /* when it last said anything; 0: never */
	int64_t latency_us; /* of its last answer to a small question; -1 unknown */
	uint32_t containers, running;
	double cpu_percent; /* of those that run, together */
	uint64_t memory_bytes;
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
bool container_is_up(enum container_state s);             /* running, paused or restarting */
const char *container_state_name(enum container_state s); /* "running" ... the engine's words */

enum health { HEALTH_NONE, HEALTH_STARTING, HEALTH_HEALTHY, HEALTH_UNHEALTHY };
const char *health_name(enum health h); /* "" for NONE */

/* Whether what is mounted in a container of berth's is what was checked, since its present start. */
enum mounts_state {
	MOUNTS_STRANGER, /* berth here did not make it, or it does not run */
	MOUNTS_CHECKED,
	MOUNTS_CHANGED, /* restarted by another program, with other mounts: nothing runs in it */
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
	double cpu_limit_percent;  /* 200 is two cores; 0: none, or not known */
	bool throttles;            /* its CPU has a limit, and this is known: */
	double throttled_percent;  /* of the limit's periods, those in which it was stopped by it */
	bool pressed;              /* known, of the last ten seconds, in percent (PSI, "some"): */
	double pressure_cpu, pressure_memory, pressure_io; /* something in it waited for these */
	uint16_t spark[SPARK_LEN]; /* CPU in tenths of a percent, saturating */
	int spark_len;
};

struct container {
	const char *engine; /* engine id: with `id` the identity of this row */
	const char *id;     /* 64 hex digits */
	const char *name;   /* without the leading slash */
	const char *host;   /* of several (struct engine_host); "" where there is one */
	bool lost;          /* its engine is: all that stands here is old */
	const char *image, *image_id, *command;
	const char *ports;    /* "8080→80/tcp 443/tcp"; "" before it was inspected */
	const char *networks; /* by name: "bridge shop_internal" */
	const char *binds;    /* paths of the engine's host that are mounted in it, one a line */
	const char *agent, *session, *role; /* berth.* labels; "" when absent */
	const char *proof;                  /* likewise: that berth here made it (agents_made) */
	const char *compose_project, *compose_service; /* "" when absent */
	size_t nlabels; /* all of them, where they were asked for (backend_options.labels); else 0 */
	const struct key_value *labels;
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
	enum act pending;    /* an operation of this console is in progress */
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
	AGENT_GONE,     /* its session is open, but its container no longer exists */
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

/* One of an agent's own terminals. */
struct agent_terminal {
	const char *name, *title; /* title: of a list (terminal_title_text) */
	const char *reason;       /* why it is said to do that */
	enum terminal_does does;
	int64_t since_wall_ms; /* 0: not known */
	uint64_t question;     /* TERMINAL_WAITING: the newest one has the greatest number */
	int exit_code;         /* TERMINAL_OVER */
};

enum agent_egress_state {
	AGENT_EGRESS_NONE, /* its network is another one */
	AGENT_EGRESS_ON,
	AGENT_EGRESS_LOST, /* its end on this machine is away: it reaches nothing */
};

/* What an agent without a network reaches through berth (egress.h). */
struct agent_egress {
	enum agent_egress_state state;
	uint32_t rules, open;
	uint32_t held; /* connections and requests that wait for a person */
	uint32_t ask_s;
	bool relayed; /* no descriptor crosses: by a program in its container */
	uint64_t connections, refused, up_bytes, down_bytes; /* since its end began */
};

/* A request of an agent that waits for a decision, or was refused because no console was open. */
struct agent_ask {
	const char *agent, *container; /* id, and its container's name */
	const char *host; /* in letters, digits and -: names in other scripts as punycode */
	uint16_t port;
	int64_t first_wall_ms, last_wall_ms;
	uint32_t count, held;         /* asked so often; so many wait now */
	const char *process, *reason; /* the agent's words, raw; "" unknown */
};

/* Why a person should look at an agent, from the least grave to the gravest. */
enum attention {
	ATTENTION_NONE,
	ATTENTION_DRIFT,
	ATTENTION_IDLE, /* for longer than usual */
	ATTENTION_BUSY, /* likewise */
	ATTENTION_FAILED,
	ATTENTION_RESTARTED,
	ATTENTION_PIDS, /* near its limit; from here on it keeps the agent from working, or soon will */
	ATTENTION_MEMORY,
	ATTENTION_BUDGET,
	ATTENTION_UNHEALTHY,
	ATTENTION_RESTARTING,
	ATTENTION_EGRESS,
	ATTENTION_STOPPED,
	ATTENTION_SECRETS,
	ATTENTION_LANE,
	ATTENTION_HELD, /* berth has it stand still, or lets nothing new begin in it */
	ATTENTION_MOUNTS,
	ATTENTION_TERMINAL, /* one of its terminals waits for a person */
	ATTENTION_LET_OUT,
	ATTENTION_APPROVAL,
	ATTENTION_PROBLEM,
};

/* What it does against what its commands did before. */
enum agent_pace { PACE_USUAL, PACE_IDLE, PACE_BUSY };

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
	bool defined;   /* `file` still defines it */
	bool lane;      /* commands take the fast lane, not the engine's exec */
	bool no_lane;   /* its runtime has a kernel of its own, where none can be */
	bool lane_lost; /* it is there, and the init does not answer: nothing runs */
	enum mounts_state mounts;
	const char *mounts_problem; /* the sentence that refuses to run anything in it, or NULL */
	struct agent_egress egress;
	bool secrets_gone; /* with an earlier start, and nothing runs without them */
	/* Of its routes with keys (berth/route.h), until down. */
	uint64_t routes, tokens, nano_dollars;
	bool budget_spent;                 /* of one of them: it is refused */
	const struct container *container; /* NULL: none */
	enum agent_act pending;            /* an operation of this console is in progress */
	const char *problem;               /* the sentence of the last act that failed, or NULL */
	const char *held; /* why berth has it stand still or refuses commands; NULL: it does not */
	int64_t asleep_wall_ms; /* since when it is paused for being idle; the next command wakes it; 0: it is not */
	uint32_t approvals; /* what it asks by `berth mcp` and waits for (job_info.asks) */
	bool restarted;     /* by its engine, not long ago */
	enum agent_pace pace;
	int64_t usual_ms;     /* with another pace than usual: the longest so far */
	int64_t need_wall_ms; /* since when agent_attention says what it says; 0: not known */
	/* What berth runs in it now, oldest first, at most 16 of nrunning; and what ended last. */
	size_t nrunning, ncommands;
	const struct agent_command *commands;
	const struct agent_command *last; /* NULL: none yet */
	struct calls_now calls;           /* what it asks of `berth mcp` */
	size_t nterminals, nwaiting;      /* those that wait come first, the longest before all */
	const struct agent_terminal *terminals;
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
	/* Of the engine's root, when local, as df has them; else 0.  Reserved blocks are neither used nor free. */
	uint64_t disk_total_bytes, disk_used_bytes, disk_free_bytes;
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
	struct engine_state engine; /* the one that was named: agents are its */
	size_t nhosts;
	const struct engine_host *hosts; /* all of them, that one first; none where it is alone */
	struct host_stats host;
	struct self_stats self;
	bool listed; /* the list of containers has been received at least once, from one of the hosts */
	bool stats_done; /* every running container has rates */
	bool agents_done; /* agents were looked at, with what they ask, and those that are up compared with their files */
	size_t ncontainers;
	const struct container *containers; /* sorted by name, then id, then as the hosts are */
	size_t nagents;
	const struct agent *agents; /* by id, then name of the container */
	size_t nasks;
	const struct agent_ask *asks; /* of all agents, by first_wall_ms */
	size_t npools;
	const struct pool_info *pools; /* warm containers of tools (pool.h), of all keepers */
	size_t njobs;
	const struct job_info *jobs;   /* running ones first, then newest first */
	const struct detail *detail;   /* NULL when nothing is in focus */
	int orphans;                   /* containers of berth's that nothing else will remove */
	int images, networks, volumes; /* counts, -1 unknown */
};

struct snapshot *snapshot_ref(const struct snapshot *s);
void snapshot_unref(const struct snapshot *s); /* NULL is fine */

/* The row with this identity, or NULL.  `id` may not be abbreviated. */
/* Its containers, each in one state; unhealthy ones are running, too.  Of several engines without those of lost ones. */
struct container_counts {
	int state[CONTAINER_UNKNOWN + 1], unhealthy;
};
struct container_counts snapshot_counts(const struct snapshot *s);
/* Why a person should look at this agent: the gravest reason, and it in words, "memory at 97 % of its limit"; "" and
 * ATTENTION_NONE: there is none. */
enum attention agent_attention(const struct agent *a, char *buf, size_t cap);
/* How it is reached from the host: "lane", "engine" (exec), "relay" (so does its network traffic leave, by a program in
 * its container), "lost"; NULL: it is not up, or nothing runs in it for its mounts. */
const char *agent_path(const struct agent *a);
/* Of every engine: it answered once, and does not now. */
bool snapshot_lost(const struct snapshot *s);
/* Whose rows carry that id; the first one's where none does. */
const struct engine_state *snapshot_engine(const struct snapshot *s, const char *engine);
int snapshot_attention(const struct snapshot *s); /* of how many agents that can be said */
size_t snapshot_held(const struct snapshot *s);   /* requests that wait for a decision now */
size_t snapshot_terminals_waiting(const struct snapshot *s); /* for a person */
/* Mean of its jobs that have not ended, 0..1; -1: there are none, or of one at work it is not known. */
double snapshot_progress(const struct snapshot *s);
const struct container *snapshot_find(const struct snapshot *s, const char *engine, const char *id);

#endif
