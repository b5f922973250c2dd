/* gate.h - the policy that a command line stands under. */
#ifndef CLI_GATE_H
#define CLI_GATE_H

#include <berth/arena.h>
#include <berth/policy.h>

#include "cli/cli.h"

/* Lives in `mem`.  -1 when the settings cannot be read: then nothing may be done. */
int cli_policy(const struct cli *c, struct policy *ret, struct arena *mem, struct err *e);

#endif
