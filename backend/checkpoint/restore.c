/*
 * restore.c - restores a tree to a checkpoint: remove, create, link, fix, in that order.
 *
 * What is the same stays untouched, inode and all.  A file that differs is not overwritten but recreated: a link to
 * it from outside, or a mapping, keeps the old one. Everything that is removed is in the checkpoint that was made
 * before; an interrupted restore is completed by running it again.
 *
 * An agent may rename while root works here.  So owner, mode, attributes and times are given to a
 * descriptor, and only to the inode that was captured or that we made: never to what has its name now.
 *
 * What was closed to us when the checkpoint was made, or is now, is left as it is, with all below.
 */
#include "checkpoint/restore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "checkpoint/pack.h"
#include "checkpoint/below.h"
#include "files/files.h"

#define SHARE 32      /* entries that a worker takes at once, at least and */
#define SHARE_MAX 512 /* at most */
#define ATTR_NAMES (64u << 10)

struct restoring {
	const struct restore *how;
	int root;
	const struct manifest *live, *to;
	uint32_t *match; /* of each entry of `to`: its like in `live` that stays, or NOWHERE */
	bool *kept;      /* of each of `live`: it stays */
	bool *left; /* of each of `to`: it could not be seen, then or now, and what is there stays */
	bool *need;     /* of each of `to`: its object will be read */
	bool *dirty;    /* directories of `to` whose times our work changed */
	uint64_t *made; /* the inode of each directory of `to` that we made */
	const struct packs *packs;
	uid_t me;
	gid_t group;
	uint32_t *order; /* of the entries of `to`, for who makes them */
	size_t next;     /* in `order`; under the lock */
	_Atomic uint64_t written, bytes;
	bool *replaced; /* entries of live: another comes under the same name */
	uint64_t removed, mended, unseen;
	pthread_mutex_t lock;
	atomic_bool failed;
	struct err err;
};

static int fail_restore(struct restoring *r, const struct err *e)
{
	pthread_mutex_lock(&r->lock);
	if (!atomic_load(&r->failed))
		r->err = *e;
	atomic_store(&r->failed, true);
	pthread_mutex_unlock(&r->lock);
	return -1;
}

/* --- what stays --- */

/* How many names each inode has, at its first entry. */
static uint32_t *count_names(const struct manifest *m)
{
	uint32_t *n = xcalloc(m->n, sizeof *n);

	for (uint32_t i = 0; i < m->n; i++)
		n[m->entry[i].link]++;
	return n;
}

/* An inode stays only with all of its names, and no other: else one name would change what another shows. */
static void part_links(struct restoring *r)
{
	AUTO_FREE uint32_t *want = count_names(r->to), *have = count_names(r->live);
	AUTO_FREE bool *broken = xcalloc(r->to->n, sizeof *broken);

	for (uint32_t i = 1; i < r->to->n; i++) {
		uint32_t first = r->to->entry[i].link, k = r->match[i], lead = r->match[first];

		if (S_ISDIR(r->to->entry[i].mode))
			continue;
		if (k == NOWHERE || lead == NOWHERE ||
			r->live->entry[k].link != r->live->entry[lead].link ||
			want[first] != have[r->live->entry[k].link] ||
			r->live->entry[k].names != want[first])
			broken[first] = true;
	}
	for (uint32_t i = 1; i < r->to->n; i++)
		if (!S_ISDIR(r->to->entry[i].mode) && broken[r->to->entry[i].link])
			r->match[i] = NOWHERE;
}

/* Entry i of `to`, and k of its name in `live`. */
static void leave_unseen(struct restoring *r, uint32_t i, uint32_t k)
{
	const struct entry *x = &r->to->entry[i];
	bool closed = x->flags & ENTRY_UNREAD,
	     shut = k != NOWHERE && r->live->entry[k].flags & ENTRY_UNREAD;

	r->left[i] = closed || shut || r->left[x->parent] || r->left[x->link];
	r->unseen += closed || shut;
	if (r->left[i] && k != NOWHERE)
		r->kept[k] = true;
}

/* Nobody knows whether it was there. */
static void keep_below_unseen(struct restoring *r)
{
	const struct manifest *live = r->live;

	for (uint32_t k = 1; k < live->n; k++) {
		r->kept[k] = r->kept[k] || r->kept[live->entry[k].parent];
		r->unseen += (live->entry[k].flags & ENTRY_UNREAD) && !r->kept[k];
	}
}

static void match_trees(struct restoring *r)
{
	const struct manifest *to = r->to, *live = r->live;

	r->match[0] = 0;
	for (uint32_t i = 1; i < to->n; i++) {
		uint32_t up = r->match[to->entry[i].parent];
		uint32_t k = manifest_find(live, up, manifest_name(to, i));

		r->match[i] = NOWHERE;
		leave_unseen(r, i, k);
		if (k == NOWHERE || r->left[i])
			continue;
		if (live->entry[k].flags & ENTRY_MOUNT ||
			((to->entry[i].mode & S_IFMT) == (live->entry[k].mode & S_IFMT) &&
				manifest_same_content(to, i, live, k)))
			r->match[i] = k;
	}
	keep_below_unseen(r);
	part_links(r);
	for (uint32_t i = 0; i < to->n; i++) {
		if (r->match[i] != NOWHERE)
			r->kept[r->match[i]] = true;
		else if (!r->left[i] && S_ISREG(to->entry[i].mode) && to->entry[i].link == i)
			r->need[i] = true;
	}
	/* What is mounted there is nobody's to take away, nor are the directories that lead to it. */
	for (uint32_t k = (uint32_t)live->n; k-- > 1;)
		if (r->kept[k] || live->entry[k].flags & ENTRY_MOUNT) {
			r->kept[k] = true;
			r->kept[live->entry[k].parent] = true;
		}
}

static int refuse_closed(const struct restoring *r, uint32_t k, struct err *e)
{
	AUTO_STR struct str path = STR_INIT;
	char shown[256];

	manifest_path(r->live, k, &path);
	text_clean(shown, sizeof shown, path.s);
	return err_set(e, ERR_REFUSED,
		"cannot restore %s: the directory in its place contains a mount, or files that you cannot read: restore it as root",
		shown);
}

/* Nothing takes the place of what has to stay. */
static int check_closed(const struct restoring *r, struct err *e)
{
	const struct manifest *to = r->to;

	for (uint32_t i = 1; i < to->n; i++) {
		uint32_t up = r->match[to->entry[i].parent], k;

		if (r->match[i] != NOWHERE || r->left[i] || up == NOWHERE)
			continue;
		k = manifest_find(r->live, up, manifest_name(to, i));
		if (k != NOWHERE && r->kept[k])
			return refuse_closed(r, k, e);
	}
	return 0;
}

/* What we could not give back to its owner is refused before anything is changed. */
static int check_owners(const struct restoring *r, struct err *e)
{
	for (uint32_t i = 0; r->me != 0 && i < r->to->n; i++) {
		const struct entry *x = &r->to->entry[i];
		uint32_t k = r->match[i];

		if (x->uid != r->me && !r->left[i] &&
			(k == NOWHERE || r->live->entry[k].uid != x->uid ||
				r->live->entry[k].mode != x->mode))
			return below_error(e, EPERM, "restore", r->to, i, NULL);
	}
	return 0;
}

/* --- one entry --- */

static bool has_attr(const char *attrs, size_t n, const char *name)
{
	for (const char *p = attrs; n && p < attrs + n;) {
		attrs_length length;

		if (strcmp(p, name) == 0)
			return true;
		p += strlen(p) + 1;
		memcpy(&length, p, sizeof length);
		p += sizeof length + length;
	}
	return false;
}

/* Exactly these attributes: those inherited or put there since go.  1: the mode may have changed with them. */
static int set_attrs(const char *self, const char *attrs, size_t n)
{
	AUTO_FREE char *names = NULL;
	ssize_t have = listxattr(self, NULL, 0);

	if (have > 0) {
		names = xmalloc(ATTR_NAMES);
		have = listxattr(self, names, ATTR_NAMES);
	}
	for (ssize_t at = 0; at < have; at += (ssize_t)strlen(names + at) + 1)
		if (!has_attr(attrs, n, names + at) && removexattr(self, names + at) < 0 &&
			errno != ENODATA)
			return -1;
	for (const char *p = attrs; p && p < attrs + n;) {
		const char *name = p;
		attrs_length length;

		p += strlen(p) + 1;
		memcpy(&length, p, sizeof length);
		p += sizeof length;
		if (setxattr(self, name, p, length, 0) < 0)
			return -1;
		p += length;
	}
	return have > 0 || n > 0;
}

/* The inode of an entry of m, captured or made; it is opened by name, and compared with this. */
static uint64_t inode_known(const struct restoring *r, const struct manifest *m, uint32_t i)
{
	uint32_t k = m == r->live ? i : r->match[i];

	return k != NOWHERE ? r->live->entry[k].ino : r->made[i];
}

static int is_another(void)
{
	errno = ESTALE;
	return -1;
}

/* Entry i that stays, or the directory that we made, whatever its mode lets us do with it. */
static int hold_known(const struct restoring *r, uint32_t i, int dir)
{
	AUTO_CLOSE int fd = below_open_leaf(dir, manifest_name(r->to, i), O_PATH);
	uint32_t k = r->match[i];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (st.st_ino != inode_known(r, r->to, i) ||
		(st.st_mode & S_IFMT) != (r->to->entry[i].mode & S_IFMT) ||
		(k != NOWHERE && st.st_uid != r->live->entry[k].uid))
		return is_another();
	return steal_fd(&fd);
}

/* What was made by name just now.  It might be another already, but then one of which nothing is given away. */
static int hold_made(const struct restoring *r, uint32_t i, int dir, int flags)
{
	const struct entry *x = &r->to->entry[i];
	AUTO_CLOSE int fd = below_open_leaf(dir, manifest_name(r->to, i), flags);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if ((st.st_mode & S_IFMT) != (x->mode & S_IFMT) ||
		(st.st_uid != r->me && st.st_uid != x->uid) ||
		(!S_ISDIR(x->mode) && st.st_nlink != 1) ||
		((S_ISCHR(x->mode) || S_ISBLK(x->mode)) && st.st_rdev != x->size))
		return is_another();
	return steal_fd(&fd);
}

/* Owner first, for changing it takes away set-id bits and capabilities; times last.  By /proc, which is the inode
 * itself, also of a link, and also where the descriptor is for nothing else. */
static int dress_entry(const struct restoring *r, uint32_t i, int fd)
{
	const struct entry *x = &r->to->entry[i];
	struct timespec times[2];
	char self[BELOW_PROC_MAX];
	bool changed = false;
	const char *attrs;
	struct stat st;
	size_t n;
	int rc;

	if (fstat(fd, &st) < 0)
		return -1;
	if (st.st_uid != x->uid || st.st_gid != x->gid) {
		if (fchownat(fd, "", x->uid, x->gid, AT_EMPTY_PATH) < 0)
			return -1;
		changed = true;
	}
	attrs = manifest_attrs(r->to, i, &n);
	rc = set_attrs(below_self(self, fd), attrs, n);
	if (rc < 0)
		return -1;
	changed = changed || rc || (st.st_mode ^ x->mode) & 07777;
	if (changed && !S_ISLNK(x->mode) && chmod(self, x->mode & 07777) < 0)
		return -1;
	times[0] = below_atime(x);
	times[1] = below_mtime(x);
	return utimensat(AT_FDCWD, self, times, 0);
}

static int dress_known(const struct restoring *r, uint32_t i, int dir)
{
	AUTO_CLOSE int fd = hold_known(r, i, dir);

	return fd < 0 ? -1 : dress_entry(r, i, fd);
}

static int dress_made(const struct restoring *r, uint32_t i, int dir)
{
	AUTO_CLOSE int fd = hold_made(r, i, dir, O_PATH);

	return fd < 0 ? -1 : dress_entry(r, i, fd);
}

/* A file that we made just now and have open: the same with fewer calls, where it has no attributes. */
static int dress_file(const struct restoring *r, uint32_t i, int fd)
{
	const struct entry *x = &r->to->entry[i];
	struct timespec times[2];
	struct stat st;
	bool changed;

	if (x->attrs || flistxattr(fd, NULL, 0) > 0)
		return dress_entry(r, i, fd);
	if (fstat(fd, &st) < 0)
		return -1;
	changed = st.st_uid != x->uid || st.st_gid != x->gid;
	if (changed && fchown(fd, x->uid, x->gid) < 0)
		return -1;
	if ((changed || (st.st_mode ^ x->mode) & 07777) && fchmod(fd, x->mode & 07777) < 0)
		return -1;
	times[0] = below_atime(x);
	times[1] = below_mtime(x);
	return futimens(fd, times);
}

static bool is_dressed(const struct restoring *r, uint32_t i, uint32_t k)
{
	const struct entry *x = &r->to->entry[i], *y = &r->live->entry[k];

	return x->mtime_ns == y->mtime_ns && x->mtime_far == y->mtime_far &&
		manifest_same_dress(r->to, i, r->live, k);
}

/* Nobody who may not read the file as it will be may read it meanwhile. */
static mode_t mode_at_first(const struct restoring *r, const struct entry *x)
{
	return x->uid == r->me && x->gid == r->group ? x->mode & 0777 : 0600;
}

static int restore_file(struct restoring *r, struct pack_hands *h, uint32_t i, int dir)
{
	const struct entry *x = &r->to->entry[i];
	AUTO_CLOSE int fd = openat(dir, manifest_name(r->to, i),
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_at_first(r, x));
	int rc = -1;

	if (fd >= 0)
		rc = r->how->get ? r->how->get(r->how->ctx, i, fd)
				 : pack_get(packs_fd(r->packs, x->pack), h, x, fd, true);
	return rc < 0 ? -1 : dress_file(r, i, fd);
}

static int make_entry(struct restoring *r, struct pack_hands *h, uint32_t i, int dir)
{
	const struct entry *x = &r->to->entry[i];
	const char *name = manifest_name(r->to, i);
	int rc;

	switch (x->mode & S_IFMT) {
	case S_IFREG: rc = restore_file(r, h, i, dir); break;
	case S_IFLNK: rc = symlinkat(r->to->text.s + x->target, dir, name); break;
	case S_IFCHR:
	case S_IFBLK: rc = mknodat(dir, name, (x->mode & S_IFMT) | 0600, x->size); break;
	default: rc = mknodat(dir, name, (x->mode & S_IFMT) | 0600, 0); break;
	}
	if (rc < 0)
		return -1;
	atomic_fetch_add(&r->written, 1);
	atomic_fetch_add(&r->bytes, S_ISREG(x->mode) ? x->size : 0);
	return S_ISREG(x->mode) ? 0 : dress_made(r, i, dir);
}

/* --- the steps --- */

static int go_to_known(
	const struct restoring *r, const struct manifest *m, uint32_t dir, struct below_place *p)
{
	struct stat st;

	if (p->dir == dir && p->fd >= 0)
		return 0;
	if (below_goto(r->root, m, dir, p) < 0)
		return -1;
	if (fstat(p->fd, &st) == 0 && st.st_ino == inode_known(r, m, dir))
		return 0;
	below_leave(p);
	return is_another();
}

/* A directory that is to be changed; its owner may have closed it to himself. */
static int go_to_change(
	const struct restoring *r, const struct manifest *m, uint32_t dir, struct below_place *p)
{
	struct stat st;

	if (p->dir == dir && p->fd >= 0)
		return 0;
	if (go_to_known(r, m, dir, p) < 0 || fstat(p->fd, &st) < 0)
		return -1;
	return r->me == 0 || (st.st_mode & 0700) == 0700
		? 0
		: fchmod(p->fd, (st.st_mode & 07777) | 0700);
}

static int remove_surplus(struct restoring *r, struct err *e)
{
	struct below_place place = BELOW_NO_PLACE;
	const struct manifest *m = r->live;
	int rc = 0;

	for (uint32_t k = (uint32_t)m->n; rc == 0 && k-- > 1;) {
		const struct entry *x = &m->entry[k];

		if (r->kept[k])
			continue;
		rc = go_to_change(r, m, x->parent, &place);
		if (rc == 0)
			rc = unlinkat(
				place.fd, manifest_name(m, k), S_ISDIR(x->mode) ? AT_REMOVEDIR : 0);
		if (rc < 0 && errno == ENOENT)
			rc = 0; /* gone is gone */
		if (rc < 0)
			below_error(e, errno, "remove", m, k, NULL);
		r->removed += !r->replaced[k];
	}
	below_leave(&place);
	return rc;
}

static bool is_empty_dir(int fd)
{
	char names[512];
	ssize_t n = getdents64(fd, names, sizeof names);

	for (ssize_t at = 0; at < n;) {
		const struct dirent64 *d = (const void *)(names + at);

		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			return false;
		at += d->d_reclen;
	}
	return n >= 0;
}

static int make_known_dir(struct restoring *r, uint32_t i, int dir)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (mkdirat(dir, manifest_name(r->to, i), 0700) < 0)
		return -1;
	fd = hold_made(r, i, dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	r->made[i] = st.st_ino;
	return is_empty_dir(fd) ? 0 : is_another();
}

static int make_dirs(struct restoring *r, struct err *e)
{
	struct below_place place = BELOW_NO_PLACE;
	const struct manifest *m = r->to;
	int rc = 0;

	for (uint32_t i = 1; rc == 0 && i < m->n; i++) {
		if (!S_ISDIR(m->entry[i].mode) || r->match[i] != NOWHERE || r->left[i])
			continue;
		rc = go_to_change(r, m, m->entry[i].parent, &place);
		if (rc == 0)
			rc = make_known_dir(r, i, place.fd);
		if (rc < 0)
			below_error(e, errno, "make", m, i, NULL);
		r->dirty[i] = true;
		atomic_fetch_add(&r->written, 1);
	}
	below_leave(&place);
	return rc;
}

static int restore_entry(struct restoring *r, struct pack_hands *h, struct below_place *place,
	uint32_t i, struct err *e)
{
	const struct entry *x = &r->to->entry[i];
	uint32_t k = r->match[i];
	bool mend =
		k != NOWHERE && !(r->live->entry[k].flags & ENTRY_MOUNT) && !is_dressed(r, i, k);

	if (S_ISDIR(x->mode) || x->link != i || x->flags & ENTRY_MOUNT || r->left[i] ||
		(k != NOWHERE && !mend))
		return 0;
	if (go_to_change(r, r->to, x->parent, place) < 0)
		return below_error(e, errno, "reach", r->to, x->parent, NULL);
	if (mend ? dress_known(r, i, place->fd) < 0 : make_entry(r, h, i, place->fd) < 0)
		return below_error(e, errno, "restore", r->to, i, NULL);
	return 0;
}

/* What is in one directory stands together: each is opened once, and nobody waits in it for another thread.  What
 * gives the contents one after another has an order of its own. */
static void choose_order(struct restoring *r)
{
	AUTO_FREE uint32_t *at = xcalloc(r->to->n + 1, sizeof *at);

	r->order = xreallocarray(NULL, r->to->n, sizeof *r->order);
	for (uint32_t i = 0; r->how->get && i < r->to->n; i++)
		r->order[i] = i;
	if (r->how->get)
		return;
	for (uint32_t i = 0; i < r->to->n; i++)
		at[r->to->entry[i].parent + 1]++;
	for (uint32_t i = 0; i < r->to->n; i++)
		at[i + 1] += at[i];
	for (uint32_t i = 0; i < r->to->n; i++)
		r->order[at[r->to->entry[i].parent]++] = i;
}

/* Whole directories, as long as they are not too large. */
static size_t take_share(struct restoring *r, size_t *to)
{
	size_t from, n = r->to->n;

	pthread_mutex_lock(&r->lock);
	from = *to = r->next;
	while (*to < n &&
		(*to - from < SHARE ||
			(*to - from < SHARE_MAX &&
				r->to->entry[r->order[*to]].parent ==
					r->to->entry[r->order[*to - 1]].parent)))
		++*to;
	r->next = *to;
	pthread_mutex_unlock(&r->lock);
	return from;
}

/* Trees that are changed at once. */
struct changing {
	struct restoring *all;
	size_t n;
	int (*step)(struct restoring *r, struct err *e);
	_Atomic size_t next; /* whose turn of that it is */
};

static void restore_shares(struct restoring *r, struct pack_hands *h)
{
	struct below_place place = BELOW_NO_PLACE;
	struct err e = ERR_INIT;
	size_t from, to;

	while (!atomic_load(&r->failed) && (from = take_share(r, &to)) < to)
		for (; from < to; from++)
			if (restore_entry(r, h, &place, r->order[from], &e) < 0) {
				fail_restore(r, &e);
				break;
			}
	below_leave(&place);
}

static void restore_entries(void *ctx, unsigned worker, struct crew *c)
{
	struct changing *g = ctx;
	struct pack_hands h;

	(void)worker;
	(void)c;
	hands_init(&h);
	for (size_t i = 0; i < g->n; i++)
		restore_shares(&g->all[i], &h);
	hands_release(&h);
}

static int link_names(struct restoring *r, struct err *e)
{
	struct below_place place = BELOW_NO_PLACE, first = BELOW_NO_PLACE;
	const struct manifest *m = r->to;
	int rc = 0;

	for (uint32_t i = 1; rc == 0 && i < m->n; i++) {
		const struct entry *x = &m->entry[i];

		if (x->link == i || r->match[i] != NOWHERE || x->flags & ENTRY_MOUNT || r->left[i])
			continue;
		if (go_to_change(r, m, x->parent, &place) < 0 ||
			go_to_known(r, m, m->entry[x->link].parent, &first) < 0 ||
			linkat(first.fd, manifest_name(m, x->link), place.fd, manifest_name(m, i),
				0) < 0)
			rc = below_error(e, errno, "link", m, i, NULL);
		atomic_fetch_add(&r->written, 1);
	}
	below_leave(&place);
	below_leave(&first);
	return rc;
}

/* Below before above: what happens in a directory changes its times. */
static int dress_dirs(struct restoring *r, struct err *e)
{
	struct below_place place = BELOW_NO_PLACE;
	const struct manifest *m = r->to;
	int rc = 0;

	for (uint32_t i = (uint32_t)m->n; rc == 0 && i-- > 0;) {
		const struct entry *x = &m->entry[i];
		uint32_t k = r->match[i];

		if (!S_ISDIR(x->mode) || x->flags & ENTRY_MOUNT || r->left[i] ||
			(k != NOWHERE && r->live->entry[k].flags & ENTRY_MOUNT))
			continue;
		if (!r->dirty[i] && k != NOWHERE && is_dressed(r, i, k))
			continue;
		if (i == 0)
			rc = dress_entry(r, 0, r->root);
		else if ((rc = go_to_known(r, m, x->parent, &place)) == 0)
			rc = dress_known(r, i, place.fd);
		if (rc < 0)
			below_error(e, errno, "restore", m, i, NULL);
	}
	below_leave(&place);
	return rc;
}

/* Entry i of `to` is not there: what has its name goes for it. */
static void note_replaced(struct restoring *r, uint32_t i)
{
	uint32_t above = r->match[r->to->entry[i].parent];
	uint32_t k =
		above == NOWHERE ? NOWHERE : manifest_find(r->live, above, manifest_name(r->to, i));

	if (k != NOWHERE)
		r->replaced[k] = true;
}

/* Directories in which something is to be removed or made. */
static void note_dirty(struct restoring *r)
{
	AUTO_FREE bool *touched = xcalloc(r->live->n, sizeof *touched);

	for (uint32_t k = 1; k < r->live->n; k++)
		if (!r->kept[k])
			touched[r->live->entry[k].parent] = true;
	for (uint32_t i = 0; i < r->to->n; i++) {
		if (r->left[i])
			continue;
		if (r->match[i] == NOWHERE) {
			r->dirty[r->to->entry[i].parent] = true;
			note_replaced(r, i);
		} else if (touched[r->match[i]])
			r->dirty[i] = true;
		else if (!S_ISDIR(r->to->entry[i].mode) && !is_dressed(r, i, r->match[i])) {
			r->dirty[r->to->entry[i].parent] = true; /* may be opened for it */
			r->mended++;
		}
	}
}

static int begin_changes(struct restoring *r, struct err *e)
{
	note_dirty(r);
	choose_order(r);
	return remove_surplus(r, e) < 0 ? -1 : make_dirs(r, e);
}

static int end_changes(struct restoring *r, struct err *e)
{
	return link_names(r, e) < 0 ? -1 : dress_dirs(r, e);
}

static void take_steps(void *ctx, unsigned worker, struct crew *c)
{
	struct changing *g = ctx;
	struct err e = ERR_INIT;
	size_t i;

	(void)worker;
	(void)c;
	while ((i = atomic_fetch_add(&g->next, 1)) < g->n)
		if (!atomic_load(&g->all[i].failed) && g->step(&g->all[i], &e) < 0)
			fail_restore(&g->all[i], &e);
}

/* In a tree it is done by one thread. */
static void step_each(
	struct changing *g, struct pool *pool, int (*step)(struct restoring *r, struct err *e))
{
	unsigned width = pool_processors();

	g->step = step;
	atomic_store(&g->next, 0);
	crew_run(pool, width < g->n ? width : (unsigned)g->n, take_steps, g);
}

static int check_restore(struct restoring *r, struct err *e)
{
	const struct restore *how = r->how;

	match_trees(r);
	if (check_closed(r, e) || check_owners(r, e))
		return -1;
	if (how->store && !how->sound && store_check(how->store, r->to, r->need, e) < 0)
		return -1;
	return how->begin ? how->begin(how->store, r->to->head.name, e) : 0;
}

static void init_restoring(
	struct restoring *r, const struct restore *how, const struct packs *packs)
{
	const struct manifest *live = how->live, *to = how->to;

	*r = (struct restoring){.how = how,
		.root = how->root,
		.live = live,
		.to = to,
		.packs = packs,
		.me = geteuid(),
		.group = getegid()};
	r->match = xreallocarray(NULL, to->n, sizeof *r->match);
	r->kept = xcalloc(live->n, sizeof *r->kept);
	r->left = xcalloc(to->n, sizeof *r->left);
	r->need = xcalloc(to->n, sizeof *r->need);
	r->dirty = xcalloc(to->n, sizeof *r->dirty);
	r->made = xcalloc(to->n, sizeof *r->made);
	r->replaced = xcalloc(live->n, sizeof *r->replaced);
	pthread_mutex_init(&r->lock, NULL);
}

static void release_restoring(struct restoring *r)
{
	pthread_mutex_destroy(&r->lock);
	free(r->match);
	free(r->kept);
	free(r->left);
	free(r->need);
	free(r->dirty);
	free(r->made);
	free(r->replaced);
	free(r->order);
}

/* Whether what the first of them write might leave no room for the last. */
static bool is_tight(const struct changing *g)
{
	const struct manifest *to = g->all->to;
	struct statvfs st;

	return fstatvfs(g->all->root, &st) < 0 ||
		(uint64_t)st.f_bavail / (2 * g->n) < to->head.bytes / st.f_frsize + to->n ||
		(st.f_files && st.f_favail / g->n < to->n);
}

/* Where there may not be room for all, one after the other: the first have it. */
static void restore_contents(struct changing *g, const struct restore *how)
{
	unsigned width = how->get ? 1 : pool_processors();
	struct changing one = {.n = 1};

	if (g->n == 1 || !is_tight(g)) {
		crew_run(how->pool, width, restore_entries, g);
		return;
	}
	for (size_t i = 0; i < g->n; i++) {
		one.all = &g->all[i];
		crew_run(how->pool, width, restore_entries, &one);
	}
}

void restore_trees(const struct restore *how, size_t n, struct restore_result *ret)
{
	struct changing g = {.all = xcalloc(n, sizeof *g.all), .n = n};
	struct packs packs = {0};
	struct err e;

	if (how->store)
		packs_init(&packs, how->store, how->to);
	for (size_t i = 0; i < n; i++) {
		e = (struct err)ERR_INIT;
		init_restoring(&g.all[i], &how[i], &packs);
		if (check_restore(&g.all[i], &e) < 0)
			fail_restore(&g.all[i], &e);
	}
	step_each(&g, how->pool, begin_changes);
	restore_contents(&g, how);
	step_each(&g, how->pool, end_changes);
	for (size_t i = 0; i < n; i++) {
		struct restoring *r = &g.all[i];

		ret[i] = (struct restore_result){.failed = r->failed,
			.err = r->err,
			.done = {.written = r->written,
				.removed = r->removed,
				.mended = r->mended,
				.left = r->unseen,
				.bytes = r->bytes}};
		release_restoring(r);
	}
	if (how->store)
		packs_release(&packs);
	free(g.all);
}

int restore_tree(const struct restore *how, struct checkpoint_restored *ret, struct err *e)
{
	struct restore_result result;

	restore_trees(how, 1, &result);
	if (ret)
		*ret = result.done;
	return result.failed ? err_copy(e, &result.err) : 0;
}
