/* files.c - opens and closes struct files and roots of trees. */
#include "files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include <berth/mem.h>

#include "files/common/op.h"
#include "files/disk/ring.h"
#include "files/stage/staging.h"

static struct files *open_with(const struct files_options *o)
{
	struct files *f = xcalloc(1, sizeof *f);

	f->pool = pool_new();
	f->cpu_width = o->cpu_width;
	f->told = o->shown;
	f->hold = o->hold;
	f->hold_ctx = o->hold_ctx;
	f->io_depth = o->io_depth && o->io_depth < FILES_IO_DEPTH ? o->io_depth : FILES_IO_DEPTH;
	f->uring = o->io_uring >= 0 && !(o->avoid & FILES_AVOID_URING);
	f->avoid = o->avoid;
	snprintf(f->owner, sizeof f->owner, "%s", o->owner ? o->owner : "");
	snprintf(f->program, sizeof f->program, "%s", o->program ? o->program : "files");
	pthread_mutex_init(&f->board_lock, NULL);
	pthread_mutex_init(&f->ring_lock, NULL);
	slab_store_init(&f->store);
	return f;
}

struct files *files_open(const struct files_options *o)
{
	struct files *f = open_with(o);

	f->board_tried = (o->avoid & FILES_AVOID_BOARD) != 0;
	f->own_board = true;
	return f;
}

struct files *files_open_on(struct board *board, const struct files_options *o)
{
	struct files *f = open_with(o);

	f->board = board;
	f->board_tried = true;
	return f;
}

void files_close(struct files *f)
{
	if (!f)
		return;
	pool_free(f->pool);
	ring_free(f->ring);
	if (f->own_board)
		board_close(f->board);
	pthread_mutex_destroy(&f->board_lock);
	pthread_mutex_destroy(&f->ring_lock);
	slab_store_release(&f->store);
	free(f);
}

void files_cancel(struct files *f)
{
	atomic_fetch_add(&f->cancels, 1);
}

bool files_progress(struct files *f, struct job_info *out)
{
	struct job_info jobs[64];
	uint32_t serial = atomic_load(&f->running);
	size_t n = serial ? jobs_read(f->board, jobs, COUNT(jobs)) : 0;

	for (size_t i = 0; i < n; i++)
		if (jobs[i].own && jobs[i].id.serial == serial) {
			*out = jobs[i];
			return true;
		}
	return false;
}

struct files_root *files_root_open(struct files *f, const char *path, struct err *e)
{
	return path_root_open(AT_FDCWD, path, path, (f->avoid & FILES_AVOID_OPENAT2) != 0, e);
}

struct files_root *files_root_open_at(struct files *f, int dir, const char *name, struct err *e)
{
	return path_root_open(dir, ".", name, (f->avoid & FILES_AVOID_OPENAT2) != 0, e);
}

int files_root_fix(struct files_root *r, const struct files_place *places, size_t n, struct err *e)
{
	struct stat st;

	r->fixed = xrealloc(r->fixed, (r->nfixed + n + 1) * sizeof *r->fixed);
	for (size_t i = 0; i < n; i++) {
		const struct files_place *p = &places[i];
		int fd = fcntl(p->dir, F_DUPFD_CLOEXEC, 0);

		if (fd < 0 ||
			(p->leaf ? fstatat(fd, p->leaf, &st, AT_SYMLINK_NOFOLLOW)
				 : fstat(fd, &st)) < 0) {
			err_sys(e, errno, "cannot protect a path in %s", r->name);
			cleanup_close(&fd);
			return -1;
		}
		r->fixed[r->nfixed++] = (struct fixed_place){st.st_dev, st.st_ino, fd};
	}
	return 0;
}

void files_root_close(struct files_root *r)
{
	if (!r)
		return;
	staging_unref(r->staging);
	path_root_close(r);
}
