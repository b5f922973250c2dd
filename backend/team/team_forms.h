/*
 * team_forms.h - what the readers of the two forms of team files share.
 */
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
};

struct packages {
	struct words python, npm, system;
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
int team_read_network(const struct reader *r, const struct node *n, void *at, struct err *e);
extern const char *const team_apparmor_words[]; /* 1: optional */
int team_read_env(const struct reader *r, const struct node *n, void *at, struct err *e);
int team_read_grants(const struct reader *r, const struct node *n, void *at, struct err *e);
int team_read_packages(const struct reader *r, const struct node *n, void *at, struct err *e);
int team_read_credentials(const struct reader *r, const struct node *n, void *at, struct err *e);

int massgen_read(const struct reader *r, struct team *t, struct err *e);

#endif
