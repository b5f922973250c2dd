/*
 * message.h - messages between the console and the backend: commands and events.
 *
 * A message owns one arena in which everything it points to lives; sending it hands it over.
 * command_new / event_new, fill in, send; the receiver calls command_free / event_free.
 *
 * Thread: one owner at a time.
 */
#ifndef BERTH_MESSAGE_H
#define BERTH_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "calls.h"
#include "err.h"
#include "job.h"
#include "view_work.h"
#include "snapshot.h"
#include "stream.h"
#include "workspace.h"

struct journal_command;
struct journal_piece;
struct overview; /* overview.h */
struct overview_one;

/* The arguments of each, in addition to its targets: the member of the union by that name. */
enum command_kind {
	CMD_ACT,          /* act on the targets */
	CMD_AGENTS,       /* agents: their containers' names are those of the targets */
	CMD_JOURNAL,      /* journal: of the container targets[0].name -> EV_JOURNAL */
	CMD_REFRESH,      /* list again now */
	CMD_FOCUS,        /* targets[0] gets snapshot.detail; no target: none */
	CMD_VISIBLE,      /* these rows are on screen: sample them first */
	CMD_RATE,         /* hz: the sampling rate */
	CMD_READ_ONLY,    /* read_only: on or off */
	CMD_INSPECT,      /* targets[0] -> EV_INSPECT */
	CMD_LOGS_OPEN,    /* logs: of the targets, merged -> EV_LOG_LINES with this command's id */
	CMD_LOGS_CLOSE,   /* ref: the id of CMD_LOGS_OPEN */
	CMD_SHELL_OPEN,   /* shell: in targets[0] -> EV_SHELL_* with this command's id */
	CMD_SHELL_INPUT,  /* ref: the id of CMD_SHELL_OPEN; input */
	CMD_SHELL_RESIZE, /* ref; size */
	CMD_SHELL_CLOSE,  /* ref */
	CMD_JOB_CANCEL,   /* jobs: of any process of this user */
	CMD_JOB_DISMISS,  /* jobs: ended ones to remove from the list */
	CMD_JOB_ALLOW,    /* jobs: a person says yes to what they ask */
	CMD_IMAGE_IMPORT, /* import: a job */
	CMD_CLEAN_PLAN, /* clean: make a plan, of all there is or of the targets -> EV_CLEAN_PLAN */
	CMD_CLEAN_RUN,  /* plan: carry it out; a job -> EV_CLEAN_ITEM ..., EV_CLEAN_END */
	CMD_CALLS,      /* of the agent targets[0].name, or without a target of all -> EV_CALLS */
	CMD_NET,        /* of the container targets[0].name -> EV_NET */
	CMD_WORKSPACES, /* workspaces: all at a glance, or one in full -> EV_WORKSPACES, EV_WORKSPACE; EV_RESULT
			   alone where nothing changed, and after a count */
	CMD_PATHS,    /* paths: what there is that begins so -> EV_PATHS */
	CMD_SAVE,     /* save: never over a file that is there -> EV_RESULT */
	CMD_WORK,     /* work: done by a worker -> EV_WORKED */
	CMD_HOLDINGS, /* holdings: what the engine holds, or the one of targets[0].id -> EV_HOLDINGS */
};

struct clean_plan; /* clean.h */
struct holdings;   /* holdings.h */
struct clean_outcome;

struct command {
	enum command_kind kind;
	uint64_t id;  /* chosen by backend_send, never 0 */
	uint64_t ref; /* the id of an earlier command that this one is about */
	size_t ntargets;
	struct target *targets;
	union {
		struct {
			enum act what;
			bool force, volumes; /* ACT_REMOVE: though it runs; anonymous volumes too */
			int timeout_s; /* ACT_STOP, ACT_RESTART: grace; -1, as made, the container's own */
			int signal; /* ACT_KILL; 0, as made: SIGKILL */
		} act;
		struct {
			enum agent_act what;
			size_t argc; /* AGENT_RUN: the command */
			const char **argv;
		} agents;
		struct {
			uint64_t
				output_of; /* seq + 1 of a command: what it printed; 0: all commands */
		} journal;
		double hz;
		bool read_only;
		struct {
			bool follow;
			bool until_ended; /* with follow: of each until its container has ended */
			bool by_time; /* without follow: lines of all in the order of their stamps */
			struct log_span span; /* of each container; as made, all of it */
		} logs;
		struct {
			size_t argc;
			const char **argv;
			const char *user; /* NULL: the container's */
			int columns, rows;
		} shell;
		struct {
			size_t n;
			const char *bytes;
		} input;
		struct {
			int columns, rows;
		} size;
		struct {
			size_t n;
			struct job_id *id;
		} jobs;
		struct {
			const char *path,
				*reference; /* of a tar file; what the image will be called */
		} import;
		struct {
			bool foreign;
			int type; /* enum clean_type of the targets, where there are any */
		} clean;
		struct {
			int kind;     /* enum holding_kind */
			bool measure; /* sizes, too */
		} holdings;
		const struct clean_plan *plan;
		struct {
			uint64_t seen; /* stamp of what is known already; 0: nothing */
			bool whole;    /* the one of `kind` that is called `name` */
			enum workspace_kind kind;
			const char *name;
			int64_t older_ns; /* first count, as a job, those counted before that Unix time; 0: no */
		} workspaces;
		struct {
			const char *path;
			size_t n;
			const char *bytes;
		} save;
		struct {
			const char *begin; /* absolute */
		} paths;
		struct view_work **work; /* taken by the worker */
	};
	struct arena mem;
};

/* A rule of an agent without a network, or a connection that it asked for. */
struct net_line {
	const char *what; /* "allow", "deny", "ask", "upstream", "port"; "allowed", "no rule" ... */
	const char *
		target; /* "pypi.org", "*.github.com", "git.example.org:22"; of a port "3000 at 127.0.0.1:8080"; "" none */
	const char *origin; /* of a rule: "file", "session" */
	int64_t at_wall_ms; /* 0: as long as the file says so */
	uint64_t up_bytes, down_bytes;
	bool good, open;
};

enum event_kind {
	EV_RESULT, /* the command `id` ended: err.kind ERR_NONE when it worked */
	EV_NOTICE, /* a sentence for the message line */
	EV_ALERT,  /* notice: what berth.yaml asks to be told of target; alert_bell, alert_notify */
	EV_ENGINE, /* something happened on the engine: `engine_event` */
	EV_INSPECT,      /* bytes: the engine's JSON for targets[0] */
	EV_JOURNAL,      /* of target.name: commands, newest first, or the pieces of one's output */
	EV_CALLS,        /* calls, newest first, call_totals */
	EV_LOG_LINES,    /* lines */
	EV_LOG_END,      /* every stream of the subscription ended; err says why */
	EV_SHELL_READY,  /* the command runs */
	EV_SHELL_OUTPUT, /* bytes, raw: the person asked for them */
	EV_SHELL_END,    /* exit_code; err when it never ran */
	EV_PATHS,        /* names: the last components, in their order, a directory's ends in '/' */
	EV_CLEAN_PLAN,   /* plan, or err */
	EV_CLEAN_ITEM,   /* how far `item` of the plan is: outcome */
	EV_WORKSPACES,   /* overview */
	EV_WORKSPACE,    /* workspace */
	EV_NET,          /* of target.name: rules, visits, newest first */
	EV_WORKED,       /* work, back to the view that sent it */
	EV_HOLDINGS,     /* holdings, or err */
	EV_CLEAN_END,    /* done, failed, freed_bytes; err: the first failure */
};

struct event {
	enum event_kind kind;
	uint64_t id; /* of the command this answers; 0 for none */
	struct err err;
	enum act act;             /* EV_RESULT of CMD_ACT */
	enum agent_act agent_act; /* EV_RESULT of CMD_AGENTS */
	size_t done, failed;      /* EV_RESULT of those: how many targets; `target`: the first */
	struct target target;
	const char *notice;
	bool alert_bell;
	int alert_notify; /* enum alert_notify */
	struct engine_event engine_event;
	size_t ncommands; /* EV_JOURNAL */
	const struct journal_command *commands;
	size_t npieces;
	const struct journal_piece *pieces;
	uint64_t missed; /* bytes before the first piece that are kept no longer */
	size_t nlines;
	struct log_line *lines;
	size_t nnames; /* EV_PATHS */
	const char **names;
	uint64_t
		dropped; /* EV_LOG_LINES: lines lost before these because they were not read in time */
	int exit_code;
	size_t nbytes;
	const char *bytes;
	const struct clean_plan *plan;
	const char *plan_name; /* EV_CLEAN_ITEM, EV_CLEAN_END: of which plan; NULL: not told */
	const struct holdings *holdings;
	size_t item;
	const struct clean_outcome *outcome;
	uint64_t freed_bytes;
	size_t ncalls;
	const struct call_info *calls;
	struct call_totals call_totals;
	size_t nrules, nvisits;
	const struct net_line *rules, *visits;
	const struct overview *overview;
	const struct overview_one *workspace;
	struct view_work **work; /* taken by the view; NULL: none */
	struct arena mem;
};

/* For logs: "shell-open", "clean-end". */
const char *command_kind_name(enum command_kind kind);
const char *event_kind_name(enum event_kind kind);

struct command *command_new(enum command_kind kind);
void command_free(struct command *c);
struct event *event_new(enum event_kind kind);
void event_free(struct event *e);

/* Make the message hold work. */
void command_work(struct command *c, struct view_work *l);
void event_work(struct event *e, struct view_work *l);

/* Append a target, strings copied into the command's arena. */
void command_target(struct command *c, const char *engine, const char *id, const char *name);

#endif
