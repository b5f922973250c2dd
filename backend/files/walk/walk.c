/* walk.c - lists one directory of a walk and selects its entries. */
#include "files/walk/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <berth/check.h>
#include <berth/clock.h>
#include <berth/mem.h>

#include "files/common/token.h"
#include "files/walk/ahead.h"
#include "files/walk/ignore.h"
#include "files/stage/staging.h"
#include "files/walk/walkqueue.h"

#define BUFFER (64u << 10)
#define SLOW_NS 200000       /* a directory that took longer may have waited for the disk */
#define VERY_SLOW_NS 2000000 /* the same where the file system does no reads of its own */
#define MANY_SWITCHES 16     /* then; fewer may be our own locks */
#define SHOW_NS 20000000     /* what takes longer is shown as a job */
#define AHEAD_NS 300000000   /* what takes longer is worth counting */
#define NAME_NS 100000000    /* between two names for who looks */
#define WIDEN_DIRS 16        /* queued directories from which a second thread pays */
#define RUN 16384            /* names that are sorted between two looks at cancellation */
#define EMFILE_RETRIES 200
#define HELD_UNASKED (1u << 20) /* bytes of names that any walk may hold */
#define HELD_STEP (4u << 20)
#define ENTRY_HELD 64 /* bytes of an entry beside its name, about */

struct linux_dirent64 {
	uint64_t d_ino;
	int64_t d_off;
	unsigned short d_reclen;
	unsigned char d_type;
	char d_name[];
};

void walk_path(const struct walk_dir *d, struct str *out)
{
	size_t at;

	str_clear(out);
	if (d->path_len == 0)
		return;
	str_reserve(out, d->path_len + 1);
	out->len = at = d->path_len;
	out->s[at] = '\0';
	for (; d->parent; d = d->parent) {
		size_t n = strlen(d->name);

		at -= n;
		memcpy(out->s + at, d->name, n);
		if (at > 0)
			out->s[--at] = '/';
	}
}

void walk_entry_path(const struct walk *w, const struct walk_dir *d, const struct walk_entry *entry,
	struct str *out)
{
	AUTO_STR struct str below = STR_INIT;

	walk_path(d, &below);
	str_clear(out);
	str_adds(out, w->start);
	while (out->len > 1 && out->s[out->len - 1] == '/')
		out->s[--out->len] = '\0';
	if (out->len)
		str_addc(out, '/');
	if (below.len)
		str_addf(out, "%s/", below.s);
	str_add(out, entry->name, entry->name_len);
}

/* --- descriptors --- */

static void unref_fd(struct walk *w, struct walk_dir *d)
{
	if (d && atomic_fetch_sub(&d->refs, 1) == 1 && d->fd >= 0) {
		close(d->fd);
		d->fd = -1;
		atomic_fetch_sub(&w->private->fds, 1);
	}
}

static int open_by_path(struct walk *w, struct walk_dir *d)
{
	AUTO_STR struct str below = STR_INIT, path = STR_INIT;

	walk_path(d, &below);
	str_adds(&path, w->start);
	if (path.len && below.len)
		str_addc(&path, '/');
	str_adds(&path, below.s);
	return path_open(w->root, path.len ? path.s : ".",
		O_RDONLY | O_DIRECTORY | (d->parent ? O_NOFOLLOW : 0));
}

/* Relative to the parent where that is open: what moved meanwhile stays what it was, and a
 * directory swapped for a link is an error. */
static int open_dir(struct walk *w, struct walk_dir *d)
{
	for (int attempt = 0;; attempt++) {
		int fd = d->parent && d->parent->fd >= 0
			? openat(d->parent->fd, d->name,
				  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
			: open_by_path(w, d);

		if (fd >= 0 || (errno != EMFILE && errno != ENFILE) || attempt == EMFILE_RETRIES)
			return fd;
		usleep(attempt < 10 ? 100 : 1000);
	}
}

/* --- the job --- */

/* What was counted so far went with the job that nobody saw. */
void walk_show(struct walk *w)
{
	if (w->op->shown || !w->verb)
		return;
	op_publish(w->op, "entries", "%s %s", w->verb, *w->start ? w->start : w->root->name);
	op_add(w->op, atomic_load(&w->handled), atomic_load(&w->bytes));
}

void walk_show_late(struct walk *w)
{
	int64_t took;

	if (w->op->shown && (w->ahead == AHEAD_NOT || atomic_load(&w->scout)))
		return;
	took = clock_mono_ns() - w->begun;
	if (!w->op->shown && took > SHOW_NS)
		walk_show(w);
	if (w->op->shown && w->ahead != AHEAD_NOT && took > AHEAD_NS)
		ahead_start(w);
}

/* The directory in hand, for who looks: no more often than that pays. */
static void name_in_hand(struct walk *w, const struct walk_dir *d)
{
	int64_t now = clock_mono_ns();
	int64_t last = atomic_load_explicit(&w->named_ns, memory_order_relaxed);
	AUTO_STR struct str path = STR_INIT;

	if (!w->op->shown || now - last < NAME_NS ||
		!atomic_compare_exchange_strong(&w->named_ns, &last, now))
		return;
	walk_path(d, &path);
	job_current(w->op->job, path.len ? path.s : w->start);
}

/* What the operation has done with so many entries. */
static void tell_handled(struct walk_worker *me, size_t n)
{
	struct walk *w = me->walk;

	atomic_fetch_add_explicit(&w->handled, n, memory_order_relaxed);
	if (me->bytes)
		atomic_fetch_add_explicit(&w->bytes, me->bytes, memory_order_relaxed);
	op_add(w->op, n, me->bytes);
	me->bytes = 0;
}

/* --- listing --- */

static uint8_t type_of(unsigned char d_type)
{
	switch (d_type) {
	case DT_REG: return FILES_FILE;
	case DT_DIR: return FILES_DIR;
	case DT_LNK: return FILES_LINK;
	case DT_UNKNOWN: return 0;
	default: return FILES_OTHER;
	}
}

uint8_t walk_type(uint32_t mode)
{
	return S_ISREG(mode)    ? FILES_FILE
		: S_ISDIR(mode) ? FILES_DIR
		: S_ISLNK(mode) ? FILES_LINK
				: FILES_OTHER;
}

static bool is_dot_path(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

struct listing {
	struct walk_entry *entries; /* on the heap while it grows, kept per worker */
	size_t n, cap;
};

static void add_dir_entry(struct walk_worker *me, struct walk_dir *d, int fd, struct listing *l,
	const struct linux_dirent64 *de)
{
	size_t len = strlen(de->d_name);
	struct walk_entry *entry;
	struct stat st;
	char *name;

	if (is_dot_path(de->d_name) || (!d->parent && staging_is_ours(de->d_name)))
		return;
	l->entries = mem_grow(l->entries, &l->cap, l->n + 1, sizeof *l->entries);
	entry = &l->entries[l->n++];
	name = slab_alloc(me->names, len + 1);
	memcpy(name, de->d_name, len + 1);
	*entry = (struct walk_entry){
		.name = name,
		.name_len = (uint16_t)len,
		.inode = de->d_ino,
		.type = type_of(de->d_type),
		.wanted = true,
	};
	if (!entry->type)
		entry->type = fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0
			? walk_type(st.st_mode)
			: FILES_OTHER;
}

/* So many bytes of names and `n` entries more.  false: there is no room for them, and the walk ends. */
static bool hold_names(struct walk_worker *me, size_t bytes, size_t n)
{
	const struct files *f = me->walk->op->files;
	struct walk_private *p = me->walk->private;
	uint64_t all;
	bool room;

	if (!f->hold || me->walk->passing)
		return true;
	all = atomic_fetch_add(&p->held, bytes + n * ENTRY_HELD) + bytes + n * ENTRY_HELD;
	if (all <= HELD_UNASKED)
		return true;
	pthread_mutex_lock(&p->asking);
	while (!p->full.kind && all > p->granted + HELD_UNASKED)
		if (f->hold(f->hold_ctx, HELD_STEP, &p->full) == 0)
			p->granted += HELD_STEP;
	room = !p->full.kind;
	pthread_mutex_unlock(&p->asking);
	if (!room)
		atomic_store(&me->walk->stop, true);
	return room;
}

static int list_dir(struct walk_worker *me, struct walk_dir *d, int fd, struct listing *l)
{
	for (;;) {
		long n = syscall(SYS_getdents64, fd, me->buf, BUFFER);
		size_t had = l->n;

		if (n < 0)
			return errno;
		if (n == 0)
			return 0;
		for (long at = 0; at < n;) {
			/* The kernel aligns records to 8 bytes. */
			const struct linux_dirent64 *de = (const void *)(me->buf + at);

			add_dir_entry(me, d, fd, l, de);
			at += de->d_reclen;
		}
		if (op_stopped(me->walk->op) || !hold_names(me, (size_t)n, l->n - had))
			return ECANCELED;
		walk_show_late(me->walk);
	}
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct walk_entry *)a)->name, ((const struct walk_entry *)b)->name);
}

static void merge_runs(const struct op *op, struct walk_entry *to, const struct walk_entry *a,
	size_t na, size_t nb)
{
	const struct walk_entry *b = a + na, *a_end = b, *b_end = b + nb;

	for (size_t i = 1; a < a_end && b < b_end; i++) {
		if (i % RUN == 0 && op_stopped(op))
			return;
		*to++ = compare_entries(a, b) <= 0 ? *a++ : *b++;
	}
	memcpy(to, a, (size_t)(a_end - a) * sizeof *a);
	memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
}

/* A million names take most of a second: in runs, so that it can be stopped between two of them; the
 * order is then of no use to anybody. */
static void sort_entries(struct walk_worker *me, struct walk_dir *d)
{
	AUTO_FREE struct walk_entry *other = d->n > RUN ? xmalloc(d->n * sizeof *other) : NULL;

	for (size_t at = 0; at < d->n && !op_stopped(me->walk->op); at += RUN)
		mem_sort(d->entries + at, d->n - at < RUN ? d->n - at : RUN, sizeof *d->entries,
			compare_entries);
	for (size_t run = RUN; run < d->n; run *= 2) {
		for (size_t at = 0; at < d->n; at += 2 * run) {
			size_t left = d->n - at, na = left < run ? left : run;
			size_t nb = left - na < run ? left - na : run;

			merge_runs(me->walk->op, other + at, d->entries + at, na, nb);
		}
		/* Not all of it is there then. */
		if (op_stopped(me->walk->op))
			return;
		memcpy(d->entries, other, d->n * sizeof *other);
	}
}

/* --- which entries --- */

static const struct rules *rules_here(struct walk_worker *me, struct walk_dir *d, int fd)
{
	const struct rules *rules = d->parent ? d->parent->rules : me->walk->private->above;
	bool git = false, own = false;

	if (!me->walk->filter->ignore_files)
		return rules;
	for (size_t i = 0; i < d->n; i++) {
		git = git || strcmp(d->entries[i].name, ".gitignore") == 0;
		own = own || strcmp(d->entries[i].name, ".ignore") == 0;
	}
	if (git)
		rules = ignore_read(&me->slab, fd, ".gitignore", rules, me->path.len, NULL);
	if (own)
		rules = ignore_read(&me->slab, fd, ".ignore", rules, me->path.len, NULL);
	return rules;
}

/* As with git, the caller's list comes before the files of the tree. */
static bool is_excluded(const struct rules *excludes, const struct rules *rules, const char *path,
	const struct walk_entry *entry, bool *ret_by_tree)
{
	bool dir = entry->type == FILES_DIR;
	int verdict = rules_judge(excludes, path, entry->name, dir);

	*ret_by_tree = verdict < 0;
	return (verdict < 0 ? rules_judge(rules, path, entry->name, dir) : verdict) > 0;
}

/* Leave out what the filter excludes from the walk, and mark what is not wanted of the rest. */
static void filter_entries(struct walk_worker *me, struct walk_dir *d)
{
	const struct files_filter *f = me->walk->filter;
	const struct globs *globs = &me->walk->private->globs;
	struct str *path = &me->path;
	size_t kept = 0, len = path->len;

	for (size_t i = 0; i < d->n; i++) {
		struct walk_entry *entry = &d->entries[i];
		bool git = f->ignore_files && strcmp(entry->name, ".git") == 0, by_tree;

		if (git || (f->skip_hidden && entry->name[0] == '.')) {
			me->totals.ignored += !git;
			continue;
		}
		if (d->rules || globs->leave || globs->n) {
			path->len = len;
			str_add(path, entry->name, entry->name_len);
			if (is_excluded(globs->leave, d->rules, path->s, entry, &by_tree)) {
				me->totals.ignored += by_tree;
				continue;
			}
			entry->wanted = globs_take(globs, path->s, entry->name);
		}
		if (f->types && !(f->types & entry->type))
			entry->wanted = false;
		if (kept != i)
			d->entries[kept] = *entry;
		kept++;
	}
	path->len = len;
	if (path->cap)
		path->s[len] = '\0';
	d->n = kept;
}

/* --- metadata --- */

static void stat_one(struct walk_worker *me, int fd, struct walk_entry *entry)
{
	struct statx x;

	if (statx(fd, entry->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		    STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_GID | STATX_MTIME |
			    STATX_SIZE | STATX_BLOCKS | STATX_INO,
		    &x) < 0)
		return;
	entry->meta = slab_alloc(me->names, sizeof *entry->meta);
	*entry->meta = (struct walk_meta){
		.size = x.stx_size,
		.blocks = x.stx_blocks,
		.mtime_ns = time_ns(x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec),
		.dev = ((uint64_t)x.stx_dev_major << 32) | x.stx_dev_minor,
		.mode = x.stx_mode,
		.uid = x.stx_uid,
		.gid = x.stx_gid,
		.nlink = x.stx_nlink,
	};
	entry->inode = x.stx_ino;
	entry->type = walk_type(x.stx_mode);
}

static int by_inode(const void *a, const void *b)
{
	const struct walk_entry *const *ea = a, *const *eb = b;

	return (*ea)->inode < (*eb)->inode ? -1 : (*ea)->inode > (*eb)->inode;
}

void walk_stat(struct walk_worker *me, struct walk_dir *d, int fd, size_t from, size_t to)
{
	struct walk_entry *order[WALK_PIECE];
	size_t n = to - from;

	if (n > WALK_PIECE || !atomic_load_explicit(&me->walk->cold, memory_order_relaxed)) {
		for (size_t i = from; i < to; i++)
			stat_one(me, fd, &d->entries[i]);
		return;
	}
	/* Inodes lie side by side on the disk, names in the order of a hash. */
	for (size_t i = 0; i < n; i++)
		order[i] = &d->entries[from + i];
	mem_sort(order, n, sizeof order[0], by_inode);
	for (size_t i = 0; i < n; i++)
		stat_one(me, fd, order[i]);
}

/* --- one directory --- */

static struct walk_dir *new_dir(struct walk_worker *me, struct walk_dir *parent, const char *name)
{
	struct walk_dir *d = slab_alloc(&me->slab, sizeof *d);

	*d = (struct walk_dir){.parent = parent, .name = name, .fd = -1, .refs = 1};
	if (parent) {
		d->depth = parent->depth + 1;
		d->path_len = parent->path_len + (parent->path_len > 0) + strlen(name);
	}
	return d;
}

static const char *keep_entry_name(struct walk_worker *me, const struct walk_entry *entry)
{
	size_t n = entry->name_len + (size_t)1;

	return me->names == &me->slab ? entry->name
				      : memcpy(slab_alloc(&me->slab, n), entry->name, n);
}

static void push_children(struct walk_worker *me, struct walk_dir *d)
{
	struct walk *w = me->walk;

	if (w->filter->max_depth && d->depth + 1 >= w->filter->max_depth)
		return;
	/* Backwards, so that the first is taken first. */
	for (size_t i = d->n; i-- > 0;) {
		struct walk_entry *entry = &d->entries[i];

		if (entry->type != FILES_DIR)
			continue;
		entry->dir = new_dir(me, d, keep_entry_name(me, entry));
		atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
		queue_push(me, (struct work){.dir = entry->dir});
	}
}

static void share_entries(struct walk_worker *me, struct walk_dir *d, int fd)
{
	struct walk *w = me->walk;
	size_t mine = d->n;

	/* The rest in pieces that others can take. */
	if (!w->whole_dirs && d->n > 2 * WALK_PIECE) {
		mine = WALK_PIECE;
		for (size_t at = mine; at < d->n; at += WALK_PIECE) {
			size_t to = at + WALK_PIECE < d->n ? at + WALK_PIECE : d->n;

			atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
			queue_push(me,
				(struct work){.dir = d, .from = (uint32_t)at, .to = (uint32_t)to});
		}
	}
	w->ops->entries(me, d, fd, 0, mine);
	tell_handled(me, mine);
}

static void count_entries(struct walk_worker *me, struct walk_dir *d)
{
	struct walk *w = me->walk;
	uint64_t seen = atomic_fetch_add_explicit(&w->entries, d->n, memory_order_relaxed) + d->n;

	if (w->max_entries && seen > w->max_entries)
		atomic_store(&w->stop, true);
}

/* A directory that has gone since its name was read is no error, as with a file; the start is one. */
static int count_failure(struct walk_worker *me, const struct walk_dir *d, int errnum)
{
	if (errnum == ENOENT && d->parent) {
		me->totals.gone++;
		return 0;
	}
	if (errnum && errnum != ECANCELED && d->parent && me->walk->ops->failed)
		me->walk->ops->failed(me, d, errnum);
	else
		me->totals.errors += errnum != 0;
	return errnum;
}

static void do_dir(struct walk_worker *me, struct walk_dir *d, struct listing *l)
{
	struct walk *w = me->walk;
	int fd = open_dir(w, d);

	if (fd < 0)
		d->error = count_failure(me, d, errno);
	unref_fd(w, d->parent);
	if (fd < 0)
		return;
	d->fd = fd;
	atomic_fetch_add(&w->private->fds, 1);
	l->n = 0;
	d->error = count_failure(me, d, list_dir(me, d, fd, l));
	d->n = d->error == ECANCELED ? 0 : l->n;
	l->n = d->n;
	d->entries = slab_alloc(me->names, l->n * sizeof *l->entries);
	if (l->n)
		memcpy(d->entries, l->entries, l->n * sizeof *l->entries);
	if (w->private->needs_path) {
		walk_path(d, &me->path);
		if (me->path.len)
			str_addc(&me->path, '/');
		d->rules = rules_here(me, d, fd);
	}
	if (w->private->chooses)
		filter_entries(me, d);
	if (w->sorted && d->n)
		sort_entries(me, d);
	count_entries(me, d);
	/* Short of descriptors: those below, and its pieces, come by path. */
	if (atomic_load(&w->private->fds) > w->private->fd_limit) {
		d->fd = -1;
		atomic_fetch_sub(&w->private->fds, 1);
	}
	name_in_hand(w, d);
	if (!w->ops->enter || w->ops->enter(me, d, fd)) {
		push_children(me, d);
		share_entries(me, d, fd);
	}
	if (d->fd < 0)
		close(fd);
	unref_fd(w, d);
}

static void do_piece(struct walk_worker *me, const struct work *work)
{
	struct walk *w = me->walk;
	int fd = work->dir->fd >= 0 ? work->dir->fd : open_by_path(w, work->dir);

	if (fd < 0)
		count_failure(me, work->dir, errno);
	else
		w->ops->entries(me, work->dir, fd, work->from, work->to);
	tell_handled(me, work->to - work->from);
	if (fd >= 0 && fd != work->dir->fd)
		close(fd);
	unref_fd(w, work->dir);
}

/* Did this thread read from a disk, or wait long for something else, since the last look? */
static bool has_waited(struct walk_worker *me, int64_t took)
{
	struct rusage u;
	bool yes;

	getrusage(RUSAGE_THREAD, &u);
	yes = (uint64_t)u.ru_inblock > me->blocks_read ||
		(took > VERY_SLOW_NS &&
			(uint64_t)u.ru_nvcsw > me->switches + me->waits + MANY_SWITCHES);
	me->blocks_read = (uint64_t)u.ru_inblock;
	me->switches = (uint64_t)u.ru_nvcsw;
	me->waits = 0;
	return yes;
}

static void widen_crew(struct walk_worker *me, struct crew *c, int64_t took)
{
	struct walk *w = me->walk;
	struct files *f = w->op->files;
	unsigned width = crew_width(c);

	if (w->passing)
		return;
	walk_show_late(w);
	if (took > SLOW_NS && has_waited(me, took)) {
		unsigned depth = f->io_depth;

		atomic_store_explicit(&w->cold, true, memory_order_relaxed);
		if (width < depth) {
			walk_show(w);
			crew_widen(c,
				width < 8                   ? depth < 8 ? depth : 8
					: 2 * width > depth ? depth
							    : 2 * width);
		}
	} else if (queue_length(me) >= WIDEN_DIRS && width < files_width(f)) {
		walk_show(w);
		crew_widen(c, files_width(f));
	}
}

static void walk_worker(void *ctx, unsigned index, struct crew *c)
{
	struct walk *w = ctx;
	struct walk_worker me = {.walk = w, .index = index, .slab = {.chain = &w->chain}};
	struct slab_chain passing;
	struct slab names = {.chain = &passing};
	struct listing l = {0};
	struct work work;

	slab_chain_init(&passing, &w->op->files->store);
	me.names = w->passing ? &names : &me.slab;
	me.buf = xmalloc(BUFFER);
	str_init(&me.path);
	has_waited(&me, 0);
	if (w->ops->worker_begin)
		w->ops->worker_begin(&me);
	while (queue_take(&me, &work)) {
		if (op_stopped(w->op) || atomic_load_explicit(&w->stop, memory_order_relaxed)) {
			unref_fd(w, work.to ? work.dir : work.dir->parent);
		} else {
			int64_t before = clock_mono_ns();

			if (work.to)
				do_piece(&me, &work);
			else
				do_dir(&me, work.dir, &l);
			widen_crew(&me, c, clock_mono_ns() - before);
			if (w->passing) {
				slab_chain_release(&passing);
				slab_chain_init(&passing, &w->op->files->store);
				names.at = names.end = NULL;
			}
		}
		queue_done(&me);
	}
	if (w->ops->worker_end)
		w->ops->worker_end(&me);
	queue_leave(&me);
	free(l.entries);
	free(me.buf);
	str_release(&me.path);
}

int walk_run(struct walk *w, struct err *e)
{
	struct walk_private *p = aligned_alloc(64, sizeof *p);
	struct walk_worker first = {.walk = w};
	struct rlimit limit;
	struct err full;

	CHECK(p);
	memset(p, 0, sizeof *p);
	slab_chain_init(&w->chain, &w->op->files->store);
	first.slab.chain = &w->chain;
	getrlimit(RLIMIT_NOFILE, &limit);
	p->fd_limit = limit.rlim_cur > 100000 ? 50000 : (int)(limit.rlim_cur / 2);
	if (globs_compile(&first.slab, w->filter, &p->globs, e) < 0) {
		free(p);
		return -1;
	}
	if (w->filter->ignore_files)
		p->above = ignore_above(&first.slab, w->root, w->start);
	p->needs_path = p->globs.leave || p->globs.n || w->filter->ignore_files;
	p->chooses = p->needs_path || w->filter->skip_hidden || w->filter->types;
	queue_init(p);
	w->begun = clock_mono_ns();
	w->private = p;
	if (w->start[0] == '.' && !w->start[1])
		w->start = "";
	w->top = new_dir(&first, NULL, "");
	queue_push(&first, (struct work){.dir = w->top});
	crew_run(w->op->files->pool, 1, walk_worker, w);
	ahead_stop(w);
	w->totals = p->totals;
	full = p->full;
	w->private = NULL;
	queue_release(p);
	free(p);
	if (full.kind)
		return err_copy(e, &full);
	if (w->top->error && w->top->error != ECANCELED)
		return path_error(e, w->top->error, "scan", *w->start ? w->start : w->root->name);
	return op_stopped(w->op) ? op_cancelled(e) : 0;
}

void walk_release(struct walk *w)
{
	slab_chain_release(&w->chain);
}
