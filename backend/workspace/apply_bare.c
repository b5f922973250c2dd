/*
 * apply_bare.c - finds git repositories without a .git directory, which are not applied.
 *
 * In a directory with HEAD, objects and refs git takes the configuration that lies beside them, and runs what that
 * names, as soon as somebody says `git status` there.  It does not matter whether all of it is taken, or some was in
 * the target before.  With a file `commondir` objects and refs may be anywhere.
 */
#include "workspace/apply_plan.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/beneath.h>
#include <berth/mem.h>

enum { HAS_HEAD = 1, HAS_OBJECTS = 2, HAS_REFS = 4, HAS_COMMON = 8 };

static const struct part {
	const char *name;
	unsigned has;
} parts[] = {{"HEAD", HAS_HEAD}, {"objects", HAS_OBJECTS}, {"refs", HAS_REFS},
	{"commondir", HAS_COMMON}};

/* A directory in which something would be taken, or above that: a part of a path. */
struct dir {
	const char *path;
	size_t n; /* 0: the top */
	unsigned has;
};

struct apply_bare {
	struct dir *dir; /* sorted */
	size_t ndir, cap;
	char **ask;
	size_t nask, cap_ask;
};

static int order_dirs(const void *a, const void *b)
{
	const struct dir *x = a, *y = b;
	int rc = memcmp(x->path, y->path, x->n < y->n ? x->n : y->n);

	return rc ? rc : x->n < y->n ? -1 : x->n > y->n;
}

/* The length of the directory that holds the component at `at`. */
static size_t end_of_dir(const char *path, const char *at)
{
	return at > path ? (size_t)(at - path) - 1 : 0;
}

static struct dir *find_dir(const struct apply_bare *b, const char *path, const char *at)
{
	const struct dir key = {.path = path, .n = end_of_dir(path, at)};

	return bsearch(&key, b->dir, b->ndir, sizeof key, order_dirs);
}

/* The next component, or NULL. */
static const char *next_part(const char *at)
{
	const char *slash = strchr(at, '/');

	return slash ? slash + 1 : NULL;
}

static void collect_dirs(struct apply_bare *b, const struct apply *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->nitem; i++)
		for (const char *at = t->item[i].path; at && t->item[i].fate != APPLY_DROPPED;
			at = next_part(at)) {
			b->dir = mem_grow(b->dir, &b->cap, b->ndir + 1, sizeof *b->dir);
			b->dir[b->ndir++] = (struct dir){
				.path = t->item[i].path, .n = end_of_dir(t->item[i].path, at)};
		}
	mem_sort(b->dir, b->ndir, sizeof *b->dir, order_dirs);
	for (size_t i = 0; i < b->ndir; i++)
		if (n == 0 || order_dirs(&b->dir[n - 1], &b->dir[i]))
			b->dir[n++] = b->dir[i];
	b->ndir = n;
}

static unsigned part_of(const char *at)
{
	for (size_t i = 0; i < COUNT(parts); i++)
		if (apply_is_named(at, parts[i].name))
			return parts[i].has;
	return 0;
}

static void note_parts(struct apply_bare *b, const struct apply *t)
{
	for (size_t i = 0; i < t->nitem; i++)
		for (const char *at = t->item[i].path; at && t->item[i].fate != APPLY_DROPPED;
			at = next_part(at)) {
			unsigned has = part_of(at);

			if (has)
				find_dir(b, t->item[i].path, at)->has |= has;
		}
}

static int order_alike(const void *a, const void *b)
{
	const struct dir *x = *(const struct dir *const *)a, *y = *(const struct dir *const *)b;
	const char *s = x->path, *t = y->path;
	uint32_t p, q;

	do {
		p = apply_next_letter(&s, x->path + x->n);
		q = apply_next_letter(&t, y->path + y->n);
	} while (p == q && p);
	return (p > q) - (p < q);
}

/* There are file systems to which several of them are one. */
static void join_alike(struct apply_bare *b)
{
	AUTO_FREE struct dir **all = xcalloc(b->ndir + 1, sizeof *all);

	for (size_t i = 0; i < b->ndir; i++)
		all[i] = &b->dir[i];
	mem_sort(all, b->ndir, sizeof *all, order_alike);
	for (size_t i = 1; i < b->ndir; i++)
		if (!order_alike(&all[i - 1], &all[i]))
			all[i]->has |= all[i - 1]->has;
	for (size_t i = b->ndir; i-- > 1;)
		if (!order_alike(&all[i - 1], &all[i]))
			all[i - 1]->has |= all[i]->has;
}

struct apply_bare *apply_bare_begin(const struct apply *t)
{
	struct apply_bare *b = xcalloc(1, sizeof *b);

	collect_dirs(b, t);
	note_parts(b, t);
	join_alike(b);
	return b;
}

void apply_bare_end(struct apply_bare *b)
{
	for (size_t i = 0; i < b->nask; i++)
		free(b->ask[i]);
	free(b->ask);
	free(b->dir);
	free(b);
}

static char *name_part(const struct dir *d, const struct part *part)
{
	return xasprintf("%.*s%s%s", (int)d->n, d->path, d->n ? "/" : "", part->name);
}

size_t apply_bare_ask(struct apply_bare *b, char *const **ret)
{
	for (size_t i = 0; i < b->ndir; i++)
		for (size_t k = 0; k < COUNT(parts); k++) {
			if (b->dir[i].has & parts[k].has)
				continue;
			b->ask = mem_grow(b->ask, &b->cap_ask, b->nask + 1, sizeof *b->ask);
			b->ask[b->nask++] = name_part(&b->dir[i], &parts[k]);
		}
	*ret = b->ask;
	return b->nask;
}

static bool is_bare(const struct dir *d)
{
	return d->has & HAS_HEAD &&
		(d->has & HAS_COMMON || (d->has & HAS_OBJECTS && d->has & HAS_REFS));
}

/* Whatever it is there: a link to a directory is one to git, too. */
static void look_into_target(struct dir *d, int into)
{
	for (size_t k = 0; k < COUNT(parts); k++) {
		AUTO_FREE char *path = NULL;
		AUTO_CLOSE int fd = -1;

		if (d->has & parts[k].has)
			continue;
		path = name_part(d, &parts[k]);
		fd = beneath_open(
			into, path, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
		d->has |= fd >= 0 ? parts[k].has : 0;
		if (!(d->has & HAS_HEAD)) /* the first */
			return;
	}
}

void apply_bare_drop(struct apply_bare *b, struct apply *t, int into)
{
	bool any = false;

	for (size_t i = 0; i < b->ndir; i++) {
		look_into_target(&b->dir[i], into);
		any |= is_bare(&b->dir[i]);
	}
	for (size_t i = 0; any && i < t->nitem; i++)
		for (const char *at = t->item[i].path; at && t->item[i].fate != APPLY_DROPPED;
			at = next_part(at))
			if (is_bare(find_dir(b, t->item[i].path, at)))
				apply_set_fate(&t->item[i], APPLY_DROPPED,
					"it would be part of a bare git repository, whose "
					"configuration can make git run programs");
}
