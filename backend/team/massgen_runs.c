/*
 * massgen_runs.c - finds the workspaces of agents in MassGen's runs.
 *
 * MassGen moves a relative `cwd: workspace1` below .massgen/workspaces and adds an id of 8 hex digits, new for each
 * run: .massgen/workspaces/workspace1_a1b2c3d4.  Absolute paths, and those that begin with .massgen/, get the id
 * alone.  Up to 0.1.12 at least, all agents of a run have one id and keep their names.  Later versions give each
 * agent an id of its own and drop the number of "workspace1", so that the names no longer say whose they are: there
 * the newest directories, as many as there are agents, are taken in the order in which MassGen made them, which is
 * that of the file.  A directory's age is that of its birth, where the file system knows that.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/mem.h>

#include "team/team_forms.h"

#define ID_LEN 8
#define ENTRIES_MAX 65536 /* of one directory, that are looked at */

struct run_dir {
	struct statx_timestamp born;
	char *name;
};

/* Directories, oldest first; at most `most` of them, the newest. */
struct run_dirs {
	size_t n, most;
	struct run_dir *dir;
};

static int compare_births(const struct run_dir *a, const struct run_dir *b)
{
	if (a->born.tv_sec != b->born.tv_sec)
		return a->born.tv_sec < b->born.tv_sec ? -1 : 1;
	return (a->born.tv_nsec > b->born.tv_nsec) - (a->born.tv_nsec < b->born.tv_nsec);
}

/* "workspace1_a1b2c3d4" of the prefix "workspace1_". */
static bool is_run_name(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	return !strncmp(name, prefix, n) && strlen(name + n) == ID_LEN &&
		strspn(name + n, "0123456789abcdef") == ID_LEN;
}

static void keep_newest(struct run_dirs *all, struct run_dir one)
{
	size_t at = all->n;

	while (at && compare_births(&all->dir[at - 1], &one) > 0)
		at--;
	if (all->n == all->most) {
		if (!at) {
			free(one.name);
			return;
		}
		free(all->dir[0].name);
		memmove(all->dir, all->dir + 1, --at * sizeof *all->dir);
	} else {
		memmove(all->dir + at + 1, all->dir + at, (all->n - at) * sizeof *all->dir);
		all->n++;
	}
	all->dir[at] = one;
}

/* prefix: absolute, up to the underscore before the id. */
static struct run_dirs look_for_runs(const char *prefix, size_t most)
{
	struct run_dirs all = {.most = most, .dir = xcalloc(most, sizeof *all.dir)};
	const char *leaf = strrchr(prefix, '/') + 1;
	AUTO_FREE char *path = xstrndup(prefix, (size_t)(leaf - prefix));
	AUTO_CLOSEDIR DIR *dir = opendir(path);
	struct dirent *entry;
	struct statx st;

	for (size_t i = 0; dir && i < ENTRIES_MAX && (entry = readdir(dir)); i++) {
		if (!is_run_name(entry->d_name, leaf) ||
			statx(dirfd(dir), entry->d_name, AT_SYMLINK_NOFOLLOW,
				STATX_TYPE | STATX_BTIME | STATX_MTIME, &st) ||
			!S_ISDIR(st.stx_mode))
			continue;
		keep_newest(&all,
			(struct run_dir){st.stx_mask & STATX_BTIME ? st.stx_btime : st.stx_mtime,
				xstrdup(entry->d_name)});
	}
	return all;
}

static void release_runs(struct run_dirs *all)
{
	for (size_t i = 0; i < all->n; i++)
		free(all->dir[i].name);
	free(all->dir);
}

const char *massgen_moved(const struct reader *r, const char *path, const char *below)
{
	bool stays = *path == '/' || !strncmp(path, ".massgen/", 9);

	return field_path(r, stays ? path : arena_printf(r->mem, "%s/%s", below, path));
}

static void name_prefixes(const struct reader *r, struct massgen_place *p)
{
	const char *path = massgen_moved(r, p->cwd, ".massgen/workspaces"),
		   *leaf = strrchr(path, '/') + 1;
	size_t word = strlen("workspace");

	p->prefix[0] = arena_printf(r->mem, "%s_", path);
	p->prefix[1] = p->prefix[0];
	if (!strncmp(leaf, "workspace", word) && leaf[word] &&
		strspn(leaf + word, "0123456789") == strlen(leaf + word))
		p->prefix[1] = arena_printf(r->mem, "%.*s_", (int)(leaf + word - path), path);
}

static bool born_alike(const struct run_dirs *all)
{
	for (size_t i = 1; i < all->n; i++)
		if (!compare_births(&all->dir[i - 1], &all->dir[i]))
			return true;
	return false;
}

static const char *join_found(const struct reader *r, const char *prefix, const char *name)
{
	return arena_printf(
		r->mem, "%.*s%s", (int)(strrchr(prefix, '/') + 1 - prefix), prefix, name);
}

/* The agent is number i of the n whose directories have the same prefix. */
static void find_newest(const struct reader *r, struct massgen_place *p, size_t i, size_t n)
{
	struct run_dirs named = look_for_runs(p->prefix[0], 1),
			shared = look_for_runs(p->prefix[1], n);
	const struct run_dir *own = p->prefix[0] != p->prefix[1] && named.n ? &named.dir[0] : NULL;
	const struct run_dir *last = shared.n ? &shared.dir[shared.n - 1] : NULL;

	if (own && (!last || compare_births(own, last) > 0)) {
		p->found = join_found(r, p->prefix[0], own->name);
	} else if (last && (shared.n < n || born_alike(&shared))) {
		p->unclear = true;
	} else if (last) {
		p->found = join_found(r, p->prefix[1], shared.dir[i].name);
		p->by_order = n > 1;
	}
	release_runs(&named);
	release_runs(&shared);
}

void massgen_find_runs(const struct reader *r, struct massgen_place *places, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (places[i].cwd)
			name_prefixes(r, &places[i]);
	for (size_t i = 0; i < n; i++) {
		size_t before = 0, all = 0;

		for (size_t k = 0; places[i].cwd && k < n; k++)
			if (places[k].cwd && !strcmp(places[k].prefix[1], places[i].prefix[1])) {
				before += k < i;
				all++;
			}
		if (all)
			find_newest(r, &places[i], before, all);
	}
}

bool massgen_is_run(const char *const prefix[2], const char *path)
{
	const char *leaf = strrchr(path, '/') + 1;

	for (size_t i = 0; i < 2; i++) {
		const char *named = strrchr(prefix[i], '/') + 1;

		if (leaf - path == named - prefix[i] &&
			!strncmp(path, prefix[i], (size_t)(leaf - path)) &&
			is_run_name(leaf, named))
			return true;
	}
	return false;
}
