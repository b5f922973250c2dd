/* home.h - the volume on which an agent's packages and files stay between its containers. */
#ifndef CONTAINER_HOME_H
#define CONTAINER_HOME_H

#include "container/maker.h"
#include "container/spec.h"

/* The volume s->home is there, is ours, and belongs to the user of s; ERR_CONFLICT when somebody else made it.
 * *made: it was not there before. */
int home_make(struct agents_host *h, const struct spec *s, const char *agent, const char *session,
	bool *made, struct err *e);
/* A volume that was just made goes again. */
/* It is used no more from now on; and since when, wall time: 0 not known. */
void home_note_use(const char *volume);
int64_t home_used_ms(const char *volume);
void home_unmake(struct agents_host *h, const char *volume, const char *agent);

#endif
