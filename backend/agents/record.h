/*
 * record.h - the gate and the log, for code that blocks: policy first, then the intent on disk, then the
 * deed, then how it ended.
 */
#ifndef AGENTS_RECORD_H
#define AGENTS_RECORD_H

#include <stdint.h>

#include <berth/audit.h>

#include "agents/host.h"

struct recording {
	struct agents_host *h;
	struct audit_record r; /* deed, target and parameters; the texts must stay */
	uint64_t intent;
	int64_t start_ns;
};

/* 0: go ahead.  -1: policy refuses (which is recorded), or the intent cannot be written. */
int record_begin(
	struct recording *rec, struct agents_host *h, const struct audit_record *r, struct err *e);
/* How it ended; err NULL or without a kind: well. */
void record_end(struct recording *rec, const struct err *err);
/* One record for what needs no intent. */
void record_event(struct agents_host *h, const struct audit_record *r, const struct err *err);

#endif
