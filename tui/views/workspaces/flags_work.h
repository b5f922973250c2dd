/* flags_work.h - what looks suspicious in a workspace (berth/flags.h), looked for by a worker: it reads the whole tree. */
#ifndef VIEWS_FLAGS_WORK_H
#define VIEWS_FLAGS_WORK_H

#include <berth/err.h>
#include <berth/flags.h>
#include <berth/overview.h>
#include <berth/view_work.h>

struct flags_work {
	struct view_work work; /* first */
	char *path;
	struct checkpoint_info *points;
	size_t npoints;
	struct flags flags;
	struct err err; /* no kind: flags is what was found */
};

/* To be sent with CMD_WORK, or dropped. */
struct flags_work *flags_work_new(const struct overview_one *one);
void flags_work_drop(struct flags_work *f); /* NULL is fine */

#endif
