/* removal.c - deletes trees, also those that could not be moved into the stage. */
#include "files/common/paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>

#include "files/stage/removal.h"

#define VOLLEY 512 /* names unlinked before the next are looked for */
#define WIDTH 16
#define MANY 4             /* directories that wait: other threads are worth it */
#define TRIED 16           /* names after which it is known how long one takes */
#define COUNT_NS 300000000 /* what takes longer is counted: that is a tenth of the work */
#define COUNT_DEEP 64
#define SLOW_NS 50000 /* giving up the blocks of a file takes a disk as long, or far longer */

/* One tree that is taken apart, by several threads where it has many directories. */
struct removal {
	struct staging *s;
	const struct op *op; /* NULL: at the recovery of what was interrupted */
	int64_t begun;
	_Atomic uint64_t gone; /* entries */
	pthread_mutex_t lock;  /* guards what follows */
	pthread_cond_t more;
	char (*names)[STAGE_NAME_MAX]; /* directories in the stage, still to be taken apart */
	size_t n, cap;
	unsigned busy; /* threads that have one in hand */
	/* Once it takes long all stand still, and each counts what it has in hand. */
	atomic_bool counting, counted;
	unsigned still; /* of those that are busy */
	int64_t left;   /* entries; -1: not all of it could be seen */
	struct files_tree_totals t;
};

/* What a thread knows. */
struct hand {
	struct removal *of;
	struct files_tree_totals t;
	int64_t took; /* by unlinking so far, nanoseconds */
	unsigned tried;
	bool slow; /* it waits for the disk: many at once take no longer */
};

static void fail_removal(struct files_tree_totals *t, int errnum, const char *name)
{
	if (t->errors++ == 0)
		path_error(&t->first, errnum, "delete", name);
}

/* A link that took its place meanwhile is not followed. */
int removal_hide(int dir, const char *name, int stage, const char *to)
{
	if (renameat(dir, name, stage, to) == 0)
		return 0;
	if (errno != EACCES || fchmodat(dir, name, 0700, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return renameat(dir, name, stage, to);
}

/* A directory below one that goes: into the stage, to be emptied when its turn comes. */
static int lift_dir(struct removal *m, int dir, const char *name)
{
	char to[STAGE_NAME_MAX];

	stage_name(m->s, to);
	if (removal_hide(dir, name, m->s->stage, to) < 0)
		return -1;
	pthread_mutex_lock(&m->lock);
	m->names = mem_grow(m->names, &m->cap, m->n + 1, sizeof *m->names);
	memcpy(m->names[m->n++], to, sizeof to);
	pthread_cond_signal(&m->more);
	pthread_mutex_unlock(&m->lock);
	return 0;
}

/* One name of a directory that is emptied. */
struct doomed {
	char *name;
	bool link;
	int error; /* of the unlinking */
};

/* Names that are unlinked at the same time, where each takes its time. */
struct volley {
	const struct staging *staging;
	int fd;
	const struct op *op;
	struct doomed names[VOLLEY];
	size_t n;
	_Atomic size_t next;
};

static bool stays_fixed(const struct staging *s, int dir, const char *name)
{
	struct stat st;

	return s->nfixed && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) == 0 &&
		path_is_fixed(s->fixed, s->nfixed, &st);
}

static void unlink_one(const struct staging *s, int fd, struct doomed *d)
{
	d->error = stays_fixed(s, fd, d->name) ? EROFS : unlinkat(fd, d->name, 0) < 0 ? errno : 0;
}

static void unlink_some(void *ctx, unsigned worker, struct crew *c)
{
	struct volley *v = ctx;
	size_t i;

	(void)worker;
	(void)c;
	while (!op_stopped(v->op) && (i = atomic_fetch_add(&v->next, 1)) < v->n)
		unlink_one(v->staging, v->fd, &v->names[i]);
}

static bool is_stopped(const struct removal *m)
{
	return m->op && op_stopped(m->op);
}

static void count_gone(struct hand *h, uint64_t *of)
{
	++*of;
	atomic_fetch_add(&h->of->gone, 1);
	if (h->of->op)
		op_add(h->of->op, 1, 0);
}

static void after_unlink(struct hand *h, int fd, const struct doomed *d)
{
	if (d->error == 0) {
		count_gone(h, d->link ? &h->t.links : &h->t.files);
	} else if (d->error == EISDIR || d->error == EPERM) {
		/* Linux says EISDIR, POSIX allows EPERM. */
		if (unlinkat(fd, d->name, AT_REMOVEDIR) == 0)
			count_gone(h, &h->t.dirs);
		else if (lift_dir(h->of, fd, d->name) < 0)
			fail_removal(&h->t, errno, d->name);
	} else if (d->error != ENOENT) {
		fail_removal(&h->t, d->error, d->name);
	}
}

static void unlink_volley(struct hand *h, struct volley *v)
{
	size_t done;

	atomic_store(&v->next, 0);
	crew_run(v->op->files->pool, v->n < WIDTH ? (unsigned)v->n : WIDTH, unlink_some, v);
	done = atomic_load(&v->next);
	for (size_t i = 0; i < v->n; i++) {
		if (i < done)
			after_unlink(h, v->fd, &v->names[i]);
		free(v->names[i].name);
	}
	v->n = 0;
}

/* What is below the open directory, which is closed; -1: not all of it could be seen. */
static int64_t count_below(int fd, unsigned depth, const struct op *op)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int64_t n = 0, below;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	while (n >= 0 && !op_stopped(op) && (entry = readdir(d)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		n++;
		if (entry->d_type != DT_DIR)
			continue;
		below = depth == COUNT_DEEP
			? -1
			: count_below(openat(dirfd(d), entry->d_name,
					      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
				  depth + 1, op);
		n = below < 0 ? -1 : n + below;
	}
	closedir(d);
	return n;
}

static int64_t add_counted(int64_t n, int64_t below)
{
	return n < 0 || below < 0 ? -1 : n + below + 1;
}

/* Under the lock, when all stand still: what waits in the stage, too. */
static void end_count(struct removal *m)
{
	for (size_t i = 0; i < m->n && m->left >= 0; i++)
		m->left = add_counted(m->left,
			count_below(openat(m->s->stage, m->names[i],
					    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
				0, m->op));
	if (m->left >= 0)
		job_total(m->op->job, atomic_load(&m->gone) + (uint64_t)m->left, 0);
	atomic_store(&m->counted, true);
	atomic_store(&m->counting, false);
	pthread_cond_broadcast(&m->more);
}

/* With the open directory in hand; returns when all have been counted. */
static void count_along(struct removal *m, int fd)
{
	int64_t below = count_below(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0, m->op);

	pthread_mutex_lock(&m->lock);
	if (!atomic_load(&m->counted)) {
		atomic_store(&m->counting, true);
		m->left = add_counted(m->left, below);
		if (++m->still == m->busy)
			end_count(m);
		while (atomic_load(&m->counting))
			pthread_cond_wait(&m->more, &m->lock);
	}
	pthread_mutex_unlock(&m->lock);
}

static bool is_count_due(struct removal *m)
{
	return m->op && m->op->job && !atomic_load(&m->counted) &&
		(atomic_load(&m->counting) || clock_mono_ns() - m->begun > COUNT_NS);
}

/* Unlink the files of an open directory and lift its directories out of it. */
static void empty_dir(struct hand *h, int fd)
{
	struct removal *m = h->of;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct volley *v = NULL;
	struct dirent *entry;

	if (!d) {
		if (copy >= 0)
			close(copy);
		fail_removal(&h->t, errno, "a directory");
		return;
	}
	while (!is_stopped(m) && (entry = readdir(d)) != NULL) {
		struct doomed it = {entry->d_name, entry->d_type == DT_LNK, 0};

		if (strcmp(it.name, ".") == 0 || strcmp(it.name, "..") == 0)
			continue;
		if (is_count_due(m))
			count_along(m, fd);
		if (m->op && h->slow) {
			if (!v)
				v = xcalloc(1, sizeof *v);
			v->staging = m->s;
			v->fd = fd;
			v->op = m->op;
			it.name = xstrdup(it.name);
			v->names[v->n++] = it;
			if (v->n == VOLLEY)
				unlink_volley(h, v);
			continue;
		}
		int64_t begun = clock_mono_ns();

		unlink_one(m->s, fd, &it);
		h->took += clock_mono_ns() - begun;
		h->slow = ++h->tried >= TRIED && h->took / h->tried > SLOW_NS;
		after_unlink(h, fd, &it);
	}
	if (v && v->n)
		unlink_volley(h, v);
	free(v);
	closedir(d);
}

static int open_doomed(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	/* Our own directory that we may not read or write: give ourselves the right first. */
	if (fd < 0 && errno == EACCES && fchmodat(dir, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
		fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd;
}

static void take_apart(struct hand *h, int dir, const char *name)
{
	AUTO_CLOSE int fd = open_doomed(dir, name);

	/* What may not be changed got in here by a rename: it stays, with all that holds it. */
	if (fd >= 0 && stays_fixed(h->of->s, fd, "")) {
		fail_removal(&h->t, EROFS, name);
		return;
	}
	if (fd >= 0)
		empty_dir(h, fd);
	if (is_stopped(h->of))
		return;
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		count_gone(h, &h->t.dirs);
	else if (errno != ENOENT)
		fail_removal(&h->t, errno, name);
}

/* The next that waits.  Who finds none waits for those that others may lift out of what they have in hand. */
static bool take_next(struct removal *m, char next[STAGE_NAME_MAX])
{
	while (!is_stopped(m) && (atomic_load(&m->counting) || (m->n == 0 && m->busy > 0)))
		pthread_cond_wait(&m->more, &m->lock);
	if (m->n == 0 || is_stopped(m))
		return false;
	memcpy(next, m->names[--m->n], STAGE_NAME_MAX);
	m->busy++;
	return true;
}

static void put_down(struct removal *m)
{
	m->busy--;
	if (atomic_load(&m->counting) && m->still == m->busy)
		end_count(m);
	pthread_cond_broadcast(&m->more);
}

static void add_totals(struct files_tree_totals *to, const struct files_tree_totals *t)
{
	if (!to->errors)
		to->first = t->first;
	to->errors += t->errors;
	to->files += t->files;
	to->links += t->links;
	to->dirs += t->dirs;
}

/* Each directory by one thread: those that work in one would wait for each other. */
static void take_apart_some(void *ctx, unsigned worker, struct crew *c)
{
	struct removal *m = ctx;
	struct hand h = {.of = m};
	char next[STAGE_NAME_MAX];

	(void)worker;
	pthread_mutex_lock(&m->lock);
	while (take_next(m, next)) {
		size_t waiting = m->n;

		pthread_mutex_unlock(&m->lock);
		if (c && waiting >= MANY)
			crew_widen(c, files_width(m->op->files));
		take_apart(&h, m->s->stage, next);
		pthread_mutex_lock(&m->lock);
		put_down(m);
	}
	add_totals(&m->t, &h.t);
	pthread_mutex_unlock(&m->lock);
}

/* Who works as somebody else does so alone: a thread of the pool may be nobody but the process. */
static bool may_share(void)
{
	return path_user() == geteuid() && path_group() == getegid();
}

void remove_tree(struct staging *s, int dir, const char *name, const struct op *op,
	struct files_tree_totals *t)
{
	struct removal m = {.s = s,
		.op = op,
		.begun = clock_mono_ns(),
		.gone = t->files + t->links + t->dirs,
		.busy = 1};
	struct hand h = {.of = &m};

	if (unlinkat(dir, name, 0) == 0) {
		t->files++;
		return;
	}
	if (errno != EISDIR && errno != EPERM) {
		if (errno != ENOENT)
			fail_removal(t, errno, name);
		return;
	}
	pthread_mutex_init(&m.lock, NULL);
	pthread_cond_init(&m.more, NULL);
	take_apart(&h, dir, name);
	m.busy = 0;
	if (op && may_share())
		crew_run(op->files->pool, 1, take_apart_some, &m);
	else
		take_apart_some(&m, 0, NULL);
	add_totals(t, &h.t);
	add_totals(t, &m.t);
	pthread_cond_destroy(&m.more);
	pthread_mutex_destroy(&m.lock);
	free(m.names);
}

void remove_in_place(const struct files_root *r, int dir, const char *name, const struct op *op,
	struct files_tree_totals *t)
{
	struct staging here = {.fixed = r->fixed, .nfixed = r->nfixed};
	AUTO_CLOSE int fd = open_doomed(dir, name);
	int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!d) {
		fail_removal(t, errno, name);
		if (copy >= 0)
			close(copy);
		return;
	}
	here.stage = fd;
	snprintf(here.id, sizeof here.id, "%llx", (unsigned long long)clock_mono_ns());
	/* Names that come while this goes on are those of directories below, which are gone again by then. */
	while (!op_stopped(op) && (entry = readdir(d)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_tree(&here, fd, entry->d_name, op, t);
	closedir(d);
	if (op_stopped(op))
		return;
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		t->dirs++;
	else if (errno != ENOENT)
		fail_removal(t, errno, name);
}

/* --- trees on another file system than the stage --- */

#define TRASH ".berth."

/* All that is in the directory dir/name, and it. */
static void remove_trash(struct staging *s, int dir, const char *name, const struct op *op,
	struct files_tree_totals *t)
{
	struct staging here = {.serial = 0, .fixed = s->fixed, .nfixed = s->nfixed};
	char(*names)[STAGE_NAME_MAX] = NULL;
	size_t n = 0, cap = 0;
	AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	char next[STAGE_NAME_MAX];

	if (!d) {
		if (copy >= 0)
			close(copy);
		return;
	}
	here.stage = fd;
	stage_name(s, next); /* an id nobody else has used here: ours and a number of its own */
	snprintf(here.id, sizeof here.id, "%s", s->id);
	here.serial = s->serial << 20;
	while ((entry = readdir(d)) != NULL)
		if (strlen(entry->d_name) < STAGE_NAME_MAX && entry->d_name[0] != '.') {
			names = mem_grow(names, &cap, n + 1, sizeof *names);
			strcpy(names[n++], entry->d_name);
		}
	closedir(d);
	for (size_t i = 0; i < n && !(op && op_stopped(op)); i++)
		remove_tree(&here, fd, names[i], op, t);
	free(names);
	unlinkat(dir, name, AT_REMOVEDIR);
}

/* The path of the directory that a note speaks of, or NULL. */
static char *read_note(struct staging *s, const char *name)
{
	AS_PROCESS;
	AUTO_STR struct str text = STR_INIT;
	const char *leaf;

	if (file_read(s->notes, name, O_NOFOLLOW, PATH_LONGEST, &text, NULL) < 0 || !text.len ||
		strlen(text.s) != text.len)
		return NULL;
	/* Only what carries our name is ours to remove. */
	leaf = strrchr(text.s, '/');
	leaf = leaf ? leaf + 1 : text.s;
	return strncmp(leaf, TRASH, strlen(TRASH)) == 0 ? xstrdup(text.s) : NULL;
}

static int write_note(struct staging *s, const char *name, const struct str *text)
{
	AS_PROCESS;
	AUTO_CLOSE int fd =
		openat(s->notes, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : file_write(fd, text->s, text->len);
}

static void remove_note(struct staging *s, const char *name)
{
	AS_PROCESS;

	unlinkat(s->notes, name, 0);
}

void remove_noted(struct files_root *r, struct staging *s, const char *name)
{
	AUTO_FREE char *path = read_note(s, name);
	struct files_tree_totals t = {0};
	const char *leaf;
	AUTO_CLOSE int dir = path ? path_parent(r, path, NULL, &leaf, NULL) : -1;

	if (dir >= 0)
		remove_trash(s, dir, leaf, NULL, &t);
	if (!t.errors)
		remove_note(s, name);
}

int remove_beside(struct staging *s, const char *path, int dir, const char *leaf,
	const struct op *op, struct files_tree_totals *t, struct err *e)
{
	char note[STAGE_NAME_MAX], trash[STAGE_NAME_MAX + 8];
	size_t parent = (size_t)(leaf - path);
	AUTO_STR struct str text = STR_INIT;
	AUTO_CLOSE int beside = -1;
	int rc;

	stage_name(s, note);
	snprintf(trash, sizeof trash, TRASH "%s", note);
	str_add(&text, path, parent);
	str_adds(&text, trash);
	/* Without a state directory nothing is noted: interrupted, it stays as it is. */
	if (s->notes >= 0 && write_note(s, note, &text) < 0) {
		rc = err_sys(e, errno, "cannot note the deletion of %.200s", path);
	} else if (mkdirat(dir, trash, 0700) < 0 ||
		(beside = openat(dir, trash, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0 ||
		renameat(dir, leaf, beside, "0") < 0) {
		rc = path_error(e, errno, "delete", path);
		unlinkat(dir, trash, AT_REMOVEDIR);
	} else {
		remove_trash(s, dir, trash, op, t);
		rc = 0;
	}
	/* Interrupted: recovery goes on with it. */
	if (s->notes >= 0 && (rc < 0 || !(op && op_stopped(op))))
		remove_note(s, note);
	return rc;
}
