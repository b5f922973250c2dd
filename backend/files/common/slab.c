/* slab.c - chunks of result memory, kept warm between operations. */
#include "files/common/slab.h"

#include <stdlib.h>

#include <berth/mem.h>

#define ALIGN(n) (((n) + 15) & ~(size_t)15)

void slab_store_init(struct slab_store *s)
{
	*s = (struct slab_store){0};
	pthread_mutex_init(&s->lock, NULL);
}

void slab_store_release(struct slab_store *s)
{
	struct slab_chunk *c;

	while ((c = s->chunks)) {
		s->chunks = c->next;
		free(c);
	}
	pthread_mutex_destroy(&s->lock);
}

void slab_chain_init(struct slab_chain *c, struct slab_store *store)
{
	*c = (struct slab_chain){.store = store};
	pthread_mutex_init(&c->lock, NULL);
}

void slab_chain_release(struct slab_chain *c)
{
	struct slab_chunk *chunk;

	pthread_mutex_lock(&c->store->lock);
	while ((chunk = c->chunks)) {
		c->chunks = chunk->next;
		if (chunk->size == SLAB_CHUNK && c->store->bytes + SLAB_CHUNK <= SLAB_KEEP) {
			chunk->next = c->store->chunks;
			c->store->chunks = chunk;
			c->store->bytes += SLAB_CHUNK;
		} else {
			free(chunk);
		}
	}
	pthread_mutex_unlock(&c->store->lock);
	pthread_mutex_destroy(&c->lock);
}

static struct slab_chunk *take_chunk(struct slab_store *s)
{
	struct slab_chunk *c;

	pthread_mutex_lock(&s->lock);
	c = s->chunks;
	if (c) {
		s->chunks = c->next;
		s->bytes -= SLAB_CHUNK;
	}
	pthread_mutex_unlock(&s->lock);
	return c;
}

static void link_chunk(struct slab_chain *chain, struct slab_chunk *c)
{
	pthread_mutex_lock(&chain->lock);
	c->next = chain->chunks;
	chain->chunks = c;
	pthread_mutex_unlock(&chain->lock);
}

static struct slab_chunk *new_chunk(size_t size)
{
	struct slab_chunk *c = xmalloc(ALIGN(sizeof *c) + size);

	c->size = size;
	return c;
}

void *slab_alloc(struct slab *s, size_t n)
{
	struct slab_chunk *c;
	char *p;

	n = ALIGN(n ? n : 1);
	if (n > (size_t)(s->end - s->at)) {
		/* What is large gets a chunk of its own and leaves the current one in use. */
		if (n > SLAB_CHUNK / 4) {
			c = new_chunk(n == SLAB_CHUNK ? n + 16 : n);
			link_chunk(s->chain, c);
			return (char *)c + ALIGN(sizeof *c);
		}
		c = take_chunk(s->chain->store);
		if (!c)
			c = new_chunk(SLAB_CHUNK);
		link_chunk(s->chain, c);
		s->at = (char *)c + ALIGN(sizeof *c);
		s->end = s->at + SLAB_CHUNK;
	}
	p = s->at;
	s->at += n;
	return p;
}

void slab_trim(struct slab *s, char *p, size_t n, size_t used)
{
	if (s->at == p + ALIGN(n))
		s->at = p + ALIGN(used);
}
