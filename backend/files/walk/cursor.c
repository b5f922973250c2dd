/* cursor.c - iterates depth first over a walked tree, without recursion. */
#include "files/walk/cursor.h"

#include <stdlib.h>

#include <berth/mem.h>

void cursor_init(struct cursor *c, const struct walk *w)
{
	*c = (struct cursor){0};
	str_init(&c->path);
	c->stack = mem_grow(c->stack, &c->cap, 1, sizeof *c->stack);
	c->stack[c->depth++] = (struct cursor_level){.dir = w->top};
	if (!*w->start)
		return;
	str_adds(&c->path, w->start);
	while (c->path.len > 1 && c->path.s[c->path.len - 1] == '/')
		c->path.len--;
	str_addc(&c->path, '/');
	c->stack[0].path_len = c->path.len;
}

void cursor_release(struct cursor *c)
{
	free(c->stack);
	str_release(&c->path);
}

bool cursor_next(struct cursor *c, struct walk_dir **ret_dir, size_t *ret_index)
{
	while (c->depth > 0) {
		struct cursor_level *at = &c->stack[c->depth - 1];
		struct walk_entry *entry;

		if (at->next == at->dir->n) {
			c->depth--;
			continue;
		}
		*ret_dir = at->dir;
		*ret_index = at->next++;
		entry = &at->dir->entries[*ret_index];
		c->path.len = at->path_len;
		if (at->path_len > 0)
			c->path.s[at->path_len - 1] = '/';
		str_add(&c->path, entry->name, entry->name_len);
		if (entry->dir && entry->dir->n) {
			str_reserve(&c->path, 2); /* for the slash of those below */
			c->stack = mem_grow(c->stack, &c->cap, c->depth + 1, sizeof *c->stack);
			c->stack[c->depth++] = (struct cursor_level){
				.dir = entry->dir, .path_len = c->path.len + 1};
		}
		return true;
	}
	return false;
}
