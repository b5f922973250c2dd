/*
 * run.h - the commands of berth-core.
 *
 * Each returns the process's exit code, or -1 with *e for core.c to say.  Options are looked up by
 * name in `c`; settings are already read, with the global options laid over them.
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <berth/err.h>
#include <berth/settings.h>

#include "cli/cli.h"

typedef int cli_run_fn(const struct cli *c, const struct settings *s, struct err *e);

cli_run_fn cli_config_check;

#endif
