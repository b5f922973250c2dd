/*
 * files.h - what the suites of the file engine share: scratch trees, a cold cache, other programs.
 */
#ifndef BENCH_FILES_H
#define BENCH_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/err.h>
#include <berth/files.h>
#include <berth/str.h>

struct scratch {
	char path[PATH_MAX]; /* stays until the process ends: see scratch_init */
};

int scratch_init(struct scratch *s, struct err *e);
void scratch_release(struct scratch *s);
/* A file below it, parents made; content is pseudo-random text from `seed`. */
int scratch_file(
	const struct scratch *s, const char *name, size_t size, uint64_t seed, struct err *e);

/* A tree of n small files (about 1 KiB) in n / 80 directories on three levels and four files of 8 MiB,
 * some of them with the words that the searches look for.  Made once a process, removed at its end.
 */
const char *shared_tree(size_t n, struct err *e);

/* sync, then drop page cache, dentries and inodes: guest-cold.  The host below may still cache.
 * ERR_NOT_FOUND where that is not permitted: the case is then "not run". */
int drop_caches(struct err *e);

/* Run a program, its stdout discarded or collected into *out (may be NULL); its exit code. */
int run_program(const char *const argv[], struct str *out, struct err *e);
bool have_program(const char *name);
const char *berth_program(void); /* the berth beside this program; NULL: not built */

struct files *bench_files(unsigned cpu_width, unsigned avoid);

#endif
