/* arena.c - allocates from blocks that grow geometrically. */
#include <berth/arena.h>

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/check.h>
#include <berth/mem.h>

struct arena_block {
	struct arena_block *next;
	size_t size, used;
	_Alignas(max_align_t) char mem[];
};

#define BLOCK_MAX ((size_t)4 << 20)

void arena_init(struct arena *a, size_t first_block)
{
	a->head = NULL;
	a->next_size = first_block < 256 ? 256 : first_block;
}

void arena_release(struct arena *a)
{
	struct arena_block *b = a->head, *next;

	for (; b; b = next) {
		next = b->next;
		free(b);
	}
	a->head = NULL;
}

void arena_reset(struct arena *a)
{
	struct arena_block *keep = NULL, *b = a->head, *next;

	for (; b; b = next) {
		next = b->next;
		if (!keep || b->size > keep->size) {
			free(keep);
			keep = b;
		} else {
			free(b);
		}
	}
	if (keep) {
		memset(keep->mem, 0, keep->used);
		keep->next = NULL;
		keep->used = 0;
	}
	a->head = keep;
}

void *arena_alloc(struct arena *a, size_t n)
{
	const size_t align = _Alignof(max_align_t);
	struct arena_block *b = a->head;
	void *p;

	CHECK(n < SIZE_MAX / 4);
	n = (n + align - 1) & ~(align - 1);
	if (!b || b->size - b->used < n) {
		size_t size = a->next_size < n ? n : a->next_size;

		b = xcalloc(1, sizeof *b + size);
		b->size = size;
		b->next = a->head;
		a->head = b;
		if (a->next_size < BLOCK_MAX)
			a->next_size *= 2;
	}
	p = b->mem + b->used;
	b->used += n;
	return p;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
	CHECK(!size || n <= SIZE_MAX / 8 / size);
	return arena_alloc(a, n * size);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *copy;

	if (!s)
		return NULL;
	n = strnlen(s, n);
	copy = arena_alloc(a, n + 1);
	memcpy(copy, s, n);
	return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return s ? arena_strndup(a, s, strlen(s)) : NULL;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, copy;
	char *s;
	int n;

	va_start(ap, fmt);
	va_copy(copy, ap);
	n = vsnprintf(NULL, 0, fmt, copy);
	va_end(copy);
	CHECK(n >= 0);
	s = arena_alloc(a, (size_t)n + 1);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

size_t arena_bytes(const struct arena *a)
{
	size_t total = 0;

	for (const struct arena_block *b = a->head; b; b = b->next)
		total += sizeof *b + b->size;
	return total;
}

size_t arena_used(const struct arena *a)
{
	size_t total = 0;

	for (const struct arena_block *b = a->head; b; b = b->next)
		total += b->used;
	return total;
}
