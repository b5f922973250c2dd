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
/* That, and what secrets_absent says: a warning, or "". */
void secrets_warning(const struct credentials *c, char *buf, size_t cap);
/* Variables and files that are not there and are left out (lenient), in a sentence; false: none. */
bool secrets_absent(const struct credentials *c, char *buf, size_t cap);
/* Lines of the env_file that set nothing, in a sentence without what they hold; false: there is none. */
bool secrets_odd_lines(const struct credentials *c, char *buf, size_t cap);
/* Whether the env_file is there and sets what env_vars_from_file asks for. */
int secrets_foresee(const struct credentials *c, struct err *e);
/* One by its definition; for tools. */
int secrets_add(struct secret_values *v, const struct secret_def *d, struct err *e);
void secrets_release(struct secret_values *v); /* wipes */

/* Read-only mounts of ssh_keys, git_config ... and of files named under credentials. */
int secrets_mounts(const struct credentials *c, struct mount_list *l, struct err *e);

#endif
