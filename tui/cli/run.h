/*
 * run.h - what commands share that look at the engine once and print.
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <berth/backend.h>
#include <berth/err.h>
#include <berth/settings.h>
#include <berth/str.h>

#include "cli/commands.h"

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
