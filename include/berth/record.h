/*
 * record.h - the gate that every operation passes: policy first, then the intent in the log (on disk where the operation's
 * class asks for that), then the act, then how it ended.  A new act is one call: record_act.
 *
 * These calls block; on a loop it is gate_begin (backend/audit/audit.h).
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
	const char *endpoint, *engine_name, *engine; /* NULL: the operations concern no engine */
	struct audit *audit;                         /* opened at the first record */
	uint64_t last;                               /* sequence number of its last record */
	/* This process has one thread while it records, and ends with recorder_settle. */
	bool direct;
};

struct recording {
	struct recorder *by;
	struct audit_record r; /* operation, target and parameters; the texts must stay */
	uint64_t intent;       /* 0: refused, or begun without a record (audit.unavailable: warn) */
	int64_t start_ns;
};

/* What else the policy can check, in addition to the record's name and id. */
struct record_target {
	size_t nimages, nlabels;
	const char *const *images; /* a container's, or every name of the image that goes */
	const struct key_value *labels;
	bool secrets; /* some are handed over with it */
};

/* The act itself.  What it learns (target, session) it may write into the record; the texts must stay until its
 * caller has returned.  *e is recorded as how it ended, also where it does not return -1. */
typedef int record_act_fn(void *ctx, struct audit_record *r, struct err *e);
/* The whole way of one act.  Returns what `act` did, with its error; or -1: it was not begun, as below. */
int record_act(struct recorder *by, const struct audit_record *r, const struct record_target *t,
	record_act_fn *act, void *ctx, struct err *e);

/* The split version, for actions that do not fit one callback.
 * 0: go ahead.  -1: policy refuses (which is recorded), or the intent cannot be recorded: that of a guarded
 * operation is on disk, that of any other is in the log when this returns.  For destructive actions pass image and labels; NULL: there are none. */
int record_begin_on(struct recording *rec, struct recorder *by, const struct audit_record *r,
	const struct record_target *t, struct err *e);
int record_begin(
	struct recording *rec, struct recorder *by, const struct audit_record *r, struct err *e);
/* The same where policy was asked already. */
int record_intent(
	struct recording *rec, struct recorder *by, const struct audit_record *r, struct err *e);
/* How it ended; err NULL or without a kind: well.  -1: that is not in the log; record_state says why. */
int record_end(struct recording *rec, const struct err *err);
/* One record for what was not done. */
void record_event(struct recorder *by, const struct audit_record *r, const struct err *err);

/* The agent for which this process was started by its MCP server; NULL: none. */
const char *record_agent(void);

/* SHA-256 over the words, a NUL after each. */
void record_manifest(struct audit_record *r, size_t n, const char *const *word);

/* Wait until everything is on disk and signed. */
void recorder_close(struct recorder *by);
/* What is recorded is in the log already; a child, away from this process's streams, sees to the disk and, of
 * many in a row the last one, to the signature: whoever waits for this program's exit does not wait for
 * them.  Only of a direct recorder, while this process has one thread. */
void recorder_settle(struct recorder *by);
/* The same for a process that continues: leaves no zombie. */
void recorder_settle_on(struct recorder *by);

/* Has this process done what is not in the log?  Asking forgets it; *ret is the sentence.  Any thread. */
enum record_state {
	RECORD_WHOLE,
	RECORD_GAP, /* the settings allow it: counted */
	RECORD_LOST /* it cannot be reported as done */
};
enum record_state record_state(struct err *ret);

#endif
