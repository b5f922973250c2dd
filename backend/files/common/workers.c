/* workers.c - keeps worker threads parked until there is work to share. */
#include "files/common/workers.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <berth/check.h>
#include <berth/file.h>
#include <berth/mem.h>

#define WORKER_FILES 3 /* descriptors: a directory and two files that are copied */
#define WORKER_BYTES \
	(160ul << 20) /* addresses: malloc reserves 128 MiB for each new thread's heap */

struct crew {
	struct pool *pool;
	crew_fn *fn;
	void *ctx;
	unsigned next, width; /* seats next .. width-1 wait for somebody; under pool.lock */
	unsigned inside;      /* workers in fn; under pool.lock */
	pthread_cond_t empty;
	struct crew *after;
};

struct later {
	struct later *next;
	unsigned times;
	void (*fn)(void *);
	void *arg;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct crew *crews; /* with seats to fill */
	struct later *later;
	unsigned threads, busy;
	unsigned most; /* workers, the calling thread included, for which this process has room */
	bool stop;
	pthread_t thread[POOL_MAX];
};

static void unlist_crew(struct pool *p, struct crew *c)
{
	struct crew **at = &p->crews;

	while (*at && *at != c)
		at = &(*at)->after;
	if (*at)
		*at = c->after;
}

/* Under the lock, which is given up meanwhile.  false: there is nothing. */
static bool run_later(struct pool *p)
{
	struct later *l = p->later, this;

	if (!l)
		return false;
	this = *l;
	if (--l->times == 0) {
		p->later = l->next;
		free(l);
	}
	p->busy++;
	pthread_mutex_unlock(&p->lock);
	this.fn(this.arg);
	pthread_mutex_lock(&p->lock);
	p->busy--;
	return true;
}

static void *worker_main(void *arg)
{
	struct pool *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct crew *c = p->crews;
		unsigned seat;

		if (!c) {
			if (run_later(p))
				continue;
			if (p->stop)
				break;
			pthread_cond_wait(&p->work, &p->lock);
			continue;
		}
		seat = c->next++;
		if (c->next >= c->width)
			unlist_crew(p, c);
		c->inside++;
		p->busy++;
		pthread_mutex_unlock(&p->lock);
		c->fn(c->ctx, seat, c);
		pthread_mutex_lock(&p->lock);
		p->busy--;
		if (--c->inside == 0)
			pthread_cond_signal(&c->empty);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Under the lock: enough threads for all that waits for one, as far as there may be that many. */
static void hire_threads(struct pool *p)
{
	unsigned wanted = p->busy;
	pthread_attr_t attr;
	sigset_t all, old;

	for (const struct crew *c = p->crews; c; c = c->after)
		wanted += c->width - c->next;
	for (const struct later *l = p->later; l; l = l->next)
		wanted += l->times;
	if (wanted > p->most - 1)
		wanted = p->most - 1;
	if (p->threads >= wanted)
		return;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 512 * 1024);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	/* Where there cannot be more, fewer hands do the same work. */
	while (p->threads < wanted &&
		pthread_create(&p->thread[p->threads], &attr, worker_main, p) == 0)
		p->threads++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

void crew_widen(struct crew *c, unsigned width)
{
	struct pool *p = c->pool;

	if (width > p->most)
		width = p->most;
	pthread_mutex_lock(&p->lock);
	if (width > c->width && !p->stop) {
		unsigned seats = width - c->width;

		if (c->next >= c->width) {
			c->after = p->crews;
			p->crews = c;
		}
		c->width = width;
		hire_threads(p);
		if (seats == 1)
			pthread_cond_signal(&p->work);
		else
			pthread_cond_broadcast(&p->work);
	}
	pthread_mutex_unlock(&p->lock);
}

unsigned crew_width(const struct crew *c)
{
	unsigned width;

	pthread_mutex_lock(&c->pool->lock);
	width = c->width;
	pthread_mutex_unlock(&c->pool->lock);
	return width;
}

void crew_run(struct pool *p, unsigned width, crew_fn *fn, void *ctx)
{
	struct crew c = {.pool = p, .fn = fn, .ctx = ctx, .next = 1, .width = 1};

	pthread_cond_init(&c.empty, NULL);
	if (width > 1)
		crew_widen(&c, width);
	fn(ctx, 0, &c);
	pthread_mutex_lock(&p->lock);
	unlist_crew(p, &c); /* seats nobody took are not needed any more */
	while (c.inside > 0)
		pthread_cond_wait(&c.empty, &p->lock);
	pthread_mutex_unlock(&p->lock);
	pthread_cond_destroy(&c.empty);
}

bool pool_later(struct pool *p, unsigned times, void (*fn)(void *), void *arg)
{
	struct later *l = xmalloc(sizeof *l);
	bool somebody;

	*l = (struct later){.times = times, .fn = fn, .arg = arg};
	pthread_mutex_lock(&p->lock);
	l->next = p->later;
	p->later = l;
	hire_threads(p);
	somebody = p->threads > 0;
	if (!somebody) {
		p->later = l->next;
		free(l);
	} else if (times == 1) {
		pthread_cond_signal(&p->work);
	} else {
		pthread_cond_broadcast(&p->work);
	}
	pthread_mutex_unlock(&p->lock);
	return somebody;
}

/* How many workers the process's own limits bear: one that runs out of descriptors leaves files out, one
 * that runs out of memory ends the program, and fewer do the same work. */
static unsigned count_bearable_workers(void)
{
	struct rlimit files, memory;
	rlim_t most = POOL_MAX;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
		most = files.rlim_cur / 2 / WORKER_FILES;
	if (getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur / WORKER_BYTES < most)
		most = memory.rlim_cur / WORKER_BYTES;
	return most < 1 ? 1 : most > POOL_MAX ? POOL_MAX : (unsigned)most;
}

struct pool *pool_new(void)
{
	struct pool *p = xcalloc(1, sizeof *p);

	p->most = count_bearable_workers();
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	return p;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	CHECK(!p->crews);
	p->stop = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->threads; i++)
		pthread_join(p->thread[i], NULL);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->work);
	free(p);
}

/* What cgroup v2 allows, in processors rounded up; 0: no limit that can be seen. */
static unsigned cgroup_processors(void)
{
	char text[1024], path[1100];
	long quota, period;
	char *end;

	if (file_text("/proc/self/cgroup", text, sizeof text) <= 0 || strncmp(text, "0::", 3) != 0)
		return 0;
	if ((end = strchr(text, '\n')))
		*end = '\0';
	snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", text + 3);
	if (file_text(path, text, sizeof text) <= 0 ||
		sscanf(text, "%ld %ld", &quota, &period) != 2 || quota <= 0 || period <= 0)
		return 0;
	return (unsigned)((quota + period - 1) / period);
}

unsigned pool_processors(void)
{
	unsigned n = 1, limit = cgroup_processors();
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
		n = (unsigned)CPU_COUNT(&set);
	if (limit && limit < n)
		n = limit;
	return n > POOL_MAX ? POOL_MAX : n;
}
