/*
 * blocking.h - blocking work on a worker thread, for event loops.
 *
 * As uv_queue_work, but a system that gives no thread is an error and no abort(): libuv's own pool ends
 * the process.  At most BLOCKING_THREADS threads do the work of all loops, in the order in which it came; they
 * begin when there is something to do, and end when there has been nothing for a while.  A blocking task keeps
 * its loop running until `done` was called.
 *
 * Thread: a blocking task belongs to its loop's thread, but for `work`.
 */
#ifndef NET_BLOCKING_H
#define NET_BLOCKING_H

#include <stdbool.h>
#include <uv.h>

#define BLOCKING_THREADS 4

struct blocking_task {
	uv_async_t finished; /* its data is itself, see blocking_owns */
	struct blocking_task *next;
	void (*work)(struct blocking_task *x); /* on a thread of its own */
	void (*done)(struct blocking_task
			*x); /* on the loop's; x may be freed in it, or started again */
	void *data;          /* the owner's */
};

/* 0, or an errno and nothing happens: EAGAIN, no thread can be had; EMFILE, ENOMEM. */
int blocking_start(uv_loop_t *loop, struct blocking_task *x, void (*work)(struct blocking_task *x),
	void (*done)(struct blocking_task *x));

/* Likewise, for work that waits for another machine: on a thread of its own, so that it keeps no other work waiting.  The
 * caller bounds how many there are. */
int blocking_start_apart(uv_loop_t *loop, struct blocking_task *x,
	void (*work)(struct blocking_task *x), void (*done)(struct blocking_task *x));

/* For who closes all handles of a loop: this one closes itself, as soon as its work is done. */
bool blocking_owns(const uv_handle_t *h);

#endif
