/* entry.h - a command's entry while it is written, shared by journal_writer.c and tap.c. */
#ifndef JOURNAL_ENTRY_H
#define JOURNAL_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/layout.h"

#define FLUSH_MS 20

struct tap { /* a pipe that gets a copy, by reference, of what is moved elsewhere */
	int in, out;
	bool made, broken;
	size_t held; /* bytes in it */
};

struct before { /* the end of what was dropped of a stream: a secret may begin in it and end in the ring */
	char *bytes;
	size_t n;
	size_t skip; /* so much of what comes next is dropped too */
};

struct journal_entry {
	int fd;
	const struct journal_file *file; /* mapped */
	int64_t at;                      /* of the slot */
	struct journal_slot head;
	char *ring;       /* cap bytes */
	uint64_t written; /* position up to which the file has the ring */
	uint64_t first;   /* what the file says is the oldest */
	int64_t flushed_ns;
	bool dirty, broken;
	uint32_t told_ms;        /* by the newest frame of time */
	uint64_t told_at;        /* where that stands; UINT64_MAX: there is none in the ring */
	size_t span;             /* bytes of the longest secret, less one; 0: nothing to mask */
	struct before before[2]; /* of streams 1 and 2 */
	struct tap tap[2];
	int null; /* /dev/null, where what nobody will read goes; 0: not open */
};

/* Bytes of a stream, into the ring. */
void journal_put(struct journal_entry *j, int stream, const char *bytes, size_t n);
/* `n` bytes of a stream went past unread: what was kept is no longer the last of it. */
void journal_lose(struct journal_entry *j, int stream, uint64_t n);
/* Everything that the taps hold goes into the ring. */
void tap_drain(struct journal_entry *j);
void tap_release(struct journal_entry *j);

#endif
