/*
 * bench_start.h - `berth bench run` as a process of its own, and the file it tells its progress to.
 *
 * Thread: main.  Starting is a spawn and does not wait.
 */
#ifndef BENCH_START_H
#define BENCH_START_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <berth/err.h>

#define BENCH_WORDS_MAX 64

struct bench_process {
	pid_t pid;                           /* 0: none of ours runs */
	char live[PATH_MAX], says[PATH_MAX]; /* what it tells; its standard error */
};

/* Run these suites (words of `berth bench run`); `engine` may be NULL. */
int bench_start(struct bench_process *p, const char *const *words, size_t n, const char *engine,
	struct err *e);
/* It ends as if somebody had pressed C-c in it. */
void bench_stop(struct bench_process *p);
/* Has it ended?  Then `sentence` is the last line it said on standard error, and true is returned, once. */
bool bench_ended(struct bench_process *p, int *code, char *sentence, size_t cap);

/* The newest file that any console's run left or writes; false: none. */
bool bench_newest(char *path, size_t cap);

#endif
