/*
 * undo.h - recreating a removed container.
 *
 * What the engine knew of a container when it was removed is kept for UNDO_MS: its image, command, environment, limits,
 * networks and volumes, in the runtime directory (mode 0600).  What was written in its own file system is gone, and
 * anonymous volumes if they were removed with it.  Containers of berth's own are not made from that: `berth up` is
 * what makes those, with their lane, secrets and checks.
 *
 * Thread: any, one at a time for an engine; undo_keep does not block on the network.
 */
#ifndef BERTH_UNDO_H
#define BERTH_UNDO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "policy.h"

#define UNDO_MS ((int64_t)600000)
#define UNDO_MOST 64 /* kept; the oldest goes */

/* `json`: what the engine says of a container that is about to be removed.  `endpoint`: where that engine was reached; what
 * it calls itself is its own word.  Nothing here fails aloud. */
void undo_keep(
	const char *endpoint, const char *engine, const char *id, const char *json, size_t n);

struct undo_item {
	char id[65], endpoint[512], engine[128], name[128], image[256];
	int64_t removed_ms; /* Unix time */
	bool ran, ours;     /* ours: it says that berth made it */
};

/* Newest first; what is older than UNDO_MS is removed. */
size_t undo_list(struct undo_item *out, size_t max);

struct undo_request {
	const char *host, *context;
	const struct policy *policy;
	const struct undo_item *item;
};
/* It has its old name, and runs if it ran; ret_id is its new id.  ERR_CONFLICT: another has the name, or it was on another
 * engine. */
int undo_make(const struct undo_request *q, char ret_id[65], struct err *e);

#endif
