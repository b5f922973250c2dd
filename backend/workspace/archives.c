/* archives.c - lists archives and their properties. */
#include "workspace/workspace_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/checkpoint.h>
#include <berth/mem.h>
#include <berth/text.h>

static int tell_archive(int folder, const char *name, struct workspace_archive *a, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s" ARCHIVED, name);
	AUTO_CLOSE int fd = openat(folder, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct checkpoint_info i;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT
			? err_set(e, ERR_NOT_FOUND, "there is no archive %.80s", name)
			: err_sys(e, errno, "cannot open the archive %.80s", name);
	snprintf(a->name, sizeof a->name, "%s", name);
	a->packed = (uint64_t)st.st_size;
	a->damaged = checkpoint_archive_show(fd, name, &i, NULL) < 0;
	if (a->damaged)
		return 0;
	a->made_ms = i.made_ns / 1000000;
	a->files = i.files;
	a->dirs = i.dirs;
	a->others = i.others;
	a->bytes = i.bytes;
	return 0;
}

int workspace_show_archive(struct workspaces *w, enum workspace_kind kind, const char *name,
	struct workspace_archive *ret, struct err *e)
{
	AUTO_CLOSE int folder = -1;

	*ret = (struct workspace_archive){.kind = kind};
	if (workspaces_check_name(name, e) < 0)
		return -1;
	folder = workspaces_archives(w, (int)kind, e);
	return folder < 0 ? -1 : tell_archive(folder, name, ret, e);
}

/* NAME.tar.zst with a name of a workspace, cut to that. */
static bool cut_archive_name(char *name)
{
	size_t n = strlen(name), end = strlen(ARCHIVED);

	if (n <= end || strcmp(name + n - end, ARCHIVED) != 0)
		return false;
	name[n - end] = '\0';
	return text_is_plain_name(name, WORKSPACE_NAME_MAX);
}

static int order_archives(const void *left, const void *right)
{
	const struct workspace_archive *a = left, *b = right;

	return a->kind != b->kind ? (int)a->kind - (int)b->kind : strcmp(a->name, b->name);
}

int workspace_archives(
	struct workspaces *w, struct workspace_archive **ret, size_t *n, struct err *e)
{
	AUTO_FREE struct workspace_archive *all = NULL;
	size_t cap = 0;

	*n = 0;
	for (int k = 0; k < WORKSPACE_KINDS; k++) {
		int folder = workspaces_archives(w, k, e);
		DIR *d = folder < 0 ? NULL : fdopendir(folder);
		struct dirent *at;

		if (!d)
			return -1;
		while ((at = readdir(d)) != NULL) {
			all = mem_grow(all, &cap, *n + 1, sizeof *all);
			all[*n] = (struct workspace_archive){.kind = (enum workspace_kind)k};
			*n += cut_archive_name(at->d_name) &&
				tell_archive(dirfd(d), at->d_name, &all[*n], NULL) == 0;
		}
		closedir(d);
	}
	mem_sort(all, *n, sizeof *all, order_archives);
	*ret = STEAL(all);
	return 0;
}
