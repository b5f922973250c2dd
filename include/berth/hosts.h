/*
 * hosts.h - engines that are known by name: how a name and an endpoint are written.
 *
 * An endpoint is compared as it stands (policy.h), so it is written as berth shows it: with the port of tcp, without
 * what a port or a path would be anyway.  Whether it can be reached is another matter (engine/endpoint.h).
 *
 * Thread: any.
 */
#ifndef BERTH_HOSTS_H
#define BERTH_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct host_rule; /* settings.h */

#define HOST_NAME_LONGEST 63

/* NULL: it can be one; else a sentence that says what is wrong. */
const char *host_name_fault(const char *name);
const char *host_endpoint_fault(const char *endpoint);
/* Likewise for what follows ssh:// in any address.  OpenSSH expands ${NAME} and %-tokens in what it forwards, so a path
 * with them would send variables of this user's environment to the host: only characters without a meaning are accepted. */
const char *host_ssh_fault(const char *address);
const char *host_rule_fault(
	const struct host_rule *rules, size_t i); /* of the i-th, with those before it */

/* The names of docker's contexts, in no order; texts are valid during the call.  false from `each` ends it. */
void docker_contexts(bool (*each)(void *ctx, const char *name), void *ctx);
/* Which engine that is, as the console shows it: *ret_url, and in *ret_name what it is called where nothing else names it. Both
 * are the caller's.  *ret_nowhere: nobody named one, and none is here. */
int host_describe(const char *endpoint, const char *context, char **ret_url, char **ret_name,
	bool *ret_nowhere, struct err *e);
/* Close the connection to an engine (`endpoint`, or else of the context), and remove what is kept for it.  Blocks. */
int host_forget(const char *endpoint, const char *context, struct err *e);

#endif
