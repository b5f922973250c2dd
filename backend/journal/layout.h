/*
 * layout.h - an agent's journal as it lies in its file, <runtime dir>/journal/CONTAINER.
 *
 *   struct journal_file, then its masks, up to data_at;
 *   `slots` times: struct journal_slot, then `cap` bytes, the ring of what the command printed.
 *
 * A command takes the next number from `next` (atomically, through a shared mapping) and the slot
 * number % slots, if it gets the OFD write lock on the slot's first byte; a slot whose lock is held is
 * passed over.  So the lock says "a living process writes this", and the kernel lets it go with the
 * process.  Slots are written by pwrite, so a full disk is an error and no signal, and carry a checksum,
 * so that a reader who came in between notices and reads again.
 *
 * The ring holds frames: a word (length, and the stream in the two upper bits), then the bytes.  A frame of
 * stream FRAME_TIME holds no output but a word: what follows came so many milliseconds after the command's start.
 * Positions count up for ever; a byte stands at position % cap.
 *
 * Masks: for each secret its length and its value's fingerprint, a polynomial of the bytes at a random
 * point modulo 2^61 - 1.  A value cannot be read back from that, but it can be found in a text.
 *
 * Readers trust nothing here: every number is checked against the file's size.
 */
#ifndef JOURNAL_LAYOUT_H
#define JOURNAL_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/err.h>

#define JOURNAL_MAGIC 0x314e524a48545242 /* "BRTHJRN1" */
#define JOURNAL_SLOT_HEAD 2048
#define JOURNAL_MASKS_MAX 1024
#define JOURNAL_PATH_MAX 256
#define JOURNAL_PAGE 4096
#define FRAME_HEAD 4
#define FRAME_TIME 3
#define FRAME_LEN(word) ((word)&0x3fffffff)
#define FRAME_STREAM(word) ((int)((word) >> 30))

struct journal_mask {
	uint64_t fingerprint;
	uint32_t len, pad;
};

struct journal_file {
	uint64_t magic;
	uint32_t slots, cap; /* cap: bytes of each ring */
	uint32_t data_at, nmasks;
	uint64_t base; /* the random point */
	_Atomic uint64_t next;
	uint64_t pad[3];
	struct journal_mask mask[];
};

enum slot_state { SLOT_EMPTY, SLOT_RUNNING, SLOT_ENDED };

struct journal_slot {
	uint64_t check; /* over everything after it, up to argv_len bytes of argv */
	uint64_t seq;
	uint32_t state, ended, path, terminal;
	int32_t exit_code, pid;
	uint32_t uid, argv_len;
	int64_t wall_ms, mono_ns, duration_ns;
	uint64_t out_bytes, error_bytes;
	uint64_t first, last; /* positions of the oldest frame kept and behind the newest */
	char program[24], note[96];
	char argv[1600];
};
_Static_assert(
	sizeof(struct journal_slot) <= JOURNAL_SLOT_HEAD, "a slot's head is larger than its place");

uint64_t journal_check(const struct journal_slot *s);
static inline int64_t journal_slot_at(const struct journal_file *f, uint32_t slot)
{
	return (int64_t)f->data_at + (int64_t)slot * (JOURNAL_SLOT_HEAD + (int64_t)f->cap);
}
/* Open the journal of a container and check its head; -1: there is none that can be used. */
int journal_open(const char *name, int flags, struct journal_file *ret);
int journal_place(const char *name, char path[JOURNAL_PATH_MAX], struct err *e);

uint64_t mask_fingerprint(uint64_t base, const char *bytes, size_t n);
/* Overwrite what has the fingerprint of a secret with '*'; returns how many places. */
size_t mask_text(const struct journal_file *f, char *text, size_t n);

#endif
