/* exec.h - `berth exec`, for the program it lives in (tui/exec.c). */
#ifndef CLI_EXEC_H
#define CLI_EXEC_H

#include "cli/cli.h"

/* Returns the process's exit code: the command's own, or 124 to 127 by the contract. */
int cli_exec(const struct cli *c);

#endif
