/*
 * results.h - results of tasks, in one SQLite file (mode 0600) that no task can write.
 *
 * A result has a name in its task, and is a text or a path from the task's top.  One that is shareable may be read
 * by every task, any other only by its own; a person reads all.  A task is its name and its directory: a later one
 * of the same name does not own what an earlier one kept.
 *
 * Rollback journal, full sync: what put_result said is kept survives a power failure.  A file that is damaged is
 * refused and left as it is.
 *
 * Limits: 64 KiB a text, 256 results of a task, 10,000 of all, 64 MiB the file; a change waits 5 s for others.
 * Thread: one owner at a time; it blocks.
 * Errors: ERR_SYS, ERR_USAGE (a name, not UTF-8), ERR_NOT_FOUND, ERR_REFUSED (a limit, not ours alone),
 * ERR_CONFLICT (in use), ERR_FAILED (damaged).
 */
#ifndef BERTH_RESULTS_H
#define BERTH_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define RESULT_NAME_MAX 64
#define RESULT_TEXT_MAX 65536

struct results;

/* Makes the file where it is missing. */
struct results *results_open(const char *file, struct err *e);
void results_close(struct results *r); /* NULL is fine */

struct result {
	const char *task; /* its name */
	const char *of;   /* which one of that name: words of the caller's */
	const char *name;
	const char *text; /* or the path */
	size_t size;      /* bytes of it */
	bool is_path, shareable;
	int64_t kept_ms; /* Unix time */
};

/* In place of what the task had under that name. */
int results_put(struct results *r, const struct result *x, struct err *e);
int results_drop(struct results *r, const char *task, const char *name, struct err *e);

/* By whom results are read; NULL: a person. */
struct results_reader {
	const char *task, *of;
};
/* One result; its texts are gone when this returns.  Not 0: no more. */
typedef int results_fn(void *ctx, const struct result *x);
/* By task and name; `task` and `name` NULL: of all.  Returns how many, or -1. */
int results_each(struct results *r, const struct results_reader *by, const char *task,
	const char *name, results_fn *fn, void *ctx, struct err *e);

#endif
