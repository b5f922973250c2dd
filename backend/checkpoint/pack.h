/*
 * pack.h - contents: many objects in one file, found by offset and known by SHA-256.
 *
 * A file's object is its bytes; a sparse file's a table of its extents, then their bytes.  Large ones
 * are reflinks where the file system can, and read for their hash from the pack: what was hashed is what
 * is kept.  Thread: any number may put into one pack at once.
 */
#ifndef CHECKPOINT_PACK_H
#define CHECKPOINT_PACK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "checkpoint/manifest.h"

#define PACK_BLOCK 4096u /* where large objects begin: reflinks need it */

/* Known objects by hash: places of entries that have them. */
struct object {
	uint8_t hash[HASH_BYTES];
	uint64_t offset, stored;
	uint32_t pack;
	bool used;
};

struct pack {
	int fd;
	uint32_t serial;
	_Atomic uint64_t end;    /* next free offset */
	_Atomic uint64_t stored; /* bytes of objects that are here only because of this pack */
	atomic_bool no_reflink;
	pthread_mutex_t lock; /* guards what follows */
	struct object *known;
	size_t n, size;
};

void pack_init(struct pack *p, int fd, uint32_t serial);
void pack_release(struct pack *p); /* fd stays the caller's */
/* All contents of m need not be put again. */
void pack_know(struct pack *p, const struct manifest *m);

/* Each worker's own. */
struct pack_hands {
	struct hasher *hasher;
	char *buf;
};
#define PACK_BUFFER (1u << 20)
void hands_init(struct pack_hands *h);
void hands_release(struct pack_hands *h);

/* A piece of a file that is not a hole. */
struct extent {
	uint64_t from, length;
};
#define EXTENTS_MAX (1u << 20)
/* NULL with *n UINT32_MAX: too many, or no such thing here. */
struct extent *pack_extents(int file, uint64_t size, uint32_t *n);

/* The content of the open file into the pack, or with p NULL only its hash; hash, offset, stored, pack,
 * size and flags of x.  -1 and errno. */
int pack_put(struct pack *p, struct pack_hands *h, int file, struct entry *x);
/* Whether x's object in the open pack is what its hash says: 0, or -1 and errno (EBADMSG: it is not). */
int pack_check(int fd, struct pack_hands *h, const struct entry *x);
/* x's object from the open pack into an empty file.  -1 and errno. */
int pack_get(int fd, struct pack_hands *h, const struct entry *x, int file, bool reflink);

#endif
