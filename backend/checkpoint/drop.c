/* drop.c - deletes a checkpoint and the packed contents that no other checkpoint needs. */
#include "checkpoint/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>

#include "checkpoint/pack.h"

/* Bytes of a pack that some checkpoint needs. */
struct needed {
	uint32_t pack;
	uint64_t from, to;
};

struct needs {
	struct needed *all;
	size_t n, cap;
};

static int order_needs(const void *a, const void *b)
{
	const struct needed *x = a, *y = b;

	if (x->pack != y->pack)
		return x->pack < y->pack ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static void add_needs(struct needs *need, const struct manifest *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		const struct entry *x = &m->entry[i];

		if (!S_ISREG(x->mode) || x->stored == 0 || x->link != i)
			continue;
		need->all = mem_grow(need->all, &need->cap, need->n + 1, sizeof *need->all);
		need->all[need->n++] = (struct needed){x->pack, x->offset, x->offset + x->stored};
	}
}

/* What all checkpoints need; -1 where one cannot be read: then nothing may go. */
static int list_needs(struct checkpoint_store *s, struct needs *need, struct err *e)
{
	AUTO_FREE struct checkpoint_info *all = NULL;
	size_t n;

	if (checkpoint_list(s, &all, &n, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct manifest m;
		int rc;

		manifest_init(&m);
		rc = store_load(s, all[i].name, &m, e);
		if (rc == 0)
			add_needs(need, &m);
		manifest_release(&m);
		if (rc < 0)
			return err_wrap(
				e, "no space is freed while another checkpoint cannot be read");
	}
	mem_sort(need->all, need->n, sizeof *need->all, order_needs);
	return 0;
}

static uint64_t blocks_held(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

/* Whole blocks only; where holes cannot be made the bytes stay until the pack goes. */
static void punch_hole(int fd, uint64_t from, uint64_t to)
{
	from = (from + PACK_BLOCK - 1) / PACK_BLOCK * PACK_BLOCK;
	to = to / PACK_BLOCK * PACK_BLOCK;
	if (from < to)
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
			(off_t)(to - from));
}

/* Bytes that went. */
static uint64_t shrink_pack(
	struct checkpoint_store *s, const char *name, uint32_t serial, const struct needs *need)
{
	AUTO_CLOSE int fd = store_open_pack(s, serial, O_WRONLY);
	uint64_t held = fd < 0 ? 0 : blocks_held(fd), at = 0, left;
	bool any = false;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	for (size_t i = 0; i < need->n; i++) {
		if (need->all[i].pack != serial)
			continue;
		any = true;
		if (need->all[i].from > at)
			punch_hole(fd, at, need->all[i].from);
		if (need->all[i].to > at)
			at = need->all[i].to;
	}
	if (!any)
		return unlinkat(s->packs, name, 0) == 0 ? held : 0;
	/* Where it keeps its length the difference below says so. */
	if ((uint64_t)st.st_size > at)
		(void)!ftruncate(fd, (off_t)at);
	left = blocks_held(fd);
	return held > left ? held - left : 0;
}

static int collect_garbage(struct checkpoint_store *s, uint64_t *freed, struct err *e)
{
	struct needs need = {0};
	struct dirent *entry;
	int copy, rc = list_needs(s, &need, e);
	DIR *d = NULL;

	if (rc == 0) {
		copy = openat(s->packs, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		d = copy < 0 ? NULL : fdopendir(copy);
	}
	while (d && (entry = readdir(d))) {
		char *end;
		unsigned long serial = strtoul(entry->d_name, &end, 10);

		if (serial > 0 && serial < UINT32_MAX && !*end)
			*freed += shrink_pack(s, entry->d_name, (uint32_t)serial, &need);
	}
	if (d)
		closedir(d);
	free(need.all);
	return rc;
}

int checkpoint_drop(struct checkpoint_store *s, const char *name, uint64_t *freed, struct err *e)
{
	uint64_t bytes = 0;
	int rc = -1;

	if (store_check_name(name, e) < 0 || store_lock(s, e) < 0)
		return -1;
	unlinkat(s->synced, name, 0);
	if (unlinkat(s->checkpoints, name, 0) < 0)
		errno == ENOENT ? err_set(e, ERR_NOT_FOUND, "there is no checkpoint %s", name)
				: err_sys(e, errno, "cannot drop the checkpoint %s", name);
	else
		rc = fsync(s->checkpoints) < 0
			? err_sys(e, errno, "cannot drop the checkpoint %s", name)
			: collect_garbage(s, &bytes, e);
	store_unlock(s);
	if (freed)
		*freed = bytes;
	return rc;
}
