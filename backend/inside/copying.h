/*
 * copying.h - a copy under way, and what its paths in the container are.
 */
#ifndef INSIDE_COPYING_H
#define INSIDE_COPYING_H

#include <berth/inside.h>

#include "engine_session/engine_session.h"

/* What is mounted in the container. */
struct mount {
	const char *path;
	const char *unseen; /* by the engine: what to call it, before its path; NULL: it is seen */
	bool ro;
};

/* What a path in the container was said to be. */
struct looked_at {
	struct looked_at *next;
	const char *path;
	struct engine_path is;
};

#define INSIDE_PARAMS 5

struct copying {
	const struct inside_copy *c;
	struct engine_session at;
	struct arena mem;
	struct inside_copied *ret;
	cJSON *container; /* as the engine describes it */
	struct mount *mount;
	size_t nmounts;
	struct looked_at *looked_at;           /* not asked again until something has been copied */
	const char *dir;                       /* in the container, where it goes */
	struct key_value param[INSIDE_PARAMS]; /* of its record */
	char shown[128];                       /* its name */
};

static inline bool inside_is_stopped(void *copying)
{
	const struct copying *x = copying;

	return x->c->stop && x->c->stop(x->c->ctx);
}

/* look_inside.c */
/* The first n bytes as Go's path.Clean has them, which the engine applies: absolute, without "//", "." and "..". */
const char *inside_clean(struct copying *x, const char *path, size_t n);
/* Once x->container is known, before what is below. */
int inside_mounts(struct copying *x, struct err *e);
/* ERR_USAGE: the engine does not see what is at this path, which has no links. */
int inside_check_seen(const struct copying *x, const char *path, struct err *e);
/* ERR_USAGE: nothing can be written at this path, which is one that the engine sees. */
int inside_check_writable(const struct copying *x, const char *path, struct err *e);
/* The innermost mount that such a path is in. */
const char *inside_mount_of(const struct copying *x, const char *path);
/* Counts each tmpfs below `path`; with `source` only where that has something for it. */
void inside_note_unseen(struct copying *x, const char *path, const char *source);
/* What such a path is. */
int inside_ask(struct copying *x, const char *path, struct engine_path *ret, struct err *e);
/* What any path is; *path is then without links.  `follow`: also the link that it may be itself. */
int inside_look(
	struct copying *x, const char **path, bool follow, struct engine_path *ret, struct err *e);

#endif
