/* unlinked.c - counts deleted files that a container's processes hold open. */
#include "keeper/keeper_lock.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <berth/mem.h>
#include <berth/sum.h>

#include "lane/lane.h"

#define PROCESSES_MAX 4096

struct unlinked {
	uint64_t *inode;
	size_t n, cap;
	uint64_t bytes;
};

static void add_unlinked(struct unlinked *u, const struct stat *st)
{
	uint64_t space = (uint64_t)st->st_blocks * 512, size = (uint64_t)st->st_size;

	for (size_t i = 0; i < u->n; i++)
		if (u->inode[i] == st->st_ino)
			return;
	u->inode = mem_grow(u->inode, &u->cap, u->n + 1, sizeof *u->inode);
	u->inode[u->n++] = st->st_ino;
	sum_add(&u->bytes, space > size ? space : size);
}

static void look_at_open_files(struct unlinked *u, pid_t pid, dev_t dev)
{
	char path[64];
	struct dirent *at;
	struct stat st;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d && (at = readdir(d)))
		if (!fstatat(dirfd(d), at->d_name, &st, 0) && S_ISREG(st.st_mode) &&
			st.st_dev == dev && st.st_nlink == 0)
			add_unlinked(u, &st);
	if (d)
		closedir(d);
}

uint64_t keeper_unlinked(const struct freeze *f, int root)
{
	AUTO_FREE pid_t *pid = NULL;
	struct unlinked u = {0};
	struct stat st;

	if (fstat(root, &st) < 0)
		return 0;
	pid = xcalloc(PROCESSES_MAX, sizeof *pid);
	for (size_t i = 0; i < f->n; i++) {
		size_t n = lane_commands(f->box[i].init, f->box[i].id, pid, PROCESSES_MAX);

		for (size_t p = 0; p < n; p++)
			look_at_open_files(&u, pid[p], st.st_dev);
	}
	free(u.inode);
	return u.bytes;
}
