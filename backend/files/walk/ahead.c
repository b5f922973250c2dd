/* ahead.c - counts the entries of a long walk in advance. */
#include "files/walk/ahead.h"

#include <pthread.h>
#include <stdlib.h>

#include <berth/mem.h>
#include <berth/spawn.h>
#include <berth/sum.h>

struct ahead {
	pthread_t thread;
	struct walk walk;
	struct op op; /* never shown: stops with the job that it counts for */
	struct job *job;
	bool bytes;
	uint64_t items, size;
};

static void count_ahead(struct walk_worker *me, struct walk_dir *d, int fd, size_t from, size_t to)
{
	struct ahead *a = me->walk->ctx;
	const struct files_filter *f = me->walk->filter;
	bool conditions = filter_wants_meta(f);

	if (a->bytes)
		walk_stat(me, d, fd, from, to);
	for (size_t i = from; a->bytes && i < to; i++) {
		const struct walk_entry *entry = &d->entries[i];

		if (entry->type == FILES_FILE && entry->wanted && entry->meta &&
			(!conditions ||
				filter_meta(
					f, FILES_FILE, entry->meta->size, entry->meta->mtime_ns)))
			sum_add(&a->size, entry->meta->size);
	}
	a->items += to - from;
	job_total_least(a->job, a->items, a->size);
}

static const struct walk_ops count_ops = {.entries = count_ahead};

static void *run_ahead(void *arg)
{
	struct ahead *a = arg;

	if (walk_run(&a->walk, NULL) == 0 && !atomic_load(&a->walk.stop))
		job_total(a->job, a->items, a->size);
	walk_release(&a->walk);
	return NULL;
}

void ahead_start(struct walk *w)
{
	struct ahead *a = xcalloc(1, sizeof *a), *none = NULL;
	int failed;

	a->job = w->op->job;
	a->bytes = w->ahead == AHEAD_BYTES;
	a->op = (struct op){.files = w->op->files, .outer = w->op, .cancels = w->op->cancels};
	a->walk = (struct walk){.op = &a->op,
		.root = w->root,
		.start = w->start,
		.filter = w->filter,
		.ops = &count_ops,
		.ctx = a,
		.whole_dirs = true,
		.passing = true};
	if (!atomic_compare_exchange_strong(&w->scout, &none, a)) {
		free(a);
		return;
	}
	/* Without a thread there are no totals, which is no more than a pity. */
	failed = spawn_thread(&a->thread, run_ahead, a);
	if (failed)
		a->job = NULL;
}

void ahead_stop(struct walk *w)
{
	struct ahead *a = atomic_load(&w->scout);

	if (!a)
		return;
	atomic_store(&a->walk.stop, true);
	if (a->job)
		pthread_join(a->thread, NULL);
	free(a);
}
