/*
 * flags.h - what looks suspicious in a workspace: a person should look at it.  None of it proves anything.
 *
 * Thread: any; it reads the whole tree, so not the one that paints.
 */
#ifndef BERTH_FLAGS_H
#define BERTH_FLAGS_H

#include <stddef.h>
#include <stdint.h>

#include "checkpoint.h"
#include "err.h"

enum flag { FLAG_EXECUTABLE, FLAG_LINK, FLAG_SECRET, FLAG_KINDS };

/*
 * New is what changed after `since_ns` by the kernel's clock (ctime), which nobody in a container can set; links count
 * whenever they were made.  Contents are searched up to 1 MiB of a file and 64 MiB of all.
 */
struct flag_sums {
	uint64_t executables; /* new files with an execute bit */
	uint64_t links;       /* symbolic links that lead out */
	uint64_t
		secrets; /* likely ones in new files, at most one per line (workspace_find_secrets) */
	uint64_t small;      /* the most new files of at most 4 KiB that one minute saw */
	int64_t small_ns;    /* Unix time of that minute */
	uint64_t unsearched; /* new files: too large, too many, or not readable */
	uint64_t unread;     /* directories that could not be read */
};
#define FLAG_FLOOD 1000 /* so many small files in a minute are one */

/* `what`: where a link leads to, what kind of secret; else "".  Both texts stay only during the call. */
typedef void flag_fn(void *ctx, enum flag flag, const char *path, unsigned line, const char *what);
/* Of the directory `dir`, which has the absolute name `place`: a link to that leads back into it.  `tell` may be NULL. */
int flags_look(int dir, const char *place, int64_t since_ns, struct flag_sums *ret, flag_fn *tell,
	void *ctx, struct err *e);

#define FLAGS_NAMED 3 /* of each kind the first are named */
struct flags {
	struct flag_sums sums;
	char since[CHECKPOINT_NAME_MAX +
		1]; /* the newest checkpoint; "": there is none, and all of it counts */
	struct flagged {
		char *path, *what; /* likely secrets in them masked, else as they are */
		unsigned line;
	} named[FLAG_KINDS][FLAGS_NAMED];
	size_t nnamed[FLAG_KINDS];
};
/* What is new since the newest of those checkpoints.  To be released also where it fails. */
int flags_find(int dir, const char *place, const struct checkpoint_info *points, size_t npoints,
	struct flags *ret, struct err *e);
void flags_release(struct flags *f);
/* A line for each kind that there is, names quoted; none: nothing was found. */
typedef void flag_line_fn(void *ctx, const char *line);
size_t flags_lines(const struct flags *f, int64_t now_ms, flag_line_fn *tell, void *ctx);

#endif
