/* held.c - records which containers have a workspace mounted, in a file that no task can write. */
#include "workspace/workspace_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>

#define HELD ".held"
#define HELD_MAX 8192 /* bytes of one */
#define HELD_PATH (sizeof HELD "/project:" + WORKSPACE_NAME_MAX)

static void name_record(char path[HELD_PATH], enum workspace_kind kind, const char *name)
{
	snprintf(path, HELD_PATH, HELD "/%s:%s", workspace_kind_name(kind), name);
}

/* "INODE CONTAINER AGENT ENGINE EVERY KEEP"; a line that is none, or of another directory of that name, holds nothing. */
static size_t read_holders(struct workspaces *w, const char *path, uint64_t inode,
	struct workspace_holder ret[WORKSPACE_HOLDERS_MAX])
{
	AUTO_STR struct str text = STR_INIT;
	size_t n = 0;

	if (file_read(w->fd, path, O_NOFOLLOW, HELD_MAX, &text, NULL) < 0)
		return 0;
	for (char *rest = NULL, *line = strtok_r(text.s, "\n", &rest);
		line && n < WORKSPACE_HOLDERS_MAX; line = strtok_r(NULL, "\n", &rest)) {
		struct workspace_holder *h = &ret[n];
		uint64_t of;

		h->every_s = h->keep = 0; /* there are lines without */
		n += sscanf(line, "%" SCNu64 " %63s %63s %127s %" SCNd64 " %" SCNd64, &of,
			     h->container, h->agent, h->engine, &h->every_s, &h->keep) >= 4 &&
			of == inode;
	}
	return n;
}

size_t workspace_holders(struct workspaces *w, const struct workspace_info *i,
	struct workspace_holder ret[WORKSPACE_HOLDERS_MAX])
{
	char path[HELD_PATH];

	name_record(path, i->kind, i->name);
	return read_holders(w, path, i->inode, ret);
}

static int write_holders(struct workspaces *w, const char *record, uint64_t inode,
	const struct workspace_holder *all, size_t n, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/%s", w->dir, record);
	AUTO_STR struct str text = STR_INIT;

	if (!n)
		return unlinkat(w->fd, record, 0) < 0 && errno != ENOENT
			? err_sys(e, errno, "cannot clear who had %s", strchr(record, '/') + 1)
			: 0;
	for (size_t i = 0; i < n; i++)
		str_addf(&text, "%" PRIu64 " %s %s %s %" PRId64 " %" PRId64 "\n", inode,
			all[i].container, all[i].agent, all[i].engine, all[i].every_s, all[i].keep);
	if ((mkdirat(w->fd, HELD, 0700) < 0 && errno != EEXIST) ||
		file_replace(path, text.s, text.len, true) < 0)
		return err_sys(e, errno, "cannot save who has %s", strchr(record, '/') + 1);
	return 0;
}

int workspace_forget_holders(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e)
{
	char path[HELD_PATH];

	name_record(path, kind, name);
	return write_holders(w, path, 0, NULL, 0, e);
}

static bool is_same_holder(
	const struct workspace_holder *h, const char *container, const char *engine)
{
	return !strcmp(h->container, container) && !strcmp(h->engine, engine);
}

static int refuse_held(enum workspace_kind kind, const char *name,
	const struct workspace_holder *by, struct err *e)
{
	return err_set(e, ERR_CONFLICT,
		"the %s %s is in use by the container %s of the agent %s; `berth down` ends that",
		workspace_kind_name(kind), name, by->container, by->agent);
}

/* Under the lock. */
static int add_holder(struct workspaces *w, const struct workspace_info *i,
	const struct workspace_holder *by, struct err *e)
{
	struct workspace_holder all[WORKSPACE_HOLDERS_MAX];
	size_t n = workspace_holders(w, i, all);
	char path[HELD_PATH];

	name_record(path, i->kind, i->name);
	for (size_t k = 0; k < n; k++) {
		if (!is_same_holder(&all[k], by->container, by->engine))
			continue;
		if (all[k].every_s == by->every_s && all[k].keep == by->keep)
			return 0;
		all[k] = *by; /* its file says something else by now */
		return write_holders(w, path, i->inode, all, n, e);
	}
	if (n == WORKSPACE_HOLDERS_MAX || (n && i->kind == WORKSPACE_TASK))
		return refuse_held(i->kind, i->name, &all[0], e);
	all[n++] = *by;
	return write_holders(w, path, i->inode, all, n, e) < 0 ? -1 : 1;
}

/* What is read back must be what was written. */
static bool is_one_word(const char *s)
{
	return *s && !strpbrk(s, " \t\r\n\v\f");
}

int workspace_hold(struct workspaces *w, enum workspace_kind kind, const char *name,
	const struct workspace_holder *by, struct err *e)
{
	AUTO_CLOSE int dir = workspace_enter(w, kind, name, e);
	struct workspace_info i;
	int rc;

	if (dir < 0)
		return -1;
	if (!is_one_word(by->container) || !is_one_word(by->agent) || !is_one_word(by->engine))
		return err_set(e, ERR_USAGE, "container, agent and engine must be one word each");
	if (workspaces_lock(w, e) < 0)
		return -1;
	rc = workspace_describe(w, (int)kind, name, &i)
		? add_holder(w, &i, by, e)
		: err_set(e, ERR_NOT_FOUND, "the %s %s no longer exists", workspace_kind_name(kind),
			  name);
	flock(w->fd, LOCK_UN);
	return rc;
}

/* NULL with errno. */
static DIR *list_records(struct workspaces *w)
{
	AUTO_CLOSE int fd = openat(w->fd, HELD, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (d)
		steal_fd(&fd);
	return d;
}

bool workspace_count_active(struct workspaces *w, const struct workspace_holder *by, size_t *ret)
{
	DIR *d = list_records(w);
	const struct dirent *at;
	bool mine = false;

	*ret = 0;
	while (d && (at = readdir(d))) {
		AUTO_FREE char *path = xasprintf(HELD "/%s", at->d_name);
		struct workspace_holder all[WORKSPACE_HOLDERS_MAX];
		struct workspace_info i = {0};
		const char *name = workspace_word(at->d_name, &i.kind);

		if (!name || i.kind != WORKSPACE_TASK ||
			!workspace_describe(w, WORKSPACE_TASK, name, &i) ||
			!read_holders(w, path, i.inode, all))
			continue;
		++*ret;
		mine |= is_same_holder(&all[0], by->container, by->engine);
	}
	if (d)
		closedir(d);
	return mine;
}

static int drop_holder(struct workspaces *w, const char *record, const char *container,
	const char *engine, struct err *e)
{
	AUTO_FREE char *path = xasprintf(HELD "/%s", record);
	struct workspace_holder all[WORKSPACE_HOLDERS_MAX];
	struct workspace_info i = {0};
	const char *name = workspace_word(record, &i.kind);
	size_t n, left = 0;

	if (!name)
		return 0;
	/* What is held by nobody's name, or was half written by who died, goes. */
	if (!workspace_describe(w, (int)i.kind, name, &i))
		return write_holders(w, path, 0, NULL, 0, e);
	n = read_holders(w, path, i.inode, all);
	for (size_t k = 0; k < n; k++)
		if (!is_same_holder(&all[k], container, engine))
			all[left++] = all[k];
	return left == n ? 0 : write_holders(w, path, i.inode, all, left, e);
}

int workspace_release(
	struct workspaces *w, const char *container, const char *engine, struct err *e)
{
	DIR *d = list_records(w);
	struct dirent *at;
	int rc;

	if (!d)
		return errno == ENOENT
			? 0
			: err_sys(e, errno, "cannot read " HELD " in %.300s", w->dir);
	rc = workspaces_lock(w, e);
	while (rc == 0 && (at = readdir(d)) != NULL)
		rc = drop_holder(w, at->d_name, container, engine, e);
	flock(w->fd, LOCK_UN);
	closedir(d);
	return rc;
}

int workspace_check_free(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e)
{
	struct workspace_holder all[WORKSPACE_HOLDERS_MAX];
	struct workspace_info i;

	return workspace_describe(w, (int)kind, name, &i) && workspace_holders(w, &i, all)
		? refuse_held(kind, name, &all[0], e)
		: 0;
}
