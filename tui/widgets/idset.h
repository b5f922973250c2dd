/*
 * idset.h - a set of row identities (engine, id), compared in full, never by hash alone.
 *
 * Thread: one owner at a time.
 */
#ifndef TUI_WIDGETS_IDSET_H
#define TUI_WIDGETS_IDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idset {
	struct idset_entry {
		char *engine, *id; /* one allocation; NULL: free slot */
		uint32_t hash;
		bool seen;
	} * slots;
	size_t n, cap; /* cap: 0 or a power of two */
};

void idset_release(struct idset *s);
void idset_clear(struct idset *s);
bool idset_has(const struct idset *s, const char *engine, const char *id);
void idset_add(struct idset *s, const char *engine, const char *id);
void idset_remove(struct idset *s, const char *engine, const char *id);
/* Between idset_unsee and idset_sweep: forget what idset_touch did not find again. */
void idset_unsee(struct idset *s);
bool idset_touch(struct idset *s, const char *engine, const char *id);
void idset_sweep(struct idset *s);

#endif
