/*
 * slab.h - memory for many results: bump-allocated chunks that are kept for the next operation.
 *
 * Fresh pages cost more than reading a small cached file does, so chunks of finished operations
 * wait in the struct files (up to SLAB_KEEP) for the next.  A slab belongs to one worker; slabs of
 * one operation hand their chunks to one chain, whose owner gives them back.
 */
#ifndef BERTH_FILES_SLAB_H
#define BERTH_FILES_SLAB_H

#include <pthread.h>
#include <stddef.h>

#define SLAB_CHUNK (1u << 20)
#define SLAB_KEEP (32u << 20)

struct slab_chunk {
	struct slab_chunk *next;
	size_t size; /* of the memory behind this header */
};

/* Chunks nobody uses; one per struct files. */
struct slab_store {
	pthread_mutex_t lock;
	struct slab_chunk *chunks;
	size_t bytes;
};

/* The chunks of one operation. */
struct slab_chain {
	struct slab_store *store;
	pthread_mutex_t lock;
	struct slab_chunk *chunks;
};

struct slab {
	struct slab_chain *chain;
	char *at, *end;
};

void slab_store_init(struct slab_store *s);
void slab_store_release(struct slab_store *s);
void slab_chain_init(struct slab_chain *c, struct slab_store *store);
void slab_chain_release(struct slab_chain *c);
void *slab_alloc(struct slab *s, size_t n); /* not zeroed; aligned to 16 */
/* `p`, of n bytes, was the last thing allocated: keep only the first `used`. */
void slab_trim(struct slab *s, char *p, size_t n, size_t used);

#endif
