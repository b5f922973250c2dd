/*
 * store.h - the directory that holds checkpoints.
 *
 *   lock              held while something in here changes, or is relied on
 *   checkpoints/      locked while one is made that may drop itself or others (checkpoint_turn)
 *   checkpoints/NAME  a manifest, there by rename when its contents are
 *   packs/SERIAL      the contents that the checkpoint of that serial was the first to have
 *   synced/NAME       empty: survives a power failure
 *   restoring         the name of what is being restored
 *   start             a manifest without contents: what the tree began with, its root that of the tree
 */
#ifndef CHECKPOINT_STORE_H
#define CHECKPOINT_STORE_H

#include <berth/checkpoint.h>

#include "checkpoint/manifest.h"
#include "checkpoint/capture.h"

#define RESTORING "restoring"
#define START "start"

struct checkpoint_store {
	int fd, checkpoints, packs, synced;
	char *name; /* as given, for sentences */
	struct pool *pool;
	unsigned locked;
	uint64_t sound;   /* the serial of the checkpoint that was found sound last, 0: none */
	int64_t sound_ns; /* and when it was begun */
	bool noted;       /* that a restore changes the tree now */
};

/* May be nested by one thread.  0, or -1 and *e. */
int store_lock(struct checkpoint_store *s, struct err *e);
void store_unlock(struct checkpoint_store *s);

int store_check_name(const char *name, struct err *e);
int store_load(struct checkpoint_store *s, const char *name, struct manifest *m, struct err *e);
/* The newest checkpoint of the tree with this root that can be relied on: true, and it is in m, indexed. */
bool store_base(struct checkpoint_store *s, int root, struct manifest *m);
/* What the tree is now, without storing anything; what the newest checkpoint knows is not read again. */
int store_survey(struct checkpoint_store *s, int root, const struct checkpoint_options *o,
	struct manifest *m, struct err *e);
int store_open_pack(struct checkpoint_store *s, uint32_t serial, int flags);

/* The packs that a manifest needs, opened when asked for.  Thread: any. */
struct packs {
	struct checkpoint_store *store;
	uint32_t *serial; /* sorted */
	int *fd;
	size_t n;
};
void packs_init(struct packs *p, struct checkpoint_store *s, const struct manifest *m);
int packs_fd(const struct packs *p, uint32_t serial); /* -1: missing */
void packs_release(struct packs *p);

/* The objects of those entries of m that need[i] (NULL: all) against their hashes, on all processors. */
int store_check(
	struct checkpoint_store *s, const struct manifest *m, const bool *need, struct err *e);

#endif
