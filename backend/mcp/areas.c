/* areas.c - finds the area of an agent that a path belongs to. */
#include "mcp/areas.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/beneath.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "team/mounts.h"

/* What a shell or another system reads in another way: a name such as ~ in the workspace is never what was meant, and is
 * dangerous to remove. */
static int check_spelling(const char *path, struct err *e)
{
	bool letter = (*path >= 'a' && *path <= 'z') || (*path >= 'A' && *path <= 'Z');

	if (!*path)
		return err_set(e, ERR_USAGE, "A path is empty.");
	if (*path == '~' && (!path[1] || path[1] == '/'))
		return err_set(e, ERR_USAGE,
			"%.200s: ~ is not expanded. Give a path that begins with /, or is relative to the workspace.",
			path);
	if (letter && path[1] == ':' && (path[2] == '\\' || path[2] == '/'))
		return err_set(e, ERR_USAGE,
			"%.200s is a Windows path. Give a path that begins with /, or is relative to the workspace.",
			path);
	return 0;
}

/* Without "//", "." and "..", as text: what the path says, whatever links there are. */
static int spell_path_out(const char *home, const char *path, char out[REACH_PATH], struct err *e)
{
	size_t len = 0;

	if (check_spelling(path, e))
		return -1;
	for (int part = *path == '/'; part < 2; part++) {
		const char *p = part ? path : home;

		while (*p) {
			size_t n = strcspn(p, "/");

			if (n == 2 && p[0] == '.' && p[1] == '.')
				while (len && out[--len] != '/')
					;
			else if (n && (n != 1 || *p != '.')) {
				if (n > 255 || len + n + 2 > REACH_PATH)
					return err_set(
						e, ERR_USAGE, "A path is too long: %.80s...", path);
				out[len++] = '/';
				memcpy(out + len, p, n);
				len += n;
			}
			p += n + (p[n] == '/');
		}
	}
	if (!len)
		out[len++] = '/';
	out[len] = '\0';
	return 0;
}

static bool lies_below(const char *path, const char *dir, size_t len)
{
	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

static const struct reach_area *find_area(const struct reach *r, const char *path);

/* As `up` does: not through a symbolic link anywhere in the path.  What is open says itself where it is. */
static int open_unlinked(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char link[64], real[REACH_PATH];
	size_t len = strlen(path);
	ssize_t n;

	if (fd < 0)
		return -1;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, real, sizeof real);
	while (len > 1 && path[len - 1] == '/')
		len--;
	if (n < 0 || (size_t)n != len || memcmp(real, path, len) != 0) {
		errno = ELOOP;
		return -1;
	}
	return steal_fd(&fd);
}

/* The directory `clean`, or the one that holds the file of that name.  What lies in an area that may be changed could
 * have been replaced by a link: it is opened from there on, through none. */
static int open_beneath_areas(const struct reach *r, const char *clean, bool file)
{
	const struct reach_area *above = find_area(r, clean);
	char path[REACH_PATH];
	AUTO_CLOSE int top = -1;
	size_t len = strlen(clean);

	while (file && clean[len - 1] != '/')
		len--;
	snprintf(path, sizeof path, "%.*s", (int)len, clean);
	if (!above || above->leaf)
		return open_unlinked(path);
	snprintf(path, sizeof path, "/proc/self/fd/%d", above->fd);
	top = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof path, ".%.*s", (int)(len - above->len), clean + above->len);
	return top < 0 ? -1 : beneath_open(top, path, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
}

static int open_kept_area(struct reach_area *a, struct files *f, struct err *e)
{
	a->fd = open(a->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (a->fd < 0)
		return err_sys(e, errno, "cannot serve %s", a->path);
	a->root = files_root_open_at(f, a->fd, a->path, e);
	a->strict = a->root ? files_root_open_at(f, a->fd, a->path, e) : NULL;
	return a->strict ? 0 : -1;
}

/* Of a single file its directory is opened, and of that only the name is used, through no link.  It is not changed
 * from here: a change is a new file under the old name, and the container would keep the old one. */
static int open_area(const struct reach *r, struct reach_area *a, struct files *f, struct err *e)
{
	const struct files_options o = {
		.program = "mcp", .avoid = FILES_AVOID_OPENAT2 | FILES_AVOID_BOARD};
	struct files *portable;
	struct stat st;
	char path[REACH_PATH];

	if (a->source)
		return open_kept_area(a, f, e);
	if (lstat(a->path, &st) < 0 || (S_ISLNK(st.st_mode) && stat(a->path, &st) < 0))
		return err_sys(e, errno, "cannot serve %s", a->path);
	if (!S_ISDIR(st.st_mode)) {
		a->leaf = xstrdup(strrchr(a->path, '/') + 1);
		a->write = false;
	}
	a->fd = open_beneath_areas(r, a->path, a->leaf != NULL);
	if (a->fd < 0)
		return err_sys(e, errno, "cannot serve %s", a->path);
	/* No link is in it: what `up` does not mount for its place is not served either. */
	if (mounts_judge(MOUNT_DECLARED, a->path, e))
		return -1;
	snprintf(path, sizeof path, "%.*s", (int)(a->len - (a->leaf ? strlen(a->leaf) : 0)),
		a->path);
	portable = files_open(&o);
	a->strict = files_root_open_at(portable, a->fd, path, e);
	files_close(portable);
	a->root = a->leaf || !a->strict ? NULL : files_root_open_at(f, a->fd, path, e);
	return a->strict && (a->leaf || a->root) ? 0 : -1;
}

/* What is given twice may be changed only where both say so. */
static int add_area(
	struct reach *r, const char *path, bool write, const struct policy *policy, struct err *e)
{
	struct policy look = *policy; /* whether it may be mounted at all; not whether now */
	struct policy_act act = {
		.operation = OP_CONTAINER_MOUNT, .name = path, .path = path, .id = "", .image = ""};
	char clean[REACH_PATH];

	look.read_only = false;
	look.nhosts = 0;
	if (spell_path_out("/", path, clean, e) || policy_check(&look, &act, e))
		return -1;
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->areas[i].path, clean)) {
			r->areas[i].write &= write;
			return 0;
		}
	r->areas = xrealloc(r->areas, (r->n + 1) * sizeof *r->areas);
	r->areas[r->n++] = (struct reach_area){
		.write = write, .path = xstrdup(clean), .len = strlen(clean), .fd = -1};
	return 0;
}

static int compare_areas(const void *a, const void *b)
{
	size_t x = ((const struct reach_area *)a)->len, y = ((const struct reach_area *)b)->len;

	return x < y ? -1 : x > y;
}

/* From the outermost inwards. */
static int open_areas(struct reach *r, struct files *f, struct err *e)
{
	size_t n = r->n;

	mem_sort(r->areas, n, sizeof *r->areas, compare_areas);
	for (r->n = 0; r->n < n; r->n++)
		if (open_area(r, &r->areas[r->n], f, e)) {
			r->n = n;
			return -1;
		}
	return 0;
}

static int add_areas(
	struct reach *r, const struct agent_def *a, const struct policy *policy, struct err *e)
{
	if (add_area(r, a->workspace, true, policy, e))
		return -1;
	for (size_t i = 0; i < a->npaths; i++) {
		const struct path_grant *g = &a->paths[i];

		if (add_area(r, g->path, g->write, policy, e))
			return -1;
		/* Only what berth itself put beside its tasks, where no agent can write. */
		if (g->source && !strcmp(r->areas[r->n - 1].path, g->path) &&
			!r->areas[r->n - 1].source)
			r->areas[r->n - 1].source = xstrdup(g->source);
		for (size_t k = 0; g->write && k < g->protected_paths.n; k++)
			if (add_area(r, g->protected_paths.word[k], false, policy, e))
				return -1;
	}
	return a->temporary ? add_area(r, a->temporary, false, policy, e) : 0;
}

/* Of programs and of people: what changes there runs, or is lost, elsewhere. */
const char *const reach_kept[] = {".git", ".env", ".massgen", "node_modules", "__pycache__",
	".venv", "venv", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".DS_Store", "massgen_logs",
	NULL};

const char *reach_keeps(const struct reach_area *a, const char *below)
{
	while (!a->own && *below) { /* a slash in front is no name */
		size_t n = strcspn(below, "/");

		for (const char *const *k = reach_kept; *k; k++)
			if (strlen(*k) == n && !strncmp(*k, below, n))
				return *k;
		below += n + (below[n] == '/');
	}
	return NULL;
}

/* What is read-only stays so through every root, by whatever name it is reached. */
static int fix_areas(struct reach *r, struct err *e)
{
	AUTO_FREE struct files_place *places = xcalloc(r->n + 1, sizeof *places);
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		if (!r->areas[i].write)
			places[n++] = (struct files_place){r->areas[i].fd, r->areas[i].leaf};
	for (size_t i = 0; i < r->n; i++) {
		struct reach_area *a = &r->areas[i];

		if (a->write &&
			(files_root_fix(a->root, places, n, e) ||
				files_root_fix(a->strict, places, n, e)))
			return -1;
	}
	return 0;
}

int reach_open(struct reach *r, const struct agent_def *a, const struct policy *policy,
	struct files *f, struct err *e)
{
	char own[REACH_PATH];
	struct stat st;

	*r = (struct reach){.home = a->workspace, .uid = 1000, .gid = 1000};
	if (stat(a->workspace, &st) == 0 && st.st_uid) {
		r->uid = st.st_uid;
		r->gid = st.st_gid;
	}
	if (spell_path_out("/", a->workspace, own, e) || add_areas(r, a, policy, e) ||
		open_areas(r, f, e) || fix_areas(r, e)) {
		reach_close(r);
		return -1;
	}
	for (size_t i = 0; i < r->n; i++)
		r->areas[i].own = lies_below(r->areas[i].path, own, strlen(own));
	for (size_t i = 0; i < r->n; i++)
		for (size_t j = 0; j < r->n; j++)
			r->areas[i].holds_fixed |= r->areas[i].write && !r->areas[j].write &&
				lies_below(r->areas[j].path, r->areas[i].path, r->areas[i].len);
	return 0;
}

void reach_close(struct reach *r)
{
	for (size_t i = 0; i < r->n; i++) {
		files_root_close(r->areas[i].root);
		files_root_close(r->areas[i].strict);
		cleanup_close(&r->areas[i].fd);
		free((char *)r->areas[i].path);
		free((char *)r->areas[i].leaf);
		free((char *)r->areas[i].source);
	}
	free(r->areas);
	*r = (struct reach){0};
}

static const struct reach_area *find_area(const struct reach *r, const char *path)
{
	const struct reach_area *best = NULL;

	for (size_t i = 0; i < r->n; i++) {
		const struct reach_area *a = &r->areas[i];

		if (lies_below(path, a->path, a->len) && (!best || a->len > best->len))
			best = a;
	}
	return best;
}

static int refuse_outside(const struct reach *r, const char *path, struct err *e)
{
	AUTO_STR struct str areas = STR_INIT;

	for (size_t i = 0; i < r->n && areas.len < 240; i++)
		str_addf(&areas, "%s%s", i ? ", " : "", r->areas[i].path);
	return err_set(e, ERR_REFUSED, "%.160s is outside of what this agent can reach: %.240s.",
		path, areas.s);
}

/* `path` is the area itself, or holds another that stays as it is. */
static bool would_take_area(const struct reach *r, const struct place_in *p)
{
	size_t len = strlen(p->path);

	for (size_t i = 0; i < r->n; i++)
		if (lies_below(r->areas[i].path, p->path, len))
			return true;
	return false;
}

int reach_find(const struct reach *r, const char *path, enum reach_use use, struct place_in *ret,
	struct err *e)
{
	const struct reach_area *a;
	const char *kept;

	if (spell_path_out(r->home, path, ret->path, e))
		return -1;
	a = find_area(r, ret->path);
	if (!a)
		return refuse_outside(r, ret->path, e);
	if (use != REACH_READ && !a->write)
		return err_set(e, ERR_REFUSED, "%.160s cannot be changed: %s is read-only here.",
			ret->path, a->path);
	if (use == REACH_TREE && would_take_area(r, ret))
		return err_set(e, ERR_REFUSED,
			"%.160s cannot be moved or deleted: it is, or contains, a directory granted to this agent.",
			ret->path);
	kept = use == REACH_READ ? NULL : reach_keeps(a, ret->path + a->len);
	if (kept)
		return err_set(e, ERR_REFUSED,
			"%.160s cannot be changed: %s is read-only outside of the workspace.",
			ret->path, kept);
	ret->area = a;
	ret->root =
		a->leaf || (use != REACH_READ && (a->holds_fixed || !a->own)) ? a->strict : a->root;
	snprintf(ret->rel, sizeof ret->rel, "%s",
		a->leaf                     ? a->leaf
			: ret->path[a->len] ? ret->path + a->len + 1
					    : ".");
	return 0;
}
