/*
 * head.h - the head file: where the acknowledged end of the log is, and the lock of all writers.
 *
 * One line of text, padded to HEAD_SIZE, overwritten in place while the lock is held, after
 * fdatasync of the segment returned: so it never says more than what is on disk.  It is synced
 * itself only with the first record, when a segment is full, and before segments are pruned: after
 * a crash of the machine it may be behind, and whoever writes next reads on from where it points,
 * into the segments that follow. After a crash of a process alone it is exact, and a record that it names but is
 * not there was removed.
 */
#ifndef BERTH_AUDIT_HEAD_H
#define BERTH_AUDIT_HEAD_H

#include <stdbool.h>

#include <berth/audit.h>

#include "audit/seal.h"
#include "audit/sys.h"

#define HEAD_SIZE 512

struct head {
	uint64_t segment; /* sequence number of the active segment's first record */
	uint64_t offset;  /* acknowledged bytes of it */
	uint64_t seq;     /* newest acknowledged record; 0: none yet */
	uint8_t hash[SEAL_HASH];
	uint64_t signed_seq; /* of the newest checkpoint (or log.start) */
	uint64_t checkpoints;
	uint8_t next_key[SEAL_KEY];
	uint64_t pruned_to;       /* segments up to this record are gone, or about to be */
	int64_t wall_ms, mono_us; /* when it was written */
	char boot[40];
};

void head_format(const struct head *h, char out[HEAD_SIZE]);
bool head_parse(const char in[HEAD_SIZE], struct head *ret);

/* Take the lock, waiting at most `ms`: another process may be stopped while it holds it. */
int head_lock(int fd, bool exclusive, int ms, struct err *e);
void head_unlock(int fd);

#endif
