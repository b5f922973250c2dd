/* capture.c - listing a live tree and reading what of it may be new. */
#include "checkpoint/capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <berth/mem.h>

#include "checkpoint/pack.h"
#include "checkpoint/below.h"
#include "files/files.h"

#define LISTED (64u << 10)   /* bytes of names taken from the kernel at once */
#define ATTRS_MAX (1u << 20) /* bytes of attributes of one entry */
#define SHARE 32             /* files that a worker takes at once */
#define READ_TWICE 2

struct capturing {
	const struct capture *s;
	struct manifest *m;
	struct mapped mapped;
	int64_t racy_from; /* a ctime from then on vouches for nothing */
	uid_t me;

	pthread_mutex_t lock; /* guards all below, and m while directories are listed */
	pthread_cond_t more;
	uint32_t *todo; /* directories to be listed, the newest first */
	size_t ntodo, cap;
	unsigned busy;
	bool failed;
	struct err err;

	uint32_t *match; /* of each entry, that of the base, or NOWHERE */
	size_t match_cap;
	uint32_t *fresh; /* files to be read */
	size_t nfresh;
	_Atomic size_t next;
	_Atomic uint64_t moving;
};

/* A thread's own while it lists. */
struct lister {
	struct capturing *g;
	struct below_place place;
	char *names, *attrs, *list;
};

static void fail_capture(struct capturing *g, const struct err *e)
{
	pthread_mutex_lock(&g->lock);
	if (!g->failed)
		g->err = *e;
	g->failed = true;
	pthread_cond_broadcast(&g->more);
	pthread_mutex_unlock(&g->lock);
}

/* --- attributes --- */

static int order_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All attributes of dir/name as they stand in a manifest; the length, or -1 and errno. */
static ssize_t read_attrs(struct lister *l, int dir, const char *name)
{
	char proc[BELOW_PROC_MAX], *sorted[1024];
	ssize_t n = llistxattr(below_proc(proc, dir, name), l->list, ATTRS_MAX);
	size_t count = 0, at = sizeof(attrs_length);
	attrs_length length;

	if (n <= 0)
		return n < 0 && errno != ENOTSUP ? -1 : 0;
	for (char *p = l->list; p < l->list + n; p += strlen(p) + 1) {
		if (count == COUNT(sorted)) {
			errno = E2BIG;
			return -1;
		}
		sorted[count++] = p;
	}
	qsort(sorted, count, sizeof *sorted, order_names);
	for (size_t i = 0; i < count; i++) {
		size_t used = strlen(sorted[i]) + 1;
		ssize_t got;

		if (at + used + sizeof length >= ATTRS_MAX) {
			errno = E2BIG;
			return -1;
		}
		memcpy(l->attrs + at, sorted[i], used);
		got = lgetxattr(proc, sorted[i], l->attrs + at + used + sizeof length,
			ATTRS_MAX - at - used - sizeof length);
		if (got < 0 && (errno == ENODATA || errno == ENOTSUP))
			continue;
		if (got < 0)
			return -1;
		length = (attrs_length)got;
		memcpy(l->attrs + at + used, &length, sizeof length);
		at += used + sizeof length + length;
	}
	length = (attrs_length)(at - sizeof length);
	memcpy(l->attrs, &length, sizeof length);
	return length ? (ssize_t)at : 0;
}

/* --- listing --- */

static void take_stat(struct entry *x, const struct stat *st)
{
	x->ino = st->st_ino;
	x->size = S_ISREG(st->st_mode)                         ? (uint64_t)st->st_size
		: S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode) ? st->st_rdev
							       : 0;
	x->mtime_ns = below_ns(st->st_mtim);
	x->ctime_ns = below_ns(st->st_ctim);
	x->atime_ns = below_ns(st->st_atim);
	x->mode = st->st_mode;
	x->uid = st->st_uid;
	x->gid = st->st_gid;
	x->names = (uint32_t)st->st_nlink;
}

/* The base's entry has the same inode and times, and they say that nothing changed. */
static bool is_settled(const struct capturing *g, const struct entry *was, const struct stat *st)
{
	return was->ino == st->st_ino && was->mode == st->st_mode && was->uid == st->st_uid &&
		was->gid == st->st_gid && was->mtime_ns == below_ns(st->st_mtim) &&
		was->ctime_ns == below_ns(st->st_ctim) && was->ctime_ns < g->racy_from &&
		(!S_ISREG(st->st_mode) || was->size == (uint64_t)st->st_size);
}

/* Somebody may have written it through a mapping, which leaves the times alone after the first page. */
static bool may_be_mapped(const struct capturing *g, const struct stat *st)
{
	if (mapped_holds(&g->mapped, st->st_ino))
		return true;
	return g->mapped.blind && (st->st_uid != g->me || st->st_mode & 0022);
}

/* What is known of one name before it enters the manifest. */
struct found {
	const char *name;
	struct stat st;
	uint32_t match;
	char target[PATH_MAX];
	ssize_t target_len, attrs_len;
	bool settled, mount;
};

static int inspect_found(struct lister *l, struct found *f, const struct manifest *base)
{
	const struct entry *was = base && f->match != NOWHERE ? &base->entry[f->match] : NULL;
	int dir = l->place.fd;

	f->settled = was && is_settled(l->g, was, &f->st);
	f->target_len = f->attrs_len = 0;
	if (f->settled && (!was->attrs || f->mount))
		return 0;
	if (S_ISLNK(f->st.st_mode)) {
		f->target_len = readlinkat(dir, f->name, f->target, sizeof f->target - 1);
		if (f->target_len < 0)
			return -1;
	}
	if (!f->settled)
		f->attrs_len = read_attrs(l, dir, f->name);
	return f->attrs_len < 0 ? -1 : 0;
}

/* Under the lock. */
static int append_found(struct lister *l, struct found *f, uint32_t dir, struct err *e)
{
	struct capturing *g = l->g;
	const struct manifest *base = g->s->base;
	const struct entry *was = base && f->match != NOWHERE ? &base->entry[f->match] : NULL;
	struct manifest *m = g->m;
	struct entry *x = manifest_add(m);
	uint32_t i = (uint32_t)m->n - 1;

	if (!x)
		return err_set(e, ERR_REFUSED,
			"this tree has more than 16 million entries: no checkpoint can hold them");
	take_stat(x, &f->st);
	x->parent = dir;
	x->flags = f->mount ? ENTRY_MOUNT : 0;
	x->name = manifest_text(m, f->name, strlen(f->name), e);
	if (!x->name)
		return -1;
	if (S_ISLNK(x->mode)) {
		const char *target =
			f->settled && !f->target_len ? base->text.s + was->target : f->target;
		size_t n = f->settled && !f->target_len ? strlen(target) : (size_t)f->target_len;

		x->target = manifest_text(m, target, n, e);
		if (!x->target)
			return -1;
	}
	if (f->attrs_len > 0) {
		x->attrs = manifest_text(m, l->attrs, (size_t)f->attrs_len, e);
		if (!x->attrs)
			return -1;
	} else if (f->settled && was->attrs) {
		size_t n;
		const char *attrs = manifest_attrs(base, f->match, &n) - sizeof(attrs_length);

		x->attrs = manifest_text(m, attrs, n + sizeof(attrs_length), e);
		if (!x->attrs)
			return -1;
	}
	if (S_ISREG(x->mode)) {
		if (may_be_mapped(g, &f->st))
			x->flags |= ENTRY_MAPPED;
		if (f->settled && !((x->flags | was->flags) & ENTRY_MAPPED)) {
			memcpy(x->hash, was->hash, HASH_BYTES);
			x->offset = was->offset;
			x->stored = was->stored;
			x->pack = was->pack;
			x->flags |= was->flags & ENTRY_SPARSE;
		} else {
			f->settled = false;
		}
	}
	g->match = mem_grow(g->match, &g->match_cap, i + 1, sizeof *g->match);
	g->match[i] = f->match;
	if (S_ISREG(x->mode) && !f->settled)
		g->match[i] = NOWHERE;
	if (S_ISDIR(x->mode) && !f->mount) {
		g->todo = mem_grow(g->todo, &g->cap, g->ntodo + 1, sizeof *g->todo);
		g->todo[g->ntodo++] = i;
		pthread_cond_signal(&g->more);
	}
	return 0;
}

static int list_one(
	struct lister *l, uint32_t dir, uint32_t dir_match, const char *name, struct err *e)
{
	struct capturing *g = l->g;
	struct found f = {.name = name, .match = NOWHERE};
	int rc;

	if (fstatat(l->place.fd, name, &f.st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT)
			return 0; /* gone between two calls: it was never there */
		pthread_mutex_lock(&g->lock);
		rc = below_error(e, errno, "read", g->m, dir, name);
		pthread_mutex_unlock(&g->lock);
		return rc;
	}
	if (S_ISDIR(f.st.st_mode)) { /* of a file it shows when it is read */
		int fd = below_open_leaf(l->place.fd, name, O_PATH | O_DIRECTORY);

		f.mount = fd < 0 && errno == EXDEV;
		if (fd >= 0)
			close(fd);
	}
	if (g->s->base) {
		f.match = manifest_find(g->s->base, dir_match, name);
		if (f.match != NOWHERE &&
			(g->s->base->entry[f.match].mode & S_IFMT) != (f.st.st_mode & S_IFMT))
			f.match = NOWHERE;
	}
	rc = inspect_found(l, &f, g->s->base);
	if (rc < 0 && errno == ENOENT)
		return 0;
	pthread_mutex_lock(&g->lock);
	rc = rc < 0 ? below_error(e, errno, "read", g->m, dir, name) : append_found(l, &f, dir, e);
	pthread_mutex_unlock(&g->lock);
	return rc;
}

static int list_captured(struct lister *l, uint32_t dir, struct err *e)
{
	struct capturing *g = l->g;
	uint32_t match;
	int rc;

	pthread_mutex_lock(&g->lock);
	rc = below_goto(g->s->root, g->m, dir, &l->place);
	if (rc < 0)
		below_error(e, errno, "read", g->m, dir, NULL);
	match = g->match[dir];
	pthread_mutex_unlock(&g->lock);
	while (rc == 0) {
		ssize_t n = getdents64(l->place.fd, l->names, LISTED);

		if (n == 0)
			break;
		if (n < 0) {
			pthread_mutex_lock(&g->lock);
			rc = below_error(e, errno, "read", g->m, dir, NULL);
			pthread_mutex_unlock(&g->lock);
		}
		for (ssize_t at = 0; rc == 0 && at < n;) {
			const struct dirent64 *d = (const void *)(l->names + at);

			if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
				rc = list_one(l, dir, match, d->d_name, e);
			at += d->d_reclen;
		}
	}
	return rc;
}

static void list_dirs(void *ctx, unsigned worker, struct crew *c)
{
	struct capturing *g = ctx;
	struct lister l = {.g = g, .place = BELOW_NO_PLACE};
	struct err e = ERR_INIT;

	(void)worker;
	(void)c;
	l.names = xmalloc(LISTED);
	l.attrs = xmalloc(ATTRS_MAX);
	l.list = xmalloc(ATTRS_MAX);
	pthread_mutex_lock(&g->lock);
	for (;;) {
		uint32_t dir;

		if (g->failed || (g->ntodo == 0 && g->busy == 0))
			break;
		if (g->ntodo == 0) {
			pthread_cond_wait(&g->more, &g->lock);
			continue;
		}
		dir = g->todo[--g->ntodo];
		g->busy++;
		pthread_mutex_unlock(&g->lock);
		if (list_captured(&l, dir, &e) < 0)
			fail_capture(g, &e);
		pthread_mutex_lock(&g->lock);
		g->busy--;
		if (g->ntodo == 0 && g->busy == 0)
			pthread_cond_broadcast(&g->more);
	}
	pthread_mutex_unlock(&g->lock);
	below_leave(&l.place);
	free(l.names);
	free(l.attrs);
	free(l.list);
}

/* --- links: names of one inode --- */

struct alias {
	uint64_t ino;
	uint32_t i;
};

static int order_aliases(const void *a, const void *b)
{
	const struct alias *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

/* Every name of an inode points to its first one.  What a mount shows is no part of this tree. */
static void join_links(struct manifest *m)
{
	struct alias *all = xreallocarray(NULL, m->n, sizeof *all);
	size_t n = 0;

	for (uint32_t i = 0; i < m->n; i++)
		if (!S_ISDIR(m->entry[i].mode))
			all[n++] = (struct alias){m->entry[i].ino, i};
	qsort(all, n, sizeof *all, order_aliases);
	for (size_t k = 1; k < n; k++) {
		struct entry *first = &m->entry[all[k - 1].i], *x = &m->entry[all[k].i];

		if (all[k].ino == all[k - 1].ino && (first->mode & S_IFMT) == (x->mode & S_IFMT) &&
			!((first->flags | x->flags) & ENTRY_MOUNT))
			x->link = first->link;
	}
	free(all);
}

/* --- reading --- */

static int open_to_read(int dir, const char *name)
{
	return below_open_own(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOATIME);
}

static bool is_same_reading(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && below_ns(a->st_mtim) == below_ns(b->st_mtim) &&
		below_ns(a->st_ctim) == below_ns(b->st_ctim);
}

static int hand_content(
	struct capturing *g, int fd, const struct stat *before, uint32_t i, struct err *e)
{
	struct entry *x = &g->m->entry[i];
	struct stat after;

	if (g->s->put(g->s->ctx, g->m, i, fd, e) < 0)
		return -1;
	if (fstat(fd, &after) < 0 || !is_same_reading(before, &after))
		return below_error(e, ENOENT, "read", g->m, i, NULL);
	x->mtime_ns = below_ns(after.st_mtim);
	return 0;
}

static int read_content(struct capturing *g, struct pack_hands *h, struct below_place *place,
	uint32_t i, struct err *e)
{
	struct manifest *m = g->m;
	struct entry *x = &m->entry[i];
	const char *name = manifest_name(m, i);
	AUTO_CLOSE int fd = -1;
	struct stat before, after;

	if (below_goto(g->s->root, m, x->parent, place) < 0)
		return below_error(e, errno, "read", m, x->parent, NULL);
	fd = open_to_read(place->fd, name);
	if (fd < 0 && errno == EXDEV) { /* a file on which another is mounted */
		x->flags |= ENTRY_MOUNT;
		x->size = 0;
		return 0;
	}
	if (fd < 0 || fstat(fd, &before) < 0)
		return below_error(e, errno, "read", m, i, NULL);
	if (!S_ISREG(before.st_mode) || before.st_ino != x->ino)
		return below_error(e, ENOENT, "read", m, i, NULL);
	if (g->s->put)
		return hand_content(g, fd, &before, i, e);
	for (int times = 1;; times++) {
		if (pack_put(g->s->pack, h, fd, x) < 0) {
			if (errno == EAGAIN && times < READ_TWICE)
				continue;
			return below_error(e, errno == EAGAIN ? ENOENT : errno, "read", m, i, NULL);
		}
		if (fstat(fd, &after) < 0)
			return below_error(e, errno, "read", m, i, NULL);
		if (is_same_reading(&before, &after))
			break;
		if (times == READ_TWICE) {
			atomic_fetch_add(&g->moving, 1);
			x->ctime_ns = 0; /* vouches for nothing */
			break;
		}
		before = after;
	}
	x->mtime_ns = below_ns(after.st_mtim);
	return 0;
}

static void read_contents(void *ctx, unsigned worker, struct crew *c)
{
	struct capturing *g = ctx;
	struct below_place place = BELOW_NO_PLACE;
	struct err e = ERR_INIT;
	struct pack_hands h;
	size_t from;

	(void)worker;
	(void)c;
	hands_init(&h);
	while ((from = atomic_fetch_add(&g->next, SHARE)) < g->nfresh) {
		size_t to = from + SHARE < g->nfresh ? from + SHARE : g->nfresh;

		for (size_t k = from; k < to; k++)
			if (read_content(g, &h, &place, g->fresh[k], &e) < 0) {
				fail_capture(g, &e);
				atomic_store(&g->next, g->nfresh);
				break;
			}
	}
	below_leave(&place);
	hands_release(&h);
}

/* Files in the order of their directories; each inode once. */
static void choose_fresh(struct capturing *g)
{
	struct manifest *m = g->m;

	g->fresh = xreallocarray(NULL, m->n, sizeof *g->fresh);
	for (uint32_t i = 1; i < m->n; i++)
		if (S_ISREG(m->entry[i].mode) && m->entry[i].link == i && g->match[i] == NOWHERE)
			g->fresh[g->nfresh++] = i;
}

static void settle_entries(struct manifest *m, uint64_t moving)
{
	struct header *h = &m->head;

	h->moving = moving;
	for (uint32_t i = 0; i < m->n; i++) {
		struct entry *x = &m->entry[i];

		if (x->link != i) { /* one content for all of its names */
			const struct entry *first = &m->entry[x->link];

			memcpy(x->hash, first->hash, HASH_BYTES);
			x->size = first->size;
			x->offset = first->offset;
			x->stored = first->stored;
			x->pack = first->pack;
			x->ctime_ns = first->ctime_ns;
			x->flags = first->flags;
		}
		h->mounts += (x->flags & ENTRY_MOUNT) != 0;
		if (S_ISREG(x->mode)) {
			h->files++;
			h->bytes += x->link == i ? x->size : 0;
		} else if (S_ISDIR(x->mode)) {
			h->dirs++;
		} else {
			h->others++;
		}
	}
}

void capture_boot(uint8_t boot[16])
{
	AUTO_CLOSE int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	char text[37] = "";
	unsigned byte;
	size_t n = 0;

	memset(boot, 0, 16);
	if (fd < 0 || read(fd, text, sizeof text - 1) < 0)
		return;
	for (const char *p = text; *p && n < 16; p++) {
		char two[3] = {p[0], p[1], '\0'};

		if (*p == '-' || !p[1])
			continue;
		byte = (unsigned)strtoul(two, NULL, 16);
		boot[n++] = (uint8_t)byte;
		p++;
	}
}

static int64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return below_ns(t);
}

static int begin_capture(struct capturing *g, struct err *e)
{
	struct manifest *m = g->m;
	struct lister l = {.g = g};
	struct timespec tick = {0, 10000000};
	struct entry *root = manifest_add(m);
	ssize_t attrs;
	struct stat st;

	m->head.begun_ns = read_clock(CLOCK_REALTIME_COARSE);
	clock_getres(CLOCK_REALTIME_COARSE, &tick);
	if (g->s->base)
		g->racy_from = g->s->base->head.begun_ns - 2 * below_ns(tick);
	if (fstat(g->s->root, &st) < 0)
		return err_sys(e, errno, "cannot read the root of the tree");
	take_stat(root, &st);
	m->head.root_ino = st.st_ino;
	m->head.root_dev = st.st_dev;
	capture_boot(m->head.boot);
	l.attrs = xmalloc(ATTRS_MAX);
	l.list = xmalloc(ATTRS_MAX);
	attrs = read_attrs(&l, g->s->root, ".");
	if (attrs > 0)
		root->attrs = manifest_text(m, l.attrs, (size_t)attrs, e);
	free(l.attrs);
	free(l.list);
	g->match = mem_grow(g->match, &g->match_cap, 1, sizeof *g->match);
	g->match[0] = g->s->base ? 0 : NOWHERE;
	g->todo = mem_grow(g->todo, &g->cap, 1, sizeof *g->todo);
	g->ntodo = 1;
	g->todo[0] = 0;
	return attrs < 0 ? err_sys(e, errno, "cannot read the attributes of the root") : 0;
}

int capture_tree(const struct capture *s, struct manifest *m, struct err *e)
{
	struct capturing g = {.s = s, .m = m, .me = geteuid()};
	unsigned width = pool_processors();
	int rc;

	pthread_mutex_init(&g.lock, NULL);
	pthread_cond_init(&g.more, NULL);
	mapped_read(&g.mapped, s->o);
	rc = begin_capture(&g, e);
	if (rc == 0) {
		crew_run(s->pool, width, list_dirs, &g);
		if (!g.failed) {
			join_links(m);
			choose_fresh(&g);
			if (s->put)
				width = 1;
			crew_run(s->pool, width < g.nfresh ? width : (unsigned)g.nfresh + 1,
				read_contents, &g);
		}
		if (!g.failed)
			settle_entries(m, atomic_load(&g.moving));
		else
			rc = err_copy(e, &g.err);
	}
	mapped_release(&g.mapped);
	free(g.todo);
	free(g.match);
	free(g.fresh);
	pthread_cond_destroy(&g.more);
	pthread_mutex_destroy(&g.lock);
	return rc;
}
