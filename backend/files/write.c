/* write.c - writes a batch of files: resolves, locks, checks and stages them; then commits or undoes. */
#include "files/common/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "files/stage/batch.h"
#include "files/stage/later.h"
#include "files/stage/recover.h"
#include "files/common/token.h"

#define LOCK_MS 10000
#define PARALLEL_ITEMS 64 /* from here on, or from this much data, several threads stage */
#define PARALLEL_BYTES (4u << 20)
#define STEP (256u << 10) /* written between two looks at cancellation */
#define SYNCFS_FROM 3     /* files from which one syncfs is cheaper than as many fsyncs */

/* All that are not in place did not fail by themselves: one sentence for them. */
static void fail_rest(struct batch *b, const struct err *e)
{
	uint64_t n = 0;

	for (size_t i = 0; i < b->n; i++) {
		struct batch_item *it = &b->items[i];

		if (it->placed || it->res->err)
			continue;
		if (!b->out->same)
			b->out->same = err_box(e);
		it->res->err = b->out->same;
		n++;
	}
	atomic_fetch_add(&b->failed, n);
	job_add(b->op.job, 0, 0, n);
}

/* --- resolve --- */

static int resolve_item(struct batch *b, struct batch_item *it, struct err *e)
{
	const char *path = it->put->path;
	struct batch_item *before = it > b->items ? it - 1 : NULL;
	AUTO_CLOSE int fd = -1;
	struct batch_dir *d;

	it->j.path = path;
	/* Batches mostly name many files of few directories: look at the one before. */
	if (before && before->leaf && batch_ok(before)) {
		size_t n = (size_t)(before->leaf - before->put->path);

		if (strncmp(path, before->put->path, n) == 0 && path[n] && !strchr(path + n, '/') &&
			strlen(path + n) <= 255 && strcmp(path + n, ".") != 0 &&
			strcmp(path + n, "..") != 0) {
			it->leaf = path + n;
			it->dir = before->dir;
			it->key = staging_key(&b->dirs[it->dir].st, it->leaf);
			return 0;
		}
	}
	fd = path_parent_to_change(b->root, path, b->o->parents ? &b->made : NULL, &it->leaf, e);
	if (fd < 0) {
		it->leaf = NULL;
		return -1;
	}
	b->dirs = mem_grow(b->dirs, &b->dirs_cap, b->ndirs + 1, sizeof *b->dirs);
	d = &b->dirs[b->ndirs];
	if (fstat(fd, &d->st) < 0)
		return path_error(e, errno, "reach the directory of", path);
	d->fd = steal_fd(&fd);
	it->dir = b->ndirs++;
	it->key = staging_key(&d->st, it->leaf);
	return 0;
}

static int compare_inodes(const void *pa, const void *pb)
{
	const struct batch_item *const *a = pa, *const *b = pb;

	return (*a)->key < (*b)->key ? -1 : (*a)->key > (*b)->key;
}

static bool same_target(
	const struct batch *b, const struct batch_item *x, const struct batch_item *y)
{
	const struct stat *dx = &b->dirs[x->dir].st, *dy = &b->dirs[y->dir].st;

	return x->key == y->key && dx->st_ino == dy->st_ino && dx->st_dev == dy->st_dev &&
		strcmp(x->leaf, y->leaf) == 0;
}

/* Sorted, so that two batches never wait for each other in a circle. */
static int lock_targets(struct batch *b, struct err *e)
{
	AUTO_FREE struct batch_item **order = xmalloc((b->n + 1) * sizeof(struct batch_item *));
	AUTO_FREE uint64_t *keys = xmalloc((b->n + 1) * sizeof *keys);
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		if (batch_ok(&b->items[i]))
			order[n++] = &b->items[i];
	mem_sort(order, n, sizeof *order, compare_inodes);
	for (size_t i = 0; i < n; i++) {
		keys[i] = order[i]->key;
		if (i > 0 && same_target(b, order[i - 1], order[i]))
			return err_set(e, ERR_USAGE, "%.200s appears twice in the batch",
				order[i]->put->path);
	}
	b->lock = staging_lock(b->staging, keys, n, &b->patience, e);
	return b->lock < 0 ? -1 : 0;
}

/* --- check --- */

static int expect_holds(struct batch *b, struct batch_item *it, struct err *e)
{
	AUTO_CLOSE int fd =
		openat(b->dirs[it->dir].fd, it->leaf, PATH_READ | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return path_error(e, errno, "read", it->put->path);
	if (!token_holds(it->put->expect, &st, fd))
		return err_set(e, ERR_CONFLICT,
			"%.200s has changed since it was read: read it again", it->put->path);
	it->old = st;
	return 0;
}

static int check_expected(struct batch *b, struct batch_item *it, struct err *e)
{
	const char *path = it->put->path;

	if (fstatat(b->dirs[it->dir].fd, it->leaf, &it->old, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return path_error(e, errno, "write", path);
		if (it->put->expect)
			return err_set(
				e, ERR_CONFLICT, "%.200s has been removed since it was read", path);
		return 0;
	}
	if (path_is_fixed(b->root->fixed, b->root->nfixed, &it->old))
		return err_set(
			e, ERR_REFUSED, "%.200s cannot be changed: it is read-only here", path);
	if (!S_ISREG(it->old.st_mode))
		return err_set(e, ERR_REFUSED, "cannot write %.200s: it is %s, not a regular file",
			path,
			S_ISDIR(it->old.st_mode)           ? "a directory"
				: S_ISLNK(it->old.st_mode) ? "a symbolic link"
							   : "a special file");
	if (it->put->create_only)
		return path_error(e, EEXIST, "create", path);
	it->j.existed = true;
	return it->put->expect ? expect_holds(b, it, e) : 0;
}

/* --- stage --- */

static int write_bytes(struct batch *b, int fd, const char *bytes, uint64_t n)
{
	while (n > 0) {
		ssize_t w = write(fd, bytes, n < STEP ? (size_t)n : STEP);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return -1;
		bytes += w;
		n -= (uint64_t)w;
		if (op_stopped(&b->op)) {
			errno = ECANCELED;
			return -1;
		}
	}
	return 0;
}

static bool is_zero(const char *bytes, size_t n)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, n - 1);
}

static int cannot_write(const struct batch_item *it, struct err *e)
{
	return errno == ECANCELED ? op_cancelled(e)
				  : err_sys(e, errno, "cannot write %.200s", it->put->path);
}

/* As much as fits, of what may come in pieces; *n less than `room`: that was all. */
static int pull_block(const struct files_put *put, char *to, size_t room, size_t *n, struct err *e)
{
	for (*n = 0; *n < room;) {
		ssize_t got = put->pull(put->ctx, to + *n, room - *n, e);

		if (got < 0)
			return -1;
		if (got == 0)
			return 0;
		*n += (size_t)got;
	}
	return 0;
}

static int pull_bytes(struct batch *b, struct batch_item *it, struct token_hasher *h, struct err *e)
{
	AUTO_FREE char *buf = xmalloc(STEP);
	uint64_t done = 0;
	size_t n = STEP;

	while (n == STEP) {
		if (pull_block(it->put, buf, STEP, &n, e))
			return -1;
		done += n;
		if (done > it->put->len)
			break;
		token_hasher_add(h, buf, n);
		if (n == STEP && is_zero(buf, n) ? lseek(it->fd, STEP, SEEK_CUR) < 0
						 : write_bytes(b, it->fd, buf, n) < 0)
			return cannot_write(it, e);
		if (op_stopped(&b->op))
			return op_cancelled(e);
		job_add(b->op.job, 0, n, 0);
	}
	if (done != it->put->len)
		return err_set(e, ERR_CONFLICT, "%.200s changed its size while it was being read",
			it->put->path);
	return ftruncate(it->fd, (off_t)done) < 0 ? cannot_write(it, e) : 0;
}

static int write_content(struct batch *b, struct batch_item *it, struct err *e)
{
	const struct files_put *put = it->put;
	struct token_hasher *h;
	int rc;

	if (!put->pull) {
		if (write_bytes(b, it->fd, put->bytes, put->len) < 0)
			return cannot_write(it, e);
		token_hash(&it->res->token, put->bytes, put->len);
		job_add(b->op.job, 0, put->len, 0);
		return 0;
	}
	h = token_hasher_new();
	rc = pull_bytes(b, it, h, e);
	token_hasher_end(h, rc ? NULL : &it->res->token);
	return rc;
}

/* Attributes of the user's (ACLs too), not those that give rights to content (capabilities). */
static void keep_xattrs(int from, int to)
{
	char names[4096], value[4096];
	ssize_t n = flistxattr(from, names, sizeof names), len;

	for (char *name = names; n > 0 && name < names + n; name += strlen(name) + 1) {
		if (strncmp(name, "user.", 5) != 0 && strncmp(name, "system.posix_acl", 16) != 0)
			continue;
		len = fgetxattr(from, name, value, sizeof value);
		if (len >= 0)
			fsetxattr(to, name, value, (size_t)len, 0);
	}
}

static mode_t with_executable(mode_t mode, int executable)
{
	return executable > 0 ? mode | (mode & 0444) >> 2
		: executable  ? mode & ~(mode_t)0111
			      : mode;
}

static int give_new_mode(const struct batch_item *it)
{
	struct stat st;

	if (it->put->mode > 0)
		return fchmod(it->fd, (mode_t)it->put->mode & 07777);
	if (!it->put->executable)
		return 0;
	return fstat(it->fd, &st) < 0
		? -1
		: fchmod(it->fd, with_executable(st.st_mode & 0777, it->put->executable));
}

static int keep_metadata(struct batch *b, struct batch_item *it)
{
	AUTO_CLOSE int from = -1;
	mode_t mode = it->old.st_mode & 07777;

	if (!it->j.existed)
		return give_new_mode(it);
	/* A new content under a set-id bit would run with rights nobody gave it. */
	mode &= ~(mode_t)(S_ISUID | S_ISGID);
	if ((it->old.st_uid != path_user() || it->old.st_gid != path_group()) &&
		fchown(it->fd, it->old.st_uid, it->old.st_gid) < 0 && errno != EPERM)
		return -1;
	from = openat(b->dirs[it->dir].fd, it->leaf, PATH_READ | O_NOFOLLOW | O_CLOEXEC);
	if (from >= 0)
		keep_xattrs(from, it->fd);
	if (b->hold)
		it->old_fd = steal_fd(&from);
	return fchmod(it->fd, with_executable(mode, it->put->executable));
}

/* The new file has no name yet, so nothing is left of it whatever happens, and is born in the
 * directory that it is for: file systems keep it near the others there.  Where that cannot be, it
 * has a name in the stage from the start. */
static int open_new(struct batch *b, struct batch_item *it, struct err *e)
{
	const struct batch_dir *d = &b->dirs[it->dir];
	bool stranger = it->j.existed && it->old.st_uid != path_user(); /* may not be linked */

	if (staging_can_link() && !stranger && d->st.st_dev == b->root->dev) {
		it->fd = openat(d->fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
		if (it->fd >= 0)
			return 0;
		if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
			return path_error(e, errno, "write", it->put->path);
	}
	stage_name(b->staging, it->j.stage);
	it->fd = openat(b->staging->stage, it->j.stage,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (it->fd < 0)
		return err_sys(e, errno, "cannot make room for %.200s", it->put->path);
	it->staged = true;
	return 0;
}

static int stage_file(struct batch *b, struct batch_item *it, struct err *e)
{
	struct stat st;

	if (open_new(b, it, e) < 0)
		return -1;
	if (write_content(b, it, e))
		return -1;
	if (keep_metadata(b, it) < 0 || (b->naming && fstat(it->fd, &st) < 0))
		return cannot_write(it, e);
	if (b->naming) {
		it->j.new_ino = st.st_ino;
		it->j.old_ino = it->old.st_ino;
		it->j.old_size = (uint64_t)it->old.st_size;
		it->j.old_mtime_ns = stat_mtime_ns(&it->old);
		if (batch_name(b, it, e) < 0)
			return -1;
	}
	/* Errors of the disk or a full quota may show only here. */
	if (it->staged && (b->o->promise == FILES_VISIBLE || !b->hold)) {
		int fd = it->fd;

		it->fd = -1;
		if (close(fd) < 0)
			return err_sys(e, errno, "cannot write %.200s", it->put->path);
	}
	return 0;
}

static bool is_all_or_nothing(const struct batch *b)
{
	return !b->o->partial || b->o->promise == FILES_ALL_OR_NOTHING;
}

static void stage_worker(void *ctx, unsigned worker, struct crew *c)
{
	struct batch *b = ctx;
	size_t i;

	(void)worker;
	(void)c;
	while ((i = atomic_fetch_add(&b->next, 1)) < b->n) {
		struct err e = ERR_INIT;

		/* Where one failed, nothing may come of the others. */
		if (op_stopped(&b->op) || (is_all_or_nothing(b) && atomic_load(&b->failed)))
			return;
		if (batch_ok(&b->items[i]) && stage_file(b, &b->items[i], &e) < 0)
			batch_fail(b, &b->items[i], &e);
	}
}

/* --- the whole --- */

/* Some items failed: the error for the caller is the first of them. */
static int first_error(struct batch *b, struct err *e)
{
	for (size_t i = 0; i < b->n; i++)
		if (!batch_ok(&b->items[i]))
			return err_copy(e, b->items[i].res->err);
	return 0;
}

/* -1 when the batch must stop here: something failed and it does not go on without. */
static int refuse_stopped(struct batch *b, struct err *e)
{
	if (op_stopped(&b->op))
		return op_cancelled(e);
	return is_all_or_nothing(b) && atomic_load(&b->failed) ? first_error(b, e) : 0;
}

static int prepare_batch(struct batch *b, struct err *e)
{
	struct files *f = b->op.files;
	uint64_t bytes = 0;
	struct rlimit limit;

	/* New and replaced files are kept open until we are done, as far as descriptors go. */
	b->hold = getrlimit(RLIMIT_NOFILE, &limit) == 0 && b->n < limit.rlim_cur / 8;
	b->by_syncfs = b->o->promise != FILES_VISIBLE && b->n >= SYNCFS_FROM && syncfs_tells();
	/* Names count: recovery finds by them; fsync of a file without one may not keep it. */
	b->naming = !b->hold || b->o->promise == FILES_ALL_OR_NOTHING ||
		(b->o->promise == FILES_DURABLE && !b->by_syncfs);
	for (size_t i = 0; i < b->n && !op_stopped(&b->op); i++) {
		struct err why = ERR_INIT;

		bytes += b->items[i].put->len;
		if (resolve_item(b, &b->items[i], &why) < 0)
			batch_fail(b, &b->items[i], &why);
	}
	job_total(b->op.job, b->n, bytes);
	if (refuse_stopped(b, e) < 0 || lock_targets(b, e) < 0)
		return -1;
	for (size_t i = 0; i < b->n && !op_stopped(&b->op); i++) {
		struct err why = ERR_INIT;

		if (batch_ok(&b->items[i]) && check_expected(b, &b->items[i], &why) < 0)
			batch_fail(b, &b->items[i], &why);
	}
	if (refuse_stopped(b, e) < 0)
		return -1;
	if (b->o->promise != FILES_VISIBLE)
		b->staging->durable = true;
	b->sync_fd = openat(b->staging->stage, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (b->sync_fd < 0)
		return err_sys(e, errno, "cannot prepare a change in %s", b->root->name);
	crew_run(f->pool, b->n >= PARALLEL_ITEMS || bytes >= PARALLEL_BYTES ? files_width(f) : 1,
		stage_worker, b);
	return refuse_stopped(b, e);
}

/* Whatever happened: nothing of ours stays behind but what is in place. */
static void clean_up(struct batch *b)
{
	struct leavings *l = leavings_new(2 * b->n);

	for (size_t i = 0; i < b->n; i++) {
		struct batch_item *it = &b->items[i];
		/* Gone by rename; or swapped, and now the old file; or never put in place. */
		bool named = !b->unfinished && it->staged && (!it->placed || it->j.existed);

		int gone = it->placed ? it->old_fd : it->fd,
		    kept = it->placed ? it->fd : it->old_fd;

		if (kept >= 0)
			close(kept);
		if (gone >= 0 || named)
			leavings_add(l, named ? it->j.stage : NULL, gone);
	}
	leavings_go(l, b->op.files, b->staging);
	staging_put(&b->staging);
	for (size_t i = 0; i < b->ndirs; i++)
		close(b->dirs[i].fd);
	if (b->sync_fd >= 0)
		close(b->sync_fd);
	if (b->lock >= 0)
		close(b->lock);
	free(b->dirs);
	free(b->items);
	made_release(&b->made);
}

static void fill_tokens(struct batch *b)
{
	int64_t now = token_now();

	for (size_t i = 0; i < b->n; i++) {
		struct batch_item *it = &b->items[i];
		struct files_token *t = &it->res->token, hash = *t;
		struct stat st;

		if (!it->placed ||
			(it->fd >= 0 ? fstat(it->fd, &st)
				     : fstatat(b->dirs[it->dir].fd, it->leaf, &st,
					       AT_SYMLINK_NOFOLLOW)) < 0)
			continue;
		token_fill(t, &st, now);
		memcpy(t->hash, hash.hash, sizeof t->hash);
		t->hashed = true;
	}
}

static int run_batch(struct batch *b, struct files_writing *out, struct err *e)
{
	struct err not = ERR_INIT;
	int rc = -1;

	b->patience = patience(b->o->lock_timeout_ms ? b->o->lock_timeout_ms : LOCK_MS, &b->op);
	b->staging = staging_get(b->root, &b->patience, e);
	if (b->staging && staging_recover(b->root, b->staging, false, &b->patience, e) == 0)
		rc = prepare_batch(b, e);
	if (rc == 0)
		rc = commit_batch(b, e);
	if (rc < 0)
		made_undo(b->root, &b->made);
	else
		fill_tokens(b);
	for (size_t i = 0; i < b->n; i++)
		if (b->items[i].placed)
			out->bytes += b->items[i].put->len;
	err_set(&not, ERR_FAILED, "not written, because the batch failed");
	fail_rest(b, rc < 0 && e->kind == ERR_CANCELLED ? e : &not );
	out->failed = atomic_load(&b->failed);
	if (rc == 0 && out->failed)
		rc = first_error(b, e);
	return rc;
}

int files_write(struct files *f, struct files_root *r, const struct files_put *puts, size_t n,
	const struct files_write_options *o, struct files_writing **ret, struct err *e)
{
	struct files_writing *out = xcalloc(1, sizeof *out);
	struct batch b = {.root = r, .o = o, .out = out, .n = n, .lock = -1, .sync_fd = -1};
	struct err why = ERR_INIT;
	char files[FORMAT_COUNTED_MAX], bytes[FORMAT_COUNTED_MAX];
	int rc;

	op_begin(&b.op, f, "files", "write %zu files", n);
	out->n = n;
	out->items = xcalloc(n, sizeof *out->items);
	b.items = xcalloc(n, sizeof *b.items);
	for (size_t i = 0; i < n; i++)
		b.items[i] = (struct batch_item){
			.put = &puts[i], .res = &out->items[i], .fd = -1, .old_fd = -1};
	rc = run_batch(&b, out, &why);
	clean_up(&b);
	if (rc < 0)
		err_copy(e, &why);
	*ret = out;
	return op_end(&b.op, rc, &why, "Wrote %s, %s.",
		format_counted(files, n - out->failed, "file", "files"),
		op_bytes(bytes, out->bytes));
}

void files_writing_free(struct files_writing *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n && w->failed; i++)
		if (w->items[i].err != w->same)
			free(w->items[i].err);
	free(w->same);
	free(w->items);
	free(w);
}
