/*
 * record.h - the gate and the log for programs that do one thing and end: policy first, then the intent
 * on disk where the deed's class asks for it, then the deed, then how it ended.
 *
 * The backend thread of the console has gate.c for this; these calls block.
 * Thread: a recorder belongs to one thread at a time.
 */
#ifndef BERTH_RECORD_H
#define BERTH_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit.h"
#include "policy.h"

struct audit;

struct recorder {
	const char *program;         /* what the log calls this process: "up", "files write" */
	const struct policy *policy; /* NULL: nothing is protected */
	const char *endpoint, *engine_name, *engine; /* NULL: the deeds concern no engine */
	struct audit *audit;                         /* opened at the first record */
	bool apart;                                  /* nobody waits for recorder_close */
};

struct recording {
	struct recorder *by;
	struct audit_record r; /* deed, target and parameters; the texts must stay */
	uint64_t intent;
	int64_t start_ns;
};

/* What else policy may go by, beside the record's name and id. */
struct record_target {
	size_t nimages, nlabels;
	const char *const *images; /* a container's, or every name of the image that goes */
	const struct key_value *labels;
};

/* 0: go ahead.  -1: policy refuses (which is recorded), or the intent of a guarded deed cannot be
 * written.  What harms a container or an image says what that is; NULL: nothing has image or labels. */
int record_begin_on(struct recording *rec, struct recorder *by, const struct audit_record *r,
	const struct record_target *t, struct err *e);
int record_begin(
	struct recording *rec, struct recorder *by, const struct audit_record *r, struct err *e);
/* How it ended; err NULL or without a kind: well. */
void record_end(struct recording *rec, const struct err *err);
/* One record for what needs no intent. */
void record_event(struct recorder *by, const struct audit_record *r, const struct err *err);

/* SHA-256 over the words, a NUL after each. */
void record_manifest(struct audit_record *r, size_t n, const char *const *word);

/* Wait until everything is on disk and signed. */
void recorder_close(struct recorder *by);
/* The same in a child, away from this process's streams: whoever waits for this program's exit does not
 * wait for the disk, and of many in a row the last one signs.  Only while this process has one thread; `write` is called in the child. */
void recorder_apart(struct recorder *by, void (*write)(struct recorder *by, void *ctx), void *ctx);

#endif
