/*
 * sanitized.h - which sanitizer a build has.
 *
 * ADDRESS_SANITIZED and THREAD_SANITIZED are 1 or 0; SANITIZED is either.  A sanitizer needs address space for its shadow,
 * keeps what is freed, and must see system calls.
 */
#ifndef BERTH_SANITIZED_H
#define BERTH_SANITIZED_H

#ifdef __has_feature /* clang; gcc 12 has macros instead */
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZED 1
#endif
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZED 1
#endif
#endif
#if !defined(ADDRESS_SANITIZED) && defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZED 1
#elif !defined(ADDRESS_SANITIZED)
#define ADDRESS_SANITIZED 0
#endif
#if !defined(THREAD_SANITIZED) && defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZED 1
#elif !defined(THREAD_SANITIZED)
#define THREAD_SANITIZED 0
#endif
#define SANITIZED (ADDRESS_SANITIZED || THREAD_SANITIZED)

#endif
