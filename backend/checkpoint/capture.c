/* capture.c - reads new files of a listed tree, and again those that changed in the meantime. */
#include "checkpoint/capturing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/sum.h>

#include "checkpoint/pack.h"
#include "files/files.h"

#define SHARE 32 /* files that a worker takes at once */
#define READ_TWICE 2
#define CUT_SHORT_MAX 8 /* times that a file may end before its end */
#define ROUNDS_MAX 8    /* in which a name may be another's each time */

void capture_fail(struct capturing *g, const struct err *e)
{
	pthread_mutex_lock(&g->lock);
	if (!g->failed)
		g->err = *e;
	g->failed = true;
	pthread_cond_broadcast(&g->more);
	pthread_mutex_unlock(&g->lock);
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

/* Every name of an inode points to its first one.  What a mount shows is no part of this tree; and a file that had one
 * name each time it was looked at was renamed meanwhile. */
static void join_links(struct capturing *g)
{
	struct manifest *m = g->m;
	struct alias *all = xreallocarray(NULL, m->n, sizeof *all);
	size_t n = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		m->entry[i].link = i;
		if (!S_ISDIR(m->entry[i].mode) && m->entry[i].names > 1 &&
			!(g->mark[i] & MARK_GONE))
			all[n++] = (struct alias){m->entry[i].ino, i};
	}
	mem_sort(all, n, sizeof *all, order_aliases);
	for (size_t k = 1; k < n; k++) {
		struct entry *first = &m->entry[all[k - 1].i], *x = &m->entry[all[k].i];

		if (all[k].ino == all[k - 1].ino && (first->mode & S_IFMT) == (x->mode & S_IFMT) &&
			!((first->flags | x->flags) & ENTRY_MOUNT))
			x->link = first->link;
	}
	free(all);
}

/* --- reading --- */

static int hand_content(
	struct capturing *g, int fd, const struct stat *before, uint32_t i, struct err *e)
{
	struct entry *x = &g->m->entry[i];
	struct stat after;

	if (g->s->put(g->s->ctx, g->m, i, fd, e) < 0)
		return -1;
	if (fstat(fd, &after) < 0 || !below_is_same_reading(before, &after))
		return below_error(e, ENOENT, "read", g->m, i, NULL);
	below_keep_mtime(x, after.st_mtim);
	return 0;
}

/* A thread's own. */
struct reading {
	struct capturing *g;
	struct lister l; /* its place is where the file is */
	struct pack_hands hands;
};

/* It is not the file that was listed: at the end of the round all such are looked at again. */
static int mark_again(struct capturing *g, uint32_t i, int errnum, struct err *e)
{
	if (g->whole)
		return below_error(e, errnum, "read", g->m, i, NULL);
	g->mark[i] |= MARK_AGAIN;
	atomic_store(&g->again, true);
	return 0;
}

static int leave_out_content(struct capturing *g, uint32_t i, int errnum, struct err *e)
{
	if (errnum == ELOOP || errnum == ENXIO || errnum == ENOTDIR)
		return mark_again(g, i, errnum, e);
	if (listing_leave_out(g, i, errnum, e) < 0)
		return -1;
	if (g->mark[i] & MARK_GONE)
		atomic_store(&g->again, true);
	else
		g->mark[i] |= MARK_READ;
	return 0;
}

/* Whoever saves writes a new file and gives it the name of the old: the new one is it. */
static int take_over_file(
	struct reading *w, uint32_t i, int fd, const struct stat *now, struct err *e)
{
	struct capturing *g = w->g;
	struct entry *x = &g->m->entry[i];
	ssize_t n = lister_attrs(&w->l, fd);

	if (n < 0)
		return leave_out_content(g, i, errno, e);
	listing_stat(x, now);
	x->attrs = 0;
	x->flags = listing_may_be_mapped(g, now) ? ENTRY_MAPPED : 0;
	pthread_mutex_lock(&g->lock);
	if (n > 0) {
		g->late = mem_grow(g->late, &g->cap_late, g->nlate + 1, sizeof *g->late);
		g->late[g->nlate] = (struct late){i, xmalloc((size_t)n), (size_t)n};
		memcpy(g->late[g->nlate++].attrs, w->l.attrs, (size_t)n);
	}
	pthread_mutex_unlock(&g->lock);
	atomic_store(&g->again, true); /* it may have led other names of the inode */
	return 0;
}

/* Until two readings have nothing between them; then as it was the last time. */
static int put_settled(struct reading *w, uint32_t i, int fd, struct stat before, struct err *e)
{
	struct capturing *g = w->g;
	struct entry *x = &g->m->entry[i];
	struct stat after;

	for (int times = 1;; times++) {
		if (pack_put(g->s->pack, &w->hands, fd, x) < 0) {
			if (errno == EAGAIN && times < CUT_SHORT_MAX)
				continue;
			return below_error(
				e, errno == EAGAIN ? ENOENT : errno, "read", g->m, i, NULL);
		}
		if (fstat(fd, &after) < 0)
			return below_error(e, errno, "read", g->m, i, NULL);
		if (below_is_same_reading(&before, &after))
			break;
		if (times >= READ_TWICE) {
			atomic_fetch_add(&g->moving, 1);
			x->ctime_ns = 0; /* vouches for nothing */
			break;
		}
		before = after;
	}
	below_keep_mtime(x, after.st_mtim);
	return 0;
}

static int read_content(struct reading *w, uint32_t i, struct err *e)
{
	struct capturing *g = w->g;
	struct manifest *m = g->m;
	struct entry *x = &m->entry[i];
	AUTO_CLOSE int fd = -1;
	struct stat now;

	if (below_goto(g->s->root, m, x->parent, &w->l.place) < 0)
		return leave_out_content(g, i, errno, e);
	fd = below_open_to_read(w->l.place.fd, manifest_name(m, i));
	if (fd < 0 && errno == EXDEV) { /* a file on which another is mounted */
		x->flags |= ENTRY_MOUNT;
		x->size = 0;
		g->mark[i] |= MARK_READ;
		return 0;
	}
	if (fd < 0)
		return leave_out_content(g, i, errno, e);
	if (fstat(fd, &now) < 0)
		return below_error(e, errno, "read", m, i, NULL);
	if (!S_ISREG(now.st_mode) || (now.st_ino != x->ino && g->whole))
		return mark_again(g, i, ENOENT, e);
	if (now.st_ino != x->ino && take_over_file(w, i, fd, &now, e) < 0)
		return -1;
	if (g->mark[i]) /* left out */
		return 0;
	g->mark[i] |= MARK_READ;
	return g->s->put ? hand_content(g, fd, &now, i, e) : put_settled(w, i, fd, now, e);
}

static void read_contents(void *ctx, unsigned worker, struct crew *c)
{
	struct capturing *g = ctx;
	struct reading w = {.g = g};
	struct err e = ERR_INIT;
	size_t from;

	(void)worker;
	(void)c;
	lister_init(&w.l, g);
	hands_init(&w.hands);
	while ((from = atomic_fetch_add(&g->next, SHARE)) < g->nfresh) {
		size_t to = from + SHARE < g->nfresh ? from + SHARE : g->nfresh;

		for (size_t k = from; k < to; k++)
			if (read_content(&w, g->fresh[k], &e) < 0) {
				capture_fail(g, &e);
				atomic_store(&g->next, g->nfresh);
				break;
			}
	}
	lister_release(&w.l);
	hands_release(&w.hands);
}

/* Files in the order of their directories; each inode once. */
static void choose_fresh(struct capturing *g)
{
	struct manifest *m = g->m;

	free(g->fresh);
	g->fresh = xreallocarray(NULL, m->n, sizeof *g->fresh);
	g->nfresh = 0;
	atomic_store(&g->next, 0);
	for (uint32_t i = 1; i < m->n; i++)
		if (S_ISREG(m->entry[i].mode) && m->entry[i].link == i && g->match[i] == NOWHERE &&
			!(m->entry[i].flags & ENTRY_MOUNT) &&
			!(g->mark[i] & (MARK_READ | MARK_GONE)))
			g->fresh[g->nfresh++] = i;
}

/* --- rounds --- */

static int append_late(struct capturing *g, struct err *e)
{
	int rc = 0;

	for (size_t k = 0; k < g->nlate; k++) {
		struct late *late = &g->late[k];

		if (rc == 0)
			g->m->entry[late->i].attrs = manifest_text(g->m, late->attrs, late->n, e);
		if (!g->m->entry[late->i].attrs)
			rc = -1;
		free(late->attrs);
	}
	g->nlate = 0;
	return rc;
}

/* Names that were another's each time. */
static void give_up_names(struct capturing *g)
{
	for (uint32_t i = 1; i < g->m->n; i++)
		if (g->mark[i] & MARK_AGAIN ||
			(S_ISREG(g->m->entry[i].mode) && g->match[i] == NOWHERE &&
				!(g->m->entry[i].flags & ENTRY_MOUNT) &&
				!(g->mark[g->m->entry[i].link] & MARK_READ)))
			g->mark[i] |= MARK_GONE;
}

/* Lists and reads; and again what was not what it had been. */
static int capture_all(struct capturing *g, struct err *e)
{
	for (unsigned round = 1; !g->failed; round++) {
		unsigned width = pool_processors();

		if (g->ntodo)
			crew_run(g->s->pool, width, listing_run, g);
		if (g->failed)
			break;
		atomic_store(&g->again, false);
		join_links(g);
		choose_fresh(g);
		if (round > ROUNDS_MAX) {
			give_up_names(g);
			return 0;
		}
		if (g->s->put)
			width = 1;
		if (g->nfresh)
			crew_run(g->s->pool, width < g->nfresh ? width : (unsigned)g->nfresh + 1,
				read_contents, g);
		if (g->failed)
			break;
		if (append_late(g, e) || listing_again(g, e))
			return -1;
		if (!atomic_load(&g->again))
			return 0;
	}
	return err_copy(e, &g->err);
}

/* --- the end --- */

static void share_contents(struct manifest *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		struct entry *x = &m->entry[i];
		const struct entry *first = &m->entry[x->link];

		if (x->link == i)
			continue;
		memcpy(x->hash, first->hash, HASH_BYTES);
		x->size = first->size;
		x->offset = first->offset;
		x->stored = first->stored;
		x->pack = first->pack;
		x->ctime_ns = first->ctime_ns;
		x->flags = first->flags;
	}
}

/* What is gone, and what was listed below a directory that then closed. */
static void leave_out(struct capturing *g)
{
	struct manifest *m = g->m;
	AUTO_FREE bool *out = xcalloc(m->n, sizeof *out);
	bool any = false;

	for (uint32_t i = 1; i < m->n; i++) {
		bool gone = g->mark[i] & MARK_GONE;

		g->gone += gone;
		out[i] = gone || m->entry[m->entry[i].parent].flags & ENTRY_UNREAD;
		any |= out[i];
	}
	if (any)
		manifest_leave_out(m, out);
}

static void count_captured(struct capturing *g)
{
	struct header *h = &g->m->head;

	h->moving = (uint32_t)atomic_load(&g->moving);
	h->gone = g->gone < UINT32_MAX ? (uint32_t)g->gone : UINT32_MAX;
	for (uint32_t i = 0; i < g->m->n; i++) {
		const struct entry *x = &g->m->entry[i];

		h->unread += (x->flags & ENTRY_UNREAD) != 0;
		h->mounts += (x->flags & (ENTRY_MOUNT | ENTRY_UNREAD)) == ENTRY_MOUNT;
		if (S_ISREG(x->mode)) {
			h->files++;
			sum_add(&h->bytes, x->link == i ? x->size : 0);
		} else if (S_ISDIR(x->mode)) {
			h->dirs++;
		} else {
			h->others++;
		}
	}
}

int capture_tree(const struct capture *s, struct manifest *m, struct err *e)
{
	struct capturing g = {.s = s, .m = m, .me = geteuid(), .whole = s->whole || s->put};
	int rc;

	pthread_mutex_init(&g.symlinks, NULL);
	pthread_mutex_init(&g.lock, NULL);
	pthread_cond_init(&g.more, NULL);
	mapped_read(&g.mapped, s->o);
	rc = listing_begin(&g, e);
	if (rc == 0)
		rc = capture_all(&g, e);
	if (rc == 0) {
		share_contents(m);
		leave_out(&g);
		count_captured(&g);
	}
	mapped_release(&g.mapped);
	for (size_t k = 0; k < g.nlate; k++)
		free(g.late[k].attrs);
	free(g.late);
	free(g.todo);
	free(g.match);
	free(g.mark);
	free(g.fresh);
	pthread_cond_destroy(&g.more);
	pthread_mutex_destroy(&g.lock);
	pthread_mutex_destroy(&g.symlinks);
	return rc;
}
