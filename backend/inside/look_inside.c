/* look_inside.c - what a path in a container is, links followed, and whether the engine sees what is there at all. */
#include "inside/inside.h"

#include <string.h>
#include <sys/stat.h>

#include <berth/path.h>
#include <berth/text.h>

#include "inside/copying.h"

#define LINKS_MAX 40 /* that are followed, one after another, as by Linux */
#define TMPFS "the tmpfs "

const char *inside_clean(struct copying *x, const char *path, size_t n)
{
	char *ret = arena_alloc(&x->mem, n + 2);
	size_t len = 0;

	while (n) {
		const char *slash = memchr(path, '/', n);
		size_t part = slash ? (size_t)(slash - path) : n;

		if (part == 2 && !memcmp(path, "..", 2)) {
			while (len && ret[--len] != '/')
				;
		} else if (part && !(part == 1 && *path == '.')) {
			ret[len++] = '/';
			memcpy(ret + len, path, part);
			len += part;
		}
		part += slash != NULL;
		path += part;
		n -= part;
	}
	if (!len)
		ret[len++] = '/';
	ret[len] = '\0';
	return ret;
}

/* --- what the engine does not see --- */

static void add_mount(struct copying *x, const char *path, const char *unseen, bool ro)
{
	x->mount[x->nmounts++] = (struct mount){inside_clean(x, path, strlen(path)), unseen, ro};
}

static void list_mounts(struct copying *x)
{
	const cJSON *host = ejson_get(x->container, "HostConfig"),
		    *tmpfs = ejson_get(host, "Tmpfs");
	const cJSON *mounts = ejson_get(x->container, "Mounts"), *one;
	bool all =
		x->at.info.copies_mounts && ejson_bool(ejson_get(x->container, "State"), "Running");
	size_t n = 4 + ejson_count(tmpfs) + ejson_count(mounts);

	x->mount = arena_array(&x->mem, n, sizeof *x->mount);
	add_mount(x, "/", NULL, ejson_bool(host, "ReadonlyRootfs"));
	add_mount(x, "/dev", all ? NULL : "", false);
	add_mount(x, "/proc", all ? NULL : "", false);
	add_mount(x, "/sys", all ? NULL : "", false);
	cJSON_ArrayForEach(one, tmpfs)
	{
		if (one->string)
			add_mount(x, one->string, all ? NULL : TMPFS, false);
	}
	cJSON_ArrayForEach(one, mounts)
	{
		bool unseen = !all && !strcmp(ejson_string(one, "Type"), "tmpfs");

		add_mount(x, ejson_string(one, "Destination"), unseen ? TMPFS : NULL,
			cJSON_IsFalse(ejson_get(one, "RW")));
	}
}

static const struct mount *find_mount(const struct copying *x, const char *path)
{
	const struct mount *deepest = &x->mount[0]; /* the root */

	for (size_t i = 1; i < x->nmounts; i++) {
		const struct mount *m = &x->mount[i];

		if (path_is_in(path, m->path) && strlen(m->path) > strlen(deepest->path))
			deepest = m;
	}
	return deepest;
}

int inside_check_seen(const struct copying *x, const char *path, struct err *e)
{
	const struct mount *m = find_mount(x, path);
	char clean[INSIDE_NAME_MAX / 2], mount[INSIDE_NAME_MAX / 2];

	if (!m->unseen)
		return 0;
	return err_set(e, ERR_USAGE,
		"%s in %s is in %s%s, which the engine cannot read or write: use `berth exec`.",
		text_clean(clean, sizeof clean, path), x->shown, m->unseen,
		text_clean(mount, sizeof mount, m->path));
}

int inside_check_writable(const struct copying *x, const char *path, struct err *e)
{
	const struct mount *m = find_mount(x, path);
	char clean[INSIDE_NAME_MAX];

	if (!m->ro)
		return 0;
	return err_set(e, ERR_USAGE,
		"%s in %s is read-only: copy into a volume or the workspace, or use `berth exec`.",
		text_clean(clean, sizeof clean, m->path), x->shown);
}

const char *inside_mount_of(const struct copying *x, const char *path)
{
	return find_mount(x, path)->path;
}

void inside_note_unseen(struct copying *x, const char *path, const char *source)
{
	struct inside_copied *ret = x->ret;
	struct stat st;

	for (size_t i = 0; i < x->nmounts; i++) {
		const struct mount *m = &x->mount[i];
		size_t n = strcmp(path, "/") ? strlen(path) : 0;

		if (!m->unseen || !*m->unseen || !path_is_in(m->path, path))
			continue;
		if (source && lstat(arena_printf(&x->mem, "%s%s", source, m->path + n), &st))
			continue;
		if (!ret->unseen++)
			text_clean(ret->first_unseen, sizeof ret->first_unseen, m->path);
	}
}

/* --- paths in the container --- */

int inside_ask(struct copying *x, const char *path, struct engine_path *ret, struct err *e)
{
	struct looked_at *l;

	for (l = x->looked_at; l && strcmp(l->path, path) != 0;)
		l = l->next;
	if (!l) {
		if (sync_path(x->at.engine, x->c->container->id, path, &x->mem, ret, e))
			return -1;
		l = arena_alloc(&x->mem, sizeof *l);
		*l = (struct looked_at){x->looked_at, arena_strdup(&x->mem, path), *ret};
		x->looked_at = l;
	}
	*ret = l->is;
	return 0;
}

/* Puts where a link leads in its place in *path, before `rest`. */
static int follow_link(struct copying *x, const char *link, const struct engine_path *is,
	const char *rest, const char **path, int *left, struct err *e)
{
	char clean[INSIDE_NAME_MAX];

	text_clean(clean, sizeof clean, link);
	if (*is->target != '/')
		return err_set(e, ERR_NOT_FOUND, "%s in %s is a link that leads nowhere.", clean,
			x->shown);
	if (!(*left)--)
		return err_set(
			e, ERR_NOT_FOUND, "%s in %s is one of too many links.", clean, x->shown);
	*path = arena_printf(&x->mem, "%s%s", is->target, rest);
	*path = inside_clean(x, *path, strlen(*path));
	return 0;
}

/* Follows the first link among the directories on the way: 1, or 0 where none is one. */
static int follow_parent(struct copying *x, const char **path, int *left, struct err *e)
{
	const char *slash = *path;
	struct engine_path is;
	char clean[INSIDE_NAME_MAX];

	while ((slash = strchr(slash + 1, '/'))) {
		const char *dir = arena_strndup(&x->mem, *path, (size_t)(slash - *path));

		if (inside_ask(x, dir, &is, e))
			return -1;
		if (!is.exists)
			return 0; /* nor does what is in it */
		if (S_ISLNK(is.mode))
			return follow_link(x, dir, &is, slash, path, left, e) ? -1 : 1;
		if (!S_ISDIR(is.mode))
			return err_set(e, ERR_USAGE, "%s in %s is not a directory.",
				text_clean(clean, sizeof clean, dir), x->shown);
	}
	return 0;
}

/* Only of a path without links it can be said which mount it is in. */
int inside_look(
	struct copying *x, const char **path, bool follow, struct engine_path *ret, struct err *e)
{
	int left = LINKS_MAX;

	for (;;) {
		int rc = inside_check_seen(x, *path, e) ? -1 : follow_parent(x, path, &left, e);

		if (rc < 0)
			return -1;
		if (rc)
			continue;
		if (inside_ask(x, *path, ret, e))
			return -1;
		if (!ret->exists || !follow || !S_ISLNK(ret->mode))
			return 0;
		if (follow_link(x, *path, ret, "", path, &left, e))
			return -1;
	}
}

/* A container may have its tmpfs behind a link of its image: /var/run.  One behind a link that leads nowhere is not seen
 * by anyone. */
int inside_mounts(struct copying *x, struct err *e)
{
	struct engine_path is;
	int rc = 0;
	size_t n;

	list_mounts(x);
	n = x->nmounts;
	x->nmounts = 1; /* no path is refused meanwhile */
	for (size_t i = 1; !rc && i < n; i++) {
		struct err why = ERR_INIT;

		if (!x->mount[i].unseen || !*x->mount[i].unseen)
			continue;
		rc = inside_check_stop(inside_is_stopped, x, e);
		if (!rc && inside_look(x, &x->mount[i].path, true, &is, &why) &&
			why.kind != ERR_NOT_FOUND && why.kind != ERR_USAGE)
			rc = err_copy(e, &why);
	}
	x->nmounts = n;
	return rc;
}
