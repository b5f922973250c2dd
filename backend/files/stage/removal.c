/* removal.c - deletes trees, also those that could not be moved into the stage. */
#include "files/common/paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
#define TRIED 16           /* names after which it is known how long one takes */
#define COUNT_NS 300000000 /* what takes longer is counted: that is a tenth of the work */
#define COUNT_DEEP 64
#define SLOW_NS 50000 /* giving up the blocks of a file takes a disk as long, or far longer */

struct pending {
	char (*names)[STAGE_NAME_MAX]; /* directories in the stage, still to be taken apart */
	size_t n, cap;
	int64_t took; /* by unlinking so far, nanoseconds */
	unsigned tried;
	int64_t begun;
	bool counted;
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
static int lift_dir(struct staging *s, int dir, const char *name, struct pending *p)
{
	char *to;

	p->names = mem_grow(p->names, &p->cap, p->n + 1, sizeof *p->names);
	to = stage_name(s, p->names[p->n]);
	if (removal_hide(dir, name, s->stage, to) < 0)
		return -1;
	p->n++;
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

static void count_dir(struct files_tree_totals *t, const struct op *op)
{
	t->dirs++;
	if (op)
		op_add(op, 1, 0);
}

static void after_unlink(struct staging *s, int fd, const struct doomed *d, const struct op *op,
	struct pending *p, struct files_tree_totals *t)
{
	if (d->error == 0) {
		t->files += !d->link;
		t->links += d->link;
		if (op)
			op_add(op, 1, 0);
	} else if (d->error == EISDIR || d->error == EPERM) {
		/* Linux says EISDIR, POSIX allows EPERM. */
		if (unlinkat(fd, d->name, AT_REMOVEDIR) == 0)
			count_dir(t, op);
		else if (lift_dir(s, fd, d->name, p) < 0)
			fail_removal(t, errno, d->name);
	} else if (d->error != ENOENT) {
		fail_removal(t, d->error, d->name);
	}
}

static void unlink_volley(
	struct staging *s, struct volley *v, struct pending *p, struct files_tree_totals *t)
{
	size_t done;

	atomic_store(&v->next, 0);
	crew_run(v->op->files->pool, v->n < WIDTH ? (unsigned)v->n : WIDTH, unlink_some, v);
	done = atomic_load(&v->next);
	for (size_t i = 0; i < v->n; i++) {
		if (i < done)
			after_unlink(s, v->fd, &v->names[i], v->op, p, t);
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

/* All that is left: below the directory in hand, and what waits in the stage. */
static void count_left(struct staging *s, int fd, const struct op *op, struct pending *p,
	const struct files_tree_totals *t)
{
	int64_t n = count_below(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0, op);

	p->counted = true;
	for (size_t i = 0; i < p->n && n >= 0; i++) {
		int64_t below =
			count_below(openat(s->stage, p->names[i],
					    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
				0, op);

		n = below < 0 ? -1 : n + below + 1;
	}
	if (n >= 0)
		job_total(op->job, t->files + t->links + t->dirs + (uint64_t)n + 1, 0);
}

/* Unlink the files of an open directory and lift its directories out of it. */
static void empty_dir(struct staging *s, int fd, const struct op *op, struct pending *p,
	struct files_tree_totals *t)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct volley *v = NULL;
	struct dirent *entry;

	if (!d) {
		if (copy >= 0)
			close(copy);
		fail_removal(t, errno, "a directory");
		return;
	}
	while (!(op && op_stopped(op)) && (entry = readdir(d)) != NULL) {
		struct doomed it = {entry->d_name, entry->d_type == DT_LNK, 0};

		if (strcmp(it.name, ".") == 0 || strcmp(it.name, "..") == 0)
			continue;
		if (op && op->job && !p->counted && clock_mono_ns() - p->begun > COUNT_NS)
			count_left(s, fd, op, p, t);
		if (op && p->slow) {
			if (!v)
				v = xcalloc(1, sizeof *v);
			v->staging = s;
			v->fd = fd;
			v->op = op;
			it.name = xstrdup(it.name);
			v->names[v->n++] = it;
			if (v->n == VOLLEY)
				unlink_volley(s, v, p, t);
			continue;
		}
		int64_t begun = clock_mono_ns();

		unlink_one(s, fd, &it);
		p->took += clock_mono_ns() - begun;
		p->slow = ++p->tried >= TRIED && p->took / p->tried > SLOW_NS;
		after_unlink(s, fd, &it, op, p, t);
	}
	if (v && v->n)
		unlink_volley(s, v, p, t);
	free(v);
	closedir(d);
}

static void take_apart(struct staging *s, int dir, const char *name, const struct op *op,
	struct pending *p, struct files_tree_totals *t)
{
	AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	/* Our own directory that we may not read or write: give ourselves the right first. */
	if (fd < 0 && errno == EACCES && fchmodat(dir, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
		fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* What may not be changed got in here by a rename: it stays, with all that holds it. */
	if (fd >= 0 && stays_fixed(s, fd, "")) {
		fail_removal(t, EROFS, name);
		return;
	}
	if (fd >= 0)
		empty_dir(s, fd, op, p, t);
	if (op && op_stopped(op))
		return;
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		count_dir(t, op);
	else if (errno != ENOENT)
		fail_removal(t, errno, name);
}

void remove_tree(struct staging *s, int dir, const char *name, const struct op *op,
	struct files_tree_totals *t)
{
	struct pending p = {.begun = clock_mono_ns()};

	if (unlinkat(dir, name, 0) == 0) {
		t->files++;
		return;
	}
	if (errno != EISDIR && errno != EPERM) {
		if (errno != ENOENT)
			fail_removal(t, errno, name);
		return;
	}
	take_apart(s, dir, name, op, &p, t);
	/* What is lifted while this goes on is appended. */
	while (p.n > 0 && !(op && op_stopped(op))) {
		char next[STAGE_NAME_MAX];

		memcpy(next, p.names[--p.n], sizeof next);
		take_apart(s, s->stage, next, op, &p, t);
	}
	free(p.names);
}

/* --- trees on another file system than the stage --- */

#define TRASH ".berth."

/* All that is in the directory dir/name, and it. */
static void remove_trash(struct staging *s, int dir, const char *name, const struct op *op,
	struct files_tree_totals *t)
{
	struct staging here = {.serial = 0, .fixed = s->fixed, .nfixed = s->nfixed};
	struct pending p = {0};
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
			p.names = mem_grow(p.names, &p.cap, p.n + 1, sizeof *p.names);
			strcpy(p.names[p.n++], entry->d_name);
		}
	closedir(d);
	for (size_t i = 0; i < p.n && !(op && op_stopped(op)); i++)
		remove_tree(&here, fd, p.names[i], op, t);
	free(p.names);
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
