/* gate.h - the policy of a command line, and its unrecorded operations. */
#ifndef CLI_GATE_H
#define CLI_GATE_H

#include <berth/arena.h>
#include <berth/policy.h>

#include "cli/cli.h"

/* Lives in `mem`.  -1 when the settings cannot be read: then nothing may be done. */
int cli_policy(const struct cli *c, struct policy *ret, struct arena *mem, struct err *e);

/* The last word of a program: says what it has done that is not in the audit log.  `rc`, or where that cannot
 * be reported as done `lost`. */
int cli_recorded(int rc, int lost);

#endif
