/*
 * arena.h - allocations that are freed together.
 *
 * A snapshot or a message lives in one arena.  Blocks grow geometrically from the size given;
 * everything is aligned for any type and zeroed.  Thread: one owner at a time.
 */
#ifndef BERTH_ARENA_H
#define BERTH_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *head;
	size_t next_size;
};

#define ARENA_INIT(first_block)            \
	{                                  \
		.next_size = (first_block) \
	}
#define AUTO_ARENA __attribute__((cleanup(arena_release)))

void arena_init(struct arena *a, size_t first_block);
void arena_release(struct arena *a);
void arena_reset(struct arena *a); /* keeps the largest block, forgets the contents */
void *arena_alloc(struct arena *a, size_t n);
void *arena_array(struct arena *a, size_t n, size_t size); /* overflow is checked */
char *arena_strdup(struct arena *a, const char *s);        /* NULL gives NULL */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
size_t arena_bytes(const struct arena *a); /* memory held, for accounting */
size_t arena_used(const struct arena *a);  /* of that, handed out: what a next one will need */

#endif
