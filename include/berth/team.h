/*
 * team.h - the contents of a team file: agents, tools, networks, secrets.
 *
 * Two forms are read.  berth's own (agents: is a map of id -> definition; every unknown key is an
 * error) and MassGen's configuration as it is (agent: or a list agents:; the keys of its
 * command_line_docker_* family count, others are ignored and listed, misspelt ones are errors).
 * Definitions are complete: defaults are filled in, paths absolute, sizes in bytes.
 *
 * Thread: plain data of its owner; everything lives in the team's arena.
 */
#ifndef BERTH_TEAM_H
#define BERTH_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "config.h"
#include "err.h"
#include "str.h"

enum team_kind { TEAM_BERTH, TEAM_MASSGEN };
enum net_mode { NET_NONE, NET_BRIDGE, NET_HOST, NET_INTERNAL };
const char *net_mode_name(enum net_mode m);

struct words {
	size_t n;
	const char *const *word;
};

struct place { /* where in the file something was said, for messages */
	int line, column;
};

struct path_grant {
	const char *path; /* absolute */
	bool write;
	bool handed;        /* what a bound task is given to read; no key of the file */
	const char *source; /* of one that is handed: what of the host lies there; NULL: path */
	bool final;         /* MassGen: write for its final agent only, see team_final */
	struct words protected_paths; /* absolute, below path; always read-only */
	struct place at;
};

struct credentials {
	struct words mount; /* ssh_keys git_config gh_config npm_config pypi_config */
	size_t nfiles;
	const struct credential_file {
		const char *source, *target;
	} * files;
	struct words env;       /* names taken from berth's own environment */
	const char *env_file;   /* NAME=value lines; NULL */
	struct words from_file; /* of these only those names; none: all */
	bool lenient; /* MassGen's: missing variables and files are skipped, with a warning */
};

struct limits {
	uint64_t memory_bytes; /* memory + swap */
	double cpus;
	int64_t pids;
	uint64_t tmp_bytes;  /* /tmp */
	uint64_t file_bytes; /* largest file */
	int64_t open_files;
	int64_t timeout_s;     /* of one command; 0: none */
	uint64_t output_bytes; /* kept of one command; the rest is dropped and counted */
};

/* routes: {NAME: {to: ..., header: ..., allow: [...]}} (berth/route.h); each part of it can be parsed. */
struct route_def {
	const char *name, *to, *header;
	const char *secret; /* the name in team.secrets that header asks for */
	const char *ca; /* a file of certificates to be trusted instead of the machine's; NULL */
	struct words allow;
	struct words env,
		key_env; /* variables: "NAME" or "NAME=/path" with its address; with a placeholder */
	int64_t requests; /* a minute; 0: unlimited */
	uint64_t bytes;   /* a minute, both ways; 0: unlimited */
	double usd;       /* budget until down; 0: none */
	int64_t tokens;
	struct place at;
};

/* network: {allow: [...], deny: [...]}: no network, and a proxy that reaches these (berth/egress.h). */
struct egress_def {
	bool on;
	struct words allow, deny; /* each is a rule that can be parsed */
	const char *
		own_host; /* "allow: RULE", "routes: NAME": what reaches this machine's loopback; NULL */
	bool ask;         /* a person is asked about what they do not decide */
	bool relay;       /* path: relay: not by descriptors, though they would cross */
	const char *upstream; /* egress_parse_upstream; NULL: none */
	const char *
		upstream_secret; /* in team.secrets: USER:PASSWORD of the proxy; NULL: it wants none */
	size_t nroutes;
	const struct route_def *routes;
	struct words env; /* "NAME=value", that lead programs to the routes */
};

/* checkpoints: {every: command | 10m, keep: 20}: those that berth makes by itself, of a bound workspace. */
struct checkpoint_rule {
	bool commands;   /* before each command */
	int64_t every_s; /* while it is up; 0: by no clock */
	int64_t keep;    /* the newest of them stay; 0: none are made */
};

/* terminal: {command: claude, size: 120x30, restart: on-failure}, or a list of these with names */
struct terminal_def {
	const char *name;     /* "main" where it is the only one */
	struct words command; /* a line of text becomes sh -c text; none: a shell */
	int columns, rows;
	bool on_failure; /* started again when it fails */
	struct place at;
};

struct agent_def {
	const char *id, *role;
	const char *container; /* "berth-ID" or "massgen-ID" */
	const char *image;
	const char *workspace; /* absolute; read-write at the same path */
	const char *runs[2];   /* MassGen: its runs have it at one of these and an id; NULL */
	const char *bound;     /* "task:ID" or "project:NAME", which that is; NULL: a directory */
	const char *temporary; /* other agents' outputs, read-only; NULL */
	const char *snapshots; /* MassGen's snapshot_storage; NULL */
	struct limits limits;
	enum net_mode network;
	const char *net_name; /* NET_INTERNAL: the network's name in this file */
	struct egress_def egress;
	uint64_t net_rate_bytes;           /* per second, 0: unlimited */
	bool sudo;                         /* loosened: see REQUIREMENTS 2.1 */
	bool apparmor_optional;            /* not refused where the engine cannot */
	const char *runtime;               /* of the engine; NULL: its default */
	bool commands;                     /* MassGen: enable_mcp_command_line */
	bool default_memory, default_cpus; /* MassGen: limits that its file does not set */
	bool read_before_delete;
	struct credentials credentials;
	struct words python, npm, system; /* packages: preinstall */
	size_t npaths;
	const struct path_grant *paths;
	struct words env;          /* "NAME=value" */
	struct words secrets;      /* names in team.secrets */
	struct words allow, block; /* command rules */
	struct words hand_over;    /* tasks that it may hand over to by itself; "*": all */
	struct words ports;        /* of its servers, that it may open on this machine's loopback */
	struct checkpoint_rule checkpoints;
	int64_t idle_pause_s; /* idle: {pause: 10m}: paused when nothing ran in it for so long; 0: never */
	size_t nterminals; /* that it has as long as it is up */
	const struct terminal_def *terminals;
	int64_t forks; /* of its workspace, that it may make by itself */
	struct place at;
};

enum tool_files { TOOL_READ_ONLY, TOOL_WORKSPACE };

struct tool_def {
	const char *name, *image;
	struct words command; /* argv; a line of text becomes sh -c text */
	/* `script:` with a file: absolute, mounted read-only at script_target, which command runs; NULL */
	const char *script, *script_target;
	/* Who may call it by `berth mcp`.  No word: those whose workspace it names or that hold it, or all; see team_may_call. */
	struct words agents;
	struct limits limits;
	enum net_mode network;
	const char *net_name;
	bool apparmor_optional; /* as in agent_def */
	const char *runtime;    /* as in agent_def */
	enum tool_files files;
	const char *workspace; /* absolute, with TOOL_WORKSPACE; NULL: the caller's */
	struct words env, secrets;
	int pool_size; /* warm containers kept ready by long-lived processes */
	int pool_idle_s;
	struct place at;
};

struct network_def {
	const char *name;
	struct words members; /* agent ids; only these reach each other */
	struct place at;
};

enum secret_from { SECRET_ENV, SECRET_FILE, SECRET_COMMAND };

struct secret_def {
	const char *name;
	enum secret_from from;
	const char *source; /* variable or path */
	struct words command;
	struct place at;
};

/* What MassGen knows and berth has no use for, or does in its own way; and what a person should know of the file. */
struct ignored_key {
	const char *key; /* "agents[0].backend.model"; "agents[0]": the agent is left out */
	const char *why; /* a clause; NULL: it is MassGen's own business */
	struct place at;
};

struct team {
	enum team_kind kind;
	const char *file; /* as given */
	const char *path; /* absolute, links resolved; as given for team_parse */
	const char *base; /* relative paths count from here */
	size_t nagents, ntools, nnetworks, nsecrets, nignored;
	const struct agent_def *agents;
	const struct tool_def *tools;
	const struct network_def *networks;
	const struct secret_def *secrets;
	const struct ignored_key *ignored;
	struct words protected_names, protected_labels, protected_images; /* policy: */
	struct arena mem;
};

/* Read and check.  `cwd` is where MassGen's relative paths count from.  ERR_CONFIG with
 * file:line:column.  The file itself must belong to the user or root, not be writable by others and lie
 * outside everything that its agents and tools can write, for it names host paths and commands; one of MassGen's
 * inside a context path that can be written is a protected path of that. */
int team_read(const char *file, const char *cwd, struct team *ret, struct err *e);
/* The same from memory, without the check of the file's owner. */
int team_parse(const char *name, const char *text, size_t n, const char *base, struct team *ret,
	struct err *e);
/* As team_read, but every error that can be found is told, each with its place, not only the first.
 * Returns how many there were; *ret is filled in (and to be released) when there was none. */
struct team_found {
	void (*tell)(void *ctx, const struct err *e);
	void *ctx;
	size_t n; /* how many were reported */
};
/* Is it a key of MassGen's file, at any level, that berth reads? */
bool massgen_has_key(const char *key);
size_t team_check(const char *file, const char *cwd, struct team *ret, struct team_found *found);
/* Rules of an agent into allow: or deny: of its network: in a file of berth's form, which keeps every other byte, its mode and
 * its owner.  Those that are there are no fault.  ERR_CONFIG: there is no such list, or it is written in a way that cannot be
 * added to; ERR_CONFLICT: somebody else wrote the file meanwhile.  The second: the same in memory. */
int team_save_rules(const char *file, const char *agent, bool allow, const char *const *rules,
	size_t n, struct err *e);
int team_add_rules(struct str *text, const char *name, const char *agent, bool allow,
	const char *const *rules, size_t n, struct err *e);

void team_release(struct team *t);

/* From here on this agent is MassGen's final one: what the file lets that one write it may.  ERR_USAGE. */
int team_final(struct team *t, const char *id, struct err *e);

/* MassGen's: the agent's workspace is that of another run than the newest one.  ERR_USAGE. */
int team_workspace(struct team *t, const char *id, const char *dir, struct err *e);

const struct agent_def *team_agent(const struct team *t, const char *id);
const struct tool_def *team_tool(const struct team *t, const char *name);
/* May this agent call the tool? */
bool team_may_call(const struct agent_def *a, const struct tool_def *d);

#endif
