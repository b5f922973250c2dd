/* retention.c - finds the workspaces that are due to end, by the retention of their kind. */
#include "workspace/workspace_tree.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <berth/mem.h>

#define DAY_MS ((int64_t)24 * 3600 * 1000)

static bool is_over(int64_t since_ms, int64_t days, int64_t now_ms)
{
	return days >= 0 && since_ms <= now_ms - days * DAY_MS;
}

static bool is_task_due(
	const struct workspace_rules *r, const struct workspace_info *i, struct workspace_due *d)
{
	d->since_ms = i->ended_ms;
	d->remove = i->state == WORKSPACE_FAILED;
	if (i->state == WORKSPACE_OPEN)
		return false;
	return is_over(i->ended_ms, d->remove ? r->failed_days : r->done_days, r->now_ms);
}

/* What came out of an archive brought its times along; its directory was made then. */
static int64_t read_made_ms(struct workspaces *w, const struct workspace_info *i)
{
	struct stat st;

	return fstatat(w->kind[i->kind], i->name, &st, AT_SYMLINK_NOFOLLOW) < 0
		? INT64_MAX
		: (int64_t)st.st_ctim.tv_sec * 1000 + st.st_ctim.tv_nsec / 1000000;
}

/* Counting costs most: only where its directory is old enough. */
static bool is_project_due(struct workspaces *w, const struct workspace_rules *r,
	const struct workspace_info *i, struct workspace_due *d)
{
	int64_t made_ms = read_made_ms(w, i);
	struct workspace_usage u;

	if (!is_over(made_ms, r->idle_days, r->now_ms) ||
		workspace_count(w, i->kind, i->name, &u, NULL) < 0 || u.unread)
		return false;
	d->since_ms = u.used_ns / 1000000 > made_ms ? u.used_ns / 1000000 : made_ms;
	return is_over(d->since_ms, r->idle_days, r->now_ms);
}

int workspace_list_due(struct workspaces *w, const struct workspace_rules *rules,
	struct workspace_due **ret, size_t *n, struct err *e)
{
	AUTO_FREE struct workspace_info *all = NULL;
	struct workspace_due *due;
	size_t nall;

	*n = 0;
	if (workspace_list(w, &all, &nall, e) < 0)
		return -1;
	due = xcalloc(nall + 1, sizeof *due);
	for (size_t i = 0; i < nall; i++) {
		due[*n] = (struct workspace_due){.info = all[i]};
		*n += all[i].kind == WORKSPACE_TASK ? is_task_due(rules, &all[i], &due[*n])
						    : is_project_due(w, rules, &all[i], &due[*n]);
	}
	*ret = due;
	return 0;
}
