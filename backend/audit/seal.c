/* seal.c - hashes and signs with libcrypto: SHA-256 and Ed25519. */
/*
 * SHA-256 by the old interface: the new one looks every algorithm of the library up before the first hash,
 * four times the work of everything else that a command does to record itself.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "audit/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include <berth/check.h>

void seal_hash2(const void *a, size_t an, const void *b, size_t bn, uint8_t out[SEAL_HASH])
{
	SHA256_CTX ctx;

	SHA256_Init(&ctx);
	SHA256_Update(&ctx, a, an);
	SHA256_Update(&ctx, b, bn);
	SHA256_Final(out, &ctx);
}

void seal_hash(const void *bytes, size_t n, uint8_t out[SEAL_HASH])
{
	seal_hash2(bytes, n, "", 0, out);
}

void seal_random(void *bytes, size_t n)
{
	/* The kernel's: never less than asked for up to 256 bytes. */
	CHECK(n <= 256 && getrandom(bytes, n, 0) == (ssize_t)n);
}

void seal_forget(void *bytes, size_t n)
{
	OPENSSL_cleanse(bytes, n);
}

static EVP_PKEY *private_key(const uint8_t seed[SEAL_SEED])
{
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, SEAL_SEED);

	CHECK(key);
	return key;
}

void seal_public(const uint8_t seed[SEAL_SEED], uint8_t out[SEAL_KEY])
{
	EVP_PKEY *key = private_key(seed);
	size_t n = SEAL_KEY;

	CHECK(EVP_PKEY_get_raw_public_key(key, out, &n) == 1 && n == SEAL_KEY);
	EVP_PKEY_free(key);
}

void seal_sign(const uint8_t seed[SEAL_SEED], const void *bytes, size_t n, uint8_t out[SEAL_SIG])
{
	EVP_PKEY *key = private_key(seed);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t len = SEAL_SIG;

	CHECK(ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1);
	CHECK(EVP_DigestSign(ctx, out, &len, bytes, n) == 1 && len == SEAL_SIG);
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
}

bool seal_signed(
	const uint8_t key[SEAL_KEY], const void *bytes, size_t n, const uint8_t sig[SEAL_SIG])
{
	EVP_PKEY *pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, SEAL_KEY);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool good;

	CHECK(ctx);
	good = pkey && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, pkey) == 1 &&
		EVP_DigestVerify(ctx, sig, SEAL_SIG, bytes, n) == 1;
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(pkey);
	return good;
}
