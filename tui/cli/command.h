/*
 * command.h - shared by `exec` and `tool run`: streams, signals, the terminal, the JSON document.
 *
 * Thread: main; one command in a process, for signal handlers have one place to write to.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <termios.h>

#include <berth/agents.h>
#include <berth/str.h>
#include <berth/jsonw.h>

#include "cli/cli.h"

struct command_io {
	struct run_request q;  /* streams, cancel, resize, callbacks and time-out are filled in */
	struct str text[3];    /* with --json: what it printed, by stream */
	const char **env;      /* of q */
	char *term;            /* TERM=..., in env */
	struct termios before; /* with a terminal */
	bool raw;
};

/* SIGINT, SIGTERM and SIGHUP end the command; standard input is passed on unless it is a terminal and
 * none was asked for.  Release in any case. */
int command_open(struct command_io *io, const struct cli *c, struct err *e);
void command_close(struct command_io *io); /* the terminal as it was; may be called twice */
/* Before this process becomes the program that does the same over the engine: a signal that ends waits from
 * here on for that one's command_open.  false: one came before, and it is over. */
bool command_hand_on(struct command_io *io);
void command_release(struct command_io *io);

/* The words behind "--". */
void command_words(const struct cli *c, struct run_request *q);

/* The fields that both documents have, into the open object. */
void command_json(struct jsonw *j, const struct command_io *io, const struct run_result *r);

/* `berth exec`: the process's exit code, the command's own or 124 to 127 by the contract.  Where no lane can be
 * used `engine` runs it. */
typedef int command_engine_fn(const struct run_request *r, struct run_result *ret, struct err *e);
int command_exec(const struct cli *c, command_engine_fn *engine);

/* What a signal ended before the command ran (while ssh connects, say): 128 and the signal. */
void command_cancelled(struct run_result *r);
/* On stderr, what the exit code alone does not say. */
void command_tell(const struct run_result *r);

#endif
