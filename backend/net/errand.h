/*
 * errand.h - blocking work on a worker thread, for event loops.
 *
 * As uv_queue_work, but a system that gives no thread is an error and no abort(): libuv's own pool ends
 * the process.  At most ERRAND_THREADS threads do the work of all loops, in the order in which it came; they
 * begin when there is something to do, and end when there has been nothing for a while.  An errand keeps
 * its loop running until `done` was called.
 *
 * Thread: an errand belongs to its loop's thread, but for `work`.
 */
#ifndef NET_ERRAND_H
#define NET_ERRAND_H

#include <stdbool.h>
#include <uv.h>

#define ERRAND_THREADS 4

struct errand {
	uv_async_t door; /* its data is itself, see errand_owns */
	struct errand *next;
	void (*work)(struct errand *x); /* on a thread of its own */
	void (*done)(struct errand *x); /* on the loop's; x may be freed in it, or started again */
	void *data;                     /* the owner's */
};

/* 0, or an errno and nothing happens: EAGAIN, no thread can be had; EMFILE, ENOMEM. */
int errand_start(uv_loop_t *loop, struct errand *x, void (*work)(struct errand *x),
	void (*done)(struct errand *x));

/* For who closes all handles of a loop: this one closes itself, as soon as its work is done. */
bool errand_owns(const uv_handle_t *h);

#endif
