/* copy.c - copies a tree; the thread that lists a directory also copies its files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/sum.h>

#include "files/common/attrs.h"
#include "files/common/paths.h"
#include "files/copy_content.h"
#include "files/files.h"
#include "files/stage/later.h"
#include "files/stage/staging.h"
#include "files/walk/walk.h"

/* A file, link or pipe with several names: the first copy, and the names still to be given to it. */
struct linked {
	uint64_t dev, ino;
	char *path; /* NULL: it could not be copied */
};

struct later {
	size_t first; /* index into linked */
	char *path;
	bool symlink;
};

struct dir_end {
	char *path; /* below to_root */
	struct stat st;
	dev_t made_dev; /* what has that path now may be another */
	ino_t made_ino;
	struct str attrs;
};

struct copying {
	struct walk walk;
	struct op op;
	const struct files_copy_options *o;
	struct files_root *to_root;
	const char *from, *to;
	_Atomic bool no_reflink;
	pthread_mutex_t lock; /* guards what follows */
	struct files_tree_totals totals;
	struct linked *linked;
	size_t nlinked, linked_cap;
	struct later *later;
	size_t nlater, later_cap;
	struct dir_end *dirs;
	size_t ndirs, dirs_cap;
	struct copied_list *noted; /* or NULL */
};

struct worker {
	char *buf;
	struct files_tree_totals t;
	int to_dir;    /* the directory that the current one is copied to */
	bool inherits; /* what is made in it has an access list from it */
	struct str attrs;
};

static void fail_copy(
	struct worker *w, struct walk *walk, int errnum, const char *verb, const char *name)
{
	job_add(walk->op->job, 0, 0, 1);
	if (w->t.errors++ == 0)
		path_error(&w->t.first, errnum, verb, name);
}

/* The source cannot be read: what is gone since its name was read is left out. */
static void fail_source(
	struct worker *w, struct walk *walk, int errnum, const char *verb, const char *name)
{
	if (errnum == ENOENT)
		w->t.gone++;
	else
		fail_copy(w, walk, errnum, verb, name);
}

static void begin_copy(struct walk_worker *me)
{
	struct worker *w = xcalloc(1, sizeof *w);

	w->buf = xmalloc(CONTENT_BUF);
	w->to_dir = -1;
	str_init(&w->attrs);
	me->data = w;
}

static void add_copy_totals(struct files_tree_totals *to, const struct files_tree_totals *t)
{
	if (to->errors == 0 && t->errors)
		to->first = t->first;
	to->files += t->files;
	to->dirs += t->dirs;
	to->links += t->links;
	sum_add(&to->bytes, t->bytes);
	to->skipped += t->skipped;
	to->reflinked += t->reflinked;
	to->special += t->special;
	to->gone += t->gone;
	to->errors += t->errors;
}

static void end_copy(struct walk_worker *me)
{
	struct copying *x = me->walk->ctx;
	struct worker *w = me->data;

	pthread_mutex_lock(&x->lock);
	add_copy_totals(&x->totals, &w->t);
	pthread_mutex_unlock(&x->lock);
	if (w->to_dir >= 0)
		close(w->to_dir);
	str_release(&w->attrs);
	free(w->buf);
	free(w);
}

/* --- one file --- */

/* Owner, attributes, mode, in this order: each may take away some of those before it. */
static int give_dress(const struct copying *x, struct attributed out, const struct str *attrs,
	const struct stat *st)
{
	mode_t mode = st->st_mode & (0777 | S_ISVTX);
	char self[ATTRS_SELF_MAX];
	struct stat made;

	if (x->o->keep_owner) {
		mode = st->st_mode & 07777;
		if ((st->st_uid != path_user() || st->st_gid != path_group()) &&
			fchownat(out.fd, "", st->st_uid, st->st_gid, AT_EMPTY_PATH) < 0)
			return -1;
	} else if (S_ISDIR(st->st_mode) && st->st_mode & S_ISGID && fstat(out.fd, &made) == 0 &&
		made.st_gid == st->st_gid) {
		mode |= S_ISGID; /* it gives its group on, and nobody rights */
	}
	/* Without its list the mode would give the group what that allowed at most. */
	if (!attrs_give(out, attrs))
		mode &= ~(mode_t)S_IRWXG;
	return out.by_path ? chmod(attrs_self(self, out.fd), mode) : fchmod(out.fd, mode);
}

static int copy_metadata(
	struct copying *x, struct worker *w, int in, int out, const struct stat *st)
{
	struct timespec times[2] = {st->st_atim, st->st_mtim};

	attrs_read((struct attributed){.fd = in}, x->o->keep_owner, &w->attrs);
	if (w->inherits)
		attrs_drop_list((struct attributed){.fd = out});
	return give_dress(x, (struct attributed){.fd = out}, &w->attrs, st) < 0 ||
			futimens(out, times) < 0
		? -1
		: 0;
}

/* One that may not be changed; errno says so. */
static bool is_read_only(const struct copying *x, const struct stat *there)
{
	if (!path_is_fixed(x->to_root->fixed, x->to_root->nfixed, there))
		return false;
	errno = EROFS;
	return true;
}

/* A link is replaced itself, never what it points to; a directory never. */
static bool is_replaceable(const struct copying *x, const struct stat *there)
{
	return S_ISREG(there->st_mode) ||
		(x->o->overwrite && (S_ISLNK(there->st_mode) || S_ISFIFO(there->st_mode)));
}

/* What is there already: 1 leave it, 0 replace it, -1 do neither. */
static int judge_existing(struct copying *x, int dir, const char *name, const struct stat *src)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || is_read_only(x, &st))
		return -1;
	if (x->o->resume && S_ISREG(st.st_mode) && st.st_size == src->st_size &&
		st.st_mtim.tv_sec == src->st_mtim.tv_sec &&
		st.st_mtim.tv_nsec == src->st_mtim.tv_nsec)
		return 1;
	/* What a copy that was killed left has another time; so it may be replaced. */
	if ((x->o->overwrite || x->o->resume) && is_replaceable(x, &st))
		return 0;
	errno = EEXIST;
	return -1;
}

/* The new file appears under its name when it is complete, unless nothing was there before. */
static int copy_open(struct copying *x, struct worker *w, int in, const struct stat *st, int dir,
	const char *name)
{
	char temporary[64];
	const char *as = name;
	const struct content content = {&x->op, &x->walk, w->buf, &x->no_reflink, &w->t};
	int saved, how;
	AUTO_CLOSE int out =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (out < 0 && errno == EEXIST) {
		how = judge_existing(x, dir, name, st);
		if (how != 0) {
			w->t.skipped += how > 0;
			job_add(x->op.job, 0, how > 0 ? (uint64_t)st->st_size : 0, 0);
			return how > 0 ? 0 : -1;
		}
		snprintf(temporary, sizeof temporary, ".berth.%d.%llx", (int)getpid(),
			(unsigned long long)(uintptr_t)w);
		as = temporary;
		unlinkat(dir, as, 0);
		out = openat(dir, as, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	}
	if (out < 0)
		return -1;
	if (content_copy(&content, in, out, st) == 0 && copy_metadata(x, w, in, out, st) == 0 &&
		close(steal_fd(&out)) == 0 && (as == name || renameat(dir, as, dir, name) == 0)) {
		w->t.files++;
		sum_add(&w->t.bytes, (uint64_t)st->st_size);
		return 0;
	}
	saved = errno;
	unlinkat(dir, as, 0);
	errno = saved;
	return -1;
}

/* true: another name of what is being copied already; it is linked in the end. */
static bool link_later(struct copying *x, const struct stat *st, const char *path)
{
	bool known = false;

	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < x->nlinked && !known; i++)
		if (x->linked[i].path && x->linked[i].ino == st->st_ino &&
			x->linked[i].dev == st->st_dev) {
			x->later =
				mem_grow(x->later, &x->later_cap, x->nlater + 1, sizeof *x->later);
			x->later[x->nlater++] =
				(struct later){i, xstrdup(path), S_ISLNK(st->st_mode)};
			known = true;
		}
	if (!known) {
		x->linked = mem_grow(x->linked, &x->linked_cap, x->nlinked + 1, sizeof *x->linked);
		x->linked[x->nlinked++] = (struct linked){st->st_dev, st->st_ino, xstrdup(path)};
	}
	pthread_mutex_unlock(&x->lock);
	return known;
}

/* The first copy failed, so another name that comes is the first. */
static void link_never(struct copying *x, const struct stat *st)
{
	if (st->st_nlink < 2)
		return;
	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < x->nlinked; i++)
		if (x->linked[i].ino == st->st_ino && x->linked[i].dev == st->st_dev) {
			free(x->linked[i].path);
			x->linked[i].path = NULL;
		}
	pthread_mutex_unlock(&x->lock);
}

/* It was copied as `st` says.  `d` NULL: the start itself, else that directory, or `name` in it. */
static void note_copied(
	struct copying *x, const struct walk_dir *d, const char *name, const struct stat *st)
{
	struct str path = STR_INIT;

	if (!x->noted)
		return;
	str_adds(&path, x->from);
	if (d) {
		AUTO_STR struct str below = STR_INIT;

		walk_path(d, &below);
		if (below.len)
			str_addf(&path, "/%s", below.s);
	}
	if (d && name)
		str_addf(&path, "/%s", name);
	pthread_mutex_lock(&x->lock);
	x->noted->v = mem_grow(x->noted->v, &x->noted->cap, x->noted->n + 1, sizeof *x->noted->v);
	x->noted->v[x->noted->n++] = (struct copied){str_detach(&path), *st};
	pthread_mutex_unlock(&x->lock);
}

static void to_path(struct copying *x, const struct walk_dir *d, const char *name, struct str *out)
{
	AUTO_STR struct str below = STR_INIT;

	walk_path(d, &below);
	str_clear(out);
	str_adds(out, x->to);
	if (below.len)
		str_addf(out, "/%s", below.s);
	if (name)
		str_addf(out, "/%s", name);
}

static bool is_linked_later(
	struct copying *x, const struct walk_dir *d, const char *name, const struct stat *st)
{
	AUTO_STR struct str path = STR_INIT;

	if (st->st_nlink < 2)
		return false;
	to_path(x, d, name, &path);
	if (!link_later(x, st, path.s))
		return false;
	note_copied(x, d, name, st);
	return true;
}

static void copy_one_file(
	struct copying *x, struct worker *w, struct walk_dir *d, int from_dir, const char *name)
{
	struct stat st;
	AUTO_CLOSE int in = openat(from_dir, name, PATH_READ | O_NOFOLLOW | O_CLOEXEC);

	if (in < 0 || fstat(in, &st) < 0) {
		fail_source(w, &x->walk, errno, "copy", name);
		return;
	}
	if (!S_ISREG(st.st_mode)) {
		fail_copy(w, &x->walk, EINVAL, "copy", name);
		return;
	}
	if (is_linked_later(x, d, name, &st)) {
		job_add(x->op.job, 0, (uint64_t)st.st_size, 0);
		return;
	}
	if (copy_open(x, w, in, &st, w->to_dir, name) < 0 && errno != ECANCELED) {
		fail_copy(w, &x->walk, errno, "copy to", name);
		link_never(x, &st);
		return;
	}
	note_copied(x, d, name, &st);
}

/* What was made by name a moment ago, held: owner, mode and times are given to it alone.  Whoever may rename there could
 * have put another in its place, which is then not of that type, or has an owner or names that ours cannot have. */
static int hold_made(const struct copying *x, int dir, const char *name, mode_t type)
{
	AUTO_CLOSE int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat made;

	if (fd < 0 || fstat(fd, &made) < 0)
		return -1;
	if ((made.st_mode & S_IFMT) == type &&
		(!x->o->keep_owner || (made.st_uid == path_user() && made.st_nlink == 1)))
		return steal_fd(&fd);
	errno = ESTALE;
	return -1;
}

/* What was made is taken away again where dressing it failed; what is another's stays. */
static int drop_made(int dir, const char *name)
{
	int saved = errno;

	if (saved != ESTALE)
		unlinkat(dir, name, 0);
	errno = saved;
	return -1;
}

/* A pipe is its name and mode; what is in it belongs to those who have it open. */
static int copy_pipe(struct copying *x, struct worker *w, const struct stat *st, int from_dir,
	const char *name, int to_dir, const char *to_name)
{
	struct timespec times[2] = {st->st_atim, st->st_mtim};
	struct stat there;

	if (mkfifoat(to_dir, to_name, 0600) < 0) {
		if (errno != EEXIST || !(x->o->resume || x->o->overwrite) ||
			fstatat(to_dir, to_name, &there, AT_SYMLINK_NOFOLLOW) < 0)
			return -1;
		if (S_ISFIFO(there.st_mode))
			return 0;
		if (!x->o->overwrite || !is_replaceable(x, &there)) {
			errno = EEXIST;
			return -1;
		}
		if (is_read_only(x, &there) || unlinkat(to_dir, to_name, 0) < 0 ||
			mkfifoat(to_dir, to_name, 0600) < 0)
			return -1;
	}
	AUTO_CLOSE int in = openat(from_dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	AUTO_CLOSE int out = hold_made(x, to_dir, to_name, S_IFIFO);
	const struct attributed made = {.fd = out, .by_path = true};
	char self[ATTRS_SELF_MAX];

	str_clear(&w->attrs);
	if (in >= 0)
		attrs_read((struct attributed){.fd = in, .by_path = true}, x->o->keep_owner,
			&w->attrs);
	if (out < 0)
		return drop_made(to_dir, to_name);
	if (w->inherits)
		attrs_drop_list(made);
	if (give_dress(x, made, &w->attrs, st) < 0)
		return drop_made(to_dir, to_name);
	utimensat(AT_FDCWD, attrs_self(self, out), times, 0);
	return 0;
}

/* Sockets and devices are left out: the one is of no use in another place, the other gives rights. */
static void copy_special(struct copying *x, struct worker *w, const struct walk_dir *d,
	int from_dir, const char *name)
{
	struct stat st;

	if (fstatat(from_dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		fail_source(w, &x->walk, errno, "copy the special file", name);
	} else if (!S_ISFIFO(st.st_mode)) {
		w->t.special++;
	} else if (!is_linked_later(x, d, name, &st)) {
		if (copy_pipe(x, w, &st, from_dir, name, w->to_dir, name) < 0) {
			fail_copy(w, &x->walk, errno, "copy the special file", name);
			link_never(x, &st);
			return;
		}
		w->t.files++;
		note_copied(x, d, name, &st);
	}
}

struct link {
	struct stat st; /* from before it was read, for that changes the time of access */
	ssize_t n;
	char target[4097];
};

static int read_link(int dir, const char *name, struct link *l)
{
	if (fstatat(dir, name, &l->st, AT_SYMLINK_NOFOLLOW) < 0 ||
		(l->n = readlinkat(dir, name, l->target, sizeof l->target - 1)) < 0)
		return -1;
	l->target[l->n] = '\0';
	return 0;
}

static int copy_link(struct copying *x, const struct link *l, int to_dir, const char *to_name)
{
	const struct stat *st = &l->st;

	if (symlinkat(l->target, to_dir, to_name) < 0) {
		char there[4097];
		struct stat old;
		ssize_t have;

		if (errno != EEXIST || !(x->o->resume || x->o->overwrite) ||
			fstatat(to_dir, to_name, &old, AT_SYMLINK_NOFOLLOW) < 0 ||
			is_read_only(x, &old))
			return -1;
		have = readlinkat(to_dir, to_name, there, sizeof there);
		if (have == l->n && memcmp(there, l->target, (size_t)l->n) == 0)
			return 0;
		/* No link: a file is replaced where that was asked for, a directory never. */
		if (have < 0 && errno == EINVAL && !x->o->overwrite)
			errno = EEXIST;
		if ((have < 0 && errno != EINVAL) || unlinkat(to_dir, to_name, 0) < 0 ||
			symlinkat(l->target, to_dir, to_name) < 0)
			return -1;
	}
	struct timespec times[2] = {st->st_atim, st->st_mtim};
	AUTO_CLOSE int made = hold_made(x, to_dir, to_name, S_IFLNK);
	char self[ATTRS_SELF_MAX];

	if (made < 0 ||
		(x->o->keep_owner && (st->st_uid != path_user() || st->st_gid != path_group()) &&
			fchownat(made, "", st->st_uid, st->st_gid, AT_EMPTY_PATH) < 0))
		return drop_made(to_dir, to_name);
	utimensat(AT_FDCWD, attrs_self(self, made), times, 0);
	return 0;
}

static void copy_one_link(
	struct copying *x, struct worker *w, struct walk_dir *d, int from_dir, const char *name)
{
	struct link l;

	if (read_link(from_dir, name, &l) < 0) {
		fail_source(w, &x->walk, errno, "copy the link", name);
		return;
	}
	if (is_linked_later(x, d, name, &l.st))
		return;
	if (copy_link(x, &l, w->to_dir, name) < 0) {
		fail_copy(w, &x->walk, errno, "copy the link", name);
		link_never(x, &l.st);
		return;
	}
	w->t.links++;
	note_copied(x, d, name, &l.st);
}

/* --- directories --- */

/* "." (or nothing): the root itself, as a whole. */
static bool is_whole_root(const char *path)
{
	return !*path || (path[0] == '.' && !path[1 + strspn(path + 1, "/")]);
}

/* Ours, with nothing in it: not one that was put in the place of the one that we made. */
static bool is_new_dir(int fd)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = again < 0 ? NULL : fdopendir(again);
	const struct dirent *at;
	struct stat st;
	bool fresh = d && fstat(fd, &st) == 0 && st.st_uid == path_user();

	while (fresh && (at = readdir(d)) != NULL)
		fresh = strcmp(at->d_name, ".") == 0 || strcmp(at->d_name, "..") == 0;
	if (d)
		closedir(d);
	else if (again >= 0)
		close(again);
	return fresh;
}

/* Make the directory of the copy, or take the one there is where that may be; O_PATH will not do. */
static int to_dir(struct copying *x, const struct walk_dir *d, const char *path, bool *made)
{
	const char *leaf;
	AUTO_CLOSE int parent = -1;
	AUTO_CLOSE int fd = -1;

	if (!d->parent && is_whole_root(x->to))
		return path_open(x->to_root, ".", O_RDONLY | O_DIRECTORY);
	parent = path_parent(x->to_root, path, NULL, &leaf, NULL);
	if (parent < 0)
		return -1;
	if (path_may_change(x->to_root, parent, leaf, path, NULL) < 0)
		return -1;
	*made = mkdirat(parent, leaf, 0700) == 0;
	if (!*made && (errno != EEXIST || !(x->o->resume || x->o->overwrite)))
		return -1;
	fd = openat(parent, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && *made && x->o->keep_owner && !is_new_dir(fd)) {
		errno = ESTALE;
		return -1;
	}
	if (fd >= 0 && *made && !d->parent)
		x->totals.made = true;
	return steal_fd(&fd);
}

static bool enter_dir(struct walk_worker *me, struct walk_dir *d, int fd)
{
	struct copying *x = me->walk->ctx;
	struct worker *w = me->data;
	AUTO_STR struct str path = STR_INIT;
	struct str attrs = STR_INIT;
	bool made = false;
	struct stat st, to_st = {0};

	to_path(x, d, NULL, &path);
	w->to_dir = fstat(fd, &st) < 0 ? -1 : to_dir(x, d, path.s, &made);
	if (w->to_dir < 0 || fstat(w->to_dir, &to_st) < 0) {
		fail_copy(w, me->walk, errno, "make the directory", path.s);
		return false;
	}
	if (made)
		attrs_drop_inherited(w->to_dir);
	w->inherits = !made && attrs_are_inherited((struct attributed){.fd = w->to_dir});
	attrs_read((struct attributed){.fd = fd}, x->o->keep_owner, &attrs);
	w->t.dirs++;
	note_copied(x, d, NULL, &st);
	pthread_mutex_lock(&x->lock);
	x->dirs = mem_grow(x->dirs, &x->dirs_cap, x->ndirs + 1, sizeof *x->dirs);
	x->dirs[x->ndirs++] =
		(struct dir_end){str_detach(&path), st, to_st.st_dev, to_st.st_ino, attrs};
	pthread_mutex_unlock(&x->lock);
	return true;
}

static void copy_entries(struct walk_worker *me, struct walk_dir *d, int fd, size_t from, size_t to)
{
	struct copying *x = me->walk->ctx;
	struct worker *w = me->data;

	for (size_t i = from; i < to && !op_stopped(&x->op); i++) {
		const struct walk_entry *entry = &d->entries[i];

		walk_show_late(&x->walk);
		if (entry->type == FILES_FILE) {
			copy_one_file(x, w, d, fd, entry->name);
		} else if (entry->type == FILES_LINK) {
			copy_one_link(x, w, d, fd, entry->name);
		} else if (entry->type == FILES_OTHER) {
			copy_special(x, w, d, fd, entry->name);
		}
	}
	close(w->to_dir);
	w->to_dir = -1;
}

static const struct walk_ops copy_ops = {.worker_begin = begin_copy,
	.worker_end = end_copy,
	.entries = copy_entries,
	.enter = enter_dir};

static int finish_dir(struct copying *x, int fd, const struct dir_end *d)
{
	struct timespec times[2] = {d->st.st_atim, d->st.st_mtim};
	struct stat now;

	/* (For others than root that gives nobody anything, and not every file system keeps its numbers.) */
	if (path_user() == 0 &&
		(fstat(fd, &now) < 0 || now.st_dev != d->made_dev || now.st_ino != d->made_ino)) {
		errno = ESTALE;
		return -1;
	}
	attrs_drop_inherited(fd);
	return give_dress(x, (struct attributed){.fd = fd}, &d->attrs, &d->st) < 0 ||
			futimens(fd, times) < 0
		? -1
		: 0;
}

/* Modes, attributes and times of directories in the end, the inner ones first: until then we write to them. */
static void finish_dirs(struct copying *x)
{
	for (size_t i = x->ndirs; i-- > 0 && !op_stopped(&x->op);) {
		const struct dir_end *d = &x->dirs[i];
		AUTO_CLOSE int fd = path_open_strict(x->to_root, d->path, O_RDONLY | O_DIRECTORY);

		if (fd < 0 || finish_dir(x, fd, d) < 0) {
			/* At the top: what has its place now is another's. */
			if (i == 0 && (fd < 0 || errno == ESTALE))
				x->totals.made = false;
			if (x->totals.errors++ == 0)
				path_error(&x->totals.first, errno, "set the mode and time of",
					d->path);
		}
	}
}

/* Another name for a file of the copy.  What is there already is treated as by copy_open. */
static int link_to(struct copying *x, int a, const char *leaf_a, int b, const char *leaf_b)
{
	struct stat first, there;
	char temporary[64];
	int rc;

	if (linkat(a, leaf_a, b, leaf_b, 0) == 0)
		return 0;
	if (errno != EEXIST || !(x->o->overwrite || x->o->resume) ||
		fstatat(a, leaf_a, &first, AT_SYMLINK_NOFOLLOW) < 0 ||
		fstatat(b, leaf_b, &there, AT_SYMLINK_NOFOLLOW) < 0 || is_read_only(x, &there))
		return -1;
	if (path_is_same(&first, &there))
		return 0;
	if (!is_replaceable(x, &there) && (there.st_mode & S_IFMT) != (first.st_mode & S_IFMT)) {
		errno = EEXIST;
		return -1;
	}
	snprintf(temporary, sizeof temporary, ".berth.%d.link", (int)getpid());
	if (linkat(a, leaf_a, b, temporary, 0) < 0)
		return -1;
	rc = renameat(b, temporary, b, leaf_b);
	/* Where both became names of one file meanwhile, the rename does nothing. */
	unlinkat(b, temporary, 0);
	return rc;
}

static void make_links(struct copying *x)
{
	for (size_t i = 0; i < x->nlater && !op_stopped(&x->op); i++) {
		const char *leaf_a, *leaf_b;
		const char *first = x->linked[x->later[i].first].path;

		if (!first) { /* that error is known */
			x->totals.errors++;
			continue;
		}
		AUTO_CLOSE int a = path_parent(x->to_root, first, NULL, &leaf_a, NULL);
		AUTO_CLOSE int b =
			path_parent_to_change(x->to_root, x->later[i].path, NULL, &leaf_b, NULL);

		if (a >= 0 && b >= 0 && link_to(x, a, leaf_a, b, leaf_b) == 0) {
			x->totals.links += x->later[i].symlink;
			x->totals.files += !x->later[i].symlink;
			continue;
		}
		if (x->totals.errors++ == 0)
			path_error(&x->totals.first, errno, "link", x->later[i].path);
	}
}

static int copy_single(struct copying *x, int from_dir, const char *leaf, const struct stat *st,
	int to_dir, const char *to_leaf, const char *from, struct err *e)
{
	struct worker w = {.buf = xmalloc(CONTENT_BUF),
		.to_dir = -1,
		.inherits = attrs_are_inherited((struct attributed){.fd = to_dir, .by_path = true}),
		.attrs = STR_INIT};
	struct stat as = *st;
	int rc = -1;

	errno = EINVAL;
	if (S_ISLNK(st->st_mode)) {
		struct link l;

		rc = read_link(from_dir, leaf, &l) < 0 ? -1 : copy_link(x, &l, to_dir, to_leaf);
		w.t.links = rc == 0;
	} else if (S_ISFIFO(st->st_mode)) {
		rc = copy_pipe(x, &w, st, from_dir, leaf, to_dir, to_leaf);
		w.t.files = rc == 0;
	} else if (S_ISREG(st->st_mode)) {
		AUTO_CLOSE int in = openat(from_dir, leaf, PATH_READ | O_NOFOLLOW | O_CLOEXEC);
		struct stat now;

		if (in >= 0 && fstat(in, &now) == 0 && S_ISREG(now.st_mode)) {
			job_total(x->op.job, 1, (uint64_t)now.st_size);
			rc = copy_open(x, &w, in, &now, to_dir, to_leaf);
			as = now;
		}
	}
	if (rc < 0)
		rc = errno == ECANCELED ? op_cancelled(e)
			: errno == EEXIST
			? err_set(e, ERR_CONFLICT,
				  "%.200s cannot replace %.200s, which is of another type", from,
				  x->to)
			: path_error(e, errno, "copy", from);
	else
		note_copied(x, NULL, NULL, &as);
	/* One that failed is gone again. */
	x->totals.made = rc == 0 && !x->o->overwrite && !x->o->resume;
	add_copy_totals(&x->totals, &w.t);
	str_release(&w.attrs);
	free(w.buf);
	return rc;
}

/* The directory that holds the last component of `path`, and what is there; of a whole root itself
 * *leaf is ".".  1: nothing is there. */
static int look_at_leaf(struct files_root *r, const char *path, int *dir, const char **leaf,
	struct stat *st, struct err *e)
{
	*leaf = ".";
	*dir = is_whole_root(path) ? path_open(r, ".", O_PATH | O_DIRECTORY)
				   : path_parent(r, path, NULL, leaf, e);
	if (*dir < 0)
		return -1;
	return fstatat(*dir, *leaf, st, AT_SYMLINK_NOFOLLOW) < 0 ? 1 : 0;
}

/* Where both begin at the same directory nothing above it can be the source. */
static bool find_common_top(struct files_root *from, struct files_root *to, struct stat *top)
{
	AUTO_CLOSE int a = path_open(from, ".", O_PATH | O_DIRECTORY);
	AUTO_CLOSE int b = path_open(to, ".", O_PATH | O_DIRECTORY);
	struct stat other;

	return a >= 0 && b >= 0 && fstat(a, top) == 0 && fstat(b, &other) == 0 &&
		path_is_same(top, &other);
}

static int run_copy(
	struct copying *x, struct files_root *from_root, const char *from, struct err *e)
{
	static const struct files_filter all;
	const char *leaf, *to_leaf;
	AUTO_CLOSE int from_dir = -1;
	AUTO_CLOSE int to_dir = -1;
	struct stat st, to_st, top;
	int rc = look_at_leaf(from_root, from, &from_dir, &leaf, &st, e);

	if (rc != 0)
		return rc < 0 ? -1 : path_error(e, errno, "copy", from);
	rc = look_at_leaf(x->to_root, x->to, &to_dir, &to_leaf, &to_st, e);
	if (rc < 0 || path_may_change(x->to_root, to_dir, to_leaf, x->to, e) < 0)
		return -1;
	if (rc == 0) {
		if (path_is_same(&to_st, &st))
			return err_set(e, ERR_REFUSED, "%.200s cannot be copied onto itself", from);
		if (!x->o->overwrite && !x->o->resume && !is_whole_root(x->to))
			return path_error(e, EEXIST, "copy to", x->to);
	}
	if (S_ISSOCK(st.st_mode) || S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
		return err_set(e, ERR_REFUSED, "%.200s is a %s, which cannot be copied", from,
			S_ISSOCK(st.st_mode) ? "socket" : "device");
	if (!S_ISDIR(st.st_mode))
		return is_whole_root(x->to)
			? path_error(e, EISDIR, "replace", x->to)
			: copy_single(x, from_dir, leaf, &st, to_dir, to_leaf, from, e);
	rc = path_lies_within(
		to_dir, &st, find_common_top(from_root, x->to_root, &top) ? &top : NULL);
	if (rc < 0)
		return path_error(e, errno, "copy", from);
	if (rc > 0)
		return err_set(e, ERR_REFUSED, "%.200s cannot be copied into itself", from);
	x->walk = (struct walk){
		.op = &x->op,
		.root = from_root,
		.start = is_whole_root(from) ? "" : from,
		.filter = &all,
		.ops = &copy_ops,
		.ctx = x,
		.whole_dirs = true,
		.ahead = AHEAD_BYTES,
	};
	rc = walk_run(&x->walk, e);
	x->totals.errors += x->walk.totals.errors;
	x->totals.gone += x->walk.totals.gone;
	walk_release(&x->walk);
	if (rc == 0) {
		make_links(x);
		finish_dirs(x);
		if (op_stopped(&x->op))
			rc = op_cancelled(e);
	}
	return rc;
}

static void release_copy(struct copying *x)
{
	for (size_t i = 0; i < x->nlinked; i++)
		free(x->linked[i].path);
	for (size_t i = 0; i < x->nlater; i++)
		free(x->later[i].path);
	for (size_t i = 0; i < x->ndirs; i++) {
		free(x->dirs[i].path);
		str_release(&x->dirs[i].attrs);
	}
	free(x->linked);
	free(x->later);
	free(x->dirs);
	pthread_mutex_destroy(&x->lock);
}

int files_copy_noting(struct files *f, struct files_root *from_root, const char *from,
	struct files_root *to_root, const char *to, const struct files_copy_options *o,
	struct copied_list *noted, struct files_tree_totals *totals, struct err *e)
{
	struct copying x = {.o = o, .to_root = to_root, .from = from, .to = to, .noted = noted};
	struct err why = ERR_INIT;
	char files[FORMAT_COUNTED_MAX], bytes[FORMAT_COUNTED_MAX];
	int rc;

	pthread_mutex_init(&x.lock, NULL);
	atomic_store(&x.no_reflink, (f->avoid & FILES_AVOID_REFLINK) != 0);
	op_begin(&x.op, f, "entries", "copy %s", from);
	rc = run_copy(&x, from_root, from, &why);
	if (rc == 0 && o->durable) {
		AUTO_CLOSE int fd = path_open(to_root, ".", O_RDONLY | O_DIRECTORY);

		if (fd < 0 || op_syncfs(&x.op, fd) < 0)
			rc = errno == ECANCELED ? op_cancelled(&why)
						: err_sys(&why, errno,
							  "the copy is complete, but could not be "
							  "flushed to disk");
	}
	if (rc == 0 && x.totals.errors)
		rc = x.totals.first.kind != ERR_NONE
			? err_copy(&why, &x.totals.first)
			: err_set(&why, ERR_FAILED, "some of %.200s could not be read", from);
	*totals = x.totals;
	release_copy(&x);
	if (rc < 0)
		err_copy(e, &why);
	return op_end(&x.op, rc, &why, "Copied %s, %s.",
		format_counted(files, totals->files, "file", "files"),
		op_bytes(bytes, totals->bytes));
}

int files_copy(struct files *f, struct files_root *from_root, const char *from,
	struct files_root *to_root, const char *to, const struct files_copy_options *o,
	struct files_tree_totals *totals, struct err *e)
{
	return files_copy_noting(f, from_root, from, to_root, to, o, NULL, totals, e);
}
