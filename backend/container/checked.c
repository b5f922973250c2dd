/* checked.c - stores the checked mounts of a container and compares them again. */
#include "container/checked.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/arena.h>
#include <berth/container_id.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/path.h>
#include <berth/runtime.h>
#include <berth/str.h>

#include "container/mountinfo.h"
#include "container/rate.h"
#include "container/sandbox.h"
#include "container/tree.h"
#include "job/board.h"
#include "lane/lane.h"

#define RECORD_MAX ((size_t)1 << 20)

struct checked_mount {
	uint64_t dev, ino;
	const char *target,
		*where; /* where: device and path as the kernel shows them, "" not known */
};

enum handed { HANDED_NOTHING, HANDED_SECRETS, HANDED_GONE }; /* gone: with an earlier start */

struct checked {
	char *text; /* what the strings below are in */
	const char *name, *file;
	struct start start;
	uint64_t rate;
	enum handed handed;
	int finished;
	size_t nlines; /* mounts of the container in all, the engine's own too; 0: not known */
	size_t n, cap;
	struct checked_mount *mount;
};

int start_read(pid_t pid, struct start *ret)
{
	*ret = (struct start){.pid = pid, .since = pid > 0 ? process_started(pid) : 0};
	file_text("/proc/sys/kernel/random/boot_id", ret->boot, sizeof ret->boot);
	ret->boot[strcspn(ret->boot, "\n")] = '\0';
	return ret->since ? 0 : -1;
}

bool start_lives(const struct start *s)
{
	return s->pid > 0 && process_started(s->pid) == s->since;
}

static bool same_start(const struct start *a, const struct start *b)
{
	return a->pid == b->pid && a->since == b->since && !strcmp(a->boot, b->boot);
}

/* -- the file ------------------------------------------------------------------------------------ */

static int record_path(const char *id, char path[PATH_MAX], struct err *e)
{
	char dir[PATH_MAX / 4], sub[PATH_MAX / 2];

	if (!id_is_whole(id))
		return err_set(e, ERR_USAGE, "`%.80s` is not a full container id", id);
	if (state_dir(dir, sizeof dir, e) || runtime_subdir(sub, sizeof sub, dir, "checked", e))
		return -1;
	snprintf(path, PATH_MAX, "%s/%s", sub, id);
	return 0;
}

/* A target may hold a newline, never a NUL. */
static int write_record(const char *id, const struct checked *c, struct err *e)
{
	char path[PATH_MAX];
	AUTO_STR struct str s = STR_INIT;

	if (record_path(id, path, e))
		return -1;
	str_add(&s, c->name, strlen(c->name) + 1);
	str_add(&s, c->file, strlen(c->file) + 1);
	str_addf(&s, "%d %" PRIu64 " %s %" PRIu64 " %zu %zu %d %d", (int)c->start.pid,
		c->start.since, c->start.boot, c->rate, c->nlines, c->n, c->handed, c->finished);
	str_addc(&s, '\0');
	for (size_t i = 0; i < c->n; i++) {
		str_addf(&s, "%" PRIu64 " %" PRIu64, c->mount[i].dev, c->mount[i].ino);
		str_addc(&s, '\0');
		str_add(&s, c->mount[i].target, strlen(c->mount[i].target) + 1);
		str_add(&s, c->mount[i].where, strlen(c->mount[i].where) + 1);
	}
	if (file_replace(path, s.s, s.len, false) < 0)
		return err_sys(e, errno, "cannot write the record of the mounts %s", path);
	return 0;
}

static const char *next_text(char **at, const char *end)
{
	char *start = *at, *nul = start < end ? memchr(start, '\0', (size_t)(end - start)) : NULL;

	if (!nul)
		return NULL;
	*at = nul + 1;
	return start;
}

static int parse_record(struct checked *c, size_t len)
{
	char *at = c->text;
	const char *end = at + len, *numbers;
	size_t n;
	int pid, handed = HANDED_NOTHING; /* records before this one do not tell */

	if (!(c->name = next_text(&at, end)) || !(c->file = next_text(&at, end)) ||
		!(numbers = next_text(&at, end)) ||
		sscanf(numbers, "%d %" SCNu64 " %39s %" SCNu64 " %zu %zu %d %d", &pid,
			&c->start.since, c->start.boot, &c->rate, &c->nlines, &n, &handed,
			&c->finished) < 6 ||
		handed < HANDED_NOTHING || handed > HANDED_GONE)
		return -1;
	c->start.pid = pid;
	c->handed = (enum handed)handed;
	while ((numbers = next_text(&at, end))) {
		struct checked_mount m;

		if (sscanf(numbers, "%" SCNu64 " %" SCNu64, &m.dev, &m.ino) != 2 ||
			!(m.target = next_text(&at, end)) || !(m.where = next_text(&at, end)))
			return -1;
		c->mount = mem_grow(c->mount, &c->cap, c->n + 1, sizeof *c->mount);
		c->mount[c->n++] = m;
	}
	return at == end && c->n == n ? 0 : -1;
}

static void checked_release(struct checked *c)
{
	free(c->text);
	free(c->mount);
	*c = (struct checked){0};
}

/* 1 read, 0 there is none, -1 there is one that cannot be read. */
static int read_record(const char *id, struct checked *c)
{
	char path[PATH_MAX];
	AUTO_STR struct str text = STR_INIT;
	size_t n;

	*c = (struct checked){.name = "", .file = ""};
	if (record_path(id, path, NULL))
		return 0;
	if (file_read(AT_FDCWD, path, O_NOFOLLOW, RECORD_MAX, &text, NULL) < 0)
		return errno == ENOENT ? 0 : -1;
	n = text.len;
	c->text = str_detach(&text);
	if (n && !parse_record(c, n))
		return 1;
	checked_release(c);
	c->name = c->file = "";
	return -1;
}

void checked_forget(const char *id)
{
	char path[PATH_MAX];

	if (!record_path(id, path, NULL))
		unlink(path);
}

bool checked_known(const char *id)
{
	char path[PATH_MAX];

	return !record_path(id, path, NULL) && !access(path, F_OK);
}

/* -- what is mounted ----------------------------------------------------------------------------- */

struct mount_view { /* of one start, from /proc/PID */
	int root;   /* -1: not ours to see */
	struct mountinfo table;
};

static void view_release(struct mount_view *v)
{
	cleanup_close(&v->root);
	mountinfo_release(&v->table);
}

static int view_read(pid_t init, const char *id, struct mount_view *v)
{
	pid_t pid = sandbox_files(init, id);
	char path[64];

	v->root = -1;
	if (mountinfo_read(pid, &v->table))
		return -1;
	snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
	v->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

/* "8:1 /home/a/sub", the device and the path in it of what is mounted at `target`; "" nothing is. */
static void view_where(const struct mount_view *v, const char *target, char *where, size_t cap)
{
	const struct mountinfo_line *l = mountinfo_at(&v->table, target);

	*where = '\0';
	if (l)
		snprintf(where, cap, "%s %s", l->device, l->root);
}

static enum mounts_state view_compare(const struct mount_view *v, const struct checked_mount *m)
{
	AUTO_FREE char *where = xmalloc(2 * PATH_MAX);
	AUTO_CLOSE int fd = -1;
	struct stat st;

	view_where(v, m->target, where, 2 * PATH_MAX);
	if (!*where || (*m->where && v->root < 0 && strcmp(where, m->where) != 0))
		return *m->where ? MOUNTS_CHANGED : MOUNTS_UNKNOWN;
	fd = v->root < 0 ? -1 : mountinfo_open(v->root, m->target);
	if (fd < 0 || fstat(fd, &st))
		return MOUNTS_UNKNOWN;
	return st.st_dev == m->dev && st.st_ino == m->ino ? MOUNTS_CHECKED : MOUNTS_CHANGED;
}

/* -- saving and looking -------------------------------------------------------------------------- */

static int refuse_differing(struct err *e, const struct checked *c, const char *what)
{
	return err_set(e, ERR_REFUSED,
		"%s was restarted, but not by berth, and what is mounted at %.200s is "
		"not what was checked; nothing runs in it until it is recreated: berth "
		"up %s",
		c->name, what, *c->file ? c->file : "FILE");
}

static int refuse_unchecked(struct err *e, const struct checked *c, const char *why)
{
	return err_set(e, ERR_REFUSED,
		"%s was restarted, but not by berth, and %s; nothing runs in it until "
		"it has been checked: berth up %s",
		*c->name ? c->name : "this container", why, *c->file ? c->file : "FILE");
}

static enum mounts_state compare_all(
	const struct checked *c, const struct start *s, const char *id, struct err *e)
{
	enum mounts_state result = MOUNTS_CHECKED, one;
	struct mount_view v;

	if (view_read(s->pid, id, &v)) {
		refuse_unchecked(e, c, "its mounts cannot be read back");
		result = MOUNTS_UNKNOWN;
	}
	for (size_t i = 0; result == MOUNTS_CHECKED && i < c->n; i++) {
		one = view_compare(&v, &c->mount[i]);
		if (one == MOUNTS_CHANGED)
			refuse_differing(e, c, c->mount[i].target);
		else if (one == MOUNTS_UNKNOWN)
			refuse_unchecked(e, c,
				v.root < 0 ? "only root can read its mounts back"
					   : "not all of its mounts can be read back");
		result = one;
	}
	/* Something in a place that nobody named. */
	if (result == MOUNTS_CHECKED && c->nlines && c->nlines != v.table.n) {
		refuse_differing(e, c, "one more place, or one less,");
		result = MOUNTS_CHANGED;
	}
	view_release(&v);
	return result;
}

enum mounts_state checked_look(const char *id, pid_t pid, struct start *ret, struct err *e)
{
	enum mounts_state result = MOUNTS_UNKNOWN;
	struct checked c;
	int known = read_record(id, &c);
	bool unseen = start_read(pid, ret) != 0;

	if (known < 0)
		refuse_unchecked(e, &c, "the record of its mounts cannot be read");
	else if (!known)
		result = MOUNTS_STRANGER;
	else if (!unseen && same_start(ret, &c.start))
		result = MOUNTS_CHECKED;
	else if (unseen || !tree_is_here(pid, id))
		refuse_unchecked(e, &c, "its init cannot be seen from here");
	else if (c.rate && rate_get(pid) <= 0)
		refuse_unchecked(e, &c, "has lost the limit of its network rate");
	else if (c.finished)
		refuse_unchecked(e, &c, "has lost the limits of its files in memory");
	else
		result = compare_all(&c, ret, id, e);
	if (result == MOUNTS_CHECKED && !same_start(ret, &c.start)) {
		struct err why = ERR_INIT;

		c.start = *ret;
		c.handed = c.handed ? HANDED_GONE : HANDED_NOTHING;
		if (!start_lives(ret)) {
			refuse_unchecked(e, &c, "once more meanwhile");
			result = MOUNTS_UNKNOWN;
		} else if (write_record(id, &c, &why)) {
			result = MOUNTS_CHECKED; /* looked at again next time */
		}
	}
	checked_release(&c);
	return result;
}

int checked_secrets(const char *id, struct err *e)
{
	struct checked c;
	int result = 0;

	if (read_record(id, &c) > 0 && c.handed == HANDED_GONE)
		result = err_set(e, ERR_REFUSED,
			"%s was restarted, but not by berth, and its secrets were lost "
			"with the previous start; nothing runs without them: berth up "
			"%s",
			c.name, *c.file ? c.file : "FILE");
	checked_release(&c);
	return result;
}

int checked_save(
	const struct checked_of *of, pid_t pid, const struct mount_list *mounts, struct err *e)
{
	struct checked c = {.name = of->name,
		.file = of->file,
		.rate = of->rate,
		.handed = of->secrets ? HANDED_SECRETS : HANDED_NOTHING,
		.finished = of->finished};
	AUTO_FREE char *where = xmalloc(2 * PATH_MAX);
	struct mount_view v;
	struct err why = ERR_INIT;
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	int result = 0;

	if (start_read(pid, &c.start) || view_read(pid, of->id, &v))
		return err_set(e, ERR_REFUSED,
			"the mounts of %s cannot be read back on this machine, so nothing runs in it.",
			of->name);
	c.nlines = v.table.n;
	c.mount = xcalloc(mounts->n + 1, sizeof *c.mount);
	for (size_t i = 0; i < mounts->n; i++) {
		const struct mount *m = &mounts->mount[i];
		enum mounts_state seen;

		if (m->private_ours)
			continue;
		view_where(&v, m->target, where, 2 * PATH_MAX);
		c.mount[c.n] = (struct checked_mount){
			m->dev, m->ino, m->target, arena_strdup(&mem, where)};
		/* The guest has told the same; this is seen without it. */
		seen = view_compare(&v, &c.mount[c.n++]);
		if (seen == MOUNTS_CHANGED)
			result = refuse_differing(&why, &c, m->target);
		else if (seen == MOUNTS_UNKNOWN && of->alone)
			result = err_set(&why, ERR_REFUSED,
				"what is mounted at %.200s in %s cannot be compared with what was checked: its runtime "
				"has a kernel of its own, and only root sees its gofer's files; nothing runs in it.",
				m->target, of->name);
	}
	view_release(&v);
	if (!result)
		result = write_record(of->id, &c, &why);
	checked_release(&c);
	return result ? err_copy(e, &why) : 0;
}

/* -- who has a directory ------------------------------------------------------------------------- */

#define DEPTH_MAX 64

struct place_ids { /* of a directory and of all that it is in */
	size_t n;
	struct {
		uint64_t dev, ino;
	} id[DEPTH_MAX];
};

static void read_place(const char *path, struct place_ids *p)
{
	AUTO_FREE char *at = xstrdup(path);
	struct stat st;

	for (p->n = 0; p->n < DEPTH_MAX; p->n++) {
		if (stat(*at ? at : "/", &st))
			return;
		p->id[p->n].dev = st.st_dev;
		p->id[p->n].ino = st.st_ino;
		if (!*at)
			return;
		*(strrchr(at, '/') ? strrchr(at, '/') : at) = '\0';
	}
}

static bool mount_touches(
	const struct checked_mount *m, const char *path, const struct place_ids *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (m->dev == p->id[i].dev && m->ino == p->id[i].ino)
			return true;
	return path_is_in(m->target, path);
}

/* Where that is not to be seen it may write. */
static bool mount_may_write(const struct mount_view *v, const char *target)
{
	const struct mountinfo_line *l = v->table.n ? mountinfo_at(&v->table, target) : NULL;

	return !l || !mountinfo_read_only(l);
}

static bool holds_place(
	const struct checked *c, const char *id, const char *path, const struct place_ids *p)
{
	struct mount_view v = {.root = -1};
	bool found = false;

	for (size_t i = 0; i < c->n && !found; i++) {
		if (!mount_touches(&c->mount[i], path, p))
			continue;
		if (!v.table.n && view_read(c->start.pid, id, &v))
			return true;
		found = mount_may_write(&v, c->mount[i].target);
	}
	view_release(&v);
	return found;
}

int checked_holders(const char *path, checked_holder_fn *tell, void *ctx)
{
	char dir[PATH_MAX / 4], sub[PATH_MAX / 2];
	struct place_ids place = {0};
	struct dirent *at;
	bool goes_on = true;
	AUTO_CLOSEDIR DIR *d = NULL;

	if (state_dir(dir, sizeof dir, NULL) ||
		runtime_subdir(sub, sizeof sub, dir, "checked", NULL))
		return 0;
	if (path)
		read_place(path, &place);
	d = opendir(sub);
	while (d && goes_on && (at = readdir(d))) {
		struct checked c;
		struct start now;

		if (read_record(at->d_name, &c) > 0 && !start_read(c.start.pid, &now) &&
			same_start(&now, &c.start) && tree_is_here(now.pid, at->d_name) &&
			(!path || holds_place(&c, at->d_name, path, &place)))
			goes_on = tell(ctx, at->d_name, c.name, now.pid);
		checked_release(&c);
	}
	return goes_on ? 0 : -1;
}
