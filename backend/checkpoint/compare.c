/* compare.c - compares two trees by their manifests, without reading contents. */
#include "checkpoint/trees.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

static void tell_entry(const struct manifest *m, uint32_t i, struct checkpoint_entry *ret)
{
	const struct entry *x = &m->entry[i];

	*ret = (struct checkpoint_entry){.id = i,
		.mode = x->mode,
		.uid = x->uid,
		.gid = x->gid,
		.size = S_ISREG(x->mode) ? x->size : 0,
		.attributes = x->attrs != 0,
		.target = S_ISLNK(x->mode) ? m->text.s + x->target : NULL};
}

bool checkpoint_lookup(
	const struct checkpoint_tree *t, const char *path, struct checkpoint_entry *ret)
{
	AUTO_FREE char *copy = xstrdup(path);
	char *rest = NULL;
	uint32_t at = 0;

	for (char *part = strtok_r(copy, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
		if (strcmp(part, ".") == 0)
			continue;
		at = manifest_find(&t->m, at, part);
		if (at == NOWHERE)
			return false;
	}
	tell_entry(&t->m, at, ret);
	return true;
}

void checkpoint_entry_again(const struct checkpoint_tree *t, struct checkpoint_entry *x)
{
	if (x->mode)
		tell_entry(&t->m, x->id, x);
}

bool checkpoint_same(const struct checkpoint_tree *a, const struct checkpoint_entry *x,
	const struct checkpoint_tree *b, const struct checkpoint_entry *y)
{
	return (x->mode & S_IFMT) == (y->mode & S_IFMT) &&
		(!x->mode || manifest_same_content(&a->m, x->id, &b->m, y->id));
}

static struct checkpoint_change *add_change(struct checkpoint_changes *c, size_t *cap,
	enum checkpoint_difference what, const struct manifest *m, uint32_t i)
{
	AUTO_STR struct str path = STR_INIT;

	manifest_path(m, i, &path);
	c->all = mem_grow(c->all, cap, c->n + 1, sizeof *c->all);
	c->all[c->n] = (struct checkpoint_change){.what = what, .path = str_detach(&path)};
	return &c->all[c->n++];
}

static int order_changes(const void *left, const void *right)
{
	const struct checkpoint_change *a = left, *b = right;

	return strcmp(a->path, b->path);
}

/* A file without a content: another is mounted there, or it was closed to us.  Or a directory that was. */
static bool is_covered(const struct manifest *m, uint32_t i)
{
	const struct entry *x = &m->entry[i];

	return x->flags & ENTRY_UNREAD || (x->flags & ENTRY_MOUNT && S_ISREG(x->mode));
}

void checkpoint_compare(const struct checkpoint_tree *left, const struct checkpoint_tree *right,
	struct checkpoint_changes *ret)
{
	const struct manifest *a = &left->m, *b = &right->m;
	AUTO_FREE uint32_t *match =
		xreallocarray(NULL, b->n, sizeof *match); /* in a, of each of b */
	AUTO_FREE bool *kept = xcalloc(a->n, sizeof *kept);
	AUTO_FREE bool *covered = xcalloc(a->n, sizeof *covered); /* by a mount: nobody looked */
	AUTO_FREE bool *hidden = xcalloc(b->n, sizeof *hidden);   /* the same of b, seen from a */
	struct checkpoint_change *c;
	size_t cap = 0;

	*ret = (struct checkpoint_changes){0};
	match[0] = 0;
	kept[0] = true;
	for (uint32_t k = 1; k < b->n; k++) {
		uint32_t i = manifest_find(a, match[b->entry[k].parent], manifest_name(b, k));
		enum checkpoint_difference what;

		match[k] = i;
		hidden[k] = hidden[b->entry[k].parent] || is_covered(b, k) ||
			(i != NOWHERE && a->entry[i].flags & ENTRY_MOUNT);
		if (i == NOWHERE && hidden[k])
			continue;
		if (i == NOWHERE) {
			c = add_change(ret, &cap, CHECKPOINT_ADDED, b, k);
			tell_entry(b, k, &c->new);
			continue;
		}
		kept[i] = true;
		covered[i] = (a->entry[i].flags | b->entry[k].flags) & ENTRY_MOUNT;
		if (covered[i])
			continue;
		if ((a->entry[i].mode & S_IFMT) != (b->entry[k].mode & S_IFMT))
			what = CHECKPOINT_TYPE;
		else if (!manifest_same_content(a, i, b, k))
			what = CHECKPOINT_CONTENT;
		else if (!manifest_same_dress(a, i, b, k))
			what = CHECKPOINT_MODE;
		else
			continue;
		c = add_change(ret, &cap, what, b, k);
		tell_entry(a, i, &c->old);
		tell_entry(b, k, &c->new);
	}
	for (uint32_t i = 1; i < a->n; i++) {
		covered[i] = covered[i] || covered[a->entry[i].parent] || is_covered(a, i);
		if (kept[i] || covered[i])
			continue;
		c = add_change(ret, &cap, CHECKPOINT_REMOVED, a, i);
		tell_entry(a, i, &c->old);
	}
	mem_sort(ret->all, ret->n, sizeof *ret->all, order_changes);
}

void checkpoint_changes_release(struct checkpoint_changes *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->all[i].path);
	free(c->all);
	*c = (struct checkpoint_changes){0};
}
