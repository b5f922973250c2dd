/* usage.c - how much is in workspaces: counted by the file engine, and kept for who does not want to wait. */
#include "workspace/room.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/files.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

/* Beside the folders of the tree: a line for each workspace. */
#define KEPT ".usage"
#define KEPT_MAX (64u << 20)

static void add_entry(struct workspace_usage *u, const struct files_entry *x)
{
	switch (x->type) {
	case FILES_FILE:
		u->files++;
		u->bytes += x->size;
		break;
	case FILES_DIR: u->dirs++; break;
	default: u->others++;
	}
	if (x->meta && x->mtime_ns > u->used_ns)
		u->used_ns = x->mtime_ns;
}

static int count_workspace(
	struct workspaces *w, struct files *f, struct workspace_usage *u, struct err *e)
{
	static const struct files_scan_options how = {.meta = true, .one_device = true};
	AUTO_FREE char *path = xasprintf("/proc/self/fd/%d", w->kind[u->info.kind]);
	struct files_root *r = files_root_open(f, path, e);
	struct files_scan *s = NULL;
	struct files_entry x;
	int rc = r ? files_scan(f, r, u->info.name, &how, &s, e) : -1;

	u->files = u->dirs = u->others = u->bytes = u->unread = 0;
	u->used_ns = u->info.changed_ns;
	u->counted_ns = clock_wall_ms() * 1000000;
	while (rc == 0 && files_scan_next(s, &x))
		add_entry(u, &x);
	while (rc == 0 && files_scan_error(s, u->unread))
		u->unread++;
	files_scan_free(s);
	files_root_close(r);
	return rc;
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
		return err_set(e, ERR_NOT_FOUND, "there is no such %s", workspace_kind_name(kind));
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
		    " %" SCNd64 " %" SCNd64 "%n",
		    &kind, name, &u->info.inode, &u->files, &u->dirs, &u->others, &u->bytes,
		    &u->unread, &u->used_ns, &u->counted_ns, &used) != 10 ||
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

/* A line that is none is one that was not counted. */
static struct workspace_usage *read_counted(struct workspaces *w, size_t *n)
{
	AUTO_STR struct str text = STR_INIT;
	struct workspace_usage *all = NULL;
	size_t cap = 0;

	*n = 0;
	if (file_read(w->fd, KEPT, O_NOFOLLOW, KEPT_MAX, &text, NULL) < 0)
		return NULL;
	for (char *rest = NULL, *line = strtok_r(text.s, "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest)) {
		all = mem_grow(all, &cap, *n + 1, sizeof *all);
		*n += parse_usage(line, &all[*n]);
	}
	if (*n)
		qsort(all, *n, sizeof *all, order_usages);
	return all;
}

static int write_counted(
	struct workspaces *w, const struct workspace_usage *all, size_t n, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/" KEPT, w->dir);
	AUTO_STR struct str text = STR_INIT;

	for (size_t i = 0; i < n; i++) {
		const struct workspace_usage *u = &all[i];

		str_addf(&text,
			"%d %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			" %" PRId64 " %" PRId64 "\n",
			(int)u->info.kind, u->info.name, u->info.inode, u->files, u->dirs,
			u->others, u->bytes, u->unread, u->used_ns, u->counted_ns);
	}
	return file_replace(path, text.s, text.len, false) < 0
		? err_sys(e, errno, "cannot keep what was counted in %.300s", w->dir)
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

int workspace_usage(
	struct workspaces *w, bool cached, struct workspace_usage **ret, size_t *n, struct err *e)
{
	AUTO_FREE struct workspace_usage *all = NULL, *kept = NULL;
	AUTO_FREE struct workspace_info *list = NULL;
	struct files *f = NULL;
	size_t nkept = 0, nlist, m = 0;
	int rc = workspace_list(w, &list, &nlist, e);

	if (rc < 0)
		return -1;
	all = xcalloc(nlist + 1, sizeof *all);
	if (cached)
		kept = read_counted(w, &nkept);
	for (size_t i = 0; rc == 0 && i < nlist; i++) {
		struct err why = ERR_INIT;

		all[m].info = list[i];
		if (cached && recall_usage(kept, nkept, &all[m])) {
			m++;
			continue;
		}
		if (!f)
			f = open_engine();
		if (count_workspace(w, f, &all[m], &why) == 0)
			m++;
		else if (why.kind != ERR_NOT_FOUND) /* else it went meanwhile */
			rc = err_copy(e, &why);
	}
	if (rc == 0 && (f || nkept != m))
		rc = write_counted(w, all, m, e);
	*n = m;
	files_close(f);
	if (rc == 0)
		*ret = STEAL(all);
	return rc;
}
