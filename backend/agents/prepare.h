/*
 * prepare.h - `packages:` of a definition, installed once and kept as an image.
 *
 * Installed as root and with a network, in a container of its own that is hardened otherwise, and committed as
 * berth/prepared:HASH, the hash over the base image's id and the lists.  What is there already is used.  The
 * labels that prove containers to be ours are emptied in it, so that nothing made of it can claim them.
 *
 * Thread: any; one preparation at a time in a process.
 */
#ifndef AGENTS_PREPARE_H
#define AGENTS_PREPARE_H

#include "container/container.h"

bool prepare_needed(const struct agent_def *a);

/* Which image the agent runs: a->image, or what is prepared from it; lives in mem.  `make` false: whether
 * or not that is there.  A missing base is ERR_NOT_FOUND with the command that makes it. */
int prepare_image(struct agents_host *h, const struct agent_def *a, bool make, struct arena *mem,
	const char **image, struct err *e);

#endif
