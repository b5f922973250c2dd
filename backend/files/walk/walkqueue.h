/* walkqueue.h - the workers' stacks of directories; private to walk.c. */
#ifndef BERTH_FILES_WALKQUEUE_H
#define BERTH_FILES_WALKQUEUE_H

#include <pthread.h>
#include <stdatomic.h>

#include "files/common/workers.h"
#include "files/walk/globs.h"
#include "files/walk/walk.h"

/* A directory to be listed (to 0), or entries [from, to) of one. */
struct work {
	struct walk_dir *dir;
	uint32_t from, to;
};

struct stack {
	pthread_mutex_t lock;
	struct work *items;
	size_t cap;
	_Atomic size_t first, n; /* [first, n); changed under lock */
} __attribute__((aligned(64)));

struct walk_private {
	struct stack stacks[POOL_MAX];
	_Atomic size_t pending; /* work queued or in hand; 0: the walk is over */
	_Atomic unsigned idle;
	pthread_mutex_t idle_lock;
	pthread_cond_t wake;
	_Atomic int fds; /* open directories */
	int fd_limit;
	struct globs globs;
	const struct rules *above; /* of the files above the start */
	bool needs_path, chooses;
	struct files_scan_totals totals; /* under idle_lock */
	_Atomic uint64_t held;           /* bytes of names so far, about */
	pthread_mutex_t asking;          /* guards what follows */
	uint64_t granted;                /* of these, by files_options.hold */
	struct err full;                 /* it granted no more */
};

void queue_init(struct walk_private *p);
void queue_release(struct walk_private *p);
void queue_push(struct walk_worker *me, struct work w);
bool queue_take(struct walk_worker *me, struct work *out); /* false: the walk is over */
void queue_done(struct walk_worker *me);                   /* with what was taken last */
size_t queue_length(const struct walk_worker *me);
void queue_leave(struct walk_worker *me); /* adds up its totals */

#endif
