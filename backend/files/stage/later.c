/* later.c - flushes that can be abandoned, and removals that workers do afterwards. */
#include "files/stage/later.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>

#define LOOK_MS 5 /* between two looks whether the operation is to stop */
#define WIDTH 16  /* removals at once: they wait for the disk more than they work */
#define FEW 16    /* names that are removed at once */

/* --- flushing --- */

struct flush {
	pthread_mutex_t lock;
	pthread_cond_t end;
	int fd, rc, error;
	bool over, abandoned;
};

static void flush_free(struct flush *s)
{
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->end);
	close(s->fd);
	free(s);
}

static void flush_in_worker(void *arg)
{
	struct flush *s = arg;
	bool abandoned;
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	abandoned = s->abandoned;
	pthread_mutex_unlock(&s->lock);
	if (!abandoned)
		rc = syncfs(s->fd);
	pthread_mutex_lock(&s->lock);
	s->rc = rc;
	s->error = errno;
	s->over = true;
	abandoned = s->abandoned;
	pthread_cond_signal(&s->end);
	pthread_mutex_unlock(&s->lock);
	if (abandoned)
		flush_free(s);
}

static struct flush *flush_new(int fd)
{
	struct flush *s = xcalloc(1, sizeof *s);

	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->end, NULL);
	s->fd = fd;
	return s;
}

/* Nobody wakes us when the operation is stopped: the word is set by other processes. */
static bool wait_for_flush(struct flush *s, const struct op *op)
{
	bool over;

	pthread_mutex_lock(&s->lock);
	while (!s->over && !op_stopped(op)) {
		struct timespec t = clock_in_ms(LOOK_MS);

		pthread_cond_clockwait(&s->end, &s->lock, CLOCK_MONOTONIC, &t);
	}
	over = s->over;
	s->abandoned = !over;
	pthread_mutex_unlock(&s->lock);
	return over;
}

int op_syncfs(const struct op *op, int fd)
{
	struct flush *s;
	int own, rc;

	if (op_stopped(op)) {
		errno = ECANCELED;
		return -1;
	}
	/* The same open file: errors since it was opened are reported through it. */
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return syncfs(fd);
	s = flush_new(own);
	if (!pool_later(op->files->pool, 1, flush_in_worker, s)) {
		flush_free(s);
		return syncfs(fd);
	}
	if (!wait_for_flush(s, op)) {
		errno = ECANCELED;
		return -1;
	}
	rc = s->rc;
	errno = s->error;
	flush_free(s);
	return rc;
}

/* --- removing --- */

struct leaving {
	char name[STAGE_NAME_MAX]; /* "" none */
	int fd;
};

struct leavings {
	struct staging *staging; /* NULL: no name is left */
	size_t n, names;
	_Atomic size_t next;
	_Atomic unsigned hands;
	struct leaving items[];
};

struct leavings *leavings_new(size_t most)
{
	struct leavings *l = xmalloc(sizeof *l + most * sizeof l->items[0]);

	*l = (struct leavings){.n = 0};
	return l;
}

void leavings_add(struct leavings *l, const char *name, int fd)
{
	struct leaving *it = &l->items[l->n++];

	it->fd = fd;
	it->name[0] = '\0';
	if (name) {
		memcpy(it->name, name, sizeof it->name);
		l->names++;
	}
}

static void remove_name(int stage, struct leaving *it)
{
	if (it->name[0])
		unlinkat(stage, it->name, 0);
	it->name[0] = '\0';
}

static void remove_leaving(int stage, struct leaving *it)
{
	remove_name(stage, it);
	if (it->fd >= 0)
		close(it->fd);
}

static void leavings_free(struct leavings *l)
{
	if (l->staging)
		staging_leave(l->staging);
	staging_unref(l->staging);
	free(l);
}

static void remove_some(void *arg)
{
	struct leavings *l = arg;
	size_t i;

	while ((i = atomic_fetch_add(&l->next, 1)) < l->n)
		remove_leaving(l->staging ? l->staging->stage : -1, &l->items[i]);
	if (atomic_fetch_sub(&l->hands, 1) == 1)
		leavings_free(l);
}

void leavings_go(struct leavings *l, struct files *f, struct staging *s)
{
	unsigned hands = l->n < WIDTH ? (unsigned)l->n : WIDTH;
	bool few = l->names <= FEW;

	/* Few names go here and now; what is still open keeps its blocks until it is closed. */
	for (size_t i = 0; few && l->names && i < l->n; i++)
		remove_name(s->stage, &l->items[i]);
	/* Whoever calls this uses the stage: it is there, and stays until the last name is gone. */
	if (!few && staging_use(s, "", NULL) == 0)
		l->staging = staging_ref(s);
	atomic_store(&l->hands, hands);
	if (l->n && pool_later(f->pool, hands, remove_some, l))
		return;
	/* Nothing to do, or short of threads. */
	for (size_t i = 0; i < l->n; i++)
		remove_leaving(few ? -1 : s->stage, &l->items[i]);
	leavings_free(l);
}
