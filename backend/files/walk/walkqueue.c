/* walkqueue.c - stacks of work, one a worker; those without work take half of another's. */
#include "files/walk/walkqueue.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/sum.h>

void queue_init(struct walk_private *p)
{
	for (size_t i = 0; i < POOL_MAX; i++)
		pthread_mutex_init(&p->stacks[i].lock, NULL);
	pthread_mutex_init(&p->idle_lock, NULL);
	pthread_mutex_init(&p->asking, NULL);
	pthread_cond_init(&p->wake, NULL);
}

void queue_release(struct walk_private *p)
{
	for (size_t i = 0; i < POOL_MAX; i++) {
		pthread_mutex_destroy(&p->stacks[i].lock);
		free(p->stacks[i].items);
	}
	pthread_mutex_destroy(&p->idle_lock);
	pthread_mutex_destroy(&p->asking);
	pthread_cond_destroy(&p->wake);
}

/* Under the stack's lock. */
static void push_work(struct stack *s, const struct work *w, size_t count)
{
	size_t first = atomic_load(&s->first), n = atomic_load(&s->n);

	if (first > 0 && n + count > s->cap) {
		memmove(s->items, s->items + first, (n - first) * sizeof *s->items);
		n -= first;
		atomic_store(&s->first, 0);
	}
	s->items = mem_grow(s->items, &s->cap, n + count, sizeof *s->items);
	memcpy(s->items + n, w, count * sizeof *w);
	atomic_store(&s->n, n + count);
}

void queue_push(struct walk_worker *me, struct work w)
{
	struct walk_private *p = me->walk->private;
	struct stack *s = &p->stacks[me->index];

	atomic_fetch_add(&p->pending, 1);
	pthread_mutex_lock(&s->lock);
	push_work(s, &w, 1);
	pthread_mutex_unlock(&s->lock);
	/* Sequentially consistent: either we see the sleeper, or it sees the work. */
	if (atomic_load(&p->idle) > 0) {
		pthread_mutex_lock(&p->idle_lock);
		pthread_cond_signal(&p->wake);
		pthread_mutex_unlock(&p->idle_lock);
	}
}

size_t queue_length(const struct walk_worker *me)
{
	const struct stack *s = &me->walk->private->stacks[me->index];

	return atomic_load_explicit(&s->n, memory_order_relaxed) -
		atomic_load_explicit(&s->first, memory_order_relaxed);
}

static bool pop_work(struct stack *s, struct work *out)
{
	bool got = false;
	size_t n;

	pthread_mutex_lock(&s->lock);
	n = atomic_load(&s->n);
	if (n > atomic_load(&s->first)) {
		*out = s->items[n - 1];
		atomic_store(&s->n, n - 1);
		got = true;
	}
	pthread_mutex_unlock(&s->lock);
	return got;
}

/* The older half: directories near the top, with the most below them. */
static size_t steal_from(struct stack *s, struct work out[64])
{
	size_t first, n, take;

	pthread_mutex_lock(&s->lock);
	first = atomic_load(&s->first);
	n = atomic_load(&s->n);
	take = (n - first + 1) / 2;
	if (take > 64)
		take = 64;
	if (take)
		memcpy(out, s->items + first, take * sizeof *out);
	atomic_store(&s->first, first + take);
	pthread_mutex_unlock(&s->lock);
	return take;
}

static bool steal_work(struct walk_worker *me, struct work *out)
{
	struct walk_private *p = me->walk->private;
	struct work loot[64];

	for (unsigned i = 1; i < POOL_MAX; i++) {
		struct stack *s = &p->stacks[(me->index + i) % POOL_MAX];
		size_t n;

		if (atomic_load(&s->n) == atomic_load(&s->first))
			continue;
		n = steal_from(s, loot);
		if (n == 0)
			continue;
		*out = loot[0];
		if (n > 1) {
			struct stack *mine = &p->stacks[me->index];

			pthread_mutex_lock(&mine->lock);
			push_work(mine, loot + 1, n - 1);
			pthread_mutex_unlock(&mine->lock);
		}
		return true;
	}
	return false;
}

static bool work_somewhere(struct walk_private *p)
{
	for (unsigned i = 0; i < POOL_MAX; i++)
		if (atomic_load(&p->stacks[i].n) > atomic_load(&p->stacks[i].first))
			return true;
	return false;
}

bool queue_take(struct walk_worker *me, struct work *out)
{
	struct walk_private *p = me->walk->private;

	for (;;) {
		if (pop_work(&p->stacks[me->index], out) || steal_work(me, out))
			return true;
		if (atomic_load(&p->pending) == 0)
			return false;
		pthread_mutex_lock(&p->idle_lock);
		atomic_fetch_add(&p->idle, 1);
		if (!work_somewhere(p) && atomic_load(&p->pending) > 0) {
			me->waits++;
			pthread_cond_wait(&p->wake, &p->idle_lock);
		}
		atomic_fetch_sub(&p->idle, 1);
		pthread_mutex_unlock(&p->idle_lock);
	}
}

void queue_done(struct walk_worker *me)
{
	struct walk_private *p = me->walk->private;

	if (atomic_fetch_sub(&p->pending, 1) == 1) {
		pthread_mutex_lock(&p->idle_lock);
		pthread_cond_broadcast(&p->wake);
		pthread_mutex_unlock(&p->idle_lock);
	}
}

void queue_leave(struct walk_worker *me)
{
	struct walk_private *p = me->walk->private;

	pthread_mutex_lock(&p->idle_lock);
	p->totals.files += me->totals.files;
	p->totals.dirs += me->totals.dirs;
	p->totals.links += me->totals.links;
	p->totals.others += me->totals.others;
	sum_add(&p->totals.bytes, me->totals.bytes);
	p->totals.errors += me->totals.errors;
	p->totals.gone += me->totals.gone;
	p->totals.ignored += me->totals.ignored;
	if (me->index + 1 > p->totals.width)
		p->totals.width = me->index + 1;
	pthread_mutex_unlock(&p->idle_lock);
}
