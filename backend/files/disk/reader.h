/*
 * reader.h - one file being read, whoever drives it: the calling thread, a worker, or the ring.
 *
 * task_plan after the open, then task_buffer / task_got in turn until it says that nothing is left;
 * the task then has its result and no descriptor.
 */
#ifndef BERTH_FILES_READER_H
#define BERTH_FILES_READER_H

#include <stdatomic.h>

#include "files/common/paths.h"
#include "files/common/op.h"
#include "files/common/token.h"

struct reading {
	struct op op;
	struct files_root *root;
	struct files_read_options options;
	_Atomic uint64_t taken; /* of options.max_total_bytes */
	_Atomic uint64_t failed, bytes;
	int64_t read_ns; /* token_now, before the first */
	struct slab_chain *chain;
};

#define READER_FDS 16

/* What one worker has for itself: memory, a part of the limit taken in advance, and counts that are
 * handed on now and then, so that workers do not fight for a cache line with every file. */
struct reader {
	struct slab slab;
	uint64_t budget;
	uint64_t items, bytes;
	const char *last; /* path of the file before, of which dir_len bytes name its directory */
	size_t dir_len;
	int dir;       /* that directory, where many files of it come; -1 */
	int hits;      /* files found cached in a row */
	bool together; /* descriptors are closed many at once */
	unsigned nfds;
	int fds[READER_FDS];          /* read, and not closed yet */
	const struct files_want *end; /* of the request */
};

struct task {
	const struct files_want *want;
	struct files_got *got;
	int fd;
	int attempt;
	bool planned;
	struct stat st;
	uint64_t offset;   /* where it begins: as asked for, or where the first line does */
	uint64_t line;     /* number of the line that begins there */
	uint64_t limit;    /* most bytes to take */
	size_t cap;        /* of got->bytes, the terminating NUL not counted */
	struct reader *me; /* the worker that has this task */
};

/* Without touching what is filled in later, which is most of it.  `me` comes with the worker. */
static inline void task_init(struct task *t, const struct files_want *want, struct files_got *got)
{
	t->want = want;
	t->got = got;
	t->fd = -1;
	t->attempt = 0;
	t->planned = false;
	t->offset = want->offset;
	t->line = 1;
	t->limit = 0;
	t->cap = 0;
	t->me = NULL;
}
void task_fail(struct reading *r, struct task *t, int errnum, const char *verb);
void task_refuse(struct reading *r, struct task *t, const struct err *e);
/* fd is open: look at it and make the buffer.  false: the task is finished (not a file, a limit).
 */
bool task_plan(struct reading *r, struct task *t);
/* Where the next read goes: at least one byte of room. */
static inline void *task_buffer(struct task *t, size_t *room)
{
	*room = t->cap - t->got->len;
	return t->got->bytes + t->got->len;
}
static inline off_t task_offset(const struct task *t)
{
	return (off_t)(t->offset + t->got->len);
}
/* `n` bytes came (0: end, negative: -errno).  true: read on. */
bool task_got(struct reading *r, struct task *t, ssize_t n);
void task_drop(struct task *t); /* cancelled: close, forget */

/* Root and options are set; `memory` receives what is read. */
void reading_begin(struct reading *r, struct files *f, struct slab_chain *memory);

void reader_init(struct reader *me, struct reading *r);
void reader_release(struct reader *me);
void reader_flush(struct reader *me, struct reading *r);
/* A file was read: close it, or (`together`) with the next ones, which saves a call for each: a
 * twentieth of what reading a small cached file takes. */
void reader_close(struct reader *me, int fd);
void reader_close_all(struct reader *me); /* those not closed yet */

int fast_openat(int dir, const char *path, int flags);
/* With `trust` whatever it takes, else -1 and EAGAIN for what is not cached. */
ssize_t fast_read(int fd, void *to, size_t n, off_t at, bool trust);

/* Read a task from wherever it is to its end with blocking calls. */
void task_block(struct reading *r, struct task *t);

#endif
