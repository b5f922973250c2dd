/* read.c - many files in the order asked for: inline while cached, wide at the first miss. */
#include <berth/check.h>
#include <berth/mem.h>

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "files/common/token.h"
#include "files/disk/disk.h"
#include "files/disk/reader.h"
#include "files/disk/ring.h"

#define CHUNK 16      /* tasks a worker takes at a time */
#define WIDE_FROM 128 /* cached files left for which waking a thread pays */
#define MISS_STREAK 3 /* after so many misses in a row the cache is not asked any more */
#define MANY 8        /* files of a directory for which that is worth a descriptor */
#define TRUST 2       /* files of a directory found cached, after which the next is taken to be */
#define WORTH_MEASURING 32 /* files that had to be waited for */
#define PROC_STEP 65536    /* files that claim to be empty are read in such steps */
#define BINARY_HEAD 8192
#define BUDGET (1u << 20) /* of the total limit, taken by a worker in advance */
#define EMFILE_RETRIES 1000

struct batch {
	struct reading r;
	const struct files_want *want;
	struct files_got *got;
	size_t n;
	_Atomic size_t next;
	_Atomic size_t nmissed;
	struct task **missed;
	bool no_cached;
};

void task_fail(struct reading *r, struct task *t, int errnum, const char *verb)
{
	struct err e = ERR_INIT;

	path_error(&e, errnum, verb, t->want->path);
	task_drop(t);
	t->got->err = err_box(&e);
	atomic_fetch_add(&r->failed, 1);
	op_add(&r->op, 1, 0);
	if (r->op.job)
		job_fail(r->op.job, e.msg);
}

void task_drop(struct task *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	t->got->bytes = NULL;
	t->got->len = 0;
}

static void refuse_task(struct reading *r, struct task *t, const struct err *e)
{
	task_drop(t);
	t->got->err = err_box(e);
	atomic_fetch_add(&r->failed, 1);
	op_add(&r->op, 1, 0);
	if (r->op.job)
		job_fail(r->op.job, e->msg);
}

/* Take `n` bytes of the total that may be held: in advance while there is plenty. */
static bool reserve_bytes(struct reading *r, struct task *t, uint64_t n)
{
	struct reader *me = t->me;
	uint64_t most = r->options.max_total_bytes;
	struct err e; /* clearing it takes as long as a call */

	if (n <= me->budget) {
		me->budget -= n;
		return true;
	}
	n -= me->budget;
	if (atomic_fetch_add(&r->taken, n + BUDGET) + n + BUDGET <= most) {
		me->budget = BUDGET;
		return true;
	}
	if (atomic_fetch_sub(&r->taken, BUDGET) - BUDGET <= most) {
		me->budget = 0;
		return true;
	}
	atomic_fetch_sub(&r->taken, n);
	err_set(&e, ERR_REFUSED,
		"%.200s would take the batch beyond its limit of %llu bytes: read fewer files at once",
		t->want->path, (unsigned long long)most);
	refuse_task(r, t, &e);
	return false;
}

bool task_plan(struct reading *r, struct task *t)
{
	const struct files_want *w = t->want;
	struct err e; /* clearing it takes as long as a call */
	uint64_t size, want;

	t->planned = true;
	if (path_regular(t->fd, w->path, &t->st, &e) < 0) {
		refuse_task(r, t, &e);
		return false;
	}
	size = (uint64_t)t->st.st_size;
	t->limit = r->options.max_file_bytes;
	if (w->length && w->length < t->limit)
		t->limit = w->length;
	want = size > w->offset ? size - w->offset : 0;
	if (want > t->limit)
		want = t->limit;
	if (!reserve_bytes(r, t, want))
		return false;
	/* One byte more than expected: a file that grew or whose size is a lie shows by filling it.
	 */
	t->cap = (size_t)want + (want < t->limit);
	if (want == 0)
		t->cap = t->limit < PROC_STEP ? (size_t)t->limit : PROC_STEP;
	t->got->bytes = slab_alloc(&t->me->slab, t->cap + 1);
	return true;
}

void *task_buffer(struct task *t, size_t *room)
{
	*room = t->cap - t->got->len;
	return t->got->bytes + t->got->len;
}

static bool has_file_moved(const struct stat *a, const struct stat *b)
{
	return a->st_size != b->st_size || a->st_mtim.tv_sec != b->st_mtim.tv_sec ||
		a->st_mtim.tv_nsec != b->st_mtim.tv_nsec ||
		a->st_ctim.tv_sec != b->st_ctim.tv_sec || a->st_ctim.tv_nsec != b->st_ctim.tv_nsec;
}

/* Keep only the lines asked for. */
static void cut_lines(struct task *t)
{
	struct files_got *g = t->got;
	uint64_t line = 1;
	char *from = g->bytes, *end = g->bytes + g->len, *at = from;

	for (; line < t->want->first_line && at < end; line++) {
		char *nl = memchr(at, '\n', (size_t)(end - at));

		at = nl ? nl + 1 : end;
	}
	from = at;
	while (t->want->last_line && line <= t->want->last_line && at < end) {
		char *nl = memchr(at, '\n', (size_t)(end - at));

		at = nl ? nl + 1 : end;
		line += nl != NULL; /* without its end the limit may have cut it */
	}
	if (t->want->last_line) {
		/* All lines asked for are here: what the limit cut off was not wanted. */
		if (line > t->want->last_line)
			g->clipped = false;
		end = at > from ? at : from;
	}
	g->len = (size_t)(end - from);
	memmove(g->bytes, from, g->len);
}

/* Everything is in the buffer.  true: it changed under us, read it once more. */
static bool finish_task(struct reading *r, struct task *t)
{
	struct files_got *g = t->got;
	const struct files_want *w = t->want;
	uint64_t size = (uint64_t)t->st.st_size, end = w->offset + g->len;
	bool whole;
	struct stat now;

	/* A second look where the first cannot be trusted: several reads, a size that does not fit,
	 * a file that was being written a moment ago. */
	token_fill(&g->token, &t->st, r->read_ns);
	if ((g->len > PROC_STEP || (end != size && !g->clipped && !w->length) ||
		    token_racy(&g->token)) &&
		fstat(t->fd, &now) == 0 && has_file_moved(&t->st, &now)) {
		t->st = now;
		if (t->attempt++ == 0) {
			g->len = 0;
			g->clipped = false;
			return true;
		}
		g->unstable = true;
		/* Of a time before the change: only its content, maybe torn, can vouch for it. */
		token_fill(&g->token, &now, r->read_ns);
	}
	g->bytes[g->len] = '\0';
	whole = w->offset == 0 && !g->clipped && !w->length;
	if (whole && (r->options.hash || token_racy(&g->token)))
		token_hash(&g->token, g->bytes, g->len);
	if (w->first_line > 1 || w->last_line)
		cut_lines(t);
	g->bytes[g->len] = '\0';
	slab_trim(&t->me->slab, g->bytes, t->cap + 1, g->len + 1);
	reader_close(t->me, t->fd);
	t->fd = -1;
	t->me->items++;
	t->me->bytes += g->len;
	return false;
}

bool task_got(struct reading *r, struct task *t, ssize_t n)
{
	struct files_got *g = t->got;

	if (n < 0) {
		task_fail(r, t, (int)-n, "read");
		return false;
	}
	g->len += (size_t)n;
	/* A short read of a regular file is its end; asking again only where the size said more. */
	if (n == 0 ||
		(g->len < t->cap && t->want->offset + g->len >= (uint64_t)t->st.st_size &&
			t->st.st_size > 0))
		return finish_task(r, t);
	if (g->len < t->cap)
		return true;
	if (g->len >= t->limit) {
		char more;

		g->clipped = !t->want->length && pread(t->fd, &more, 1, task_offset(t)) > 0;
		return finish_task(r, t);
	}
	/* It grew, or has no size of its own (/proc). */
	size_t step = t->cap < PROC_STEP ? PROC_STEP : t->cap;

	if (step > t->limit - t->cap)
		step = (size_t)(t->limit - t->cap);
	if (!reserve_bytes(r, t, step))
		return false;
	t->cap += step;
	g->bytes = memcpy(slab_alloc(&t->me->slab, t->cap + 1), g->bytes, g->len);
	return true;
}

/* Out of descriptors: others will close theirs.  So wait, but not for ever. */
static int open_patiently(struct reading *r, const char *path)
{
	for (int attempt = 0;; attempt++) {
		int fd = path_open(r->root, path, PATH_READ);

		if (fd >= 0 || (errno != EMFILE && errno != ENFILE) || attempt == EMFILE_RETRIES ||
			op_stopped(&r->op))
			return fd;
		usleep(attempt < 10 ? 50 : 1000);
	}
}

void task_block(struct reading *r, struct task *t)
{
	struct err e = ERR_INIT;
	ssize_t n;
	size_t room;

	if (t->fd < 0) {
		if (path_check(t->want->path, &e) < 0) {
			refuse_task(r, t, &e);
			return;
		}
		t->fd = open_patiently(r, t->want->path);
		if (t->fd < 0) {
			task_fail(r, t, errno, "read");
			return;
		}
	}
	if (!t->planned && !task_plan(r, t))
		return;
	do {
		void *to = task_buffer(t, &room);

		if (op_stopped(&r->op)) {
			task_drop(t);
			return;
		}
		n = pread(t->fd, to, room > 1 << 20 ? 1 << 20 : room, task_offset(t));
	} while ((n < 0 && errno == EINTR) || task_got(r, t, n < 0 ? -errno : n));
}

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
		refuse_task(r, t, &e);
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
			t->want->offset < (uint64_t)t->st.st_size)
			return false;
		if (!task_got(r, t, n))
			return true;
		if (op_stopped(&r->op)) {
			task_drop(t);
			return true;
		}
	}
}

/* Without touching what is filled in later, which is most of it. */
static void task_init(
	struct task *t, const struct files_want *want, struct files_got *got, struct reader *me)
{
	t->want = want;
	t->got = got;
	t->fd = -1;
	t->attempt = 0;
	t->planned = false;
	t->limit = 0;
	t->cap = 0;
	t->me = me;
}

/* This one has to wait for the disk: it comes after all that need not. */
static void defer_task(struct batch *b, const struct task *t)
{
	struct task *kept = xmalloc(sizeof *kept);

	*kept = *t;
	b->missed[atomic_fetch_add(&b->nmissed, 1)] = kept;
}

static void cached_worker(void *ctx, unsigned worker, struct crew *c)
{
	struct batch *b = ctx;
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

			task_init(&t, &b->want[i], &b->got[i], &me);
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

static void blocking_worker(void *ctx, unsigned worker, struct crew *c)
{
	struct batch *b = ctx;
	struct reader me;
	size_t n = atomic_load(&b->nmissed), i;

	(void)worker;
	(void)c;
	reader_init(&me, &b->r);
	while ((i = atomic_fetch_add(&b->next, 1)) < n) {
		b->missed[i]->me = &me;
		if (op_stopped(&b->r.op))
			task_drop(b->missed[i]);
		else
			task_block(&b->r, b->missed[i]);
		reader_flush(&me, &b->r);
	}
}

static int by_order(const void *a, const void *b)
{
	const struct task *ta = *(struct task *const *)a, *tb = *(struct task *const *)b;

	return ta->want < tb->want ? -1 : ta->want > tb->want;
}

/* What has to wait for the disk: as much of it at once as the disk takes. */
static void read_missed(struct batch *b, struct files_reading *out)
{
	struct files *f = b->r.op.files;
	size_t n = atomic_load(&b->nmissed);
	const struct files_disk disk = disk_of(f, b->r.root);
	bool ring = n > 1 && !b->r.root->portable && disk.io_uring &&
		pthread_mutex_trylock(&f->ring_lock) == 0;

	qsort(b->missed, n, sizeof(struct task *), by_order);
	if (ring && !f->ring_tried) {
		f->ring_tried = true;
		f->ring = ring_new(f->io_depth ? f->io_depth : FILES_IO_DEPTH);
	}
	if (ring && f->ring) {
		size_t kept = 0;
		struct err e = ERR_INIT;

		for (size_t i = 0; i < n; i++) {
			struct task *t = b->missed[i];

			if (t->fd < 0 && path_check(t->want->path, &e) < 0) {
				refuse_task(&b->r, t, &e);
			} else {
				b->missed[i] = b->missed[kept];
				b->missed[kept++] = t;
			}
		}
		out->width = ring_read(f->ring, &b->r, b->missed, kept, disk.depth);
		out->backend = "io_uring";
	} else {
		atomic_store(&b->next, 0);
		out->width = n < disk.depth ? (unsigned)n : disk.depth;
		out->backend = n > 1 ? "threads" : "inline";
		crew_run(f->pool, out->width, blocking_worker, b);
	}
	if (ring)
		pthread_mutex_unlock(&f->ring_lock);
	if (n >= WORTH_MEASURING)
		disk_waited(f, b->r.root);
}

static void publish_reading(struct batch *b)
{
	if (b->r.op.shown)
		return;
	op_publish(&b->r.op, "files", "read %zu files", b->n);
	job_total(b->r.op.job, b->n, 0);
}

static void read_batch(struct batch *b, struct files_reading *out)
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
	struct batch b = {.r = {.root = root, .options = *o}, .want = want, .n = n};
	struct whole *whole = xcalloc(1, sizeof *whole + n * sizeof whole->items[0]);
	struct files_reading *out = &whole->reading;
	struct task *few[WIDE_FROM];
	struct err why = ERR_INIT;
	int rc = 0;

	op_begin_small(&b.r.op, f);
	if (!b.r.options.max_file_bytes)
		b.r.options.max_file_bytes = 64u << 20;
	if (!b.r.options.max_total_bytes)
		b.r.options.max_total_bytes = 1u << 30;
	b.r.read_ns = token_now();
	b.r.chain = out->memory = &whole->chain;
	slab_chain_init(b.r.chain, &f->store);
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
	op_end(&b.r.op, rc, &why, "Read %zu files, %llu bytes.", n - out->failed,
		(unsigned long long)out->bytes);
	if (rc < 0) {
		files_reading_free(out);
		out = NULL;
	}
	*ret = out;
	return rc;
}

bool files_binary(const struct files_got *g)
{
	return memchr(g->bytes, '\0', g->len < BINARY_HEAD ? g->len : BINARY_HEAD) != NULL;
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
