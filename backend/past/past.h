/*
 * past.h - writes the usage and events of containers to the history file (berth/past.h reads it).
 *
 * One process writes at a time: who holds the lock of the file.  Others wait for it, and take over within seconds.  What
 * is added goes to a thread that writes it, so that a slow disk is nobody's concern: when it is too slow, what there is
 * no room for is a gap.  A full disk ends the writing for a while; nothing else.  A file that is damaged, or not one of
 * ours, is renamed to history.ring.damaged-TIME; one of a newer berth is left alone, and nothing is written.
 *
 * On disk (this machine's byte order): a header of a page, PAST_ROWS entries, PAST_EVENTS events, then for each row the
 * records of three levels.  Record and event stand where their number modulo the length of the ring says, and carry that
 * number: what is old, torn or never written is known by it.  There is no other state, so any moment is a good one to be
 * killed at.
 *
 * Thread: one owner, and the thread of its own.  Nothing here waits but past_stop, half a second at most.
 */
#ifndef PAST_PAST_H
#define PAST_PAST_H

#include <berth/past.h>
#include <berth/snapshot.h>

struct past_writer;

/* `path` NULL: the usual place. */
struct past_writer *past_start(const char *path);
/* Without a thread, for a process that forks; it waits for the disk, and writes only while no past_start lives in any
 * process, which past_writes looks at each time. */
struct past_writer *past_start_yielding(const char *path);
void past_stop(struct past_writer *p); /* what is not written yet is; NULL is fine */

/* May anything be added now?  It is made so when this process has the lock. */
bool past_writes(struct past_writer *p);
/* Blocks until past_writes, or until it is clear that it will not be soon: for who has the time. */
bool past_wait(struct past_writer *p);
/* A sentence that a person should see, once; false: there is none. */
bool past_trouble(struct past_writer *p, char *buf, size_t cap);

/* The row of this container: its number, or -1: it has none, and `make` was false, the name is too long, or all are
 * taken by containers seen within the last minute.  Numbers are good until past_writes says no. */
int past_row_of(struct past_writer *p, const char *engine, const char *name, const char *agent,
	bool make, int64_t now_ms);

/* Its use at that moment.  At most one a second is kept: more make a mean. */
void past_add(struct past_writer *p, int row, int64_t now_ms, const struct container_stats *s);
/* What happened to it.  What is not newer than the newest of its kind on record is on record. */
void past_tell(struct past_writer *p, int row, int64_t at_ms, enum past_what what, int32_t value);
/* After a round of these: what is complete goes to the thread. */
void past_round(struct past_writer *p, int64_t now_ms);

#endif
