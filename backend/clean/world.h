/*
 * world.h - the engine's lists and this machine's records, in the form that the rules use.
 *
 * Plain data in one arena, so that the rules (verdict.h) can be tested as a table.
 */
#ifndef CLEAN_WORLD_H
#define CLEAN_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/arena.h>
#include <berth/clean.h>
#include <berth/snapshot.h>

#include "container/container.h"
#include "engine/sync.h"

struct seen_container {
	const char *id, *name, *image, *image_id, *status;
	enum container_state state;
	int64_t made_ms;
	int64_t bytes; /* of its writable layer; -1 unknown */
	size_t nlabels, nvolumes, nnetworks;
	const struct key_value *labels;
	const char *const *volumes;  /* names */
	const char *const *networks; /* names and ids */
	const char *const *address;  /* in each of them; "" */
};

struct seen_network {
	const char *id, *name, *driver;
	int64_t made_ms;
	size_t nlabels;
	const struct key_value *labels;
};

struct seen_volume {
	const char *name, *driver;
	int64_t made_ms, bytes;
	int64_t used_ms; /* of a home: when its session ended; 0 not known */
	size_t nlabels;
	const struct key_value *labels;
};

struct seen_image {
	const char *id, *tag; /* "": dangling */
	int64_t made_ms, bytes;
	size_t nlabels;
	const struct key_value *labels;
};

/* Files named after a container: its session's record, its lane. */
struct seen_files {
	const char *name;
	bool record, lane;       /* which of them there are */
	bool young;              /* may be in the making */
	const char *engine, *id; /* of the container, "" when they do not say */
	int64_t made_ms;
};

struct world {
	const char *engine;
	int64_t now_ms;        /* wall time; 0: ages are not looked at */
	bool making;           /* somebody is bringing an agent up at this moment */
	bool labels_anonymous; /* the engine labels the volumes that nobody named */
	size_t ncontainers, nnetworks, nvolumes, nimages, nsessions, nfiles;
	struct seen_container *container;
	struct seen_network *network;
	struct seen_volume *volume;
	struct seen_image *image;
	const struct session *session;
	struct seen_files *files;
};

const char *world_label(const struct key_value *labels, size_t n, const char *key); /* "" */

/* Only this container; *w has one or none. */
int world_container(
	struct engine_sync *en, const char *id, struct world *w, struct arena *mem, struct err *e);
int world_containers(struct engine_sync *en, struct world *w, struct arena *mem, struct err *e);
/* All the lists; `foreign`: images too, `sizes`: measured. */
int world_look(struct engine_sync *en, bool foreign, bool sizes, struct world *w, struct arena *mem,
	struct err *e);
/* The containers, and the whole list of one type that the engine has. */
int world_type(struct engine_sync *en, enum clean_type type, bool sizes, struct world *w,
	struct arena *mem, struct err *e);
/* The reply to one of these lists. */
void world_take(const cJSON *root, enum clean_type type, struct world *w, struct arena *mem);
/* One reply as JSON, its time bounded; NULL with *e. */
cJSON *world_json(struct engine_sync *en, const char *what, const char *target, struct err *e);
void world_measured(const cJSON *df, struct world *w);          /* of /system/df */
cJSON *world_measure(struct engine_sync *en, const char *type); /* NULL: it would not */
/* This machine's part.  -1: there are so many records that those of living sessions may be missing. */
int world_sessions(struct world *w, struct arena *mem, struct err *e);
void world_files(struct world *w, struct arena *mem); /* after the sessions */

#endif
