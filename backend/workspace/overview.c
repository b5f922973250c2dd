/* overview.c - summarises all workspaces: last counted usage and number of checkpoints. */
#include <berth/overview.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/beneath.h>
#include <berth/clock.h>
#include <berth/file.h>
#include <berth/hash.h>
#include <berth/live.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#include "workspace/workspace_tree.h"

#define HEAD_MAX 1024                    /* bytes of .git/HEAD */
#define FRESH_NS (30 * (int64_t)1000000) /* times of files have ticks, of up to 10 ms */
#define BRANCH "ref: refs/heads/"

/* --- whether anything changed --- */

struct stamp {
	uint64_t hash;
	int64_t now_ns;
	bool fresh; /* something changed so lately that another change could have the same time */
};

static void mix_word(struct stamp *s, uint64_t value)
{
	s->hash = hash_more(s->hash, &value, sizeof value);
}

/* A directory changes with the names in it. */
static void mix_dir(struct stamp *s, int at, const char *path)
{
	struct stat st = {0};
	int64_t ns;

	if (fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		st = (struct stat){0};
	ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	mix_word(s, st.st_ino);
	mix_word(s, (uint64_t)ns);
	s->fresh |= ns > s->now_ns - FRESH_NS && ns < s->now_ns + FRESH_NS;
}

static DIR *open_listing_at(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* Each store of this kind of workspace; readdir tells them in the same order as long as nothing changes. */
static void mix_stores(struct stamp *s, int at, const char *path)
{
	DIR *d = open_listing_at(at, path);
	struct dirent *x;

	while (d && (x = readdir(d))) {
		char store[NAME_MAX + 16];

		if (!text_is_plain_name(x->d_name, WORKSPACE_NAME_MAX))
			continue;
		snprintf(store, sizeof store, "%s/checkpoints", x->d_name);
		mix_dir(s, dirfd(d), store);
	}
	if (d)
		closedir(d);
}

static uint64_t stamp_of(int data, pid_t keeper)
{
	static const char *const dirs[] = {"workspaces", "workspaces/tasks", "workspaces/projects",
		"workspaces/.ended", "workspaces/.images", "workspaces/.held", "workspaces/.limits",
		"workspaces/.live", "workspaces/archives/tasks", "workspaces/archives/projects",
		"workspaces/.usage", "workspaces/.git-state", "workspaces/shared/templates",
		"workspaces/shared/libraries", "workspaces/shared/datasets",
		"workspaces/shared/configs", "workspaces/shared/inter_task", "checkpoints/tasks",
		"checkpoints/projects"};
	struct stamp s = {.hash = HASH_START, .now_ns = clock_wall_ms() * 1000000};

	mix_word(&s, (uint64_t)keeper);
	for (size_t i = 0; i < COUNT(dirs); i++)
		mix_dir(&s, data, dirs[i]);
	mix_stores(&s, data, "checkpoints/tasks");
	mix_stores(&s, data, "checkpoints/projects");
	if (s.fresh)
		mix_word(&s,
			(uint64_t)
				clock_mono_ns()); /* the next look is another one, whatever it sees */
	return s.hash > 1 ? s.hash : 2;
}

/* --- what there is --- */

/* Read as bytes: no program of git's runs in a tree that an agent can write. */
static const char *branch_of(struct workspaces *w, const char *project, struct arena *mem)
{
	AUTO_FREE char *path = xasprintf("%s/.git/HEAD", project);
	char text[HEAD_MAX + 1];
	AUTO_CLOSE int fd = beneath_open(w->kind[WORKSPACE_PROJECT], path,
		O_RDONLY | O_NONBLOCK | O_NOCTTY, RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
	struct stat st;
	ssize_t n = fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)
		? -1
		: file_fill(fd, text, HEAD_MAX);

	if (n <= 0)
		return "";
	text[n] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	workspace_mask_secrets("", text, strlen(text)); /* an agent chose it */
	if (strncmp(text, BRANCH, strlen(BRANCH)) == 0)
		return arena_strdup(mem, text + strlen(BRANCH));
	return arena_printf(mem, "%.8s", text); /* no branch: a commit */
}

/* What was new when it was looked for is not, after another checkpoint. */
static void fill_flags(const struct live *l, struct overview_row *r)
{
	r->live = l && l->flags_ns;
	if (!r->live)
		return;
	r->flags = l->flags;
	if (r->newest_ns > l->flags_ns)
		r->flags = (struct flag_sums){.links = l->flags.links};
}

static void fill_overview_row(struct workspaces *w, int data, const struct workspace_usage *u,
	const struct live *l, struct overview_row *r, struct arena *mem)
{
	AUTO_FREE char *store =
		xasprintf("checkpoints/%s/%s", workspace_kind_folder(u->info.kind), u->info.name);

	struct workspace_holder held[WORKSPACE_HOLDERS_MAX];

	r->nheld = workspace_holders(w, &u->info, held);
	if (r->nheld)
		r->held = held[0];
	r->usage = *u;
	r->limits.breach = WORKSPACE_BREACHES; /* none that anybody can say */
	workspace_limits(w, &u->info, &r->limits);
	r->limited = r->limits.breach != WORKSPACE_BREACHES;
	r->limits.breach = r->limited ? r->limits.breach : WORKSPACE_FREEZE;
	r->checkpoints = checkpoint_glance(data, store, r->newest, &r->newest_ns);
	fill_flags(l, r);
	workspace_git(w, &u->info, &r->git);
	r->branch = u->info.kind == WORKSPACE_PROJECT ? branch_of(w, u->info.name, mem) : "";
}

static size_t count_shared_entries(int at, const char *name)
{
	DIR *d = open_listing_at(at, name);
	struct dirent *x;
	size_t n = 0;

	while (d && (x = readdir(d)))
		n += x->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static int order_shared(const void *a, const void *b)
{
	const struct overview_shared *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void look_at_shared(struct workspaces *w, struct overview *ret, struct arena *mem)
{
	struct overview_shared all[32];
	DIR *d = open_listing_at(w->fd, "shared");
	struct overview_shared *kept;
	struct dirent *x;
	struct stat st;

	while (d && ret->nshared < COUNT(all) && (x = readdir(d))) {
		if (!text_is_plain_name(x->d_name, WORKSPACE_NAME_MAX) ||
			fstatat(dirfd(d), x->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISDIR(st.st_mode))
			continue;
		all[ret->nshared++] = (struct overview_shared){arena_strdup(mem, x->d_name),
			count_shared_entries(dirfd(d), x->d_name),
			(int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec};
	}
	if (d)
		closedir(d);
	mem_sort(all, ret->nshared, sizeof *all, order_shared);
	kept = arena_array(mem, ret->nshared + 1, sizeof *kept);
	memcpy(kept, all, ret->nshared * sizeof *kept);
	ret->shared = kept;
}

static int order_archived(const void *a, const void *b)
{
	const struct overview_archive *x = a, *y = b;

	return x->kind != y->kind ? (int)x->kind - (int)y->kind : strcmp(x->name, y->name);
}

static bool tell_archived(int folder, const char *file, struct overview_archive *a)
{
	size_t n = strlen(file), end = strlen(ARCHIVED);
	struct stat st;

	if (n <= end || n - end >= sizeof a->name || strcmp(file + n - end, ARCHIVED) != 0)
		return false;
	memcpy(a->name, file, n - end);
	a->name[n - end] = '\0';
	if (!text_is_plain_name(a->name, WORKSPACE_NAME_MAX) ||
		fstatat(folder, file, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return false;
	a->packed = (uint64_t)st.st_size;
	a->made_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return true;
}

static void look_at_archives(struct workspaces *w, struct overview *ret, struct arena *mem)
{
	AUTO_FREE struct overview_archive *all = NULL;
	struct overview_archive *kept;
	size_t cap = 0, n = 0;

	for (int k = 0; k < WORKSPACE_KINDS; k++) {
		AUTO_CLOSE int folder = workspaces_archives(w, k, NULL);
		DIR *d = folder < 0 ? NULL : open_listing_at(folder, ".");
		struct dirent *x;

		while (d && (x = readdir(d))) {
			all = mem_grow(all, &cap, n + 1, sizeof *all);
			all[n] = (struct overview_archive){.kind = (enum workspace_kind)k};
			n += tell_archived(folder, x->d_name, &all[n]);
		}
		if (d)
			closedir(d);
	}
	mem_sort(all, n, sizeof *all, order_archived);
	kept = arena_array(mem, n + 1, sizeof *kept);
	if (n)
		memcpy(kept, all, n * sizeof *kept);
	ret->archives = kept;
	ret->narchives = n;
}

/* The folder of all data; -1: there is none yet, or *e. */
static int open_data(const char *data, struct err *e)
{
	int fd = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno != ENOENT)
		err_sys(e, errno, "cannot open %.400s", data);
	return fd;
}

/* As mounts name it. */
static const char *real_dir(const struct workspaces *w, struct arena *mem)
{
	AUTO_FREE char *path = realpath(w->dir, NULL);

	return arena_strdup(mem, path ? path : w->dir);
}

static int look_at_tree(
	struct workspaces *w, int data, struct overview *ret, struct arena *mem, struct err *e)
{
	AUTO_FREE struct workspace_usage *all = NULL;
	AUTO_FREE struct live *live = NULL;
	struct overview_row *rows;
	size_t nlive;

	if (workspace_usage_known(w, &all, &ret->n, e) < 0)
		return -1;
	nlive = live_read(w, &live);
	rows = arena_array(mem, ret->n + 1, sizeof *rows);
	for (size_t i = 0; i < ret->n; i++)
		fill_overview_row(
			w, data, &all[i], live_find(live, nlive, &all[i].info), &rows[i], mem);
	ret->rows = rows;
	ret->dir = real_dir(w, mem);
	look_at_shared(w, ret, mem);
	look_at_archives(w, ret, mem);
	return 0;
}

int overview_look(const char *data, pid_t keeper, uint64_t seen, struct overview *ret,
	struct arena *mem, struct err *e)
{
	AUTO_FREE char *dir = xasprintf("%s/workspaces", data);
	struct err why = ERR_INIT;
	AUTO_CLOSE int fd = open_data(data, &why);
	struct workspaces *w;
	int rc;

	*ret = (struct overview){.dir = "", .stamp = 1, .keeper = keeper};
	if (why.kind)
		return err_copy(e, &why);
	if (fd < 0)
		return seen == 1;
	/* Before the rows: what changes while they are read is seen the next time. */
	ret->stamp = stamp_of(fd, keeper);
	if (ret->stamp == seen)
		return 1;
	w = workspaces_peek(dir, &why);
	if (!w)
		return why.kind == ERR_NOT_FOUND ? 0 : err_copy(e, &why);
	rc = look_at_tree(w, fd, ret, mem, e);
	workspaces_close(w);
	return rc;
}

/* --- one --- */

static int look_at_store(struct workspaces *w, const char *dir, struct overview_one *ret,
	struct arena *mem, struct err *e)
{
	const struct workspace_info *i = &ret->row.usage.info;
	AUTO_CLOSE int root = workspace_enter(w, i->kind, i->name, e);
	struct checkpoint_store *s = root < 0 ? NULL : checkpoint_open(dir, e);
	AUTO_FREE struct checkpoint_info *all = NULL;
	char pending[CHECKPOINT_NAME_MAX + 1];
	struct checkpoint_info *points;
	struct checkpoint_tree *start;
	int rc = s ? checkpoint_list(s, &all, &ret->npoints, e) : -1;

	points = arena_array(mem, rc == 0 ? ret->npoints + 1 : 1, sizeof *points);
	for (size_t k = 0; rc == 0 && k < ret->npoints; k++)
		points[k] = all[ret->npoints - 1 - k];
	ret->points = points;
	if (rc == 0 && checkpoint_pending(s, pending))
		ret->pending = arena_strdup(mem, pending);
	start = rc == 0 ? checkpoint_tree_start(s, root, NULL) : NULL;
	if (start)
		ret->start = arena_strdup(mem, checkpoint_tree_name(start));
	checkpoint_tree_free(start);
	checkpoint_close(s);
	return rc;
}

static enum workspace_kept keeps_quota(struct workspaces *w, const struct workspace_info *i)
{
	struct err ignored = ERR_INIT;
	AUTO_CLOSE int root = workspace_enter(w, i->kind, i->name, &ignored);
	struct workspace_quota q;

	return root >= 0 ? workspace_quota(root, &q) : WORKSPACE_COUNTED;
}

/* As counted last. */
static int find_usage(struct workspaces *w, enum workspace_kind kind, const char *name,
	struct workspace_usage *ret, struct err *e)
{
	AUTO_FREE struct workspace_usage *all = NULL;
	size_t n;

	if (workspace_usage_known(w, &all, &n, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (all[i].info.kind == kind && strcmp(all[i].info.name, name) == 0) {
			*ret = all[i];
			return 0;
		}
	return err_set(
		e, ERR_NOT_FOUND, "the %s %.64s no longer exists", workspace_kind_name(kind), name);
}

static int look_at_workspace_in(struct workspaces *w, int data, const char *dir,
	struct overview_one *ret, struct arena *mem, struct err *e)
{
	const struct workspace_info *i = &ret->row.usage.info;
	AUTO_FREE char *store =
		xasprintf("%s/checkpoints/%s/%s", dir, workspace_kind_folder(i->kind), i->name);
	const struct workspace_usage u = ret->row.usage;
	AUTO_FREE struct live *live = NULL;
	size_t nlive = live_read(w, &live);

	fill_overview_row(w, data, &u, live_find(live, nlive, &u.info), &ret->row, mem);
	ret->kept = keeps_quota(w, i);
	ret->path = arena_printf(
		mem, "%s/%s/%s", real_dir(w, mem), workspace_kind_folder(i->kind), i->name);
	/* Opening a store makes it. */
	return access(store, F_OK) < 0 ? 0 : look_at_store(w, store, ret, mem, e);
}

int overview_one(const char *data, pid_t keeper, enum workspace_kind kind, const char *name,
	uint64_t seen, struct overview_one *ret, struct arena *mem, struct err *e)
{
	AUTO_FREE char *dir = xasprintf("%s/workspaces", data);
	AUTO_CLOSE int fd = open_data(data, e);
	struct workspaces *w;
	int rc = -1;

	*ret = (struct overview_one){.start = "", .pending = "", .path = "", .keeper = keeper};
	ret->stamp = fd < 0 ? 1 : stamp_of(fd, keeper);
	if (ret->stamp == seen)
		return 1;
	w = workspaces_peek(dir, e);
	if (w && fd >= 0 && find_usage(w, kind, name, &ret->row.usage, e) == 0)
		rc = look_at_workspace_in(w, fd, data, ret, mem, e);
	workspaces_close(w);
	return rc;
}
