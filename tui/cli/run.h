/*
 * run.h - shared code of commands that query the engine once and print.
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <stdio.h>

#include <berth/backend.h>
#include <berth/err.h>
#include <berth/settings.h>
#include <berth/str.h>

#include "cli/commands.h"

/* A backend for `program`, which may change what `policy` lets it (NULL: nothing).  `once`: no retry, the first
 * failure is final, and events of the engine are not followed. */
struct backend *cli_backend(const struct cli *c, const char *program, const struct policy *policy,
	bool once, struct err *e);
/* The hosts of the settings, and with --all-contexts docker's, all in mem. */
struct arena;
struct host_spec;
size_t cli_hosts(const struct cli *c, const struct settings *s, struct arena *mem,
	const struct host_spec **ret);
/* The same for them all at once: what fails is a state of one of them. */
struct backend *cli_backend_hosts(const struct cli *c, const struct settings *s,
	const char *program, bool once, struct err *e);
/* Those of `s` that did not answer, a line each on stderr: how many. */
size_t cli_tell_silent(const struct snapshot *s);
/* Wait for the next event that answers command `id` (0: of the engine), the caller's; NULL with *e: the engine
 * failed, or ERR_CANCELLED by a signal, which is taken from here on. */
struct event *cli_answer(struct backend *b, uint64_t id, struct err *e);
/* Wait until the containers are listed, and then (`stats`) until all have rates, but not for ever.
 * A reference of the caller's, or NULL. */
const struct snapshot *cli_wait(struct backend *b, bool stats, struct err *e);
/* What the engine reported until then, oldest first: the caller's. */
struct cli_early {
	struct event **event;
	size_t n, cap;
};
/* As cli_wait; early NULL: these events are dropped. */
const struct snapshot *cli_wait_early(
	struct backend *b, bool stats, struct cli_early *early, struct err *e);

/* From now on SIGINT and SIGTERM end cli_answer and cli_pause, and not the process. */
void cli_catch_interrupts(void);
bool cli_pause(int ms); /* false: a signal that ends came */
/* The containers that the operands name, each by its id, its name, the beginning of its id or its agent: ret has room
 * for each.  ERR_NOT_FOUND; ERR_USAGE: a word means several, which the sentence names. */
struct container;
int cli_chosen(
	const struct cli *c, const struct snapshot *s, const struct container **ret, struct err *e);
struct command;
void cli_target_all(struct command *cmd, const struct container *const *chosen, size_t n);

/* --filter: a row is meant when of each key that was given one value fits it.  Keys with the same field are one. */
enum cli_fit {
	FIT_WHOLE,
	FIT_PREFIX,
	FIT_ID,     /* the same, of hexadecimal digits */
	FIT_REGEX,  /* any part of a name, as docker's: without a slash before it, or with one */
	FIT_IMAGE,  /* a part of it */
	FIT_ACTION, /* of an event, or with a colon and what it says more */
	FIT_LABEL,  /* KEY or KEY=VALUE; a row must have all that are given */
	FIT_CODE,   /* an exit code */
};
struct cli_filter {
	const char *key; /* NULL ends a table */
	enum cli_fit how;
	const char *const *values;             /* all that there are, up to NULL; NULL: any */
	const char *(*field)(const void *row); /* of FIT_ACTION, FIT_LABEL and FIT_CODE: NULL */
	bool (*fits)(const void *row, const char *value);
};
/* ERR_USAGE also for a value that nothing can have. */
int cli_check_filters(const struct cli *c, const struct cli_filter *keys, struct err *e);
extern const struct cli_filter cli_container_filters[]; /* rows are struct container */
extern const struct cli_filter cli_event_filters[];     /* rows are struct engine_event */
bool cli_has_filter(const struct cli *c, const struct cli_filter *keys, const char *key);
bool cli_fits_filters(const struct cli *c, const struct cli_filter *keys, const void *row);

int cli_check_context(
	const char *name, struct err *e);   /* ERR_NOT_FOUND: docker has none of that name */
void cli_start_keeper(const struct cli *c); /* unless there is one */
/* An engine opened for cleaning up, by the settings' policy, while `run` is at it. */
struct clean_host;
struct clean_plan;
typedef int cli_clean_fn(
	const struct cli *c, struct clean_host *h, struct arena *mem, struct err *e);
int cli_with_clean_host(
	const struct cli *c, const struct settings *s, cli_clean_fn *run, struct err *e);
/* Print the plan, ask or be told (--yes, --plan, --dry-run), carry it out.  `hint`: what else a script may give. */
int cli_carry_out(const struct cli *c, struct clean_host *h, const struct clean_plan *p,
	const char *hint, struct err *e);

void cli_orphans(const struct cli *c); /* a word on stderr when there are any */

/* What berth does in another way than MassGen, whom it leaves out, who shares egress; as the member "notes". */
struct team;
void team_notes_print(const struct team *t, FILE *to);
void team_notes_json(const struct team *t, struct jsonw *j);
/* Each --workspace [AGENT=]DIR; `own`: whose one without a name is, or NULL. */
int cli_run_workspaces(const struct cli *c, struct team *t, const char *own, struct err *e);

/* A document into the file `to`, mode 0600, all of it or none; NULL: standard output. */
int cli_put_document(const char *to, const char *text, size_t n, struct err *e);

/* A line (without its end) that is wider is cut, and shows it; columns 0: not. */
void cli_clip(struct str *line, int columns);
int cli_columns(void); /* of the terminal on stdout; 0: it is none, clip nothing */

#endif
