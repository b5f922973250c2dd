/*
 * foreground_look.c - looks at a terminal's processes for a bounded time.
 *
 * What is read of another process's memory may be a page of a file system that an agent serves, which comes when that
 * wants, and no signal ends the wait.  So a thread looks, and one that does not return is left to itself.
 */
#include "terminals/foreground.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/spawn.h>

#include "lane/lane.h"

#define LIMIT_MS 1000
#define LOOKS_MAX 64 /* at a time */

struct look {
	struct look *next;
	pid_t supervisor;
	struct foreground found;
	bool done;
	bool left; /* nobody waits for it: it is the thread's */
};

/* Those that are under way. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t change;
	struct look *first;
	size_t n;
} looks = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static void end_look(struct look *l)
{
	struct look **at = &looks.first;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	looks.n--;
}

static void *run_look(void *ctx)
{
	struct look *l = ctx;

	foreground_read(l->supervisor, &l->found);
	pthread_mutex_lock(&looks.lock);
	end_look(l);
	l->done = true;
	if (l->left)
		free(l);
	pthread_cond_broadcast(&looks.change);
	pthread_mutex_unlock(&looks.lock);
	return NULL;
}

/* With the lock.  NULL: one of these processes is still under way, or there can be no more. */
static struct look *begin_look(pid_t supervisor)
{
	struct look *l;
	pthread_t thread;

	for (l = looks.first; l; l = l->next)
		if (l->supervisor == supervisor)
			return NULL;
	if (looks.n == LOOKS_MAX)
		return NULL;
	l = xcalloc(1, sizeof *l);
	l->supervisor = supervisor;
	if (spawn_thread(&thread, run_look, l)) {
		free(l);
		return NULL;
	}
	pthread_detach(thread);
	l->next = looks.first;
	looks.first = l;
	looks.n++;
	return l;
}

void foreground_below(pid_t supervisor, int limit_ms, struct foreground *ret)
{
	const struct timespec due = clock_in_ms(limit_ms);
	struct look *l;
	int error = 0;

	*ret = (struct foreground){.front = TERMINAL_FRONT_UNKNOWN};
	pthread_mutex_lock(&looks.lock);
	l = begin_look(supervisor);
	while (l && !l->done && error != ETIMEDOUT)
		error = pthread_cond_clockwait(&looks.change, &looks.lock, CLOCK_MONOTONIC, &due);
	if (l && l->done) {
		*ret = l->found;
		free(l);
	} else if (l) {
		l->left = true;
	}
	pthread_mutex_unlock(&looks.lock);
}

void foreground_look(pid_t supervisor, const char *id, struct foreground *ret)
{
	*ret = (struct foreground){.front = TERMINAL_FRONT_UNKNOWN};
	if (supervisor > 0 && proc_in_container(supervisor, id))
		foreground_below(supervisor, LIMIT_MS, ret);
}
