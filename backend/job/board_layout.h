/*
 * board_layout.h - the bytes of a board file; private to this module.
 *
 * A header of one page, then BOARD_SLOTS slots of 1 KiB.  Text and state of a slot change only
 * under its sequence counter (odd while somebody writes); counters are single words that change at
 * any time.  A cancel word holds the serial of the job that is to stop, so that a request that
 * arrives late cannot hit the next job in the slot.
 */
#ifndef JOB_BOARD_LAYOUT_H
#define JOB_BOARD_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/calls.h>
#include <berth/job.h>

#include "job/board.h"

#define BOARD_MAGIC "berthjob"
#define BOARD_VERSION 1
#define BOARD_HEADER 4096
#define BOARD_FOLDER "jobs"
#define BOARD_SUFFIX ".board"

struct board_header {
	char magic[8];
	uint32_t version, slots, slot_size;
	int32_t pid;
	uint64_t started;      /* start time of the process, clock ticks since boot */
	_Atomic uint32_t used; /* slots in use are below this */
	_Atomic uint32_t
		attended; /* 1: a person sits before this process and may answer what jobs ask */
	_Atomic int64_t dead_since; /* wall ms when the owner ended, or was first found dead; 0 */
	char program[32];           /* for a person with a hex viewer */
	int32_t parent;             /* who started the process; 0: not said */
};

/* Two readings of a counter, some seconds apart, from which a reader computes the rate. */
struct mark {
	int64_t mono_ns;
	uint64_t items, bytes;
};

struct slot {
	_Atomic uint32_t seq;
	_Atomic uint32_t cancel; /* serial of the job asked to stop; 0 */
	_Atomic uint32_t serial; /* 0: the slot is free.  Changes under seq. */
	uint32_t state;          /* from here to result: under seq */
	uint32_t cancellable;
	_Atomic uint32_t
		asked; /* serial of the job that waits for a person's word; ~serial: yes; 0: none */
	int64_t started_wall_ms, ended_wall_ms, started_mono_ns, ended_mono_ns;
	struct mark marks[2]; /* older, newer */
	char name[JOB_TEXT_MAX], owner[JOB_TEXT_MAX], current[JOB_TEXT_MAX], result[JOB_TEXT_MAX];
	char unit[16];
	_Atomic int64_t next_mark_ns; /* counters: single words */
	_Atomic uint64_t items_done, items_total, bytes_done, bytes_total, failed;
	char error[JOB_ERRORS][JOB_ERROR_MAX]; /* under seq */
	_Atomic uint32_t counting;             /* 1: the totals are "at least" */
	_Atomic uint32_t dismissed;            /* serial of the ended job nobody wants to see; 0 */
};
_Static_assert(sizeof(struct slot) == 1024, "a slot is 1 KiB");
_Static_assert(sizeof(struct board_header) <= BOARD_HEADER, "the header fits its page");

#define BOARD_KEPT_MS 600000 /* an ended job is shown for so long, its process's board kept */
#define BOARDS_KEPT 256      /* of dead processes, at most */

/* A living process's file has BOARD_BYTES; one that ended leaves its slots in use alone. */
#define BOARD_BYTES (BOARD_HEADER + BOARD_SLOTS * sizeof(struct slot))

static inline bool is_board_size(int64_t size, uint32_t used)
{
	return size <= (int64_t)BOARD_BYTES &&
		size >= (int64_t)(BOARD_HEADER + used * sizeof(struct slot));
}

/* Of processes that ended: remove some of those that are no longer shown, and the older ones where there are many. */
void boards_tidy(void);

static inline size_t slot_offset(size_t index)
{
	return BOARD_HEADER + index * sizeof(struct slot);
}

/* --- a file of calls --- */

#define CALLS_MAGIC "berthcal"
#define CALLS_VERSION 2
#define CALLS_HEADER 4096
#define CALLS_SECONDS 60
#define CALLS_FOLDER "calls"
#define CALLS_SUFFIX ".calls"
#define CALLS_SHOWN_MS 600000 /* a dead server's calls are shown for so long */

/* What is asked for every second of every server: no slot has to be read for it. */
struct calls_state {
	uint64_t serial; /* of the oldest that runs; 0: none */
	int64_t started_wall_ms;
	char tool[CALL_NAME_MAX];
	int64_t second; /* of the monotonic clock, when the last one began */
	uint32_t running;
	uint32_t made[CALLS_SECONDS]; /* how many began in each of the last seconds */
};

struct calls_header {
	char magic[8];
	uint32_t version, slots, slot_size;
	int32_t pid;
	char agent[CALL_NAME_MAX];
	_Atomic int64_t dead_since; /* wall ms when the owner ended, or was first found dead; 0 */
	_Atomic uint64_t calls, failed, in_bytes, out_bytes;
	_Atomic uint64_t seq; /* odd while `now` is written */
	struct calls_state now;
};

struct call_slot {
	_Atomic uint64_t seq; /* odd while it is written */
	uint64_t serial;      /* from here on: under seq.  0: never used */
	uint32_t state, pad;
	int64_t started_wall_ms, started_mono_ns, ended_mono_ns;
	uint64_t in_bytes, out_bytes;
	char tool[CALL_NAME_MAX];
	char arguments[CALL_TEXT_MAX], result[CALL_TEXT_MAX];
	char rest[208];
};
_Static_assert(sizeof(struct call_slot) == 2048, "a slot is 2 KiB");
_Static_assert(sizeof(struct calls_header) <= CALLS_HEADER, "the header fits its page");

#define CALLS_BYTES (CALLS_HEADER + CALLS_KEPT * sizeof(struct call_slot))

#endif
