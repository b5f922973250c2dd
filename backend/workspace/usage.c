/* usage.c - counts workspaces by the file engine, and caches the result. */
#include "workspace/loop_image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/files.h>
#include <berth/live.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/sum.h>
#include <berth/text.h>

/* Beside the folders of the tree: a line for each workspace. */
#define KEPT ".usage"
#define KEPT_MAX (64u << 20)

/* What limits count of a file. */
static uint64_t size_on_disk(const struct files_entry *x)
{
	return x->size > x->blocks * 512 ? x->size : x->blocks * 512;
}

static void add_entry(struct workspace_usage *u, const struct files_entry *x)
{
	switch (x->type) {
	case FILES_FILE:
		u->files++;
		sum_add(&u->bytes, x->size);
		sum_add(&u->disk, size_on_disk(x));
		break;
	case FILES_DIR: u->dirs++; break;
	default: u->others++;
	}
	if (x->meta && x->mtime_ns > u->used_ns)
		u->used_ns = x->mtime_ns;
}

static void begin_count(struct workspace_usage *u)
{
	u->files = u->dirs = u->others = u->bytes = u->disk = u->unread = 0;
	u->used_ns = u->info.changed_ns;
	u->counted_ns = clock_wall_ms() * 1000000;
}

static const struct files_scan_options counting = {.meta = true, .one_device = true};

static struct files_root *open_root_of_kind(
	struct workspaces *w, enum workspace_kind kind, struct files *f, struct err *e)
{
	AUTO_FREE char *path = xasprintf("/proc/self/fd/%d", w->kind[kind]);

	return files_root_open(f, path, e);
}

/* Of its own, where it is a mount: the one mount that is crossed. */
static struct files_root *open_root_of_image(
	struct workspaces *w, const struct workspace_info *i, struct files *f, struct err *e)
{
	AUTO_CLOSE int dir = workspace_enter(w, i->kind, i->name, e);
	AUTO_FREE char *path = xasprintf("/proc/self/fd/%d", dir);

	return dir < 0 ? NULL : files_root_open(f, path, e);
}

static int scan_workspace(
	struct workspaces *w, struct files *f, struct workspace_usage *u, struct err *e)
{
	bool image = workspace_image(w, u->info.kind, u->info.name) != 0;
	struct files_root *r = image ? open_root_of_image(w, &u->info, f, e)
				     : open_root_of_kind(w, u->info.kind, f, e);
	struct files_scan *s = NULL;
	struct files_entry x;
	int rc = r ? files_scan(f, r, image ? "" : u->info.name, &counting, &s, e) : -1;

	begin_count(u);
	while (rc == 0 && files_scan_next(s, &x))
		add_entry(u, &x);
	while (rc == 0 && files_scan_error(s, u->unread))
		u->unread++;
	files_scan_free(s);
	files_root_close(r);
	return rc;
}

/* What is not mounted is not known, and not kept as known. */
static int count_workspace(
	struct workspaces *w, struct files *f, struct workspace_usage *u, struct err *e)
{
	if (!u->info.unmounted)
		return scan_workspace(w, f, u, e);
	begin_count(u);
	u->unread = 1;
	u->counted_ns = 0;
	return 0;
}

static struct files *open_engine(void)
{
	return files_open(&(struct files_options){.program = "workspace"});
}

int workspace_count(struct workspaces *w, enum workspace_kind kind, const char *name,
	struct workspace_usage *ret, struct err *e)
{
	struct files *f;
	int rc;

	*ret = (struct workspace_usage){0};
	if (!workspace_describe(w, (int)kind, name, &ret->info))
		return err_set(e, ERR_NOT_FOUND, "no such %s", workspace_kind_name(kind));
	f = open_engine();
	rc = count_workspace(w, f, ret, e);
	files_close(f);
	return rc;
}

/* --- what was counted last --- */

static bool parse_usage(const char *line, struct workspace_usage *u)
{
	char name[WORKSPACE_NAME_MAX + 1];
	int kind, used = 0;

	*u = (struct workspace_usage){0};
	if (sscanf(line,
		    "%d %64s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		    " %" SCNu64 " %" SCNd64 " %" SCNd64 "%n",
		    &kind, name, &u->info.inode, &u->files, &u->dirs, &u->others, &u->bytes,
		    &u->disk, &u->unread, &u->used_ns, &u->counted_ns, &used) != 11 ||
		line[used] || kind < 0 || kind >= WORKSPACE_KINDS ||
		!text_is_plain_name(name, WORKSPACE_NAME_MAX))
		return false;
	u->info.kind = (enum workspace_kind)kind;
	snprintf(u->info.name, sizeof u->info.name, "%s", name);
	return true;
}

static int order_usages(const void *left, const void *right)
{
	const struct workspace_usage *a = left, *b = right;

	return a->info.kind != b->info.kind ? (int)a->info.kind - (int)b->info.kind
					    : strcmp(a->info.name, b->info.name);
}

/* A line that is none is one that was not counted, and so is one from the future: the clock was set back since, and how
 * old it is nobody knows. */
static struct workspace_usage *read_counted(struct workspaces *w, size_t *n)
{
	AUTO_STR struct str text = STR_INIT;
	struct workspace_usage *all = NULL;
	size_t cap = 0;
	int64_t now_ns;

	*n = 0;
	if (file_read(w->fd, KEPT, O_NOFOLLOW, KEPT_MAX, &text, NULL) < 0)
		return NULL;
	now_ns = (clock_wall_ms() + 1) * 1000000;
	for (char *rest = NULL, *line = strtok_r(text.s, "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest)) {
		all = mem_grow(all, &cap, *n + 1, sizeof *all);
		*n += parse_usage(line, &all[*n]) && all[*n].counted_ns <= now_ns;
	}
	mem_sort(all, *n, sizeof *all, order_usages);
	return all;
}

static int write_counted(
	struct workspaces *w, const struct workspace_usage *all, size_t n, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/" KEPT, w->dir);
	AUTO_STR struct str text = STR_INIT;

	for (size_t i = 0; i < n; i++) {
		const struct workspace_usage *u = &all[i];

		if (!u->counted_ns) /* who counted was stopped before */
			continue;
		str_addf(&text,
			"%d %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			" %" PRIu64 " %" PRId64 " %" PRId64 "\n",
			(int)u->info.kind, u->info.name, u->info.inode, u->files, u->dirs,
			u->others, u->bytes, u->disk, u->unread, u->used_ns, u->counted_ns);
	}
	return file_replace(path, text.s, text.len, false) < 0
		? err_sys(e, errno, "cannot save what was counted in %.300s", w->dir)
		: 0;
}

/* Fills in what is known of the workspace; one of the same name that is another directory is another. */
static bool recall_usage(
	const struct workspace_usage *kept, size_t nkept, struct workspace_usage *u)
{
	const struct workspace_usage *k =
		nkept ? bsearch(u, kept, nkept, sizeof *kept, order_usages) : NULL;
	struct workspace_info info = u->info;

	if (!k || k->info.inode != info.inode)
		return false;
	*u = *k;
	u->info = info;
	return true;
}

/* While a container has it the keeper knows better: that holds now, too, for nothing has changed since it was counted. */
static void take_live(struct workspace_usage *u, const struct live *l)
{
	if (l->partly && !u->counted_ns)
		return;
	if (!l->partly) {
		u->bytes = l->bytes;
		u->files = l->files;
	}
	u->disk = l->amount.bytes;
	u->dirs = l->amount.files + 1 > u->files ? l->amount.files + 1 - u->files : 0;
	u->others = 0;
	u->unread = l->amount.unread;
	u->used_ns = l->changed_ns > u->used_ns ? l->changed_ns : u->used_ns;
	u->used_ns = u->used_ns ? u->used_ns : u->info.changed_ns;
	u->counted_ns = clock_wall_ms() * 1000000;
}

/* Of all that there are what is known; `kept` false: nothing is.  *nkept: of how many something was. */
static int recall_usages(struct workspaces *w, bool kept, struct workspace_usage **ret, size_t *n,
	size_t *nkept, struct err *e)
{
	AUTO_FREE struct workspace_info *list = NULL;
	AUTO_FREE struct workspace_usage *old = NULL;
	AUTO_FREE struct live *live = NULL;
	struct workspace_usage *all;
	size_t nlive = 0;

	*nkept = 0;
	if (workspace_list(w, &list, n, e) < 0)
		return -1;
	if (kept) {
		old = read_counted(w, nkept);
		nlive = live_read(w, &live);
	}
	*ret = all = xcalloc(*n + 1, sizeof *all);
	for (size_t i = 0; i < *n; i++) {
		const struct live *l = live_find(live, nlive, &list[i]);

		all[i].info = list[i];
		recall_usage(old, *nkept, &all[i]);
		if (l)
			take_live(&all[i], l);
	}
	return 0;
}

/* --- all of a kind --- */

static int order_owners(const void *left, const void *right)
{
	const struct workspace_usage *const *a = left, *const *b = right;

	return strcmp((*a)->info.name, (*b)->info.name);
}

/* The old ones of a kind that lie in its own file system, by name; one that is mounted is counted by itself. */
static size_t choose_together(struct workspaces *w, enum workspace_kind kind, int64_t older_ns,
	struct workspace_usage *all, size_t n, struct workspace_usage **ret)
{
	struct stat top, st;
	size_t m = 0;

	if (fstat(w->kind[kind], &top) < 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (all[i].info.kind == kind && all[i].counted_ns < older_ns &&
			fstatat(w->kind[kind], all[i].info.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			st.st_dev == top.st_dev && st.st_ino == all[i].info.inode)
			ret[m++] = &all[i];
	mem_sort(ret, m, sizeof(struct workspace_usage *), order_owners);
	return m;
}

/* Whose entry it is; NULL: nobody's who was asked for.  `last`: the one before, most often the same. */
static struct workspace_usage *find_owner(struct workspace_usage **by_name, size_t n,
	const struct files_entry *x, struct workspace_usage *last)
{
	struct workspace_usage key = {0}, *at = &key, **found;
	size_t length = strcspn(x->path, "/");

	if (length == 0 || length >= sizeof key.info.name)
		return NULL;
	if (last && !strncmp(last->info.name, x->path, length) && !last->info.name[length])
		return last;
	memcpy(key.info.name, x->path, length);
	found = bsearch(&at, by_name, n, sizeof(struct workspace_usage *), order_owners);
	return found ? *found : NULL;
}

/* All of a kind in one scan, so that the device is asked for much at once, however small each of them is. */
struct kind_scan {
	struct files_root *root;
	struct files_scan *scan; /* NULL: it could not be made */
	int64_t begun_ns;
};

static void begin_kind_scan(
	struct workspaces *w, struct files *f, enum workspace_kind kind, struct kind_scan *ret)
{
	struct err ignored = ERR_INIT;

	ret->begun_ns = clock_wall_ms() * 1000000;
	ret->root = open_root_of_kind(w, kind, f, &ignored);
	if (ret->root && files_scan(f, ret->root, "", &counting, &ret->scan, &ignored) == 0 &&
		!files_scan_totals(ret->scan)->clipped)
		return;
	files_scan_free(ret->scan);
	ret->scan = NULL;
}

static void end_kind_scan(struct kind_scan *k)
{
	files_scan_free(k->scan);
	files_root_close(k->root);
}

/* `done` of those that are counted.  One that came since the scan, or whose own directory cannot be read, is left to be
 * counted alone, which tells why. */
static void count_together(struct workspaces *w, enum workspace_kind kind, int64_t older_ns,
	struct workspace_usage *all, size_t n, struct kind_scan *k, bool *done)
{
	AUTO_FREE struct workspace_usage **by_name =
		xcalloc(n + 1, sizeof(struct workspace_usage *));
	size_t m = choose_together(w, kind, older_ns, all, n, by_name), errors = 0;
	struct workspace_usage *owner = NULL;
	struct files_entry x;

	for (size_t i = 0; i < m; i++) {
		begin_count(by_name[i]);
		by_name[i]->counted_ns = k->begun_ns;
	}
	while (files_scan_next(k->scan, &x)) {
		bool unread = files_scan_error(k->scan, errors) != NULL; /* this one */

		errors += unread;
		owner = find_owner(by_name, m, &x, owner);
		if (!owner)
			continue;
		if (strchr(x.path, '/'))
			add_entry(owner, &x);
		else
			done[owner - all] = !unread && x.inode == owner->info.inode;
		owner->unread += unread;
	}
}

/* Those of a kind, where that is most of them; `ready` (or NULL): scans of each kind that were made before. */
static void count_kinds(struct workspaces *w, struct files *f, struct workspace_usage *all,
	size_t n, int64_t older_ns, struct kind_scan *ready, bool *done)
{
	for (int kind = 0; kind < WORKSPACE_KINDS; kind++) {
		size_t old = 0, of_kind = 0;
		struct kind_scan made = {0}, *k = ready ? &ready[kind] : &made;

		for (size_t i = 0; i < n; i++) {
			of_kind += (int)all[i].info.kind == kind;
			old += (int)all[i].info.kind == kind && all[i].counted_ns < older_ns;
		}
		if (!ready && old > 1 && old > of_kind / 2)
			begin_kind_scan(w, f, (enum workspace_kind)kind, k);
		if (k->scan)
			count_together(w, (enum workspace_kind)kind, older_ns, all, n, k, done);
		end_kind_scan(&made);
	}
}

struct count_how {
	int64_t older_ns; /* who was counted before is counted again */
	workspace_go_fn *go;
	void *ctx;
	struct files *files;     /* the caller's; NULL: none is there yet */
	struct kind_scan *ready; /* as in count_kinds */
};

/* One that went meanwhile is left out.  How many were counted, or -1. */
static int64_t count_old(struct workspaces *w, struct workspace_usage *all, size_t *n,
	const struct count_how *how, struct err *e)
{
	AUTO_FREE bool *counted = xcalloc(*n + 1, sizeof *counted);
	struct files *f = how->files;
	size_t old = 0, m = 0;
	int64_t done = 0;
	bool stopped = false;

	for (size_t i = 0; i < *n; i++)
		old += all[i].counted_ns < how->older_ns;
	if ((old > 1 || how->ready) &&
		!how->go) { /* who wants to follow has them one after another */
		f = f ? f : open_engine();
		count_kinds(w, f, all, *n, how->older_ns, how->ready, counted);
	}
	for (size_t i = 0; done >= 0 && i < *n; i++) {
		bool wanted = !counted[i] && all[i].counted_ns < how->older_ns && !stopped;
		struct err why = ERR_INIT;
		int rc = 0;

		if (wanted)
			wanted = !(stopped = how->go &&
					!how->go(how->ctx, &all[i].info, (size_t)done, old));
		if (wanted) {
			f = f ? f : open_engine();
			rc = count_workspace(w, f, &all[i], &why);
		}
		done += wanted || counted[i];
		if (rc == 0)
			all[m++] = all[i];
		else if (why.kind != ERR_NOT_FOUND)
			done = err_copy(e, &why);
	}
	if (!how->files)
		files_close(f);
	*n = m;
	return done;
}

static int usage_of_all(struct workspaces *w, bool cached, const struct count_how *how,
	struct workspace_usage **ret, size_t *n, struct err *e)
{
	AUTO_FREE struct workspace_usage *all = NULL;
	size_t nkept;
	int64_t counted;

	if (recall_usages(w, cached, &all, n, &nkept, e) < 0)
		return -1;
	counted = count_old(w, all, n, how, e);
	if (counted < 0 || ((counted || nkept != *n) && write_counted(w, all, *n, e) < 0))
		return -1;
	*ret = STEAL(all);
	return 0;
}

/* All are to be counted: the scans come before anybody looks at each one's directory, which would wait for the device a
 * thousand times, one after another. */
static int count_all(struct workspaces *w, struct workspace_usage **ret, size_t *n, struct err *e)
{
	struct kind_scan ready[WORKSPACE_KINDS] = {{0}};
	struct count_how how = {.older_ns = INT64_MAX, .files = open_engine(), .ready = ready};
	int rc;

	for (int k = 0; k < WORKSPACE_KINDS; k++)
		begin_kind_scan(w, how.files, (enum workspace_kind)k, &ready[k]);
	rc = usage_of_all(w, false, &how, ret, n, e);
	for (int k = 0; k < WORKSPACE_KINDS; k++)
		end_kind_scan(&ready[k]);
	files_close(how.files);
	return rc;
}

int workspace_usage(
	struct workspaces *w, bool cached, struct workspace_usage **ret, size_t *n, struct err *e)
{
	return cached ? usage_of_all(w, true, &(struct count_how){.older_ns = 1}, ret, n, e)
		      : count_all(w, ret, n, e);
}

int workspace_usage_known(
	struct workspaces *w, struct workspace_usage **ret, size_t *n, struct err *e)
{
	size_t nkept;

	return recall_usages(w, true, ret, n, &nkept, e);
}

int workspace_usage_renew(
	struct workspaces *w, int64_t older_ns, workspace_go_fn *go, void *ctx, struct err *e)
{
	AUTO_FREE struct workspace_usage *all = NULL;
	size_t n, nkept;
	int64_t counted;

	if (recall_usages(w, true, &all, &n, &nkept, e) < 0)
		return -1;
	counted = count_old(
		w, all, &n, &(struct count_how){.older_ns = older_ns, .go = go, .ctx = ctx}, e);
	return counted < 0 || ((counted || nkept != n) && write_counted(w, all, n, e) < 0) ? -1 : 0;
}

/* --- all tasks together --- */

static void note_large(struct workspace_total *t, const struct workspace_usage *u)
{
	size_t at = t->n < WORKSPACE_LARGEST ? t->n++ : WORKSPACE_LARGEST;

	for (; at && t->largest[at - 1].bytes < u->disk; at--)
		if (at < WORKSPACE_LARGEST)
			t->largest[at] = t->largest[at - 1];
	if (at == WORKSPACE_LARGEST)
		return;
	t->largest[at] = (struct workspace_large){.state = u->info.state, .bytes = u->disk};
	memcpy(t->largest[at].name, u->info.name, sizeof t->largest[at].name);
}

int workspace_sum_tasks(
	struct workspaces *w, int64_t older_ns, struct workspace_total *ret, struct err *e)
{
	AUTO_FREE struct workspace_usage *all = NULL;
	size_t n, nkept, was, tasks = 0;
	int64_t counted;

	*ret = (struct workspace_total){0};
	if (recall_usages(w, true, &all, &n, &nkept, e) < 0)
		return -1;
	while (tasks < n && all[tasks].info.kind == WORKSPACE_TASK)
		tasks++;
	was = tasks;
	counted = count_old(w, all, &tasks, &(struct count_how){.older_ns = older_ns}, e);
	if (counted < 0)
		return -1;
	for (size_t i = 0; i < tasks; i++) {
		sum_add(&ret->bytes, all[i].disk);
		note_large(ret, &all[i]);
	}
	memmove(&all[tasks], &all[was], (n - was) * sizeof *all);
	return counted && write_counted(w, all, tasks + n - was, e) < 0 ? -1 : 0;
}

/* --- how much counts for the limits --- */

int workspace_amount(
	int dir, struct workspace_amount *ret, workspace_dir_fn *tell, void *ctx, struct err *e)
{
	static const struct files_scan_options how = {.meta = true, .one_device = true};
	AUTO_FREE char *path = xasprintf("/proc/self/fd/%d", dir);
	struct files *f =
		files_open(&(struct files_options){.program = "workspace", .cpu_width = 1});
	struct files_root *r = files_root_open(f, path, e);
	struct files_scan *s = NULL;
	struct files_entry x;
	int rc = r ? files_scan(f, r, "", &how, &s, e) : -1;

	*ret = (struct workspace_amount){0};
	while (rc == 0 && files_scan_next(s, &x)) {
		ret->files += x.path_len > 0;
		if (x.type == FILES_FILE)
			sum_add(&ret->bytes, size_on_disk(&x));
		else if (x.type == FILES_DIR && tell)
			tell(ctx, x.path);
	}
	while (rc == 0 && files_scan_error(s, ret->unread))
		ret->unread++;
	files_scan_free(s);
	files_root_close(r);
	files_close(f);
	return rc;
}
