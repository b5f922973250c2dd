/* route_keys.h - reading the keys and prices of an agent's routes. */
#ifndef AGENTS_ROUTE_KEYS_H
#define AGENTS_ROUTE_KEYS_H

#include <berth/str.h>
#include <berth/team.h>

#include "container/container.h"

struct route_text {
	struct str told; /* egress_tell_routes; keys are in it */
	struct str kept; /* egress_keep_routes */
};

/* Both "" for an agent without routes and login of an upstream proxy.  `handed` is what the agent gets: no key is in it. */
int routes_gather(const struct team *t, const struct agent_def *a,
	const struct secret_values *handed, struct route_text *ret, struct err *e);
void routes_wipe(struct route_text *text);

#endif
