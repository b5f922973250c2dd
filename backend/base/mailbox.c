/* mailbox.c - queues messages between threads under a mutex. */
#include "base/mailbox.h"

#include <stdbool.h>

#include <berth/check.h>

void mailbox_init(struct mailbox *m, void (*wake)(void *), void *ctx)
{
	pthread_mutex_init(&m->lock, NULL);
	m->head = NULL;
	m->tail = &m->head;
	m->bytes = 0;
	m->wake = wake;
	m->ctx = ctx;
}

void mailbox_put(struct mailbox *m, struct mail *mail)
{
	bool was_empty;

	mail->next = NULL;
	pthread_mutex_lock(&m->lock);
	was_empty = !m->head;
	*m->tail = mail;
	m->tail = &mail->next;
	m->bytes += mail->bytes;
	pthread_mutex_unlock(&m->lock);
	if (was_empty)
		m->wake(m->ctx);
}

struct mail *mailbox_take(struct mailbox *m)
{
	struct mail *mail;

	pthread_mutex_lock(&m->lock);
	mail = m->head;
	if (mail) {
		m->head = mail->next;
		if (!m->head)
			m->tail = &m->head;
		CHECK(m->bytes >= mail->bytes);
		m->bytes -= mail->bytes;
		mail->next = NULL;
	}
	pthread_mutex_unlock(&m->lock);
	return mail;
}

size_t mailbox_bytes(struct mailbox *m)
{
	size_t bytes;

	pthread_mutex_lock(&m->lock);
	bytes = m->bytes;
	pthread_mutex_unlock(&m->lock);
	return bytes;
}

void mailbox_release(struct mailbox *m)
{
	CHECK(!m->head);
	pthread_mutex_destroy(&m->lock);
}
