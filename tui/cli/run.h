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

/* A backend for `program`, which may change what `policy` lets it (NULL: nothing).  `once`: no retry, the first
 * failure is final, and events of the engine are not followed. */
struct backend *cli_backend(const struct cli *c, const char *program, const struct policy *policy,
	bool once, struct err *e);
/* Wait for the next event that answers command `id` (0: of the engine), the caller's; NULL with *e: the engine
 * failed, or ERR_CANCELLED by a signal, which is taken from here on. */
struct event *cli_answer(struct backend *b, uint64_t id, struct err *e);
/* Wait until the containers are listed, and then (`stats`) until all have rates, but not for ever.
 * A reference of the caller's, or NULL. */
const struct snapshot *cli_wait(struct backend *b, bool stats, struct err *e);

bool cli_pause(int ms); /* false: a signal that ends came */
/* The containers that the operands name: ret has room for each.  ERR_NOT_FOUND, ERR_USAGE. */
struct container;
int cli_chosen(
	const struct cli *c, const struct snapshot *s, const struct container **ret, struct err *e);
struct command;
void cli_target_all(struct command *cmd, const struct container *const *chosen, size_t n);
bool cli_is_ours(
	const struct container *c); /* it says so itself, which is enough to ask a person */

void cli_orphans(const struct cli *c); /* a word on stderr when there are any */

/* A line (without its end) that is wider is cut, and shows it; columns 0: not. */
void cli_clip(struct str *line, int columns);
int cli_columns(void); /* of the terminal on stdout; 0: it is none, clip nothing */

#endif
