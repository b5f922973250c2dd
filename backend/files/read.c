/* read.c - reads many files in the order asked for: inline while cached, in parallel from the first miss. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>

#include "files/disk/missed.h"
#include "files/disk/ring.h"
#include "files/match/searchfile.h"

#define CHUNK 16      /* tasks a worker takes at a time */
#define WIDE_FROM 128 /* cached files left for which waking a thread pays */
#define MISS_STREAK 3 /* after so many misses in a row the cache is not asked any more */
#define MANY 8        /* files of a directory for which that is worth a descriptor */
#define TRUST 2       /* files of a directory found cached, after which the next is taken to be */

struct read_batch {
	struct reading r;
	const struct files_want *want;
	struct files_got *got;
	size_t n;
	_Atomic size_t next;
	_Atomic size_t nmissed;
	struct task **missed;
	bool no_cached;
};

/* Whether the file that comes MANY after this one is of the same directory. */
static bool many_here(const struct reader *me, const struct files_want *w, size_t len)
{
	return me->end - w > MANY && strncmp(w[MANY].path, w->path, len) == 0 &&
		!strchr(w[MANY].path + len, '/');
}

/* Where many files come of a directory: resolve that once, with all the care it takes, and then only
 * the last component of each.  A symlink there, or anything else that is odd, takes the long way.
 * Once files were found cached, the next is opened without asking whether its name is: where it is
 * not, its data are not either, and reading tells. */
static int open_cached(struct reader *me, const struct files_root *root, const struct files_want *w,
	const char *leaf)
{
	size_t len = (size_t)(leaf - w->path);
	char dir[256];
	int fd = -1, base = len ? me->dir : root->fd;

	if (!*leaf || *leaf == '.')
		return path_open_cached(root, w->path, PATH_READ);
	if (base < 0 && len < sizeof dir && many_here(me, w, len)) {
		memcpy(dir, w->path, len);
		dir[len] = '\0';
		me->dir = base = path_open_cached(root, dir, O_PATH | O_DIRECTORY);
	}
	if (base >= 0 && me->hits >= TRUST)
		fd = fast_openat(base, leaf, PATH_READ | O_NOFOLLOW);
	else if (base >= 0)
		fd = path_open_leaf_cached(base, leaf, PATH_READ);
	return fd >= 0 ? fd : path_open_cached(root, w->path, PATH_READ);
}

/* Try with what is in memory only.  false: this one would have to wait. */
static bool try_cached(struct reading *r, struct task *t)
{
	struct reader *me = t->me;
	struct err e; /* clearing it takes as long as a call */
	const char *path = t->want->path, *slash = strrchr(path, '/');
	const char *leaf = slash ? slash + 1 : path;
	size_t len = (size_t)(leaf - path);
	bool same = me->last && len == me->dir_len && memcmp(me->last, path, len) == 0;

	/* What was checked with the one before need not be again. */
	if (!(same && *leaf && strnlen(leaf, NAME_MAX + 1) <= NAME_MAX) &&
		path_check(path, &e) < 0) {
		task_refuse(r, t, &e);
		return true;
	}
	if (!same)
		reader_release(me);
	me->last = path;
	me->dir_len = len;
	t->fd = open_cached(me, r->root, t->want, leaf);
	if (t->fd < 0) {
		/* Negative entries are not always cached: let the full open decide. */
		return false;
	}
	if (!task_plan(r, t))
		return true;
	for (;;) {
		size_t room;
		void *to = task_buffer(t, &room);
		/* Cached so far: asking every fourth time will do. */
		ssize_t n = fast_read(t->fd, to, room > 1 << 20 ? 1 << 20 : room, task_offset(t),
			me->hits >= TRUST && me->hits % 4);

		if (n < 0)
			return false; /* EAGAIN, or a file system that knows no such flag */
		/* Half of it is cached: the end must be told apart from the edge of the cache. */
		if (n == 0 && t->got->len == 0 && t->st.st_size > 0 &&
			t->offset < (uint64_t)t->st.st_size)
			return false;
		if (!task_got(r, t, n))
			return true;
		if (op_stopped(&r->op)) {
			task_drop(t);
			return true;
		}
	}
}

/* This one has to wait for the disk: it comes after all that need not. */
static void defer_task(struct read_batch *b, const struct task *t)
{
	struct task *kept = xmalloc(sizeof *kept);

	*kept = *t;
	b->missed[atomic_fetch_add(&b->nmissed, 1)] = kept;
}

static void cached_worker(void *ctx, unsigned worker, struct crew *c)
{
	struct read_batch *b = ctx;
	struct reader me;
	int streak = 0;

	reader_init(&me, &b->r);
	me.together = true;
	me.end = b->want + b->n;
	for (;;) {
		size_t from = atomic_fetch_add(&b->next, CHUNK), to = from + CHUNK;

		if (from >= b->n)
			break;
		if (to > b->n)
			to = b->n;
		if (worker == 0 && streak == 0 && from == CHUNK && c)
			crew_widen(c, files_width(b->r.op.files));
		for (size_t i = from; i < to; i++) {
			struct task t;

			task_init(&t, &b->want[i], &b->got[i]);
			t.me = &me;
			if (op_stopped(&b->r.op))
				break;
			if (!b->no_cached && streak < MISS_STREAK && try_cached(&b->r, &t)) {
				streak = 0;
				me.hits++;
				continue;
			}
			streak++;
			me.hits = 0;
			defer_task(b, &t);
		}
		reader_close_all(&me);
		reader_flush(&me, &b->r);
	}
	reader_release(&me);
}

/* What has to wait for the disk. */
static void read_missed(struct read_batch *b, struct files_reading *out)
{
	struct files *f = b->r.op.files;
	size_t n = atomic_load(&b->nmissed);
	bool locked = n > 1 && !b->r.root->portable && f->uring &&
		pthread_mutex_trylock(&f->ring_lock) == 0;
	struct ring *ring = NULL;

	if (locked && !f->ring_tried) {
		f->ring_tried = true;
		f->ring = ring_new(f->io_depth);
	}
	if (locked)
		ring = f->ring;
	out->backend = ring ? "io_uring" : n > 1 ? "threads" : "inline";
	out->width = missed_read(&b->r, b->missed, n, ring, f->io_depth);
	if (locked)
		pthread_mutex_unlock(&f->ring_lock);
}

static void publish_reading(struct read_batch *b)
{
	if (b->r.op.shown)
		return;
	op_publish(&b->r.op, "files", "read %zu files", b->n);
	job_total(b->r.op.job, b->n, 0);
}

static void read_batch(struct read_batch *b, struct files_reading *out)
{
	out->backend = "inline";
	out->width = 1;
	/* A few cached files are read before anybody could look at the job board. */
	if (b->n < WIDE_FROM) {
		cached_worker(b, 0, NULL);
	} else {
		publish_reading(b);
		crew_run(b->r.op.files->pool, 1, cached_worker, b);
	}
	if (atomic_load(&b->nmissed) > 0) {
		publish_reading(b);
		read_missed(b, out);
	}
}

/* A result in one piece: a small batch takes little longer than a few calls of malloc. */
struct whole {
	struct files_reading reading;
	struct slab_chain chain;
	struct files_got items[];
};

int files_read(struct files *f, struct files_root *root, const struct files_want *want, size_t n,
	const struct files_read_options *o, struct files_reading **ret, struct err *e)
{
	struct read_batch b = {.r = {.root = root, .options = *o}, .want = want, .n = n};
	struct whole *whole = xcalloc(1, sizeof *whole + n * sizeof whole->items[0]);
	struct files_reading *out = &whole->reading;
	struct task *few[WIDE_FROM];
	struct err why = ERR_INIT;
	char files[FORMAT_COUNTED_MAX], bytes[FORMAT_COUNTED_MAX];
	int rc = 0;

	reading_begin(&b.r, f, &whole->chain);
	out->memory = &whole->chain;
	if (!b.r.options.max_file_bytes)
		b.r.options.max_file_bytes = 64u << 20;
	if (!b.r.options.max_total_bytes)
		b.r.options.max_total_bytes = 1u << 30;
	b.no_cached = f->avoid & FILES_AVOID_CACHED || root->portable;
	out->n = n;
	out->items = b.got = whole->items;
	b.missed = n <= COUNT(few) ? few : xmalloc(n * sizeof(struct task *));
	read_batch(&b, out);
	out->failed = atomic_load(&b.r.failed);
	out->bytes = atomic_load(&b.r.bytes);
	for (size_t i = 0; i < atomic_load(&b.nmissed); i++) {
		if (b.missed[i]->fd >= 0)
			task_drop(b.missed[i]);
		free(b.missed[i]);
	}
	if (b.missed != few)
		free(b.missed);
	if (op_stopped(&b.r.op)) {
		rc = op_cancelled(&why);
		err_copy(e, &why);
	}
	op_end(&b.r.op, rc, &why, "Read %s, %s.",
		format_counted(files, n - out->failed, "file", "files"),
		op_bytes(bytes, out->bytes));
	if (rc < 0) {
		files_reading_free(out);
		out = NULL;
	}
	*ret = out;
	return rc;
}

enum files_text files_judge(const char *bytes, size_t n)
{
	bool wide, big;

	text_mark(bytes, n, &wide, &big);
	if (!wide)
		return memchr(bytes, '\0', n) ? FILES_BINARY : FILES_TEXT;
	for (size_t i = 2; i + 1 < n; i += 2)
		if (!bytes[i] && !bytes[i + 1])
			return FILES_BINARY;
	return FILES_UTF16;
}

void files_reading_free(struct files_reading *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n && r->failed; i++)
		free(r->items[i].err);
	slab_chain_release(r->memory);
	free(r); /* a struct whole */
}
