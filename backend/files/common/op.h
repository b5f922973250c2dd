/* op.h - the struct files, and one operation of it under way: a job on the board that can be cancelled. */
#ifndef BERTH_FILES_OP_H
#define BERTH_FILES_OP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <berth/files.h>

#include "files/common/workers.h"
#include "files/common/slab.h"
#include "job/board.h"

struct ring;

struct files {
	struct pool *pool;
	pthread_mutex_t board_lock; /* guards the making of the board: at the first job shown */
	struct board *_Atomic board;
	bool own_board, board_tried;
	char program[32];
	void (*told)(void);                                  /* files_options.shown */
	int (*hold)(void *ctx, size_t bytes, struct err *e); /* files_options.hold */
	void *hold_ctx;
	_Atomic unsigned cpu_width; /* 0: files_width asks */
	unsigned avoid;
	unsigned io_depth; /* requests at once when waiting for a disk */
	bool uring;        /* these by io_uring where it can be had */
	char owner[64];
	struct slab_store store;
	_Atomic uint32_t cancels; /* grows with files_cancel: operations begun before it stop */
	_Atomic uint32_t running; /* serial of the newest operation's job */
	pthread_mutex_t ring_lock;
	struct ring *ring; /* made at the first miss; NULL: none yet, or not to be had */
	bool ring_tried;
};

unsigned files_width(struct files *f); /* threads for work on cached data */

/* One operation under way. */
struct op {
	struct files *files;
	struct job *job;        /* NULL: not shown */
	const struct op *outer; /* that this one works for: stops with it; or NULL */
	uint32_t cancels;
	bool shown;
};

void op_begin(struct op *op, struct files *f, const char *unit, const char *name, ...)
	__attribute__((format(printf, 4, 5)));
/* The same for what is over in microseconds, mostly: the job is not shown before op_publish, which
 * is for the time when no other thread works on it yet. */
void op_begin_small(struct op *op, struct files *f);
void op_publish(struct op *op, const char *unit, const char *name, ...)
	__attribute__((format(printf, 3, 4)));
/* What this thread begins from now on works for `outer` and stops with it; NULL: for itself. */
void op_within(const struct op *outer);
/* Ends the job with `result`, or with e's sentence when rc is not 0.  Returns rc. */
int op_end(struct op *op, int rc, const struct err *e, const char *result, ...)
	__attribute__((format(printf, 4, 5)));
/* "12 bytes" "35K", for what came of it; the buffer is of FORMAT_COUNTED_MAX. */
char *op_bytes(char *buf, uint64_t n);
static inline void op_add(const struct op *op, uint64_t items, uint64_t bytes)
{
	if (op->job)
		job_add(op->job, items, bytes, 0);
}
static inline bool op_stopped(const struct op *op)
{
	return (op->job && job_cancelled(op->job)) ||
		(op->outer && op->outer->job && job_cancelled(op->outer->job)) ||
		atomic_load_explicit(&op->files->cancels, memory_order_relaxed) != op->cancels;
}
int op_cancelled(struct err *e); /* the sentence; -1 */

struct err *err_box(const struct err *e); /* a copy on the heap */

#endif
