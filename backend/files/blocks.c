/* blocks.c - reads a file of any size in blocks. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <berth/files.h>
#include <berth/mem.h>

#include "files/common/seeklines.h"
#include "files/common/paths.h"
#include "files/common/token.h"

#define BLOCK (256u << 10)

static const char *part_name(const struct files_want *w)
{
	return w->named ? w->named : w->path;
}

static int refuse_moving(const char *path, struct err *e)
{
	return err_set(e, ERR_CONFLICT, "%.200s changed while it was read: try again", path);
}

/* No further than it was long: who writes on and on is not followed. */
static int pass_blocks(int fd, const char *path, uint64_t size, struct token_hasher *h,
	files_block_fn *each, void *ctx, struct err *e)
{
	AUTO_FREE char *buf = xmalloc(BLOCK);
	uint64_t done = 0;
	ssize_t n;

	for (;;) {
		n = read(fd, buf, BLOCK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? path_error(e, errno, "read", path) : 0;
		done += (uint64_t)n;
		if (done > size)
			return refuse_moving(path, e);
		token_hasher_add(h, buf, (size_t)n);
		if (each(ctx, buf, (size_t)n, e))
			return -1;
	}
}

/* Blocks from *at on: up to `end`, and to the end of line `lines` where that is not 0. */
static int pass_part(int fd, const struct files_want *w, uint64_t at, uint64_t lines,
	const struct op *op, files_block_fn *each, void *ctx, struct err *e)
{
	AUTO_FREE char *buf = xmalloc(BLOCK);
	uint64_t left = w->length ? w->length : UINT64_MAX;
	bool counted = lines > 0;

	while (left) {
		ssize_t n = pread(fd, buf, left < BLOCK ? (size_t)left : BLOCK, (off_t)at);
		const char *p = buf, *nl = NULL;

		if (op_stopped(op))
			return op_cancelled(e);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? path_error(e, errno, "read", part_name(w)) : 0;
		while (lines && (nl = memchr(p, '\n', (size_t)(buf + n - p))) != NULL) {
			p = nl + 1;
			lines--;
		}
		if (counted && !lines)
			n = p - buf;
		if (n && each(ctx, buf, (size_t)n, e))
			return -1;
		if (counted && !lines)
			return 0;
		at += (uint64_t)n;
		left -= (uint64_t)n;
	}
	return 0;
}

static int stream_part(struct files_root *r, const struct files_want *w, const struct op *op,
	files_block_fn *each, void *ctx, struct err *e)
{
	AUTO_CLOSE int fd = -1;
	uint64_t at = w->offset, skip = w->first_line ? w->first_line - 1 : 0;
	struct stat st;
	int rc;

	if (path_check(w->path, e))
		return -1;
	fd = path_open(r, w->path, PATH_READ);
	if (fd < 0)
		return path_error(e, errno, "read", part_name(w));
	if (path_regular(fd, part_name(w), &st, e))
		return -1;
	rc = w->tail_lines ? lines_back(fd, (uint64_t)st.st_size, w->tail_lines, op, &at)
			   : lines_skip(fd, &at, &skip, op);
	if (rc < 0)
		return errno == ECANCELED ? op_cancelled(e)
					  : path_error(e, errno, "read", part_name(w));
	return pass_part(fd, w, at,
		w->last_line ? w->last_line - (w->first_line ? w->first_line - 1 : 0) : 0, op, each,
		ctx, e);
}

int files_read_part(struct files *f, struct files_root *r, const struct files_want *w,
	files_block_fn *each, void *ctx, struct err *e)
{
	struct err why = ERR_INIT;
	struct op op;
	int rc;

	op_begin_small(&op, f);
	rc = stream_part(r, w, &op, each, ctx, &why);
	if (rc < 0)
		err_copy(e, &why);
	return op_end(&op, rc, &why, "Read.");
}

int files_read_blocks(struct files_root *r, const char *path, files_block_fn *each, void *ctx,
	struct files_token *ret, struct err *e)
{
	AUTO_CLOSE int fd = -1;
	struct token_hasher *h;
	struct stat st, after;
	int rc;

	if (path_check(path, e))
		return -1;
	fd = path_open(r, path, PATH_READ);
	if (fd < 0)
		return path_error(e, errno, "read", path);
	if (path_regular(fd, path, &st, e))
		return -1;
	token_fill(ret, &st, token_now());
	if (!each)
		return 0;
	h = token_hasher_new();
	rc = pass_blocks(fd, path, (uint64_t)st.st_size, h, each, ctx, e);
	token_hasher_end(h, rc ? NULL : ret);
	if (rc)
		return -1;
	if (fstat(fd, &after) < 0)
		return path_error(e, errno, "read", path);
	if (after.st_size != st.st_size || stat_mtime_ns(&after) != stat_mtime_ns(&st) ||
		after.st_ctim.tv_sec != st.st_ctim.tv_sec ||
		after.st_ctim.tv_nsec != st.st_ctim.tv_nsec)
		return err_set(
			e, ERR_CONFLICT, "%.200s changed while it was read: try again", path);
	return 0;
}
