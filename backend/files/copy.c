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

#include "files/common/attrs.h"
#include "files/common/paths.h"
#include "files/copy_content.h"
#include "files/copy_entry.h"
#include "files/stage/later.h"
#include "files/stage/staging.h"

static void begin_copy(struct walk_worker *me)
{
	struct worker *w = xcalloc(1, sizeof *w);

	w->buf = xmalloc(CONTENT_BUF);
	w->to_dir = -1;
	str_init(&w->attrs);
	me->data = w;
}

static void end_copy(struct walk_worker *me)
{
	struct copying *x = me->walk->ctx;
	struct worker *w = me->data;

	pthread_mutex_lock(&x->lock);
	copying_add(&x->totals, &w->t);
	pthread_mutex_unlock(&x->lock);
	if (w->to_dir >= 0)
		close(w->to_dir);
	str_release(&w->attrs);
	free(w->buf);
	free(w);
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

	copying_path(x, d, NULL, &path);
	w->to_dir = fstat(fd, &st) < 0 ? -1 : to_dir(x, d, path.s, &made);
	if (w->to_dir < 0 || fstat(w->to_dir, &to_st) < 0) {
		copying_fail(w, me->walk, errno, "make the directory", path.s);
		return false;
	}
	if (made)
		attrs_drop_inherited(w->to_dir);
	w->inherits = !made && attrs_are_inherited((struct attributed){.fd = w->to_dir});
	attrs_read((struct attributed){.fd = fd}, x->o->keep_owner, &attrs);
	w->t.dirs++;
	copying_note(x, d, NULL, &st);
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
		if (entry->type != FILES_DIR)
			copying_entry(x, w, d, fd, entry->name, entry->type);
	}
	close(w->to_dir);
	w->to_dir = -1;
}

/* Another has its name by now, say: its content is missing. */
static void fail_dir(struct walk_worker *me, const struct walk_dir *d, int errnum)
{
	AUTO_STR struct str path = STR_INIT;

	copying_source(me->walk->ctx, d, NULL, &path);
	copying_fail(me->data, me->walk, errnum == ENOTDIR || errnum == ELOOP ? ESTALE : errnum,
		"copy", path.s);
}

static const struct walk_ops copy_ops = {.worker_begin = begin_copy,
	.worker_end = end_copy,
	.entries = copy_entries,
	.enter = enter_dir,
	.failed = fail_dir};

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
	return copying_dress(x, (struct attributed){.fd = fd}, &d->attrs, &d->st) < 0 ||
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
		fstatat(b, leaf_b, &there, AT_SYMLINK_NOFOLLOW) < 0 || copying_is_fixed(x, &there))
		return -1;
	if (path_is_same(&first, &there))
		return 0;
	if (!copying_may_replace(x, &there) &&
		(there.st_mode & S_IFMT) != (first.st_mode & S_IFMT)) {
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
			: copying_single(x, from_dir, leaf, &st, to_dir, to_leaf, from, e);
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

static int report_errors(const struct copying *x, struct err *e)
{
	const struct files_tree_totals *t = &x->totals;
	char more[FORMAT_COUNTED_MAX];

	if (t->first.kind == ERR_NONE)
		return err_set(e, ERR_FAILED, "some of %.200s could not be read", x->from);
	if (t->files + t->dirs + t->links == 0)
		return err_copy(e, &t->first);
	if (t->errors == 1)
		return err_set(e, t->first.kind, "%.400s; the rest was copied", t->first.msg);
	return err_set(e, t->first.kind, "%.400s; %s more failed, too, and the rest was copied",
		t->first.msg, format_counted(more, t->errors - 1, "entry", "entries"));
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
		rc = noted && x.totals.first.kind ? err_copy(&why, &x.totals.first)
						  : report_errors(&x, &why);
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
