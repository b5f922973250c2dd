/* commit.c - commits a staged batch: two flushes around the renames instead of two per file. */
#include "files/stage/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <berth/mem.h>

#include "files/stage/later.h"
#include "files/common/token.h"

#define SYNC_WIDTH 16
#define MANY 64 /* files from which a flush is not waited for once the batch is stopped */

bool syncfs_tells(void)
{
	static _Atomic int known; /* 1 no, 2 yes */
	struct utsname u;
	int major = 0, minor = 0;

	if (!atomic_load(&known)) {
		uname(&u);
		sscanf(u.release, "%d.%d", &major, &minor);
		atomic_store(&known, major > 5 || (major == 5 && minor >= 8) ? 2 : 1);
	}
	return atomic_load(&known) == 2;
}

static void sync_worker(void *ctx, unsigned worker, struct crew *c)
{
	struct batch *b = ctx;
	size_t i;

	(void)worker;
	(void)c;
	while ((i = atomic_fetch_add(&b->next, 1)) < b->n) {
		struct batch_item *it = &b->items[i];
		struct err e = ERR_INIT;
		int fd = it->fd, rc;

		if (!batch_ok(it))
			continue;
		if (fd < 0)
			fd = openat(
				b->staging->stage, it->j.stage, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
		it->fd = -1;
		rc = fd < 0 ? -1 : fsync(fd);
		if (rc < 0)
			err_sys(&e, errno, "could not flush %.200s to disk", it->put->path);
		if (fd >= 0 && close(fd) < 0 && rc == 0)
			rc = err_sys(&e, errno, "could not flush %.200s to disk", it->put->path);
		if (rc < 0)
			batch_fail(b, it, &e);
	}
}

/* What is staged reaches the disk.  After an error nobody knows what did, and asking again would
 * only seem to succeed: the batch fails. */
static int flush_files(struct batch *b, struct err *e)
{
	struct files *f = b->op.files;

	if (b->by_syncfs) {
		/* Handing it to a worker costs few files a tenth of their time. */
		if ((b->n < MANY ? syncfs(b->sync_fd) : op_syncfs(&b->op, b->sync_fd)) < 0)
			return errno == ECANCELED
				? op_cancelled(e)
				: err_sys(e, errno, "could not flush the batch to disk");
		return 0;
	}
	atomic_store(&b->next, 0);
	crew_run(f->pool, b->n < SYNC_WIDTH ? (unsigned)b->n : SYNC_WIDTH, sync_worker, b);
	if (atomic_load(&b->failed) && !(b->o->partial && b->o->promise == FILES_DURABLE))
		return err_set(e, ERR_FAILED, "could not flush all files of the batch to disk");
	return 0;
}

/* The new names reach the disk, and directories made for them. */
static int flush_names(struct batch *b, struct err *e)
{
	if (b->by_syncfs || (b->made.n > 0 && syncfs_tells())) {
		if (syncfs(b->sync_fd) < 0)
			return err_sys(e, errno,
				"the files are in place, but their names could not be "
				"flushed to disk");
		return 0;
	}
	for (size_t i = 0; i < b->ndirs; i++) {
		AUTO_CLOSE int fd = openat(b->dirs[i].fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		/* One that may be written but not read can only be flushed with everything. */
		if ((fd < 0 ? syncfs(b->sync_fd) : fsync(fd)) < 0)
			return err_sys(e, errno,
				"the files are in place, but their names could not be "
				"flushed to disk");
	}
	for (size_t i = 0; i < b->made.n; i++) {
		const char *leaf;
		AUTO_CLOSE int dir = path_parent(b->root, b->made.paths[i], NULL, &leaf, NULL);
		AUTO_CLOSE int fd =
			dir < 0 ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0 || fsync(fd) < 0)
			return err_sys(e, errno,
				"the files are in place, but their directories could "
				"not be flushed to disk");
	}
	return 0;
}

/* Swap, and look whether what came out is what was expected: an editor that does not know our locks
 * may have saved in between, and must not lose that. */
static int place_expecting(struct batch *b, struct batch_item *it, struct err *e)
{
	int dir = b->dirs[it->dir].fd;
	struct stat out;

	if (batch_name(b, it, e) < 0)
		return -1;
	if (renameat2(b->staging->stage, it->j.stage, dir, it->leaf, RENAME_EXCHANGE) < 0)
		return errno == EINVAL || errno == ENOSYS
			? 1
			: path_error(e, errno, "put in place", it->put->path);
	it->placed = true;
	if (fstatat(b->staging->stage, it->j.stage, &out, AT_SYMLINK_NOFOLLOW) == 0 &&
		out.st_ino == it->old.st_ino && out.st_size == it->old.st_size &&
		stat_mtime_ns(&out) == stat_mtime_ns(&it->old))
		return 0;
	if (renameat2(b->staging->stage, it->j.stage, dir, it->leaf, RENAME_EXCHANGE) == 0)
		it->placed = false;
	return err_set(e, ERR_CONFLICT, "%.200s was just changed by another program: read it again",
		it->put->path);
}

static int place_item(struct batch *b, struct batch_item *it, struct err *e)
{
	int dir = b->dirs[it->dir].fd, rc = 1;

	/* What is swapped out is removed later; without that, the rename frees its blocks. */
	if ((it->put->expect || (it->j.existed && !b->hold)) &&
		(rc = place_expecting(b, it, e)) <= 0)
		return rc;
	if (!it->staged && !it->j.existed) {
		if (staging_link(it->fd, dir, it->leaf) < 0)
			return path_error(e, errno, "create", it->put->path);
		it->placed = true;
		return 0;
	}
	if (batch_name(b, it, e) < 0)
		return -1;
	if ((it->j.existed ? renameat(b->staging->stage, it->j.stage, dir, it->leaf)
			   : rename_new(b->staging->stage, it->j.stage, dir, it->leaf)) < 0) {
		if (errno == EXDEV)
			return batch_far(it, e);
		return path_error(e, errno, it->j.existed ? "replace" : "create", it->put->path);
	}
	it->placed = true;
	it->staged = false;
	return 0;
}

static int place_all(struct batch *b, struct err *e)
{
	for (size_t i = 0; i < b->n; i++) {
		struct batch_item *it = &b->items[i];
		struct err why = ERR_INIT;

		if (!batch_ok(it))
			continue;
		if (place_item(b, it, &why) == 0) {
			job_add(b->op.job, 1, 0, 0);
			continue;
		}
		batch_fail(b, it, &why);
		if (!b->o->partial)
			return err_copy(e, &why);
	}
	return 0;
}

/* Past the commit point, and a rename fails: take back what was done, as recovery would. */
static int take_back(struct batch *b, const struct journal_item *items, size_t done, struct err *e)
{
	struct err why = ERR_INIT;

	b->unfinished = journal_reverse(b->staging, b->journal, &why) < 0;
	if (b->unfinished)
		return err_wrap(e,
			"%s; the next change in this directory finishes the batch; before it",
			why.msg);
	for (size_t i = done + 1; i-- > 0;) {
		if (journal_back(b->root, b->staging->stage, &items[i], &why) < 0)
			b->unfinished = true;
		b->items[i].placed = false;
	}
	if (b->unfinished)
		return err_wrap(e,
			"%s; the next change in this directory takes the batch back; before it",
			why.msg);
	if (syncfs(b->sync_fd) == 0)
		journal_done(b->staging, b->journal, items, b->n);
	return -1;
}

static int commit_journalled(struct batch *b, struct err *e)
{
	AUTO_FREE struct journal_item *items = xmalloc(b->n * sizeof *items);

	for (size_t i = 0; i < b->n; i++) {
		if (journal_seal(b->staging->stage, &b->items[i].j, e) < 0)
			return -1;
		items[i] = b->items[i].j;
	}
	if (journal_commit(b->staging, items, b->n, b->journal, e) < 0)
		return -1;
	for (size_t i = 0; i < b->n; i++) {
		struct batch_item *it = &b->items[i];

		if (journal_forward(b->root, b->staging->stage, &items[i],
			    i + 1 < b->n ? &b->staging->kept : NULL, e) < 0) {
			batch_fail(b, it, e);
			return take_back(b, items, i, e);
		}
		it->placed = true;
		job_add(b->op.job, 1, 0, 0);
	}
	if (flush_names(b, e) < 0)
		return -1;
	journal_done(b->staging, b->journal, items, b->n);
	return 0;
}

int commit_batch(struct batch *b, struct err *e)
{
	if (b->o->promise != FILES_VISIBLE && flush_files(b, e) < 0)
		return -1;
	if (op_stopped(&b->op))
		return op_cancelled(e);
	job_commit(b->op.job);
	if (b->op.outer && b->op.outer->job)
		job_commit(b->op.outer->job);
	if (b->o->promise == FILES_ALL_OR_NOTHING)
		return commit_journalled(b, e);
	if (place_all(b, e) < 0)
		return -1;
	return b->o->promise == FILES_DURABLE ? flush_names(b, e) : 0;
}
