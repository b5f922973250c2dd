/* idset.c - keeps identities in an open-addressing hash table. */
#include "idset.h"

#include <stdlib.h>
#include <string.h>

#include <berth/hash.h>
#include <berth/mem.h>

static uint32_t hash_of(const char *engine, const char *id)
{
	return (uint32_t)hash_string(hash_string(HASH_START, engine), id);
}

/* The slot that holds this identity, or the free one where it belongs. */
static struct idset_entry *find_id_slot(
	const struct idset *s, uint32_t hash, const char *engine, const char *id)
{
	for (size_t i = hash;; i++) {
		struct idset_entry *e = &s->slots[i & (s->cap - 1)];

		if (!e->engine ||
			(e->hash == hash && strcmp(e->id, id) == 0 &&
				strcmp(e->engine, engine) == 0))
			return e;
	}
}

static void grow_idset(struct idset *s)
{
	struct idset old = *s;

	s->cap = old.cap ? old.cap * 2 : 16;
	s->slots = xcalloc(s->cap, sizeof *s->slots);
	for (size_t i = 0; i < old.cap; i++) {
		struct idset_entry *e = &old.slots[i];

		if (e->engine)
			*find_id_slot(s, e->hash, e->engine, e->id) = *e;
	}
	free(old.slots);
}

void idset_clear(struct idset *s)
{
	for (size_t i = 0; i < s->cap; i++)
		free(s->slots[i].engine);
	if (s->cap)
		memset(s->slots, 0, s->cap * sizeof *s->slots);
	s->n = 0;
}

void idset_release(struct idset *s)
{
	idset_clear(s);
	free(s->slots);
	*s = (struct idset){0};
}

bool idset_has(const struct idset *s, const char *engine, const char *id)
{
	return s->n && find_id_slot(s, hash_of(engine, id), engine, id)->engine;
}

void idset_add(struct idset *s, const char *engine, const char *id)
{
	size_t n = strlen(engine) + 1, m = strlen(id) + 1;
	uint32_t hash = hash_of(engine, id);
	struct idset_entry *e;

	if (s->n * 2 >= s->cap)
		grow_idset(s);
	e = find_id_slot(s, hash, engine, id);
	if (e->engine)
		return;
	e->engine = xmalloc(n + m);
	e->id = e->engine + n;
	memcpy(e->engine, engine, n);
	memcpy(e->id, id, m);
	e->hash = hash;
	e->seen = true;
	s->n++;
}

/* Free a slot and move up what follows it in its run, so that look-ups need no tombstones. */
static void free_slot(struct idset *s, struct idset_entry *e)
{
	size_t at = (size_t)(e - s->slots);

	free(e->engine);
	*e = (struct idset_entry){0};
	s->n--;
	for (;;) {
		struct idset_entry moved;

		at = (at + 1) & (s->cap - 1);
		if (!s->slots[at].engine)
			return;
		moved = s->slots[at];
		s->slots[at] = (struct idset_entry){0};
		*find_id_slot(s, moved.hash, moved.engine, moved.id) = moved;
	}
}

void idset_remove(struct idset *s, const char *engine, const char *id)
{
	struct idset_entry *e;

	if (s->n == 0)
		return;
	e = find_id_slot(s, hash_of(engine, id), engine, id);
	if (e->engine)
		free_slot(s, e);
}

bool idset_touch(struct idset *s, const char *engine, const char *id)
{
	struct idset_entry *e;

	if (s->n == 0)
		return false;
	e = find_id_slot(s, hash_of(engine, id), engine, id);
	if (!e->engine)
		return false;
	return e->seen = true;
}

void idset_unsee(struct idset *s)
{
	for (size_t i = 0; i < s->cap; i++)
		s->slots[i].seen = false;
}

void idset_sweep(struct idset *s)
{
	/* A dropped slot may be refilled by one from further on: look at it again. */
	for (size_t i = 0; i < s->cap;) {
		struct idset_entry *e = &s->slots[i];

		if (e->engine && !e->seen)
			free_slot(s, e);
		else
			i++;
	}
}
