/*
 * freeze.h - the containers that have a directory mounted, standing still while it is read or written.
 *
 * Found are containers of berth's, by the records of what was mounted in them, whose init lives; what else may
 * write there is not known (freeze_writer looks at open files).  Frozen is by the kernel's freezer where this user
 * may, which does not need the engine; else by whoever `pause` is.  A child of this process thaws them when
 * it dies in the middle; where both die the note of it stays (lane_hold), and freeze_thaw ends it.
 *
 * Thread: one, of a process that has no other yet when freeze_begin is called.
 */
#ifndef BERTH_FREEZE_H
#define BERTH_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

#define FREEZE_MAX 32

struct freeze_box {
	char id[65], name[64];
	pid_t init;
	bool frozen; /* by us, now */
	bool stood;  /* by us, at the last beginning */
	bool paused; /* by way of `pause` */
	int turn;    /* a lock: others that freeze it wait */
};

/* Has the engine pause a container or let it go on; -1: *e. */
typedef int freeze_pause_fn(void *ctx, const struct freeze_box *b, bool pause, struct err *e);

struct freeze {
	size_t n;
	struct freeze_box box[FREEZE_MAX];
	freeze_pause_fn *pause; /* NULL: only the kernel's freezer */
	void *ctx;
	int64_t since_ns;  /* monotonic: all stood still */
	int64_t lasted_ns; /* how long, once they go on */
	int guard;         /* of freeze_begin */
};

/* Fills in n and box: what runs and has `root`, a part of it, or what it is in, mounted to be written. */
int freeze_find(struct freeze *f, int root, struct err *e);

/* How many processes run in them besides their inits; *ret names the first. */
size_t freeze_busy(const struct freeze *f, const struct freeze_box **ret);
/* Ends those.  ERR_FAILED: some live on. */
int freeze_end_busy(const struct freeze *f, int limit_ms, struct err *e);
/* ERR_CONFLICT names a process outside of them that has a file below `root` open for writing. */
int freeze_writer(const struct freeze *f, int root, struct err *e);

/* They stand still when this returns 0, else they run as before.  Those that stood still already are left alone.
 * `why`: shown to whoever finds one of them frozen ("a checkpoint is made of its workspace"). */
int freeze_begin(struct freeze *f, const char *why, struct err *e);
/* They go on; also after a failed beginning. */
int freeze_end(struct freeze *f, struct err *e);

/* They stand still for longer, also when this process ends, until freeze_thaw or freeze_left. */
int freeze_hold(struct freeze *f, const char *why, struct err *e);
/* They run on, and nothing new of berth's begins in them, until freeze_thaw or the end of this process. */
int freeze_refuse(const struct freeze *f, const char *why, struct err *e);
bool freeze_refuses(const struct freeze_box *b, char *why, size_t cap);
/* Why it is frozen, where berth knows; false: it is not frozen, or by another program. */
bool freeze_why(const struct freeze_box *b, char *why, size_t cap);
/* Whatever process `by` holds in that way goes on; of f only who may pause is looked at. */
void freeze_left(struct freeze *f, pid_t by);

/* Lets go of what was left frozen or refused, by whom of berth's it was; how many, or -1. */
int freeze_thaw(struct freeze *f, struct err *e);

#endif
