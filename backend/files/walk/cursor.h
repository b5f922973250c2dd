/* cursor.h - going through a walked tree in order, depth first. */
#ifndef BERTH_FILES_CURSOR_H
#define BERTH_FILES_CURSOR_H

#include "files/walk/walk.h"

struct cursor_level {
	struct walk_dir *dir;
	size_t next, path_len;
};

struct cursor {
	struct cursor_level *stack;
	size_t depth, cap;
	struct str path; /* of the entry, below the root */
};

void cursor_init(struct cursor *c, const struct walk *w);
void cursor_release(struct cursor *c);
/* The next entry, wanted or not: *ret_dir->entries[*ret_index]; c->path is its path. */
bool cursor_next(struct cursor *c, struct walk_dir **ret_dir, size_t *ret_index);

#endif
