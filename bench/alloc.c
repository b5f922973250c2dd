/*
 * alloc.c - counts the allocations of this process, for paths that must not allocate.
 *
 * malloc and its kin are defined here over glibc's own.  Not under a sanitizer, which brings its own:
 * the count then stays 0 and bench_counts_allocations says so.
 */
#include <stdatomic.h>
#include <stddef.h>

#include <berth/sanitized.h>

#include "bench.h"

static _Atomic uint64_t count;

#if !SANITIZED
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *malloc(size_t n);
void *calloc(size_t n, size_t size);
void *realloc(void *p, size_t n);

void *malloc(size_t n)
{
	atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
	return __libc_realloc(p, n);
}

bool bench_counts_allocations(void)
{
	return true;
}
#else
bool bench_counts_allocations(void)
{
	return false;
}
#endif

uint64_t bench_allocations(void)
{
	return atomic_load_explicit(&count, memory_order_relaxed);
}
