/*
 * lister.c - lists all directories of a live tree on several threads.
 *
 * Others may write meanwhile.  A name that is gone was never there; where another has a name now, that is taken;
 * what is closed to us stays in the manifest as a name, marked, and the directory is not entered.
 */
#include "checkpoint/capturing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <berth/mem.h>

#include "files/files.h"

#define LISTED (64u << 10) /* bytes of names taken from the kernel at once */
#define LOOKED_AT_MOST 8   /* times at a name that is sometimes a link */

/* --- attributes --- */

static int order_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void make_room(struct lister *l)
{
	if (l->attrs)
		return;
	l->attrs = xmalloc(ATTRS_MAX);
	l->list = xmalloc(ATTRS_MAX);
}

/* `self`: the path is the inode itself, through a descriptor; else its last component is not followed. */
static ssize_t read_attrs(struct lister *l, const char *path, bool self)
{
	char *sorted[1024];
	size_t count = 0, at = sizeof(attrs_length);
	attrs_length length;
	ssize_t n;

	make_room(l);
	n = self ? listxattr(path, l->list, ATTRS_MAX) : llistxattr(path, l->list, ATTRS_MAX);
	if (n <= 0)
		return n < 0 && errno != ENOTSUP ? -1 : 0;
	for (char *p = l->list; p < l->list + n; p += strlen(p) + 1) {
		if (count == COUNT(sorted)) {
			errno = E2BIG;
			return -1;
		}
		sorted[count++] = p;
	}
	mem_sort(sorted, count, sizeof *sorted, order_names);
	for (size_t i = 0; i < count; i++) {
		size_t used = strlen(sorted[i]) + 1;
		size_t room = ATTRS_MAX - at - used - sizeof length;
		char *value = l->attrs + at + used + sizeof length;
		ssize_t got;

		if (at + used + sizeof length >= ATTRS_MAX) {
			errno = E2BIG;
			return -1;
		}
		memcpy(l->attrs + at, sorted[i], used);
		got = self ? getxattr(path, sorted[i], value, room)
			   : lgetxattr(path, sorted[i], value, room);
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

ssize_t lister_attrs(struct lister *l, int fd)
{
	char self[BELOW_PROC_MAX];

	return read_attrs(l, below_self(self, fd), true);
}

/* --- what is left out --- */

static int fail_listing(
	struct capturing *g, uint32_t i, const char *name, int errnum, struct err *e)
{
	pthread_mutex_lock(&g->lock);
	below_error(e, errnum, "read", g->m, i, name);
	pthread_mutex_unlock(&g->lock);
	return -1;
}

static void set_unread(struct entry *x)
{
	x->flags |= ENTRY_MOUNT | ENTRY_UNREAD;
	if (S_ISREG(x->mode))
		x->size = 0;
}

int listing_leave_out(struct capturing *g, uint32_t i, int errnum, struct err *e)
{
	bool other = errnum == ENOTDIR || errnum == ELOOP, gone = other || errnum == ENOENT;

	if (g->whole || i == 0 || (!gone && errnum != EACCES && errnum != EPERM))
		return fail_listing(g, i, NULL, errnum, e);
	pthread_mutex_lock(&g->lock);
	/* A directory that is none any more: what has its name is looked at again, once. */
	if (other && S_ISDIR(g->m->entry[i].mode) && !(g->mark[i] & MARK_AGAIN))
		g->mark[i] |= MARK_AGAIN;
	else if (gone)
		g->mark[i] |= MARK_GONE;
	else
		set_unread(&g->m->entry[i]);
	pthread_mutex_unlock(&g->lock);
	return 0;
}

/* --- listing --- */

void listing_stat(struct entry *x, const struct stat *st)
{
	x->ino = st->st_ino;
	x->size = S_ISREG(st->st_mode)                         ? (uint64_t)st->st_size
		: S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode) ? st->st_rdev
							       : 0;
	below_keep_mtime(x, st->st_mtim);
	x->ctime_ns = below_ns(st->st_ctim);
	below_keep_atime(x, st->st_atim);
	x->mode = st->st_mode;
	x->uid = st->st_uid;
	x->gid = st->st_gid;
	x->names = (uint32_t)st->st_nlink;
}

/* The base's entry has the same inode and times, and they say that nothing changed. */
static bool is_settled(const struct capturing *g, const struct entry *was, const struct stat *st)
{
	return !(was->flags & ENTRY_MOUNT) && was->ino == st->st_ino && was->mode == st->st_mode &&
		was->uid == st->st_uid && was->gid == st->st_gid &&
		was->mtime_ns == below_ns(st->st_mtim) && was->ctime_ns == below_ns(st->st_ctim) &&
		was->ctime_ns < g->racy_from &&
		(!S_ISREG(st->st_mode) || was->size == (uint64_t)st->st_size);
}

/* Somebody may have written it through a mapping, which leaves the times alone after the first page. */
bool listing_may_be_mapped(const struct capturing *g, const struct stat *st)
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
	bool settled, mount, unread;
	bool alone; /* `symlinks` is held */
};

static int inspect_found(struct lister *l, struct found *f, const struct manifest *base)
{
	const struct entry *was = base && f->match != NOWHERE ? &base->entry[f->match] : NULL;
	char proc[BELOW_PROC_MAX];
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
		f->attrs_len = read_attrs(l, below_proc(proc, dir, f->name), false);
	if (f->attrs_len < 0 && (errno == EACCES || errno == EPERM) && !l->g->whole) {
		f->unread = true; /* they ask for more than its name does */
		f->attrs_len = 0;
	}
	return f->attrs_len < 0 ? -1 : 0;
}

static int copy_attrs(struct lister *l, const struct found *f, struct entry *x, struct err *e)
{
	const struct manifest *base = l->g->s->base;
	const char *attrs = l->attrs;
	size_t n = (size_t)f->attrs_len;

	if (!n && f->settled && base->entry[f->match].attrs) {
		attrs = manifest_attrs(base, f->match, &n) - sizeof(attrs_length);
		n += sizeof(attrs_length);
	}
	x->attrs = n ? manifest_text(l->g->m, attrs, n, e) : 0;
	return n && !x->attrs ? -1 : 0;
}

static int copy_target(struct lister *l, const struct found *f, struct entry *x, struct err *e)
{
	const struct manifest *base = l->g->s->base;
	bool known = f->settled && !f->target_len;
	const char *target = known ? base->text.s + base->entry[f->match].target : f->target;

	x->target =
		manifest_text(l->g->m, target, known ? strlen(target) : (size_t)f->target_len, e);
	return x->target ? 0 : -1;
}

/* What the base has of it need not be read. */
static void copy_known_content(struct lister *l, struct found *f, struct entry *x)
{
	const struct entry *was = f->settled ? &l->g->s->base->entry[f->match] : NULL;

	if (listing_may_be_mapped(l->g, &f->st))
		x->flags |= ENTRY_MAPPED;
	f->settled = was && !((x->flags | was->flags) & ENTRY_MAPPED);
	if (!f->settled)
		return;
	memcpy(x->hash, was->hash, HASH_BYTES);
	x->offset = was->offset;
	x->stored = was->stored;
	x->pack = was->pack;
	x->flags |= was->flags & ENTRY_SPARSE;
}

/* Into entry i of this name and parent; under the lock. */
static int fill_found(struct lister *l, struct found *f, uint32_t i, struct err *e)
{
	struct capturing *g = l->g;
	struct entry *x = &g->m->entry[i];

	*x = (struct entry){.link = i, .parent = x->parent, .name = x->name};
	listing_stat(x, &f->st);
	x->flags = f->mount ? ENTRY_MOUNT : 0;
	if ((S_ISLNK(x->mode) && copy_target(l, f, x, e)) || copy_attrs(l, f, x, e))
		return -1;
	if (f->unread)
		set_unread(x);
	else if (S_ISREG(x->mode))
		copy_known_content(l, f, x);
	g->match[i] = S_ISREG(x->mode) && !f->settled ? NOWHERE : f->match;
	g->mark[i] = 0;
	if (S_ISDIR(x->mode) && !(x->flags & ENTRY_MOUNT)) {
		g->todo = mem_grow(g->todo, &g->cap, g->ntodo + 1, sizeof *g->todo);
		g->todo[g->ntodo++] = i;
		pthread_cond_signal(&g->more);
	}
	return 0;
}

/* Under the lock. */
static int append_found(struct lister *l, struct found *f, uint32_t dir, struct err *e)
{
	struct capturing *g = l->g;
	struct manifest *m = g->m;
	struct entry *x = manifest_add(m);
	uint32_t i = (uint32_t)m->n - 1;

	if (!x)
		return err_set(e, ERR_REFUSED,
			"this tree has more than 16 million entries: no checkpoint can hold them");
	g->match = mem_grow(g->match, &g->match_cap, i + 1, sizeof *g->match);
	g->mark = mem_grow(g->mark, &g->mark_cap, i + 1, sizeof *g->mark);
	x->parent = dir;
	x->name = manifest_text(m, f->name, strlen(f->name), e);
	return x->name ? fill_found(l, f, i, e) : -1;
}

static int look_at_name(struct lister *l, struct found *f, uint32_t dir_match)
{
	const struct manifest *base = l->g->s->base;

	f->match = NOWHERE;
	f->mount = f->unread = false;
	if (fstatat(l->place.fd, f->name, &f->st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (S_ISLNK(f->st.st_mode) && f->st.st_nlink > 1 && !f->alone) {
		pthread_mutex_lock(&l->g->symlinks);
		f->alone = true;
		if (fstatat(l->place.fd, f->name, &f->st, AT_SYMLINK_NOFOLLOW) < 0)
			return -1;
	}
	if (S_ISDIR(f->st.st_mode)) { /* of a file it shows when it is read */
		int fd = below_open_leaf(l->place.fd, f->name, O_PATH | O_DIRECTORY);

		f->mount = fd < 0 && errno == EXDEV;
		if (fd >= 0)
			close(fd);
	}
	if (base) {
		f->match = manifest_find(base, dir_match, f->name);
		if (f->match != NOWHERE &&
			(base->entry[f->match].mode & S_IFMT) != (f->st.st_mode & S_IFMT))
			f->match = NOWHERE;
	}
	return inspect_found(l, f, base);
}

static int list_found(struct lister *l, struct found *f, uint32_t dir, uint32_t dir_match,
	uint32_t at, struct err *e)
{
	struct capturing *g = l->g;
	int rc;

	for (int times = 1;; times++) {
		rc = look_at_name(l, f, dir_match);
		/* No link any more. */
		if (rc == 0 || errno != EINVAL || times == LOOKED_AT_MOST)
			break;
	}
	if (rc < 0 && (errno == ENOENT || errno == EINVAL)) {
		/* Gone between two calls. */
		pthread_mutex_lock(&g->lock);
		if (at == NOWHERE)
			g->gone++;
		else
			g->mark[at] |= MARK_GONE;
		pthread_mutex_unlock(&g->lock);
		return 0;
	}
	if (rc < 0 && (errno == EACCES || errno == EPERM) && !g->whole)
		return listing_leave_out(g, dir, errno, e); /* of it one may know names only */
	if (rc < 0)
		return fail_listing(g, dir, f->name, errno, e);
	pthread_mutex_lock(&g->lock);
	rc = at == NOWHERE ? append_found(l, f, dir, e) : fill_found(l, f, at, e);
	pthread_mutex_unlock(&g->lock);
	return rc;
}

/* `name` in l->place, which is the directory `dir`: a new entry, or again entry `at`. */
static int list_one(struct lister *l, uint32_t dir, uint32_t dir_match, const char *name,
	uint32_t at, struct err *e)
{
	struct found f; /* large: what is not set here is when it is looked at */
	int rc;

	f.name = name;
	f.alone = false;
	rc = list_found(l, &f, dir, dir_match, at, e);
	if (f.alone)
		pthread_mutex_unlock(&l->g->symlinks);
	return rc;
}

/* Where another directory than `ino` has the name by now, that is the one. */
static int take_over_dir(struct lister *l, uint32_t dir, uint64_t ino, struct err *e)
{
	struct capturing *g = l->g;
	struct entry *x;
	struct stat st;
	ssize_t n;
	int rc;

	if (fstat(l->place.fd, &st) < 0)
		return fail_listing(g, dir, NULL, errno, e);
	if (st.st_ino == ino)
		return 0;
	n = g->whole ? -1 : lister_attrs(l, l->place.fd);
	if (n < 0)
		return listing_leave_out(g, dir, g->whole ? ENOENT : errno, e);
	pthread_mutex_lock(&g->lock);
	x = &g->m->entry[dir];
	listing_stat(x, &st);
	x->attrs = n ? manifest_text(g->m, l->attrs, (size_t)n, e) : 0;
	rc = n && !x->attrs ? -1 : 0;
	pthread_mutex_unlock(&g->lock);
	return rc;
}

static int list_names(struct lister *l, uint32_t dir, uint32_t match, ssize_t n, struct err *e)
{
	int rc = 0;

	for (ssize_t at = 0; rc == 0 && at < n;) {
		const struct dirent64 *d = (const void *)(l->names + at);

		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			rc = list_one(l, dir, match, d->d_name, NOWHERE, e);
		at += d->d_reclen;
	}
	return rc;
}

static int list_captured(struct lister *l, uint32_t dir, struct err *e)
{
	struct capturing *g = l->g;
	uint32_t match;
	uint64_t ino;
	int rc, errnum;

	pthread_mutex_lock(&g->lock);
	rc = below_goto(g->s->root, g->m, dir, &l->place);
	errnum = errno;
	match = g->match[dir];
	ino = g->m->entry[dir].ino;
	pthread_mutex_unlock(&g->lock);
	if (rc < 0)
		return listing_leave_out(g, dir, errnum, e);
	rc = take_over_dir(l, dir, ino, e);
	while (rc == 0) {
		ssize_t n = getdents64(l->place.fd, l->names, LISTED);

		if (n == 0 ||
			(n < 0 && errno == ENOENT && !g->whole)) /* the end; of one that is gone */
			break;
		rc = n < 0 ? fail_listing(g, dir, NULL, errno, e) : list_names(l, dir, match, n, e);
	}
	return rc;
}

void lister_init(struct lister *l, struct capturing *g)
{
	*l = (struct lister){.g = g, .place = BELOW_NO_PLACE};
}

void lister_release(struct lister *l)
{
	below_leave(&l->place);
	free(l->names);
	free(l->attrs);
	free(l->list);
}

void listing_run(void *ctx, unsigned worker, struct crew *c)
{
	struct capturing *g = ctx;
	struct err e = ERR_INIT;
	struct lister l;

	(void)worker;
	(void)c;
	lister_init(&l, g);
	l.names = xmalloc(LISTED);
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
			capture_fail(g, &e);
		pthread_mutex_lock(&g->lock);
		g->busy--;
		if (g->ntodo == 0 && g->busy == 0)
			pthread_cond_broadcast(&g->more);
	}
	pthread_mutex_unlock(&g->lock);
	lister_release(&l);
}

int listing_again(struct capturing *g, struct err *e)
{
	struct manifest *m = g->m;
	struct lister l;
	int rc = 0;

	lister_init(&l, g);
	for (uint32_t i = 1, n = (uint32_t)m->n; rc == 0 && i < n; i++) {
		char name[NAME_MAX + 1];
		uint32_t dir = m->entry[i].parent;

		if (!(g->mark[i] & MARK_AGAIN))
			continue;
		snprintf(name, sizeof name, "%s", manifest_name(m, i)); /* the text may move */
		rc = below_goto(g->s->root, m, dir, &l.place) < 0
			? listing_leave_out(g, i, errno, e)
			: list_one(&l, dir, g->match[dir], name, i, e);
		g->mark[i] &= (uint8_t)~MARK_AGAIN;
		atomic_store(&g->again, true); /* it is read, or listed, next */
	}
	lister_release(&l);
	return rc;
}

/* --- the beginning --- */

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

int listing_begin(struct capturing *g, struct err *e)
{
	struct manifest *m = g->m;
	struct timespec tick = {0, 10000000};
	struct entry *root = manifest_add(m);
	struct lister l;
	ssize_t attrs;
	struct stat st;

	m->head.begun_ns = read_clock(CLOCK_REALTIME_COARSE);
	clock_getres(CLOCK_REALTIME_COARSE, &tick);
	if (g->s->base)
		g->racy_from = g->s->base->head.begun_ns - 2 * below_ns(tick);
	if (fstat(g->s->root, &st) < 0)
		return err_sys(e, errno, "cannot read the root of the tree");
	listing_stat(root, &st);
	m->head.root_ino = st.st_ino;
	m->head.root_dev = st.st_dev;
	capture_boot(m->head.boot);
	lister_init(&l, g);
	attrs = lister_attrs(&l, g->s->root);
	if (attrs > 0)
		root->attrs = manifest_text(m, l.attrs, (size_t)attrs, e);
	lister_release(&l);
	g->match = mem_grow(g->match, &g->match_cap, 1, sizeof *g->match);
	g->match[0] = g->s->base ? 0 : NOWHERE;
	g->mark = mem_grow(g->mark, &g->mark_cap, 1, sizeof *g->mark);
	g->mark[0] = 0;
	g->todo = mem_grow(g->todo, &g->cap, 1, sizeof *g->todo);
	g->ntodo = 1;
	g->todo[0] = 0;
	return attrs < 0 ? err_sys(e, errno, "cannot read the attributes of the root") : 0;
}
