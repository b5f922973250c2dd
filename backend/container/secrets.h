/*
 * secrets.h - secrets by reference, and the credentials that a definition hands over.
 *
 * Values are read when the agent comes up, go to the guest over its lane, and are wiped here.  They never
 * stand in a create body, an image, a label, a log or the audit record.  The lane's own form:
 * a plain name becomes a file in /run/secrets, mode 0400, a name with '$' before it becomes a variable
 * of the commands that the guest starts.
 */
#ifndef CONTAINER_SECRETS_H
#define CONTAINER_SECRETS_H

#include <berth/team.h>

#include "team/mounts.h"
#include "lane/lane.h"

#define SECRET_MAX 32768 /* bytes of one value */

struct secret_values {
	size_t n;
	struct lane_secret *secret; /* names and values are owned */
};

int secrets_gather(
	const struct team *t, const struct agent_def *a, struct secret_values *ret, struct err *e);
/* One by its definition; for tools. */
int secrets_add(struct secret_values *v, const struct secret_def *d, struct err *e);
void secrets_release(struct secret_values *v); /* wipes */

/* Read-only mounts of ssh_keys, git_config ... and of files named under credentials. */
int secrets_mounts(const struct credentials *c, struct mount_list *l, struct err *e);

#endif
