/* seal.c - libcrypto's SHA-256 and Ed25519. */
/*
 * SHA-256 by the old interface: the new one looks every algorithm of the library up before the first hash,
 * four times the work of everything else that a command does to record itself.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "audit/seal.h"

#include <berth/check.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <string.h>
#include <sys/random.h>

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

/* Sixteen bytes side by side; what the machine has no instruction for the compiler puts together. */
typedef uint8_t bytes16 __attribute__((vector_size(16)));

static void print_hex16(char out[32], const uint8_t in[16])
{
	bytes16 v, hi, lo, a, b;

	memcpy(&v, in, 16);
	hi = v >> 4;
	lo = v & 15;
	hi += '0' + ((bytes16)(hi > 9) & ('a' - '0' - 10));
	lo += '0' + ((bytes16)(lo > 9) & ('a' - '0' - 10));
	a = __builtin_shufflevector(hi, lo, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
	b = __builtin_shufflevector(
		hi, lo, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
	memcpy(out, &a, 16);
	memcpy(out + 16, &b, 16);
}

/* The values of sixteen digits; where one is none, *bad gets bits. */
static bytes16 read_digits16(const char *in, bytes16 *bad)
{
	bytes16 v, decimal, letter;

	memcpy(&v, in, 16);
	decimal = (bytes16)(v - '0' < 10);
	letter = (bytes16)(v - 'a' < 6);
	*bad |= ~(decimal | letter);
	return ((v - '0') & decimal) | ((v - ('a' - 10)) & letter);
}

static void parse_hex16(uint8_t out[16], const char in[32], bytes16 *bad)
{
	bytes16 a = read_digits16(in, bad), b = read_digits16(in + 16, bad), hi, lo;

	hi = __builtin_shufflevector(
		a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
	lo = __builtin_shufflevector(
		a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
	hi = hi << 4 | lo;
	memcpy(out, &hi, 16);
}

void seal_hex(char *out, const uint8_t *bytes, size_t n)
{
	uint8_t rest[16] = {0};
	char digits[32];

	for (; n >= 16; n -= 16, bytes += 16, out += 32)
		print_hex16(out, bytes);
	if (!n)
		return;
	memcpy(rest, bytes, n);
	print_hex16(digits, rest);
	memcpy(out, digits, 2 * n);
}

bool seal_unhex(uint8_t *out, const char *digits, size_t n)
{
	uint8_t bytes[16];
	char rest[32];
	uint64_t any[2];
	bytes16 bad = {0};

	for (; n >= 16; n -= 16, digits += 32, out += 16)
		parse_hex16(out, digits, &bad);
	if (n) {
		memset(rest, '0', sizeof rest);
		memcpy(rest, digits, 2 * n);
		parse_hex16(bytes, rest, &bad);
		memcpy(out, bytes, n);
	}
	memcpy(any, &bad, sizeof any);
	return !(any[0] | any[1]);
}
