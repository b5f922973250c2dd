/* files.h - shared by the suites of the file engine: scratch trees, a cold cache, other programs. */
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

/* A variable of the environment of what is run; NULL: none. */
void set_or_unset(const char *name, const char *value);

/* Run a program, its stdout discarded or collected into *out (may be NULL); its exit code. */
int run_program(const char *const argv[], struct str *out, struct err *e);
bool have_program(const char *name);
const char *berth_program(void); /* the berth beside this program; NULL: not built */

/* A tree that people really have, for the same work as on the made one; NULL and ERR_NOT_FOUND, with
 * what to install, where it is not there.  The kernel's is unpacked once a process. */
const char *kernel_tree(bool smoke, struct err *e);
const char *fastapi_tree(struct err *e);

/* Requests of 8 KiB that the scratch trees' disk really overlaps, by fio at this moment: the rate at
 * 64 outstanding over that at 1.  0 without fio.  Said in the notes of the case. */
struct bench_run;
double note_overlap(struct bench_run *r, size_t files);

struct files *bench_files(unsigned cpu_width, unsigned avoid);

#endif
