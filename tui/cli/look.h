/* look.h - shared by the commands about containers that are named: details, logs, operations, limits. */
#ifndef CLI_LOOK_H
#define CLI_LOOK_H

#include <berth/arena.h>

#include "cli/form.h"
#include "cli/run.h"

struct look {
	const struct cli *c;
	struct policy policy;
	struct arena mem;
	struct backend *b;
	const struct snapshot *s;
	const struct container **chosen; /* those that are named */
	struct cli_early early;          /* what the engine reported before they were known */
	struct form form;                /* of --format, for events */
};

int cli_look(const struct cli *c, const struct settings *s,
	int (*verb)(struct look *l, struct err *e), struct err *e);

#endif
