/* internal.h - what the files of this room share and nobody else sees. */
#ifndef FILES_INTERNAL_H
#define FILES_INTERNAL_H

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <berth/files.h>

#include "files/common/workers.h"
#include "files/common/slab.h"
#include "job/board.h"

/* How a file is opened that may turn out to be a pipe or a terminal. */
#define PATH_READ (O_RDONLY | O_NONBLOCK | O_NOCTTY)

struct ring;

#define DISK_KEY_MAX 160

/* disk.c's. */
struct known_disk {
	dev_t dev;
	struct files_disk disk;
	bool used, asked; /* asked: measured, or about to be */
};

struct files {
	struct pool *pool;
	pthread_mutex_t board_lock; /* guards the making of the board: at the first job shown */
	struct board *_Atomic board;
	bool own_board, board_tried;
	char program[32];
	void (*told)(void);         /* files_options.shown */
	_Atomic unsigned cpu_width; /* 0: files_width asks */
	unsigned avoid;
	unsigned io_depth; /* fixed; 0: the disk's */
	int uring;
	pthread_mutex_t disk_lock; /* guards the next two */
	struct known_disk disks[8];
	size_t next_disk;
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

int path_regular(int fd, const char *path, struct stat *st, struct err *e);

int64_t token_now(void); /* what to give as read_ns: never later than the reading */
/* Fill in everything of a token but the hash. */
void token_fill(struct files_token *t, const struct stat *st, int64_t read_ns);
void token_hash(struct files_token *t, const void *bytes, size_t n);
bool token_racy(const struct files_token *t); /* time stamps cannot vouch for the content */
/* Whether the file open as fd (with *st) is still what the token says; reads it when it must. */
bool token_holds(const struct files_token *t, const struct stat *st, int fd);
int64_t stat_mtime_ns(const struct stat *st);

#endif
