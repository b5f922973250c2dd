/* blocking.c - runs blocking tasks on a few worker threads. */
#include "net/blocking.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include <berth/clock.h>
#include <berth/spawn.h>

#define IDLE_S 5

/* What all loops share. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct blocking_task *first, **end;
	unsigned threads, idle, waiting; /* waiting: blocking tasks in the queue */
} shared = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER, .end = &shared.first};

static struct blocking_task *take_blocking(void)
{
	struct blocking_task *x = shared.first;

	if (!x)
		return NULL;
	shared.first = x->next;
	if (!shared.first)
		shared.end = &shared.first;
	shared.waiting--;
	return x;
}

/* With the lock: waits a while for something to do. */
static struct blocking_task *await_blocking(void)
{
	struct timespec until = clock_in_ms(IDLE_S * 1000);
	int late = 0;

	shared.idle++;
	while (!shared.first && !late)
		late = pthread_cond_clockwait(&shared.more, &shared.lock, CLOCK_MONOTONIC, &until);
	shared.idle--;
	return take_blocking();
}

static void *run_blocking(void *arg)
{
	struct blocking_task *x;

	(void)arg;
	pthread_mutex_lock(&shared.lock);
	while ((x = await_blocking())) {
		pthread_mutex_unlock(&shared.lock);
		x->work(x);
		pthread_mutex_lock(&shared.lock);
		/* With the lock: whoever is woken takes it, and finds us gone from x. */
		uv_async_send(&x->finished);
	}
	shared.threads--;
	pthread_mutex_unlock(&shared.lock);
	return NULL;
}

/* With the lock: one thread more if all are at work.  0 or an errno, if there is none at all. */
static int add_thread(void)
{
	pthread_t thread;
	int failed;

	if (shared.idle > shared.waiting || shared.threads == BLOCKING_THREADS)
		return 0;
	failed = spawn_thread(&thread, run_blocking, NULL);
	if (failed)
		return shared.threads ? 0 : failed;
	pthread_detach(thread);
	shared.threads++;
	return 0;
}

static void on_closed(uv_handle_t *h)
{
	struct blocking_task *x = (struct blocking_task *)h;

	x->done(x);
}

static void on_worked(uv_async_t *finished)
{
	pthread_mutex_lock(&shared.lock);
	pthread_mutex_unlock(&shared.lock);
	uv_close((uv_handle_t *)finished, on_closed);
}

int blocking_start(uv_loop_t *loop, struct blocking_task *x, void (*work)(struct blocking_task *x),
	void (*done)(struct blocking_task *x))
{
	int failed;

	x->work = work;
	x->done = done;
	x->next = NULL;
	pthread_mutex_lock(&shared.lock);
	failed = add_thread();
	if (!failed)
		failed = -uv_async_init(loop, &x->finished, on_worked);
	if (!failed) {
		x->finished.data = x;
		*shared.end = x;
		shared.end = &x->next;
		shared.waiting++;
		pthread_cond_signal(&shared.more);
	}
	pthread_mutex_unlock(&shared.lock);
	return failed;
}

static void *run_apart(void *arg)
{
	struct blocking_task *x = arg;
	bool begun;

	pthread_mutex_lock(&shared.lock);
	begun = x->work != NULL;
	pthread_mutex_unlock(&shared.lock);
	if (!begun)
		return NULL;
	x->work(x);
	pthread_mutex_lock(&shared.lock);
	uv_async_send(&x->finished);
	pthread_mutex_unlock(&shared.lock);
	return NULL;
}

int blocking_start_apart(uv_loop_t *loop, struct blocking_task *x,
	void (*work)(struct blocking_task *x), void (*done)(struct blocking_task *x))
{
	pthread_t thread;
	int failed;

	x->work = NULL;
	x->done = done;
	x->next = NULL;
	pthread_mutex_lock(&shared.lock);
	failed = spawn_thread(&thread, run_apart, x);
	if (failed) {
		pthread_mutex_unlock(&shared.lock);
		return failed;
	}
	failed = -uv_async_init(loop, &x->finished, on_worked);
	x->finished.data = x;
	x->work = failed ? NULL : work;
	pthread_mutex_unlock(&shared.lock);
	if (failed)
		pthread_join(thread, NULL);
	else
		pthread_detach(thread);
	return failed;
}

bool blocking_owns(const uv_handle_t *h)
{
	return h->type == UV_ASYNC && h->data == h;
}
