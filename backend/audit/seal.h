/*
 * seal.h - hashing and signing: SHA-256 and Ed25519 (RFC 8032) of libcrypto, and hexadecimal.
 *
 * A failure inside libcrypto is one of memory or of the library itself and ends the program
 * (CHECK). Thread: any.
 */
#ifndef BERTH_AUDIT_SEAL_H
#define BERTH_AUDIT_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAL_HASH 32
#define SEAL_SEED 32 /* an Ed25519 private key */
#define SEAL_KEY 32  /* an Ed25519 public key */
#define SEAL_SIG 64

void seal_hash(const void *bytes, size_t n, uint8_t out[SEAL_HASH]);
/* Hash of a followed by b. */
void seal_hash2(const void *a, size_t an, const void *b, size_t bn, uint8_t out[SEAL_HASH]);

void seal_random(void *bytes, size_t n);
void seal_forget(void *bytes, size_t n); /* overwrites, and is not optimised away */
void seal_public(const uint8_t seed[SEAL_SEED], uint8_t out[SEAL_KEY]);
void seal_sign(const uint8_t seed[SEAL_SEED], const void *bytes, size_t n, uint8_t out[SEAL_SIG]);
bool seal_signed(
	const uint8_t key[SEAL_KEY], const void *bytes, size_t n, const uint8_t sig[SEAL_SIG]);

#endif
