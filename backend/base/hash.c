/* hash.c - FNV-1a in 64 and 32 bits. */
#include <berth/hash.h>

#include <string.h>

uint64_t hash_more(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *at = bytes;

	while (n--)
		h = (h ^ *at++) * 0x100000001b3;
	return h;
}

uint64_t hash_string(uint64_t h, const char *s)
{
	return hash_more(h, s, strlen(s) + 1);
}

uint32_t hash_short(const char *s)
{
	uint32_t h = 2166136261;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619;
	return h;
}
