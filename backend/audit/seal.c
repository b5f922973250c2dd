/* seal.c - libcrypto's SHA-256 and Ed25519. */
#include "audit/seal.h"

#include <berth/check.h>
#include <berth/mem.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <stdlib.h>

struct seal_hasher {
	EVP_MD *md;
	EVP_MD_CTX *ctx;
};

struct seal_hasher *seal_hasher_new(void)
{
	struct seal_hasher *h = xcalloc(1, sizeof *h);

	/* Fetched once: looking the algorithm up costs more than hashing a record. */
	h->md = EVP_MD_fetch(NULL, "SHA256", NULL);
	h->ctx = EVP_MD_CTX_new();
	CHECK(h->md && h->ctx);
	CHECK(EVP_DigestInit_ex2(h->ctx, h->md, NULL) == 1);
	return h;
}

void seal_hasher_free(struct seal_hasher *h)
{
	if (!h)
		return;
	EVP_MD_CTX_free(h->ctx);
	EVP_MD_free(h->md);
	free(h);
}

void seal_hash2(struct seal_hasher *h, const void *a, size_t an, const void *b, size_t bn,
	uint8_t out[SEAL_HASH])
{
	CHECK(EVP_DigestInit_ex2(h->ctx, NULL, NULL) == 1);
	CHECK(EVP_DigestUpdate(h->ctx, a, an) == 1);
	CHECK(EVP_DigestUpdate(h->ctx, b, bn) == 1);
	CHECK(EVP_DigestFinal_ex(h->ctx, out, NULL) == 1);
}

void seal_hash(const void *bytes, size_t n, uint8_t out[SEAL_HASH])
{
	CHECK(EVP_Digest(bytes, n, out, NULL, EVP_sha256(), NULL) == 1);
}

void seal_random(void *bytes, size_t n)
{
	CHECK(n <= 1024 && RAND_priv_bytes(bytes, (int)n) == 1);
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

void seal_hex(char *out, const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
}

/* A digit's value plus one; 0 for what is no digit. */
static const uint8_t nibble[256] = {['0'] = 1,
	['1'] = 2,
	['2'] = 3,
	['3'] = 4,
	['4'] = 5,
	['5'] = 6,
	['6'] = 7,
	['7'] = 8,
	['8'] = 9,
	['9'] = 10,
	['a'] = 11,
	['b'] = 12,
	['c'] = 13,
	['d'] = 14,
	['e'] = 15,
	['f'] = 16};

bool seal_unhex(uint8_t *out, const char *digits, size_t n)
{
	bool good = true;

	for (size_t i = 0; i < n; i++) {
		uint8_t hi = nibble[(uint8_t)digits[2 * i]],
			lo = nibble[(uint8_t)digits[2 * i + 1]];

		good &= hi && lo;
		out[i] = (uint8_t)((hi - 1u) << 4 | ((lo - 1u) & 15));
	}
	return good;
}
