/*
 * chain.h - one process's access to the log: append under the lock, repair after crashes, checkpoints, rotation,
 * retention.
 *
 * The order is always chain_begin, chain_add ..., chain_sync, then maybe chain_checkpoint,
 * chain_rotate or chain_prune, chain_end.  Nothing is acknowledged as durable before chain_sync returned
 * 0; when it fails, what was added is gone.
 *
 * With chain_write in the place of chain_sync the records are in the file, where they outlive this process
 * and not a power failure: the head file does not name them yet.  Whoever comes next finds them behind the
 * head and goes on from there; the next chain_sync of anybody, or chain_flush, makes them durable.
 *
 * Thread: one.  Every call blocks on the disk.
 */
#ifndef BERTH_AUDIT_CHAIN_H
#define BERTH_AUDIT_CHAIN_H

#include <berth/str.h>

#include "audit/audit.h"
#include "audit/gap.h"
#include "audit/head.h"
#include "audit/record.h"
#include "audit/segments.h"

#define CHAIN_LOCK_MS 10000

struct chain {
	const struct audit_sys *sys;
	struct audit_options o; /* defaults filled in; o.program is owned */
	char path[4096];
	int dir, headfd, segfd, keyfd;
	uint64_t segment;    /* which one segfd is */
	uint64_t allocated;  /* the segment has blocks up to here; 0: not known */
	char raw[HEAD_SIZE]; /* the head file as it was last read or written */
	struct head head;    /* the valid end of the segment */
	uint64_t durable;    /* the last record that the head file names */
	struct head tip;     /* the end once buf is written */
	struct str buf, scratch;
	size_t handed;  /* bytes of this batch that the file has already, not durable, before buf */
	int hand_errno; /* why it has no more; 0 */
	struct audit_record self;  /* host, boot, pid, program, uid, user of this process */
	struct str self_text;      /* record_self of it */
	uint64_t retry_signing_at; /* sequence number; after a checkpoint that failed */
	uint64_t prune_to;         /* what the next checkpoint signs away; 0: nothing */
	bool open;                 /* chain_open succeeded */
	bool dirty;                /* the head file is behind `head` */
	bool low;                  /* disk full: only what frees space may use the reserve */
	bool no_reserve;           /* this file system cannot preallocate */
	bool look_for_gap;         /* something may have been done without a record */
	struct gap gap;            /* told in buf; fd -1: none */
	struct err broken;         /* kind set: nothing can be written any more, and why */
};

void chain_init(struct chain *c, const struct audit_options *o); /* touches no disk */
/* Also repairs what a crash left.  May be tried again when it failed. */
int chain_open(struct chain *c, struct err *e);
void chain_release(struct chain *c);

/* Can it be written?  Asked for a record and its company: where there is room for less, commands are refused already. */
#define CHAIN_PROBE 4096

/* Lock, see where the end is, repair.  `bytes`: how much is going to be added, for the reserve. */
int chain_begin(struct chain *c, size_t bytes, struct err *e);
/* ERR_FAILED on a full disk where the operation may not use the reserve: the outcome of what was begun may. */
int chain_add(struct chain *c, enum operation operation, const char *body, size_t len,
	uint64_t intent, uint64_t *ret_seq, struct err *e);
int chain_sync(struct chain *c, struct err *e);
int chain_write(struct chain *c, struct err *e);
void chain_end(struct chain *c);
/* Without the lock, which is not held while the disk works: everything that was written is durable. */
int chain_flush(struct chain *c, struct err *e);
/* Before the last checkpoint of a process, without the lock: waits o.linger_ms; false when another that
 * waits so will sign.  Whoever gets true keeps the others waiting until chain_release. */
bool chain_last_out(struct chain *c);

/* Between chain_sync and chain_end: */
bool chain_unsigned(const struct chain *c, uint64_t at_least); /* so many records, or more */
int chain_checkpoint(struct chain *c, struct err *e);
int chain_rotate(struct chain *c, struct err *e); /* when the segment is full */
int chain_prune(struct chain *c, int64_t keep_ms, uint64_t keep_bytes, uint64_t *ret_removed,
	struct err *e);

/* -- between chain.c, repair.c and upkeep.c ------------------------------------------------------
 */

/* A record of the log about itself. */
int chain_note(struct chain *c, enum operation operation, const struct key_value *params, size_t n,
	struct err *e);
int chain_repair(struct chain *c, const char *raw, ssize_t n, struct err *e);
int chain_open_segment(struct chain *c, uint64_t first, bool make, struct err *e);
void chain_finish_prune(struct chain *c);
int chain_write_head(struct chain *c);
int chain_full(const struct chain *c, struct err *e); /* says what c->low means */

#endif
