/*
 * audit.h - writes the audit log: the record of every operation.
 *
 * ADVERSARIES
 *
 *   Agents and everything in containers cannot reach the log, its key or its head: these are in
 *   $XDG_STATE_HOME/berth/audit (mode 0700), and policy refuses to mount that directory, its contents or its parents.
 *   They do choose names, arguments and messages that are recorded.  Whatever bytes these contain, they stay inside
 *   their JSON string, on one line.
 *
 *   Another user of the machine cannot read or write the log: modes 0700 and 0600, and the owner is checked.
 *
 *   A crash, a power failure or a full disk loses no acknowledged record.  A record is acknowledged once fdatasync has
 *   returned.  A line that was only partly written is moved aside, and a record says so.
 *
 *   The same user on the host, or whoever takes over the account, can write to the user's own files and can append
 *   false records from then on.
 *     - Records below a checkpoint cannot be changed without `verify` reporting it: each checkpoint is signed, and its
 *       key is destroyed after use.
 *     - Records after the last checkpoint can be rewritten: at most AUDIT_CHECKPOINT records or AUDIT_CHECKPOINT_S
 *       seconds.
 *     - The log can be truncated to an older checkpoint only by losing the key, because the older key no longer exists.
 *       `verify` on this machine reports that.
 *     - On another machine, or if the whole log was replaced, only a head or first key that was saved elsewhere shows
 *       it (`berth audit head`, `verify --head --key`).
 *     - Keys are destroyed by overwriting them.  A copy-on-write file system or the spare blocks of a flash device may
 *       keep an old copy, out of the user's reach.
 *
 *   root can do everything.
 *
 * FILES
 *
 *   NNNNNNNNNNNNNNNNNNNN.jsonl  a segment, named by the sequence number of its first record
 *   head                        where the acknowledged end is; carries the lock of all writers
 *   key                         the private key in force (0600), see keys.h
 *   torn-SEQ                    what a crash left of a line, set aside
 *   NNNN.idx                    index of a closed segment; a cache, may be deleted (index.h)
 *
 * CANONICAL FORM
 *
 *   One record is one line of JSON with exactly these members in exactly this order, without blanks; those in [ ] only
 *   when not empty or zero:
 *
 *   {"seq":N[,"intent":N],"act":"NAME","phase":"intent|outcome|event","wall_ms":N,"mono_us":N,
 *    "host":S,"boot":S,"pid":N,"program":S,"uid":N,"user":S[,"agent":S][,"session":S]
 *    [,"target_type":S][,"engine":S][,"id":S][,"name":S][,"items":N][,"manifest":HEX]
 *    [,"outcome":"ok|failed|refused|cancelled|timeout"][,"duration_us":N][,"error":S]
 *    [,"params":{"KEY":S,...}],"prev":HEX,"hash":HEX}
 *
 *   Numbers are decimal integers without leading zeros below 2^63.  HEX is 64 lower-case digits.
 *   Strings escape `"` and `\` with a backslash and, as \uXXXX in lower case, every control (U+0000
 *   to U+001F, U+007F to U+009F) and every invisible character that changes how a line is shown (bidi marks, line
 *   separators, BOM), so that `cat` of a log is safe.  A byte that is not part of valid UTF-8 is written as U+10FE00 plus
 *   its value, and so is each byte of a genuine U+10FExx: nothing is lost.
 *
 *   prev  the hash of the record before (64 zeros in the first)
 *   hash  SHA-256 over the 32 bytes of prev, followed by the line up to and without `,"prev"`
 *
 *   To check a line by hand: (printf PREV | xxd -r -p; printf %s "${line%,\"prev\"*}") | sha256sum
 *
 *   A checkpoint is a record "log.checkpoint" whose params are checkpoint (its number), key (the
 *   public key that signs), next (the one that signs the next) and, last, sig: Ed25519 over the 32
 *   bytes of prev and the line up to and without `,"sig"`.  The first key is in "log.start".
 *   After retention, "log.pruned" names the last removed record (to_seq, to_hash), the key in force
 *   there and, where it is known, the first key of all (first); a checkpoint follows it before
 *   anything is removed.  Whoever forges a whole log can forge `first`, too, so it counts only together with a head that
 *   was saved since.
 *
 * THREADS
 *
 *   audit_open starts one writer thread (all signals blocked).  audit_submit, audit_write and audit_put may be called
 *   from any thread; audit_submit never waits for a disk, and audit_put writes the record itself while the writer is
 *   idle, so not by a thread that is another user to the file system (setfsuid).  Completions run on the writer thread and
 *   may only wake: put a message into a mailbox, call uv_async_send.
 *   audit_close is called by the thread that opened the log, after the last submit;
 *   it waits for everything submitted.
 *
 *   Several processes write to one log: each commit takes the lock of the head file, reads the head again, appends,
 *   syncs, writes the head and releases the lock.  Records of commands and reads are only appended; they follow the
 *   part that the head covers, and the next commit includes them (chain.h).
 */
#ifndef BERTH_BACKEND_AUDIT_H
#define BERTH_BACKEND_AUDIT_H

#include <berth/audit.h>
#include <berth/record.h>
#include <berth/settings.h>

#include "base/mailbox.h"

struct audit_sys;

#define AUDIT_SEGMENT ((uint64_t)32 << 20) /* bytes after which a segment is closed */
#define AUDIT_RESERVE ((uint64_t)1 << 20)  /* bytes kept allocated for cleaning up a full disk */
#define AUDIT_CHECKPOINT 1024              /* records */
#define AUDIT_CHECKPOINT_S 60
#define AUDIT_LINGER_MS 100 /* what a command's record may wait for its signature */
#define AUDIT_LINGER 64     /* records: with so many unsigned nobody waits */
#define AUDIT_SEGMENT_LEAST ((uint64_t)SETTINGS_LOG_LEAST) /* of a log with a bound of its size */
#define AUDIT_COMMIT_MS 25 /* how long a GROUPED record waits for company; limit 50 */
#define AUDIT_QUEUE_MAX ((size_t)64 << 20) /* bytes waiting; beyond that submitting fails */

/* For whom a process works that a server of that agent started (mcp.h): so what it does is recorded as that agent's,
 * whatever command it is. */
#define AUDIT_FOR_AGENT "BERTH_FOR_AGENT"

struct audit_options {
	const char *dir;     /* NULL: $XDG_STATE_HOME/berth/audit */
	const char *program; /* "console", "exec" ... */
	/* For records that name none; NULL: none, but an agent that AUDIT_FOR_AGENT in the environment names. */
	const char *agent, *session;
	/* 0: the values above */
	uint64_t segment_bytes, reserve_bytes;
	unsigned checkpoint_records, commit_ms;
	/* How long audit_close waits for others that close, so that only the last of them signs; 0: not. */
	unsigned linger_ms;
	/* Retention, looked at when a segment is closed; 0: keep everything.  Segments are at most a quarter of
	 * keep_bytes. */
	uint64_t keep_bytes;
	int64_t keep_ms;
	/* No writer thread: who submits waits for the disk himself.  audit_close syncs and signs nothing: the
	 * process is about to become another one, or leaves that to a child (record.h). */
	bool direct;
	bool brief; /* for one or two records: what earlier processes left to tidy up stays where it is */
	const struct audit_sys *sys; /* system calls, for tests; NULL: the real ones */
};

struct audit;

/* Opens the log, making it on first use.  ERR_SYS when the place cannot be written to. */
struct audit *audit_open(const struct audit_options *o, struct err *e);
/* Returns at once: the writer thread opens the log, and where it cannot, what was submitted fails. */
struct audit *audit_start(const struct audit_options *o);
/* Signs a last checkpoint, or leaves that to who closes after it (linger_ms).  NULL is fine. */
void audit_close(struct audit *a);

/* What a direct log leaves to a child of its process: waits for company, then sees to it that record `seq` is
 * durable and that somebody signs.  Blocks; nobody is told. */
void audit_settle(const struct audit_options *o, uint64_t seq);

/* err NULL: on disk, seq is the record's number.  Writer thread: may only wake. */
typedef void (*audit_done_fn)(void *ctx, uint64_t seq, const struct err *err);

/*
 * Hand over one record; it is copied.  `after`: ticket of the intent that this is the outcome of
 * (when its number is not known yet), or 0.  Returns a ticket, or 0 with *e when it cannot be
 * taken: the operation must then not be done.  `done` may be NULL.  Intents of GUARDED operations are
 * committed at once and their operation waits for `done`; other intents with a `done` are written at once and
 * are answered then (seq is the number, the disk follows); everything else is committed within 50 ms.
 */
uint64_t audit_submit(struct audit *a, const struct audit_record *r, uint64_t after,
	audit_done_fn done, void *ctx, struct err *e);

/* As audit_submit, but waits until the record is on disk (for command lines). */
int audit_write(struct audit *a, const struct audit_record *r, uint64_t *ret_seq, struct err *e);
/* The same, but waits only until the record is in the file: it outlives this process, however that ends, and
 * within 50 ms a power failure.  For what is too quick to wait for a disk. */
int audit_put(struct audit *a, const struct audit_record *r, uint64_t *ret_seq, struct err *e);

/* Did the last commit fail?  For the header of the console; *ret says how. */
bool audit_trouble(struct audit *a, struct err *ret);

/* Look whether it can be written now, a full disk included; audit_trouble tells a moment later. */
void audit_probe(struct audit *a);

/*
 * The gate for who lives on a loop and must not wait; for everybody else: record_act (record.h).
 *
 * gate_begin asks policy and hands the intent to the log's thread.  `go` is called once from gate_drain: with NULL
 * when that is in the log (on disk, where the operation's class asks for it) and the act may begin, or with why it
 * must not.  gate_end is called once for each ticket, also for one that `go` was told an error of, and records
 * how the act ended.  Thread: all of it on the loop; `wake` is called from any, and must bring about gate_drain.
 */
struct gate {
	struct recorder by;       /* endpoint and engine may change from act to act */
	struct audit_options log; /* opened with the first record */
	struct mailbox answers;
	size_t waiting; /* intents that are not in the log yet; their ctx must live */
};
struct gate_ticket;
typedef void gate_fn(void *ctx, const struct err *err);

void gate_init(struct gate *g, const struct audit_options *log, const struct policy *policy,
	void (*wake)(void *ctx), void *ctx);
/* NULL: policy refuses (which is recorded), or it cannot be recorded.  The record is copied. */
struct gate_ticket *gate_begin(struct gate *g, const struct audit_record *r,
	const struct record_target *t, gate_fn *go, void *ctx, struct err *e);
/* The same for what policy has no say in. */
struct gate_ticket *gate_intent(
	struct gate *g, const struct audit_record *r, gate_fn *go, void *ctx, struct err *e);
void gate_end(struct gate_ticket *p, const struct err *err); /* NULL is fine, for both */
/* What was done already, and harmed nothing: reads. */
void gate_note(struct gate *g, const struct audit_record *r, const struct err *err);
void gate_drain(struct gate *g);
struct audit *gate_log(struct gate *g); /* started when it is not yet */
void gate_close(struct gate *g);        /* blocks: everything submitted is on disk then */
void gate_release(struct gate *g);

/*
 * A command line with its secrets masked, for a parameter: NAME=value, --name=value, --name value
 * and -p/--password forms whose name looks secret.  Appended to out, arguments quoted for a shell.
 */
struct str;
void audit_argv(struct str *out, size_t argc, const char *const *argv);

#endif
