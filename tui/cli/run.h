/*
 * run.h - the commands of berth-core.
 *
 * Each returns the process's exit code, or -1 with *e for core.c to say.  Options are looked up by
 * name in `c`; settings are already read, with the global options laid over them.
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <berth/backend.h>
#include <berth/err.h>
#include <berth/settings.h>
#include <berth/str.h>

#include "cli/cli.h"

typedef int cli_run_fn(const struct cli *c, const struct settings *s, struct err *e);

cli_run_fn cli_console, cli_ps;
cli_run_fn cli_doctor; /* s is NULL: whether the settings can be read is one of its questions */
cli_run_fn cli_config_check; /* likewise */
/* The audit log; none of them needs settings. */
cli_run_fn cli_audit_list, cli_audit_verify, cli_audit_export, cli_audit_head;
cli_run_fn cli_up, cli_down, cli_clean;
cli_run_fn cli_tool_list, cli_tool_run;
cli_run_fn cli_engine_start, cli_engine_stop, cli_engine_status;

/* A backend that asks once, for `program`. */
struct backend *cli_backend(const struct cli *c, const char *program, struct err *e);
/* Wait until the containers are listed, and then (`stats`) until all have rates, but not for ever.
 * A reference of the caller's, or NULL. */
const struct snapshot *cli_wait(struct backend *b, bool stats, struct err *e);

void cli_orphans(const struct cli *c); /* a word on stderr when there are any */

/* A line (without its end) that is wider is cut, and shows it; columns 0: not. */
void cli_clip(struct str *line, int columns);
int cli_columns(void); /* of the terminal on stdout; 0: it is none, clip nothing */

#endif
