/* copy_entry.c - copies one entry of a tree: a file, a link, a pipe. */
#include "files/copy_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/sum.h>

#include "files/common/attrs.h"
#include "files/common/paths.h"
#include "files/copy_content.h"

#define TYPES_TRIED 4 /* times that a name may be of another type */

void copying_fail(
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
		copying_fail(w, walk, errnum, verb, name);
}

void copying_add(struct files_tree_totals *to, const struct files_tree_totals *t)
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

/* --- one file --- */

int copying_dress(const struct copying *x, struct attributed out, const struct str *attrs,
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
	return copying_dress(x, (struct attributed){.fd = out}, &w->attrs, st) < 0 ||
			futimens(out, times) < 0
		? -1
		: 0;
}

bool copying_is_fixed(const struct copying *x, const struct stat *there)
{
	if (!path_is_fixed(x->to_root->fixed, x->to_root->nfixed, there))
		return false;
	errno = EROFS;
	return true;
}

bool copying_may_replace(const struct copying *x, const struct stat *there)
{
	return S_ISREG(there->st_mode) ||
		(x->o->overwrite && (S_ISLNK(there->st_mode) || S_ISFIFO(there->st_mode)));
}

/* What is there already: 1 leave it, 0 replace it, -1 do neither. */
static int judge_existing(struct copying *x, int dir, const char *name, const struct stat *src)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || copying_is_fixed(x, &st))
		return -1;
	if (x->o->resume && S_ISREG(st.st_mode) && st.st_size == src->st_size &&
		st.st_mtim.tv_sec == src->st_mtim.tv_sec &&
		st.st_mtim.tv_nsec == src->st_mtim.tv_nsec)
		return 1;
	/* What a copy that was killed left has another time; so it may be replaced. */
	if ((x->o->overwrite || x->o->resume) && copying_may_replace(x, &st))
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

void copying_source(
	const struct copying *x, const struct walk_dir *d, const char *name, struct str *out)
{
	AUTO_STR struct str below = STR_INIT;

	str_adds(out, x->from);
	if (d)
		walk_path(d, &below);
	if (below.len)
		str_addf(out, "/%s", below.s);
	if (d && name)
		str_addf(out, "/%s", name);
}

void copying_note(
	struct copying *x, const struct walk_dir *d, const char *name, const struct stat *st)
{
	struct str path = STR_INIT;

	if (!x->noted)
		return;
	copying_source(x, d, name, &path);
	pthread_mutex_lock(&x->lock);
	x->noted->v = mem_grow(x->noted->v, &x->noted->cap, x->noted->n + 1, sizeof *x->noted->v);
	x->noted->v[x->noted->n++] = (struct copied){str_detach(&path), *st};
	pthread_mutex_unlock(&x->lock);
}

void copying_path(struct copying *x, const struct walk_dir *d, const char *name, struct str *out)
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
	copying_path(x, d, name, &path);
	if (!link_later(x, st, path.s))
		return false;
	copying_note(x, d, name, st);
	return true;
}

/* Of these three false says that it is of another type by now; nothing was made. */
static bool copy_file(struct copying *x, struct worker *w, const struct walk_dir *d, int from_dir,
	const char *name)
{
	struct stat st;
	AUTO_CLOSE int in = openat(from_dir, name, PATH_READ | O_NOFOLLOW | O_CLOEXEC);

	if (in < 0 && (errno == ELOOP || errno == ENXIO || errno == ENODEV))
		return false;
	if (in < 0 || fstat(in, &st) < 0) {
		fail_source(w, &x->walk, errno, "copy", name);
		return true;
	}
	if (!S_ISREG(st.st_mode))
		return false;
	if (is_linked_later(x, d, name, &st)) {
		job_add(x->op.job, 0, (uint64_t)st.st_size, 0);
		return true;
	}
	if (copy_open(x, w, in, &st, w->to_dir, name) < 0 && errno != ECANCELED) {
		copying_fail(w, &x->walk, errno, "copy to", name);
		link_never(x, &st);
		return true;
	}
	copying_note(x, d, name, &st);
	return true;
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
		if (!x->o->overwrite || !copying_may_replace(x, &there)) {
			errno = EEXIST;
			return -1;
		}
		if (copying_is_fixed(x, &there) || unlinkat(to_dir, to_name, 0) < 0 ||
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
	if (copying_dress(x, made, &w->attrs, st) < 0)
		return drop_made(to_dir, to_name);
	utimensat(AT_FDCWD, attrs_self(self, out), times, 0);
	return 0;
}

/* Sockets and devices are left out: the one is of no use in another place, the other gives rights. */
static bool copy_special(struct copying *x, struct worker *w, const struct walk_dir *d,
	int from_dir, const char *name)
{
	struct stat st;

	if (fstatat(from_dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		fail_source(w, &x->walk, errno, "copy the special file", name);
		return true;
	}
	if (walk_type(st.st_mode) != FILES_OTHER)
		return false;
	if (!S_ISFIFO(st.st_mode)) {
		w->t.special++;
	} else if (!is_linked_later(x, d, name, &st)) {
		if (copy_pipe(x, w, &st, from_dir, name, w->to_dir, name) < 0) {
			copying_fail(w, &x->walk, errno, "copy the special file", name);
			link_never(x, &st);
			return true;
		}
		w->t.files++;
		copying_note(x, d, name, &st);
	}
	return true;
}

struct link {
	struct stat st; /* from before it was read, for that changes the time of access */
	ssize_t n;
	char target[4097];
};

/* ESTALE: it is no link any more. */
static int read_link(int dir, const char *name, struct link *l)
{
	if (fstatat(dir, name, &l->st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	l->n = readlinkat(dir, name, l->target, sizeof l->target - 1);
	if ((l->n < 0 && errno == EINVAL) || (l->n >= 0 && !S_ISLNK(l->st.st_mode))) {
		errno = ESTALE;
		return -1;
	}
	if (l->n < 0)
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
			copying_is_fixed(x, &old))
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

static bool copy_one_link(struct copying *x, struct worker *w, const struct walk_dir *d,
	int from_dir, const char *name)
{
	struct link l;

	if (read_link(from_dir, name, &l) < 0) {
		if (errno == ESTALE)
			return false;
		fail_source(w, &x->walk, errno, "copy the link", name);
		return true;
	}
	if (is_linked_later(x, d, name, &l.st))
		return true;
	if (copy_link(x, &l, w->to_dir, name) < 0) {
		copying_fail(w, &x->walk, errno, "copy the link", name);
		link_never(x, &l.st);
		return true;
	}
	w->t.links++;
	copying_note(x, d, name, &l.st);
	return true;
}

static bool copy_as(struct copying *x, struct worker *w, const struct walk_dir *d, int from_dir,
	const char *name, uint8_t type)
{
	switch (type) {
	case FILES_FILE: return copy_file(x, w, d, from_dir, name);
	case FILES_LINK: return copy_one_link(x, w, d, from_dir, name);
	default: return copy_special(x, w, d, from_dir, name);
	}
}

void copying_entry(struct copying *x, struct worker *w, const struct walk_dir *d, int from_dir,
	const char *name, uint8_t type)
{
	AUTO_STR struct str path = STR_INIT;
	struct stat st;

	for (int tries = 0; tries < TYPES_TRIED; tries++) {
		if (copy_as(x, w, d, from_dir, name, type))
			return;
		if (fstatat(from_dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			fail_source(w, &x->walk, errno, "copy", name);
			return;
		}
		type = walk_type(st.st_mode);
		if (type == FILES_DIR)
			break;
	}
	copying_source(x, d, name, &path);
	copying_fail(w, &x->walk, ESTALE, "copy", path.s);
}

int copying_single(struct copying *x, int from_dir, const char *leaf, const struct stat *st,
	int to_dir, const char *to_leaf, const char *from, struct err *e)
{
	struct worker w = {.buf = xmalloc(CONTENT_BUF),
		.to_dir = -1,
		.inherits = attrs_are_inherited((struct attributed){.fd = to_dir, .by_path = true}),
		.attrs = STR_INIT};
	struct stat as = *st;
	int rc = -1;

	errno = ESTALE;
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

		if (in < 0) {
			errno = errno == ELOOP || errno == ENXIO ? ESTALE : errno;
		} else if (fstat(in, &now) == 0 && S_ISREG(now.st_mode)) {
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
		copying_note(x, NULL, NULL, &as);
	/* One that failed is gone again. */
	x->totals.made = rc == 0 && !x->o->overwrite && !x->o->resume;
	copying_add(&x->totals, &w.t);
	str_release(&w.attrs);
	free(w.buf);
	return rc;
}
