/* watched.c - counts directory trees again whenever something changes in them. */
#include "keeper/watched.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/str.h>
#include <berth/sum.h>

#define EVENTS \
	(IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_ONLYDIR)
#define DIRS_MAX 20000 /* of all trees: two megabytes */
#define DEPTH_MAX 64

struct watched_dir {
	int wd, up;              /* up: the watch of what it lies in; 0: it is the root */
	struct watched_tree *of; /* NULL: it is gone */
	char *name;
	uint64_t inode;
	uint64_t bytes, sizes; /* in it by itself */
	uint32_t names, files;
	uint32_t seen; /* who looks at what changed has it */
	bool fresh;    /* not looked at since it changed */
	bool todo;
	bool subdirs; /* some may be new */
};

/* -- by watch -------------------------------------------------------------------------------------- */

static int order_watches(const void *wd, const void *dir)
{
	int at = ((const struct watched_dir *)dir)->wd;

	return (*(const int *)wd > at) - (*(const int *)wd < at);
}

/* The kernel counts up, so what is appended is in order. */
static struct watched_dir *find_watched(const struct watched *w, int wd)
{
	struct watched_dir *d =
		w->n ? bsearch(&wd, w->dir, w->n, sizeof *w->dir, order_watches) : NULL;

	return d && d->of ? d : NULL;
}

static void weigh_tree(
	struct watched_tree *t, const struct watched_dir *less, const struct watched_dir *more)
{
	t->bytes = t->bytes - less->bytes + more->bytes;
	t->sizes = t->sizes - less->sizes + more->sizes;
	t->sum.bytes = t->bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)t->bytes;
	t->sum.files = t->sum.files - less->names + more->names;
	t->files = t->files - less->files + more->files;
}

static void forget_directory(struct watched *w, struct watched_dir *d)
{
	static const struct watched_dir nothing;

	weigh_tree(d->of, d, &nothing);
	d->of = NULL;
	free(d->name);
	w->live--;
}

static void forget_tree(struct watched *w, struct watched_tree *t)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->dir[i].of == t) {
			inotify_rm_watch(w->fd, w->dir[i].wd);
			forget_directory(w, &w->dir[i]);
		}
	t->sum = (struct workspace_amount){0};
	t->bytes = t->sizes = 0;
	t->files = 0;
}

static void drop_forgotten(struct watched *w)
{
	size_t left = 0;

	if (w->n < 2 * w->live + 64)
		return;
	for (size_t i = 0; i < w->n; i++)
		if (w->dir[i].of)
			w->dir[left++] = w->dir[i];
	w->n = left;
}

static void want_look(struct watched *w, struct watched_dir *d)
{
	d->of->changed = true;
	if (d->todo)
		return;
	d->todo = true;
	w->todo = mem_grow(w->todo, &w->todo_cap, w->ntodo + 1, sizeof *w->todo);
	w->todo[w->ntodo++] = d->wd;
}

static void want_fresh(struct watched_dir *d)
{
	d->fresh = d->of->fresh = true;
}

/* -- watching ---------------------------------------------------------------------------------------- */

/* By its descriptor, so that nothing else can be put in its place. */
static int watch_directory(struct watched *w, int dir)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", dir);
	return inotify_add_watch(w->fd, path, EVENTS);
}

static int open_subdirectory(int dir, const char *name)
{
	static const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};

	return (int)syscall(SYS_openat2, dir, name, &how, sizeof how);
}

/* By the names that it has by now, from the root down.  E2BIG: too deep. */
static int open_watched(const struct watched *w, const struct watched_dir *d)
{
	const struct watched_dir *way[DEPTH_MAX];
	AUTO_CLOSE int fd = open_subdirectory(d->of->root, ".");
	size_t depth = 0;

	for (; d && d->up; d = find_watched(w, d->up)) {
		if (depth == DEPTH_MAX)
			return errno = E2BIG, -1;
		way[depth++] = d;
	}
	if (!d)
		return errno = ENOENT, -1;
	while (depth-- > 0 && fd >= 0) {
		int below = open_subdirectory(fd, way[depth]->name), failed = errno;

		close(fd);
		fd = below;
		errno = failed;
	}
	return steal_fd(&fd);
}

static void move_directory(struct watched_tree *t, struct watched_dir *d, int up, const char *name)
{
	if (d->of != t) {
		t->anew = d->of->anew = d->of->changed = true;
	} else if (d->up != up || strcmp(d->name, name) != 0) {
		free(d->name);
		d->name = xstrdup(name);
		d->up = up;
	}
}

/* One that is known was moved to here. */
static void meet_directory(
	struct watched *w, struct watched_tree *t, int dir, int up, const char *name)
{
	int wd = watch_directory(w, dir);
	struct watched_dir *known = wd < 0 ? NULL : find_watched(w, wd);
	struct stat st;

	if (known) {
		move_directory(t, known, up, name);
	} else if (wd < 0 || w->live == DIRS_MAX || fstat(dir, &st)) {
		inotify_rm_watch(w->fd, wd);
		t->blind = true;
	} else {
		w->dir = mem_grow(w->dir, &w->cap, w->n + 1, sizeof *w->dir);
		w->dir[w->n] = (struct watched_dir){.wd = wd,
			.up = up,
			.of = t,
			.name = xstrdup(name),
			.inode = st.st_ino,
			.subdirs = true};
		w->live++;
		want_fresh(&w->dir[w->n]);
		want_look(w, &w->dir[w->n++]);
	}
}

/* It may be gone, or something is mounted there, or nobody may read it: then it is a name and no more. */
static void meet_subdirectory(
	struct watched *w, struct watched_tree *t, int dir, int up, const char *name)
{
	AUTO_CLOSE int fd = open_subdirectory(dir, name);

	if (fd >= 0)
		meet_directory(w, t, fd, up, name);
	else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
		t->blind = true;
}

/* -- counting ---------------------------------------------------------------------------------------- */

struct known_subdirs {
	struct known_subdir {
		uint64_t inode;
		int wd;
	} * dir;
	size_t n, cap;
};

static int order_subdirs(const void *a, const void *b)
{
	uint64_t x = ((const struct known_subdir *)a)->inode,
		 y = ((const struct known_subdir *)b)->inode;

	return (x > y) - (x < y);
}

static void list_known_subdirs(const struct watched *w, int up, struct known_subdirs *ret)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->dir[i].of && w->dir[i].up == up) {
			ret->dir = mem_grow(ret->dir, &ret->cap, ret->n + 1, sizeof *ret->dir);
			ret->dir[ret->n++] = (struct known_subdir){w->dir[i].inode, w->dir[i].wd};
		}
	mem_sort(ret->dir, ret->n, sizeof *ret->dir, order_subdirs);
}

static bool is_known_here(
	const struct watched *w, const struct known_subdirs *k, const struct dirent *at)
{
	const struct known_subdir key = {.inode = at->d_ino},
				  *found = k->n
		? bsearch(&key, k->dir, k->n, sizeof key, order_subdirs)
		: NULL;
	const struct watched_dir *d = found ? find_watched(w, found->wd) : NULL;

	return d && !strcmp(d->name, at->d_name);
}

static uint64_t weigh_file(const struct stat *st)
{
	uint64_t space = (uint64_t)st->st_blocks * 512, size = (uint64_t)st->st_size;

	return space > size ? space : size;
}

static void add_file(struct watched_dir *d, const struct stat *st)
{
	sum_add(&d->bytes, weigh_file(st));
	sum_add(&d->sizes, (uint64_t)st->st_size);
	d->files++;
}

static bool is_an_entry(const struct dirent *at)
{
	return strcmp(at->d_name, ".") != 0 && strcmp(at->d_name, "..") != 0;
}

/* What lies in the directory by itself; new ones below it are met. */
static void sum_directory(struct watched *w, struct watched_dir *d, DIR *in)
{
	struct watched_dir was = *d, now = {0};
	struct known_subdirs known = {0};
	struct dirent *at;
	struct stat st;

	if (was.subdirs)
		list_known_subdirs(w, was.wd, &known);
	d->subdirs = false;
	while ((at = readdir(in))) {
		if (!is_an_entry(at))
			continue;
		now.names++;
		if (at->d_type == DT_DIR && (!was.subdirs || is_known_here(w, &known, at)))
			continue;
		if (fstatat(dirfd(in), at->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISREG(st.st_mode))
			add_file(&now, &st);
		else if (S_ISDIR(st.st_mode) && was.subdirs)
			meet_subdirectory(w, was.of, dirfd(in), was.wd, at->d_name);
	}
	free(known.dir);
	d = find_watched(w, was.wd); /* meeting others may have moved it in memory */
	weigh_tree(d->of, d, &now);
	d->bytes = now.bytes;
	d->sizes = now.sizes;
	d->names = now.names;
	d->files = now.files;
}

/* What lies there by that name must be what is watched. */
static void check_watched(struct watched *w, const struct watched_dir *d, int fd)
{
	int wd = watch_directory(w, fd);

	if (wd == d->wd)
		return;
	d->of->anew = true;
	if (wd >= 0 && !find_watched(w, wd))
		inotify_rm_watch(w->fd, wd);
}

/* false: later; it is on its way to elsewhere, or to its end, and the kernel is about to tell. */
static bool recount_directory(struct watched *w, struct watched_dir *d)
{
	AUTO_CLOSE int fd = open_watched(w, d);
	DIR *in;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return false;
	in = fd < 0 ? NULL : fdopendir(fd);
	if (!in) {
		d->of->blind = true;
		return true;
	}
	check_watched(w, d, steal_fd(&fd));
	d->todo = false;
	sum_directory(w, d, in);
	closedir(in);
	return true;
}

/* What is met on the way is looked at as well. */
static void look_at_changed(struct watched *w, struct watched_tree *t)
{
	size_t left = 0;

	for (size_t i = 0; i < w->ntodo; i++) {
		int wd = w->todo[i];
		struct watched_dir *d = find_watched(w, wd);
		bool ours = d && d->of == t;

		if (d && (!ours || t->blind || !recount_directory(w, d)))
			w->todo[left++] = wd;
		t->changed |= ours && left && w->todo[left - 1] == wd;
	}
	w->ntodo = left;
}

void watched_count(struct watched *w, struct watched_tree *t)
{
	t->changed = false;
	if (t->blind)
		return;
	if (t->anew || t->moved) {
		t->anew = false;
		t->moved = 0;
		forget_tree(w, t);
		drop_forgotten(w);
		meet_directory(w, t, t->root, 0, "");
	}
	look_at_changed(w, t);
	t->changed |= t->anew;
	if (t->blind)
		forget_tree(w, t);
}

void watched_doubt(struct watched *w, struct watched_tree *t)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->dir[i].of == t)
			want_look(w, &w->dir[i]);
}

/* -- looking --------------------------------------------------------------------------------------- */

/* From the root down. */
static void name_watched(const struct watched *w, const struct watched_dir *d, struct str *out)
{
	const struct watched_dir *way[DEPTH_MAX];
	size_t depth = 0;

	for (; d && d->up && depth < DEPTH_MAX; d = find_watched(w, d->up))
		way[depth++] = d;
	str_clear(out);
	while (depth-- > 0) {
		str_adds(out, way[depth]->name);
		if (depth)
			str_addc(out, '/');
	}
}

void watched_look(struct watched *w, struct watched_tree *t, watched_look_fn *look, void *ctx)
{
	AUTO_STR struct str path = STR_INIT;

	t->fresh = false;
	for (size_t i = 0; i < w->n; i++) {
		struct watched_dir *d = &w->dir[i];
		AUTO_CLOSE int fd = -1;

		if (d->of != t || !d->fresh)
			continue;
		d->fresh = false;
		fd = open_watched(w, d);
		if (fd < 0) /* it is on its way to elsewhere, which is told */
			continue;
		name_watched(w, d, &path);
		look(ctx, fd, d->wd, path.s, &d->seen);
	}
}

void watched_again(struct watched *w, int watch)
{
	struct watched_dir *d = find_watched(w, watch);

	if (d)
		want_fresh(d);
}

bool watched_has(const struct watched *w, int watch)
{
	return find_watched(w, watch) != NULL;
}

/* -- what happens ------------------------------------------------------------------------------------ */

/* A directory that is moved is told of twice, at once; where the second is missing it has left. */
static void follow_move(struct watched_tree *t, const struct inotify_event *ev)
{
	if (ev->mask & IN_MOVED_FROM)
		t->moved = ev->cookie;
	else if (ev->mask & IN_MOVED_TO && t->moved == ev->cookie)
		t->moved = 0;
}

static void take_change(struct watched *w, const struct inotify_event *ev)
{
	struct watched_dir *d = find_watched(w, ev->wd);

	/* A mode changes nothing of how much there is. */
	if (d && ev->mask & IN_ATTRIB) {
		if (ev->len && !(ev->mask & IN_ISDIR))
			want_fresh(d);
		return;
	}
	if (!d)
		return;
	want_fresh(d);
	d->of->touched = true;
	if (ev->mask & IN_IGNORED) {
		d->of->changed = true;
		forget_directory(w, d);
		return;
	}
	if (ev->mask & IN_ISDIR) {
		follow_move(d->of, ev);
		d->subdirs |= (ev->mask & (IN_CREATE | IN_MOVED_TO)) != 0;
	}
	want_look(w, d);
}

bool watched_drain(struct watched *w)
{
	_Alignas(struct inotify_event) char buf[16384];
	bool lost = false;
	ssize_t n;

	while ((n = read(w->fd, buf, sizeof buf)) > 0)
		for (char *at = buf; at < buf + n;) {
			const struct inotify_event *ev = (const void *)at;

			lost |= (ev->mask & IN_Q_OVERFLOW) != 0;
			take_change(w, ev);
			at += sizeof *ev + ev->len;
		}
	return lost;
}

/* -- beginning and end ------------------------------------------------------------------------------- */

int watched_open(struct watched *w, struct err *e)
{
	*w = (struct watched){.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
	return w->fd >= 0 ? 0 : err_sys(e, errno, "nothing can be watched");
}

void watched_close(struct watched *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->dir[i].of)
			free(w->dir[i].name);
	free(w->dir);
	free(w->todo);
	if (w->fd >= 0)
		close(w->fd);
	*w = (struct watched){.fd = -1};
}
