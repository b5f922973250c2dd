/*
 * hash.h - FNV-1a, for short texts and records.
 *
 * Some of these values are kept in files and names, so they stay as they are; contents of files are hashed by xxHash.
 *
 * Source: draft-eastlake-fnv.  Thread: any.
 */
#ifndef BERTH_HASH_H
#define BERTH_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* h: HASH_START, or the hash of what precedes. */
uint64_t hash_more(uint64_t h, const void *bytes, size_t n);
/* Includes the NUL, so that "a", "bc" differs from "ab", "c". */
uint64_t hash_string(uint64_t h, const char *s);
/* 32 bits, without the NUL. */
uint32_t hash_short(const char *s);

#endif
