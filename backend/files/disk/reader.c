/* reader.c - holds the state of one reading worker and its system calls. */
#include "files/disk/reader.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <berth/sanitized.h>

/* The same calls without glibc's points of cancellation, which cost two locked instructions each in a
 * process with threads: together a tenth of what reading a small cached file takes.  ThreadSanitizer must see every
 * descriptor come and go. */
int fast_openat(int dir, const char *path, int flags)
{
#if THREAD_SANITIZED
	return openat(dir, path, flags | O_CLOEXEC);
#else
	return (int)syscall(SYS_openat, dir, path, flags | O_CLOEXEC, 0);
#endif
}

static void fast_close(int fd)
{
#if THREAD_SANITIZED
	close(fd);
#else
	syscall(SYS_close, fd);
#endif
}

/* One call for descriptors in a row.  All numbers in between are ours, so nobody else's is closed. */
static void close_row(const int *fds, unsigned n)
{
#if !THREAD_SANITIZED
	if (n > 1 && syscall(SYS_close_range, fds[0], fds[n - 1], 0) == 0)
		return;
#endif
	for (unsigned i = 0; i < n; i++)
		fast_close(fds[i]);
}

void reader_close_all(struct reader *me)
{
	for (unsigned i = 0, n; i < me->nfds; i += n) {
		n = 1;
		while (i + n < me->nfds && me->fds[i + n] == me->fds[i] + (int)n)
			n++;
		close_row(me->fds + i, n);
	}
	me->nfds = 0;
}

ssize_t fast_read(int fd, void *to, size_t n, off_t at, bool trust)
{
	struct iovec v = {to, n};

	return trust ? syscall(SYS_pread64, fd, to, n, at)
		     : syscall(SYS_preadv2, fd, &v, 1, (long)at, 0L, RWF_NOWAIT);
}

void reader_close(struct reader *me, int fd)
{
	if (!me->together) {
		fast_close(fd);
		return;
	}
	me->fds[me->nfds++] = fd;
	if (me->nfds == READER_FDS)
		reader_close_all(me);
}

void reading_begin(struct reading *r, struct files *f, struct slab_chain *memory)
{
	op_begin_small(&r->op, f);
	r->read_ns = token_now();
	slab_chain_init(memory, &f->store);
	r->chain = memory;
}

void reader_init(struct reader *me, struct reading *r)
{
	*me = (struct reader){.slab = {.chain = r->chain}, .dir = -1};
}

void reader_release(struct reader *me)
{
	if (me->dir >= 0)
		close(me->dir);
	me->dir = -1;
}

void reader_flush(struct reader *me, struct reading *r)
{
	if (me->items == 0)
		return;
	atomic_fetch_add_explicit(&r->bytes, me->bytes, memory_order_relaxed);
	op_add(&r->op, me->items, me->bytes);
	me->items = me->bytes = 0;
}
