/* blocks.c - one file read in blocks, whatever its size. */
#include <errno.h>
#include <unistd.h>

#include <berth/files.h>
#include <berth/mem.h>

#include "files/common/paths.h"
#include "files/common/token.h"

#define BLOCK (256u << 10)

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
