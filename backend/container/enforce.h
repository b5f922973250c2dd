/*
 * enforce.h - compares the requested limits with those in force.
 *
 * Limits that an engine cannot set are often dropped silently (rootless engines without
 * delegation, swap accounting that is off), so each is read back: from the cgroup files, and from
 * /proc/PID of the container's init.
 */
#ifndef CONTAINER_ENFORCE_H
#define CONTAINER_ENFORCE_H

#include "container/maker.h"

/* Returns how many were filled in; 0 when the container is not there. */
size_t enforce_read(struct agents_host *h, const struct spec *s, const char *id,
	struct enforced *out, size_t max);
/* More processors than the machine has were asked for: that fewer are given is a difference. */
void enforce_note_asked(struct enforced *v, size_t n, double cpus);

#endif
