/* missed.c - reads files that are not in memory, through io_uring or on threads. */
#include "files/disk/missed.h"

#include <stdlib.h>

#include <berth/mem.h>

#include "files/disk/ring.h"

/* Tasks that workers share. */
struct missed {
	struct reading *r;
	struct task **tasks;
	size_t n;
	_Atomic size_t next;
};

static void blocking_worker(void *ctx, unsigned worker, struct crew *c)
{
	struct missed *m = ctx;
	struct reader me;
	size_t i;

	(void)worker;
	(void)c;
	reader_init(&me, m->r);
	while ((i = atomic_fetch_add(&m->next, 1)) < m->n) {
		m->tasks[i]->me = &me;
		if (op_stopped(&m->r->op))
			task_drop(m->tasks[i]);
		else
			task_block(m->r, m->tasks[i]);
		reader_flush(&me, m->r);
	}
}

static int by_order(const void *a, const void *b)
{
	const struct task *ta = *(struct task *const *)a, *tb = *(struct task *const *)b;

	return ta->want < tb->want ? -1 : ta->want > tb->want;
}

/* The kernel is asked for no path that was not checked.  Returns how many are left, in front. */
static size_t refuse_paths(struct reading *r, struct task **tasks, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct task *t = tasks[i];
		struct err e = ERR_INIT;

		if (t->fd < 0 && path_check(t->want->path, &e) < 0) {
			task_refuse(r, t, &e);
		} else {
			tasks[i] = tasks[kept];
			tasks[kept++] = t;
		}
	}
	return kept;
}

unsigned missed_read(
	struct reading *r, struct task **tasks, size_t n, struct ring *ring, unsigned depth)
{
	struct missed m = {.r = r, .tasks = tasks, .n = n};
	unsigned width = n < depth ? (unsigned)n : depth;

	mem_sort(tasks, n, sizeof(struct task *), by_order);
	if (ring)
		return ring_read(ring, r, tasks, refuse_paths(r, tasks, n), depth);
	crew_run(r->op.files->pool, width, blocking_worker, &m);
	return width;
}
