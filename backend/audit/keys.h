/*
 * keys.h - the signing key, which only moves forward.
 *
 * The file `key` is one block of two slots, each a private key (seed) and a check sum.  Between
 * checkpoints one slot is filled.  A checkpoint goes: the next key into the empty slot, synced; the
 * checkpoint record naming it, synced; the old slot overwritten with zeros, synced.  A process that
 * dies in between leaves both; the log's last checkpoint then says which one is in force.
 *
 * Thread and process: only while holding the log's lock.
 */
#ifndef BERTH_AUDIT_KEYS_H
#define BERTH_AUDIT_KEYS_H

#include <stdbool.h>

#include <berth/err.h>

#include "audit/seal.h"
#include "audit/sys.h"

/* Make the file with a first key, or take the one an interrupted first start left. */
int keys_create(const struct audit_sys *sys, int dir, uint8_t ret_public[SEAL_KEY], struct err *e);

/* Open for use; ERR_NOT_FOUND without the file. */
int keys_open(const struct audit_sys *sys, int dir, struct err *e);

struct keys_step {
	int fd, slot;            /* the slot of the key in force */
	uint8_t seed[SEAL_SEED]; /* that key */
	uint8_t next_public[SEAL_KEY];
};
/* Find the key whose public half is `in_force`, put a next one beside it.  ERR_NOT_FOUND when the
 * file does not hold it.  End with keys_forget or keys_keep. */
int keys_advance(const struct audit_sys *sys, int fd, const uint8_t in_force[SEAL_KEY],
	struct keys_step *step, struct err *e);
int keys_forget(const struct audit_sys *sys, struct keys_step *step, struct err *e);
void keys_keep(struct keys_step *step); /* the checkpoint did not happen */

/* Throw away what is in the file and make a new key: only after the one in force was lost. */
int keys_replace(const struct audit_sys *sys, int dir, uint8_t ret_public[SEAL_KEY], struct err *e);

/* Destroy a second key that an interrupted checkpoint left. */
int keys_tidy(const struct audit_sys *sys, int fd, const uint8_t in_force[SEAL_KEY], struct err *e);

/* Be one of those who wait to sign, or (last) the one that signs; false: somebody signs, or others wait.
 * Without the log's lock. */
bool keys_wait(int fd, bool last);
void keys_wait_end(int fd);

/* The public halves of what the file holds, and how many.  They change with the log, under its lock. */
#define KEYS_SLOTS 2
size_t keys_held(int dir, uint8_t ret[KEYS_SLOTS][SEAL_KEY]);

#endif
