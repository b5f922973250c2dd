/*
 * mailbox.h - a queue between two threads that share nothing else.
 *
 * Ownership of a message moves with it.  mailbox_put never blocks and calls the wake function once
 * per transition from empty to filled; the reader must drain (wakes coalesce).  Messages embed a
 * struct mail as their first member.
 */
#ifndef BERTH_MAILBOX_H
#define BERTH_MAILBOX_H

#include <pthread.h>
#include <stddef.h>

struct mail {
	struct mail *next;
	size_t bytes; /* what this message weighs, for mailbox_bytes; set by the sender */
};

struct mailbox {
	pthread_mutex_t lock;
	struct mail *head, **tail; /* under lock */
	size_t bytes;              /* under lock */
	void (*wake)(void *ctx);   /* called without the lock; may only wake */
	void *ctx;
};

void mailbox_init(struct mailbox *m, void (*wake)(void *), void *ctx);
void mailbox_put(struct mailbox *m, struct mail *mail);
struct mail *mailbox_take(struct mailbox *m); /* oldest, or NULL */
size_t mailbox_bytes(struct mailbox *m);      /* weight of what waits */
/* The caller frees what is left by mailbox_take before this. */
void mailbox_release(struct mailbox *m);

#endif
