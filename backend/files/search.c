/* search.c - searches text in a tree; the thread that lists a directory also searches its files. */
#include "files/match/searchfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/format.h>
#include <berth/mem.h>

#include "files/walk/cursor.h"

struct kept {
	struct files_hit *hits;
	size_t n;
};

struct searching {
	struct walk walk;
	struct op op;
	const struct files_search_options *o;
	struct matcher *matcher;
	files_hit_fn *hit;
	void *ctx;
	pthread_mutex_t lock; /* guards the callback, totals, and what is shown */
	struct files_search_totals totals;
	_Atomic uint64_t hits;
};

static void begin_search(struct walk_worker *me)
{
	struct searching *x = me->walk->ctx;
	struct searcher *s = xmalloc(sizeof *s);

	searcher_init(s, x->matcher);
	me->data = s;
}

static void add_search_totals(struct files_search_totals *to, const struct searcher *s)
{
	to->files += s->totals.files;
	to->matched_files += s->totals.matched_files;
	to->bytes += s->totals.bytes;
	to->skipped_binary += s->totals.skipped_binary;
	to->skipped_large += s->totals.skipped_large;
	to->errors += s->totals.errors;
	if (s->totals.error)
		to->error = s->totals.error;
	to->gave_up += s->local.gave_up;
}

static void end_search(struct walk_worker *me)
{
	struct searching *x = me->walk->ctx;
	struct searcher *s = me->data;

	pthread_mutex_lock(&x->lock);
	add_search_totals(&x->totals, s);
	pthread_mutex_unlock(&x->lock);
	searcher_release(s);
	free(s);
}

/* Hand hits over, no more than are still allowed, and no context of those that are not.  Under the lock. */
static void show_hits(struct searching *x, const char *path, const struct files_hit *hits, size_t n)
{
	uint64_t left = x->o->max_hits ? x->o->max_hits - x->totals.hits : UINT64_MAX;
	size_t i = 0, show_n = 0;

	if (atomic_load(&x->walk.stop) && x->totals.clipped)
		return;
	for (size_t after = 0; i < n; i++) {
		bool context = hits[i].column == 0 && !x->o->names_only && !hits[i].binary;

		if (!context && left == 0)
			break;
		if (!context) {
			left--;
			x->totals.hits++;
			after = x->o->after;
			show_n = i + 1;
		} else if (after) {
			after--;
			show_n = i + 1;
		}
	}
	if (i == n)
		show_n = n;
	else
		x->totals.clipped = true;
	if (show_n && !x->hit(x->ctx, path, hits, show_n))
		x->totals.clipped = true;
	if (x->totals.clipped)
		atomic_store(&x->walk.stop, true);
}

/* Until the end, in memory of the walk: hits are wanted in the order of the paths. */
static void keep_hits(
	struct walk_worker *me, struct walk_dir *d, size_t index, const struct found *f)
{
	struct kept *k = slab_alloc(&me->slab, sizeof *k);
	char *text = slab_alloc(&me->slab, f->text.len + 1);

	k->hits = slab_alloc(&me->slab, f->n * sizeof *k->hits);
	memcpy(k->hits, f->hits, f->n * sizeof *k->hits);
	memcpy(text, f->text.s, f->text.len);
	for (size_t i = 0; i < f->n; i++) {
		k->hits[i].text = text;
		text += k->hits[i].len;
	}
	k->n = f->n;
	((struct kept **)d->data)[index] = k;
}

static void report_file(
	struct walk_worker *me, struct walk_dir *d, size_t index, struct searcher *s)
{
	struct searching *x = me->walk->ctx;
	struct files_hit file = {0};
	AUTO_STR struct str path = STR_INIT;

	s->totals.matched_files++;
	if (x->o->names_only) {
		s->found.hits = mem_grow(s->found.hits, &s->found.cap, 1, sizeof file);
		s->found.hits[0] = file;
		s->found.n = 1;
	}
	if (x->o->sorted) {
		keep_hits(me, d, index, &s->found);
		return;
	}
	walk_entry_path(&x->walk, d, &d->entries[index], &path);
	pthread_mutex_lock(&x->lock);
	show_hits(x, path.s, s->found.hits, s->found.n);
	pthread_mutex_unlock(&x->lock);
}

/* Whose hits are many. */
struct many {
	struct searching *x;
	const struct walk_dir *d; /* NULL: the start itself */
	size_t index;
};

static void show_some(void *ctx, struct searcher *s)
{
	const struct many *m = ctx;
	struct searching *x = m->x;
	AUTO_STR struct str path = STR_INIT;

	if (m->d)
		walk_entry_path(&x->walk, m->d, &m->d->entries[m->index], &path);
	else
		str_adds(&path, x->walk.start);
	pthread_mutex_lock(&x->lock);
	show_hits(x, path.s, s->found.hits, s->found.n);
	pthread_mutex_unlock(&x->lock);
}

static void search_entry(struct walk_worker *me, struct walk_dir *d, int dirfd, size_t index)
{
	struct searching *x = me->walk->ctx;
	struct searcher *s = me->data;
	struct stat st;
	struct many many = {x, d, index};
	int fd = search_open(dirfd, d->entries[index].name, &st);

	if (fd < 0) {
		/* Gone since it was listed is no error. */
		if (errno != ENOENT) {
			s->totals.errors++;
			s->totals.error = errno;
		}
		return;
	}
	if (st.st_size > SEARCH_JOB)
		walk_show(me->walk);
	s->totals.files++;
	s->flush = x->o->sorted ? NULL : show_some;
	s->flush_ctx = &many;
	switch (search_fd(s, fd, &st, x->o, me->walk->op)) {
	case SEARCHED:
		if (s->found.matches)
			report_file(me, d, index, s);
		break;
	case SEARCH_BINARY: s->totals.skipped_binary++; break;
	case SEARCH_LARGE: s->totals.skipped_large++; break;
	case SEARCH_FAILED:
		s->totals.errors++;
		s->totals.error = errno;
		break;
	}
	/* A large one told of itself as far as it was read. */
	if (s->told < (uint64_t)st.st_size)
		me->bytes += (uint64_t)st.st_size - s->told;
	close(fd);
}

static void search_entries(
	struct walk_worker *me, struct walk_dir *d, int fd, size_t from, size_t to)
{
	const struct files_filter *f = me->walk->filter;
	bool conditions = filter_wants_meta(f);

	if (conditions)
		walk_stat(me, d, fd, from, to);
	for (size_t i = from; i < to; i++) {
		struct walk_entry *entry = &d->entries[i];

		if (entry->type != FILES_FILE || !entry->wanted ||
			(conditions &&
				!(entry->meta &&
					filter_meta(f, FILES_FILE, entry->meta->size,
						entry->meta->mtime_ns))))
			continue;
		if (op_stopped(me->walk->op) ||
			atomic_load_explicit(&me->walk->stop, memory_order_relaxed))
			return;
		walk_show_late(me->walk);
		search_entry(me, d, fd, i);
	}
}

static bool enter_search_dir(struct walk_worker *me, struct walk_dir *d, int fd)
{
	const struct searching *x = me->walk->ctx;

	(void)fd;
	if (x->o->sorted && d->n) {
		d->data = slab_alloc(&me->slab, d->n * sizeof(struct kept *));
		memset(d->data, 0, d->n * sizeof(struct kept *));
	}
	return true;
}

static const struct walk_ops search_ops = {
	.worker_begin = begin_search,
	.worker_end = end_search,
	.entries = search_entries,
	.enter = enter_search_dir,
};

static void show_sorted(struct searching *x)
{
	struct cursor c;
	struct walk_dir *d;
	size_t i;

	atomic_store(&x->walk.stop, false);
	cursor_init(&c, &x->walk);
	while (!x->totals.clipped && cursor_next(&c, &d, &i)) {
		const struct kept *k = d->data ? ((struct kept **)d->data)[i] : NULL;

		if (k)
			show_hits(x, c.path.s, k->hits, k->n);
	}
	cursor_release(&c);
}

static void show_single(struct searching *x, uint64_t size)
{
	walk_show(&x->walk);
	job_total(x->op.job, 1, size);
}

/* The start is a file: that one alone.  1: it is none. */
static int search_one(struct searching *x, const char *path, struct err *e)
{
	struct searcher s;
	struct stat st;
	AUTO_CLOSE int fd = -1;
	enum searched how;

	fd = *path ? path_open(x->walk.root, path, PATH_READ) : -1;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 1;
	if (st.st_size > SEARCH_JOB)
		show_single(x, (uint64_t)st.st_size);
	searcher_init(&s, x->matcher);
	s.named = true;
	s.flush = show_some;
	s.flush_ctx = &(struct many){.x = x};
	s.totals.files = 1;
	how = search_fd(&s, fd, &st, x->o, &x->op);
	if (how == SEARCHED && s.found.matches) {
		struct files_hit file = {0};

		s.totals.matched_files = 1;
		show_hits(x, path, x->o->names_only ? &file : s.found.hits,
			x->o->names_only ? 1 : s.found.n);
	}
	s.totals.skipped_binary = how == SEARCH_BINARY;
	s.totals.skipped_large = how == SEARCH_LARGE;
	s.totals.errors = how == SEARCH_FAILED;
	add_search_totals(&x->totals, &s);
	searcher_release(&s);
	return op_stopped(&x->op) ? op_cancelled(e) : 0;
}

int files_search(struct files *f, struct files_root *r, const char *start,
	const struct files_search_options *o, files_hit_fn *hit, void *ctx,
	struct files_search_totals *totals, struct err *e)
{
	struct searching x = {.o = o, .hit = hit, .ctx = ctx};
	struct err why = ERR_INIT;
	char files[FORMAT_COUNTED_MAX], hits[FORMAT_COUNTED_MAX], matched[FORMAT_MAX];
	int rc;

	*totals = (struct files_search_totals){0};
	if (*start && path_check(start, e) < 0)
		return -1;
	x.matcher = matcher_new(&o->pattern, e);
	if (!x.matcher)
		return -1;
	pthread_mutex_init(&x.lock, NULL);
	op_begin_small(&x.op, f);
	x.walk = (struct walk){
		.op = &x.op,
		.root = r,
		.start = start,
		.verb = "search",
		.filter = &o->filter,
		.ops = &search_ops,
		.ctx = &x,
		.sorted = o->sorted,
		.ahead = AHEAD_BYTES,
	};
	rc = search_one(&x, start, &why);
	if (rc > 0) {
		rc = walk_run(&x.walk, &why);
		if (rc == 0 && o->sorted)
			show_sorted(&x);
		x.totals.errors += x.walk.totals.errors;
		x.totals.ignored = x.walk.totals.ignored;
		x.totals.width = x.walk.totals.width;
		walk_release(&x.walk);
	}
	x.totals.engine = matcher_engine(x.matcher);
	*totals = x.totals;
	matcher_free(x.matcher);
	pthread_mutex_destroy(&x.lock);
	if (rc < 0)
		err_copy(e, &why);
	return op_end(&x.op, rc, &why, "Found %s in %s of %s.",
		format_counted(hits, totals->hits, "hit", "hits"),
		format_count(matched, totals->matched_files),
		format_counted(files, totals->files, "file", "files"));
}
