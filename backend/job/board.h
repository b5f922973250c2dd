/*
 * board.h - the job board of this process, and a reader of everybody's.
 *
 * A board is one file <runtime dir>/jobs/<pid>-<start>.board, mmap'ed, a fixed header and fixed
 * slots.  Its owner holds an OFD write lock on it for life, so a lockable board belongs to a dead
 * process; the first reader who finds one that is old enough removes it.  Readers use pread and the
 * slot's sequence counter and trust nothing: wrong size, magic, version or torn slots are skipped.
 * Cancel is a word in the slot that any process of the same user may set.
 *
 * Runtime dir: $XDG_RUNTIME_DIR/berth, else /run/user/UID/berth, else a 0700 directory of ours
 * under the temporary directory; owner and mode are checked, a symlink is refused (runtime.h in
 * base).
 *
 * Thread: any.  A job is ended once, when nobody uses it any more; board_close after the last job of
 * other threads.
 */
#ifndef BERTH_BOARD_H
#define BERTH_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/calls.h>
#include <berth/err.h>
#include <berth/job.h>

#define BOARD_SLOTS \
	256 /* jobs of one process at once, ended ones that are still shown included \
	     */

struct board;
struct job; /* one slot */

/* `program`: "console", "files copy" ...  NULL and *e when the runtime directory is unusable. */
struct board *board_open(const char *program, struct err *e);
/* Running jobs end as cancelled.  The ended ones stay to be seen, in a file that readers remove, but for
 * what was done within 0.2 s, unless a process of berth had it done. */
void board_close(struct board *b);

/* A new job; the oldest ended one makes room.  Never NULL: with a full or missing board (b NULL)
 * the job still counts and can be cancelled, it is just not shown to others. */
struct job *job_new(
	struct board *b, const char *name, const char *owner, const char *unit, bool cancellable);
void job_current(struct job *j, const char *item);
void job_total(struct job *j, uint64_t items, uint64_t bytes); /* may be called again */
/* So much at least: somebody still counts, and says job_total, or the last word of this, in the end. */
void job_total_least(struct job *j, uint64_t items, uint64_t bytes);
void job_add(struct job *j, uint64_t items, uint64_t bytes, uint64_t failed);
/* An item failed, and why: counted, and the first sentences are kept. */
void job_fail(struct job *j, const char *sentence);
/* From now on it goes through: stopping it would leave it half done.  Who asks is refused. */
void job_commit(struct job *j);
bool job_cancelled(const struct job *j); /* cheap: one relaxed load */
/* state: JOB_DONE, JOB_FAILED or JOB_CANCELLED; `result` a sentence.  j is gone afterwards. */
void job_end(struct job *j, enum job_state state, const char *result);
struct job_id job_id(const struct job *j);

/*
 * What needs a person's word is a job, too: `name` says what is to be done, `owner` who asks, `about` on what.  Consoles
 * of this user show it until somebody says yes (jobs_allow) or no (cancel), or the asker ends it (job_end) or dies.
 * NULL: without a board, or a place on it, nobody could be asked.
 */
struct job *job_ask(struct board *b, const char *name, const char *owner, const char *about);
bool job_allowed(const struct job *j); /* cheap; job_cancelled: refused */
/* Waits for the answer at most `ms`, and until `cancel_fd` becomes readable (-1: never), then ends the job.  0: yes.
 * ERR_REFUSED: no, or nobody sits before a console; ERR_TIMEOUT; ERR_CANCELLED. */
int job_ask_wait(struct job *j, int64_t ms, int cancel_fd, struct err *e);

/* Read every board in the runtime directory: at most `max` jobs, running ones first, then newest.
 * One that ended is among them for ten minutes, whether its process lives or not.
 * Returns how many were filled in.  Rates are over the last few seconds where the board tells. */
size_t jobs_read(struct board *own, struct job_info *out, size_t max);
/* Set the cancel word of any process's job; ERR_NOT_FOUND when it has ended. */
int jobs_cancel(const struct job_id *id, struct err *e);
/* A person says yes to what it asks; ERR_NOT_FOUND when it has ended, or asks nothing any more. */
int jobs_allow(const struct job_id *id, struct err *e);
/* This process shows asks to a person who may answer them, from now on or no longer. */
void board_attend(struct board *b, bool on);
bool jobs_attended(void); /* some living process does */
/* Nobody is shown that ended job any more; ERR_NOT_FOUND, ERR_CONFLICT when it runs. */
int jobs_dismiss(const struct job_id *id, struct err *e);

/* Start time of a process as /proc/PID/stat has it; 0 when it cannot be read. */
uint64_t process_started(int32_t pid);

/*
 * The calls of one server, written as they happen, and a reader of everybody's (berth/calls.h).
 *
 * One mapped file <runtime dir>/calls/<pid>-<start>.calls: a header and CALLS_KEPT slots, each under a sequence
 * counter.  Its owner holds a lock on it for life, as on a board; readers trust nothing of it.  A dead server's file
 * is read for ten minutes more, then removed.  Thread: any.
 */
struct callboard;

struct callboard *callboard_open(const char *agent, struct err *e);
void callboard_close(struct callboard *b); /* NULL is fine; what runs is lost */

/* Returns what callboard_end wants.  b may be NULL: nobody is shown anything. */
uint64_t callboard_begin(
	struct callboard *b, const char *tool, const char *arguments, size_t n, uint64_t in_bytes);
void callboard_end(struct callboard *b, uint64_t serial, enum call_state state, const char *result,
	size_t n, uint64_t out_bytes);

/* Those of `agent` (NULL: of all), newest first, at most `max`; how many. */
size_t calls_read(const char *agent, struct call_info *ret, size_t max, struct call_totals *totals);

/* One for each agent with a server that runs, at most `max`; how many.  A page is read for each server. */
struct calls_of {
	char agent[CALL_NAME_MAX];
	struct calls_now now;
};
size_t calls_read_now(struct calls_of *ret, size_t max);

#endif
