/*
 * network.h - private networks on which only the declared members reach each other.
 *
 * One for each `networks:` entry of a team file, named after it and the file, so that two teams with
 * a network of the same name stay apart.  Nothing leads out of it: it is internal (the engine routes
 * nothing), the bridge has no address of the host, and the engine's resolver asks nobody about names
 * that are not its own (CVE-2024-29018: older engines ask for internal networks, too).
 *
 * Sources: Engine API 1.41 NetworkCreate; moby libnetwork drivers/bridge/labels.go.
 * Thread: as agents_host.
 */
#ifndef CONTAINER_NETWORK_H
#define CONTAINER_NETWORK_H

#include "container/maker.h"

/* The engine's id of the team's network `name`, in mem: 1, or 0 when it is not made yet.  ERR_CONFLICT:
 * something of that name is not ours, or a container that is no member is attached to it. */
int network_find(struct agents_host *h, const struct team *t, const char *name, struct arena *mem,
	const char **id, struct err *e);
/* The same, made when missing; recorded. */
int network_make(struct agents_host *h, const struct team *t, const char *name, struct arena *mem,
	const char **id, struct err *e);
/* The subnets of all networks of the engine, in mem. */
int network_subnets(struct agents_host *h, struct arena *mem, const char *const **ret, size_t *n,
	struct err *e);
/* After a container left: remove the network if it is ours and nobody uses it.  Anything else, "none"
 * and "bridge" too, is left alone. */
void network_tidy(struct agents_host *h, const char *id);

#endif
