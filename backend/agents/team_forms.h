/*
 * team_forms.h - what the readers of the two forms of team files share.
 */
#ifndef AGENTS_TEAM_FORMS_H
#define AGENTS_TEAM_FORMS_H

#include <berth/team.h>

#include "agents/field.h"

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
int team_read_grants(const struct reader *r, const struct node *n, void *at, struct err *e);
int team_read_packages(const struct reader *r, const struct node *n, void *at, struct err *e);
int team_read_credentials(const struct reader *r, const struct node *n, void *at, struct err *e);

int massgen_read(const struct config *c, struct team *t, struct err *e);

#endif
