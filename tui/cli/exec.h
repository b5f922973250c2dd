/* exec.h - `berth exec`, for the program it lives in (tui/exec.c). */
#ifndef CLI_EXEC_H
#define CLI_EXEC_H

#include <berth/agents.h>

#include "cli/cli.h"

/* Returns the process's exit code: the command's own, or 124 to 127 by the contract.  Where no lane
 * can be used `engine` runs it; NULL: this process becomes berth-core, with this argv. */
int cli_exec(const struct cli *c, char **argv,
	int (*engine)(const struct run_request *r, struct run_result *ret, struct err *e));

#endif
