/*
 * audit.h - reading and checking the record of everything that was done.
 *
 * backend/audit/audit.h describes records, their writer and the adversaries.  This half is for readers: the
 * Audit view and `berth audit`.  It only reads, needs no backend
 * thread and takes no lock for longer than it takes to read one small file.
 *
 * Texts in records come from outside and are raw: neutralise them before a terminal (text.h).
 * Thread: an audit_reader, like everything here, belongs to one thread at a time.
 */
#ifndef BERTH_AUDIT_H
#define BERTH_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operation.h"
#include "err.h"
#include "snapshot.h"

#define AUDIT_HASH 32
#define AUDIT_HEX (2 * AUDIT_HASH + 1)
#define AUDIT_LINE_MAX 32768 /* bytes of one record, newline included */
#define AUDIT_PARAMS_MAX 24

enum audit_phase {
	AUDIT_INTENT,  /* about to be done */
	AUDIT_OUTCOME, /* how it ended; `intent` is the sequence number of the intent */
	AUDIT_EVENT,   /* both in one: reads, commands, refusals */
};
enum audit_result {
	AUDIT_PENDING, /* an intent has none yet */
	AUDIT_OK,
	AUDIT_FAILED,
	AUDIT_REFUSED, /* policy said no */
	AUDIT_CANCELLED,
	AUDIT_TIMEOUT,
};
const char *audit_phase_name(enum audit_phase p);
const char *audit_result_name(enum audit_result r); /* "" for PENDING */

/*
 * One record.  Whoever submits one fills in the second part; the first is the log's.  Texts that
 * are NULL count as "".  Long texts are clipped when written (they then end in "..." and their
 * length).
 */
struct audit_record {
	uint64_t seq;
	int64_t wall_ms, mono_us; /* Unix time; time since boot, suspend included */
	const char *host, *boot;  /* host name; the kernel's boot id */
	uint32_t pid, uid;
	const char *program, *user; /* "console", "exec" ...; login name */
	uint8_t prev[AUDIT_HASH], hash[AUDIT_HASH];

	enum operation operation;
	enum audit_phase phase;
	enum audit_result result;
	uint64_t intent; /* 0: none */
	const char *agent, *session;
	const char *target_type;            /* "container", "image", "file" ... */
	const char *engine, *target, *name; /* engine id, full id, name as it was seen */
	size_t nparams;
	const struct key_value *params; /* value of a secret one is never written */
	uint64_t items;                 /* of a batch; 0: not a batch */
	bool has_manifest;
	uint8_t manifest[AUDIT_HASH]; /* SHA-256 of the list of what the batch touched */
	int64_t duration_us;          /* negative: not measured */
	const char *error;            /* sentence */
};

/* Texts match when equal, or as patterns if they hold a '*'; NULL or "" matches everything. */
struct audit_filter {
	const char *agent, *operation;
	const char *target; /* id (a prefix of 12 and more digits counts), or name */
	const char
		*text; /* regular expression: anywhere in the line, small letters match capitals too
			       until there is a capital; a leading ! inverts */
	enum audit_result result;
	bool by_result,
		not_result; /* look at `result` at all; or for everything else but intents */
	int64_t since_ms, until_ms; /* wall time; 0: no bound */
};

/* -- reading ------------------------------------------------------------------------------------
 */

struct audit_reader;

/* ERR_USAGE: filter->text is not a regular expression. */
int audit_filter_check(const struct audit_filter *filter, struct err *e);
/* dir NULL: this user's log.  The filter's texts are copied.  ERR_NOT_FOUND: there is no log yet;
 * ERR_USAGE as above. */
struct audit_reader *audit_reader_open(
	const char *dir, const struct audit_filter *filter, struct err *e);
void audit_reader_close(struct audit_reader *r);

typedef void (*audit_record_fn)(
	void *ctx, const struct audit_record *r, const char *line, size_t len);

/*
 * Go back in time from the newest record (as of opening): hands matching records to fn, newest
 * first, until `max` were found, about `budget` bytes were read (0: no limit), or the beginning is
 * reached. The next call continues there.  Returns 1 when there may be more, 0 at the beginning,
 * -1 on error. A record and its texts are valid during the call of fn only.
 */
int audit_reader_older(struct audit_reader *r, size_t max, size_t budget, audit_record_fn fn,
	void *ctx, struct err *e);
/* Records appended since opening or the last call of this, oldest first.  Returns as above. */
int audit_reader_newer(struct audit_reader *r, size_t max, size_t budget, audit_record_fn fn,
	void *ctx, struct err *e);
/* From the oldest record on, in order (for command lines).  Do not mix with audit_reader_older. */
int audit_reader_forward(struct audit_reader *r, size_t max, size_t budget, audit_record_fn fn,
	void *ctx, struct err *e);

/* Can it be written?  Makes the log where there is none, writes a file beside it and its head again, and reads
 * both back; ERR_FAILED on a disk that is full but for the reserve.  dir NULL: where it always is. */
int audit_works(const char *dir, struct err *e);

struct audit_head {
	uint64_t seq;   /* of the newest acknowledged record */
	uint64_t first; /* oldest record still kept */
	char hash[AUDIT_HEX];
	uint64_t signed_seq; /* records up to here are under a signed checkpoint */
	uint64_t checkpoints;
	uint64_t bytes; /* of all segments */
	unsigned segments;
	char next_key[AUDIT_HEX]; /* public key of the next checkpoint */
};
int audit_head_read(const char *dir, struct audit_head *h, struct err *e);

/* -- checking -----------------------------------------------------------------------------------
 */

enum audit_fault {
	AUDIT_CLEAN,
	AUDIT_CHANGED,   /* a record's bytes are not what was written */
	AUDIT_REMOVED,   /* records are missing */
	AUDIT_MOVED,     /* a record was moved */
	AUDIT_INSERTED,  /* a record is too many, or of another log */
	AUDIT_TRUNCATED, /* the end is missing */
	AUDIT_REWRITTEN, /* consistent, but not what was signed */
	AUDIT_NO_KEY,    /* the key that should sign next is not there */
	AUDIT_UNPROVEN, /* all is well in itself, but retention removed what would show that it is the
			    log of the head or key given */
};
const char *audit_fault_name(enum audit_fault f);

struct audit_verdict {
	enum audit_fault fault;
	uint64_t at_seq; /* first record that is wrong; 0: no record */
	char file[64];   /* where, and in which line */
	uint64_t line;
	char sentence[400]; /* what is wrong */
	uint64_t records, bytes, checkpoints;
	uint64_t first_seq, last_seq, signed_seq; /* up to signed_seq under a signature */
	uint64_t
		torn; /* damaged ends set aside: cut short by a crash, or changed before they were signed */
	uint64_t unacknowledged_bytes; /* after the last whole line: being written, or torn by a
					  crash */
	char head[AUDIT_HEX];          /* hash of the last record */
	char first_key[AUDIT_HEX]; /* the first public key (of a pruned log: as it says): keep it
					  elsewhere, with the head */
	bool head_found;           /* the head asked for is a record of this log */
	uint64_t head_seq;
};

struct audit_verify {
	const char *path; /* directory or bundle; NULL: this user's log */
	/* Hex of a record's hash kept elsewhere, or NULL.  Not found in a pruned log it may be of a record
	 * that retention removed: AUDIT_UNPROVEN. */
	const char *head;
	/* Hex of the first public key kept elsewhere, or NULL.  A pruned log only says what it was, so
	 * without a head that is found: AUDIT_UNPROVEN. */
	const char *key;
	/* Called about every 16 MB, may be NULL; true stops with ERR_CANCELLED. */
	bool (*progress)(void *ctx, uint64_t bytes_done, uint64_t bytes_total);
	void *ctx;
};
/* 0 with the verdict (clean or not), or -1 when it could not be found out. */
int audit_verify(const struct audit_verify *what, struct audit_verdict *ret, struct err *e);

/* The same on a thread of its own, for a view.  progress and ctx are ignored. */
struct audit_check;
struct audit_check_state {
	bool done;
	uint64_t bytes_done, bytes_total;
	struct audit_verdict verdict; /* once done, unless err says why there is none */
	struct err err;
	int64_t at_wall_ms; /* when it was done */
};
struct audit_check *audit_check_start(const char *path);
void audit_check_poll(struct audit_check *c, struct audit_check_state *ret);
void audit_check_free(struct audit_check *c); /* stops it first */

/* -- taking it elsewhere ------------------------------------------------------------------------
 */

/* Writes a bundle to `to` (made, never overwritten, mode 0600) that audit_verify checks anywhere.
 */
int audit_export(const char *dir, const char *to, uint64_t *ret_records, struct err *e);

#endif
