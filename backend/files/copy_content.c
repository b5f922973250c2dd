/* copy_content.c - copies what is in one file: as a reflink, by the kernel, or by hand; holes stay holes. */
#include "files/copy_content.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <berth/file.h>

#define BLOCK 4096      /* of most file systems */
#define STEP (8u << 20) /* copied by the kernel between two looks at cancellation */

/* [from, to) of the source, or to its end where that is nearer. */
static int copy_range(const struct content *c, int in, int out, off_t from, off_t to)
{
	bool kernel = to - from > (off_t)CONTENT_BUF;

	while (from < to) {
		size_t want = (size_t)(to - from);
		off_t at_in = from, at_out = from;
		ssize_t n = -1;

		if (op_stopped(c->op)) {
			errno = ECANCELED;
			return -1;
		}
		if (kernel)
			n = copy_file_range(in, &at_in, out, &at_out, want < STEP ? want : STEP, 0);
		if (kernel && n <= 0) {
			/* Other file systems, /proc (0 bytes), old kernels: by hand. */
			kernel = false;
			continue;
		}
		if (!kernel) {
			n = pread(in, c->buf, want < CONTENT_BUF ? want : CONTENT_BUF, from);
			if (n < 0 && errno == EINTR)
				continue;
			if (n > 0 && pwrite(out, c->buf, (size_t)n, from) != n)
				n = -1;
		}
		if (n < 0)
			return -1;
		if (n == 0)
			return 0; /* it shrank */
		from += n;
		job_add(c->op->job, 0, (uint64_t)n, 0);
		if (c->walk->private)
			walk_show_late(c->walk);
	}
	return 0;
}

/* Only where there are data, so that holes stay holes; what has grown since is not copied. */
static int copy_sparse(const struct content *c, int in, int out, off_t size)
{
	off_t at = 0;

	while (at < size) {
		off_t data = lseek(in, at, SEEK_DATA), hole = size;

		if ((data < 0 && errno == ENXIO) || data >= size)
			break; /* only a hole is left */
		if (data < 0)
			data = at; /* not known: reading the rest tells what is wrong */
		else if ((hole = lseek(in, data, SEEK_HOLE)) < 0 || hole > size)
			hole = size;
		job_add(c->op->job, 0, (uint64_t)(data - at), 0);
		if (copy_range(c, in, out, data, hole) < 0)
			return -1;
		at = hole;
	}
	if (at < size)
		job_add(c->op->job, 0, (uint64_t)(size - at), 0);
	return ftruncate(out, size);
}

int content_copy(const struct content *c, int in, int out, const struct stat *st)
{
	off_t size = st->st_size;
	/* Of less than a block nothing can be left out; some file systems count no blocks of these. */
	bool holes = size > BLOCK && st->st_blocks * 512 < size;

	if (size <= (off_t)CONTENT_BUF && size > 0 && !holes) {
		ssize_t n = read(in, c->buf, (size_t)size);

		if (n < 0 || file_write(out, c->buf, (size_t)n) < 0)
			return -1;
		job_add(c->op->job, 0, (uint64_t)n, 0);
		return 0;
	}
	if (!atomic_load(c->no_reflink)) {
		if (ioctl(out, FICLONE, in) == 0) {
			c->t->reflinked++;
			job_add(c->op->job, 0, (uint64_t)size, 0);
			return 0;
		}
		atomic_store(c->no_reflink, true);
	}
	if (holes)
		return copy_sparse(c, in, out, size);
	/* A size of 0 may be a lie (/proc): read until nothing comes.  Else whoever writes on does not keep us. */
	return copy_range(c, in, out, 0, size ? size : INT64_MAX);
}
