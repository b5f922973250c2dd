/* team_forms.h - shared by the readers of both forms of team files. */
#ifndef TEAM_FORMS_H
#define TEAM_FORMS_H

#include <stddef.h>

#include <berth/team.h>

#include "team/field.h"

#define MIB ((double)(1 << 20))
#define GIB ((double)(1 << 30))
#define AT(type, member) offsetof(struct type, member)

/* The keys of struct limits that agents and tools share; `type` has a member of that name. */
#define TEAM_LIMIT_FIELDS(type)                                                                  \
	{"memory", FIELD_BYTES, AT(type, limits.memory_bytes), 6 * MIB, 1024 * GIB, NULL, NULL}, \
		{"cpu", FIELD_NUMBER, AT(type, limits.cpus), 0.01, 1024, NULL, NULL},            \
		{"cpus", FIELD_NUMBER, AT(type, limits.cpus), 0.01, 1024, NULL, NULL},           \
		{"pids", FIELD_INT, AT(type, limits.pids), 8, 4194304, NULL, NULL},              \
		{"tmp", FIELD_BYTES, AT(type, limits.tmp_bytes), MIB, 64 * GIB, NULL, NULL},     \
		{"file_size", FIELD_BYTES, AT(type, limits.file_bytes), MIB, 16384 * GIB, NULL,  \
			NULL},                                                                   \
	{                                                                                        \
		"open_files", FIELD_INT, AT(type, limits.open_files), 16, 1048576, NULL, NULL    \
	}

#define IMAGE_RUNTIME "berth/runtime:local"
#define IMAGE_RUNTIME_SUDO "berth/runtime-sudo:local"

extern const struct limits agent_limits, tool_limits; /* defaults */

struct net_choice {
	enum net_mode mode;
	const char *name;
	struct egress_def egress;
};

struct place_choice {
	const char *path;  /* absolute */
	const char *bound; /* "task:ID" or "project:NAME"; NULL */
};

struct packages {
	struct words python, npm, system;
};

struct terminals_choice {
	size_t n;
	struct terminal_def *terminal;
};

struct grants {
	size_t n;
	struct path_grant *grant;
};

int team_check_id(const struct config *c, const struct node *n, const char *id, struct err *e);
int team_check_image(
	const struct config *c, const struct node *n, const char *image, struct err *e);
int team_read_agent(
	const struct reader *r, const struct node *n, struct agent_def *out, struct err *e);
int team_read_tool(
	const struct reader *r, const struct node *n, struct tool_def *out, struct err *e);
/* Is `script:` the path of a file, and not a line for a shell? */
bool team_is_script_file(const char *script);
int team_read_script(const struct reader *r, const struct node *n, const char *script,
	struct tool_def *out, struct err *e);
int team_read_network(const struct reader *r, const struct node *n, void *at, struct err *e);
/* Each preset:NAME becomes "preset:NAME HOST" for each of its hosts. */
int team_expand_presets(
	const struct reader *r, const struct node *at, struct words *rules, struct err *e);
int team_read_routes(const struct reader *r, const struct node *n, void *at, struct err *e);
/* What is wrong with the agent's routes and secrets together, in a sentence; false: nothing. */
bool team_routes_clash(const struct team *t, const struct agent_def *a, char *buf, size_t cap);
int team_read_place(const struct reader *r, const struct node *n, void *at, struct err *e);
extern const char *const team_apparmor_words[]; /* 1: optional */
int team_read_runtime(const struct reader *r, const struct node *n, void *at, struct err *e);
int team_read_env(const struct reader *r, const struct node *n, void *at, struct err *e);
int team_read_grants(const struct reader *r, const struct node *n, void *at, struct err *e);
int team_read_packages(const struct reader *r, const struct node *n, void *at, struct err *e);
int team_read_idle(const struct reader *r, const struct node *n, void *at, struct err *e);
int team_read_checkpoints(const struct reader *r, const struct node *n, void *at, struct err *e);
int team_read_terminals(const struct reader *r, const struct node *n, void *at, struct err *e);
int team_read_credentials(const struct reader *r, const struct node *n, void *at, struct err *e);

/* Is it this user's or root's, and nobody else's to write? */
int team_check_owner(const char *file, struct err *e);
/* A note for each agent with egress that shares what can be written. */
void team_note_shared(struct team *t);

struct massgen_place {
	const char *cwd; /* as the file has it; NULL: none */
	const char *prefix
		[2]; /* absolute, up to the id: with the agent's name for it, and as later versions shorten that */
	const char *found; /* of the newest run; NULL: there is none, or it is */
	bool unclear;      /* which of several it is */
	bool by_order;     /* whose it is, only their order says */
};

/* The workspaces of the newest run, for the agents of a file, in its order. */
void massgen_find_runs(const struct reader *r, struct massgen_place *places, size_t n);
/* Is this path of such a workspace?  Absolute, without links. */
bool massgen_is_run(const char *const prefix[2], const char *path);
/* Where MassGen moves a path of its file to. */
const char *massgen_moved(const struct reader *r, const char *path, const char *below);

int massgen_read(const struct reader *r, struct team *t, struct err *e);

#endif
