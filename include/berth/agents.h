/*
 * agents.h - agents and tools in hardened containers: up, down, running commands.
 *
 * For command lines, workers and the agents' server: every call blocks until it is done and must not be
 * made on the backend thread.  An agents_host stands for one engine; give each thread its own.
 */
#ifndef BERTH_AGENTS_H
#define BERTH_AGENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agents_defaults.h"
#include "err.h"
#include "policy.h"
#include "record.h"
#include "snapshot.h"
#include "team.h"
#include "workspace.h"

struct agents_host;

/* Whether berth, as this user on this machine, made it: labels alone prove nothing (container/own.h).  Reads the disk. */
bool agents_made(const struct container *c);
/* Of several that say they are an agent's, the highest is meant: what only calls itself so hides nothing that berth made. */
static inline int agents_rank(bool runs, const char *role, bool made)
{
	return 1 + runs + 2 * !strcmp(role, "agent") + 4 * made;
}

struct agents_options {
	const char *host, *context; /* as in backend_options */
	const char *
		guest; /* path of berth-guest; NULL: in the directory of this program, or ../libexec/berth */
	const char *program;         /* what the audit log calls this process: "up" */
	const struct policy *policy; /* NULL: nothing is protected; copied */
	struct agents_defaults defaults;
	/* Preparing images (packages: of a definition) takes minutes.  It is a job on a board of this
	 * process where `own_board` says that it has no other; `stop` is asked ten times a second, on a
	 * thread of berth's; `say` gets each line that an installer prints, neutralised.  All may be NULL. */
	bool own_board;
	bool replace; /* an agent of the same name that is up from another file */
	bool create; /* workspaces that do not exist: the directory itself, its parent must be there */
	bool (*stop)(void *ctx);
	void *stop_ctx;
	void (*say)(void *ctx, const char *agent, const char *line);
	void *say_ctx;
};

/* Connects; the engine must be local, for workspaces are mounted by their path here. */
struct agents_host *agents_open(const struct agents_options *o, struct err *e);
void agents_close(struct agents_host *h);

/* Root's: berth's own AppArmor profile into this machine's kernel, in place of one of that name; containers
 * that it holds go on under the new one.  ERR_NOT_FOUND: there is no apparmor_parser. */
int agents_load_apparmor(struct err *e);
/* The same where root is asked for nothing: only with AppArmor, apparmor_parser and without a profile of that
 * name.  Where it fails docker's is asked for, and the call above says why. */
void agents_offer_apparmor(void);

/* One limit or property, as asked for and as it is read back from inside and from the kernel. */
struct enforced {
	const char *what;
	char asked[64], actual[64];
	bool same;
};

#define ENFORCED_MAX 24
struct agent_up {
	bool was_up;        /* it ran already, as asked */
	bool created;       /* its workspace, which was not there */
	bool replaced;      /* a stale container of berth's was removed first */
	bool offered_again; /* it ran, but had been restarted: its lane and secrets were set up again */
	char id[65];
	uint64_t created_us, started_us, ready_us; /* how long each step took */
	size_t nenforced;
	struct enforced enforced[ENFORCED_MAX];
	size_t nloosened;
	const char *loosened[8];
	char warning[512]; /* a sentence, or "" */
};

/* Create and start the agent; idempotent.  What it made is removed again when a step fails.  ERR_CONFLICT: it
 * is up from another team file, and `replace` was not asked for. */
int agents_up(struct agents_host *h, const struct team *t, const struct agent_def *a,
	struct agent_up *ret, struct err *e);

/* The same, looked at without changing anything: what the definition asks for now against what the
 * running container `id` is and what is in force.  -1 when the definition itself cannot be met. */
struct agent_checked {
	size_t n;
	struct enforced item[ENFORCED_MAX];
	size_t nloosened;
	const char *loosened[8];
};
int agents_check(struct agents_host *h, const struct team *t, const struct agent_def *a,
	const char *id, struct agent_checked *ret, struct err *e);

/* Stop and remove the agent's container; workspace and home volume stay.  ERR_NOT_FOUND: not up; ERR_CONFLICT:
 * it is up on another engine, or is not berth's. */
int agents_down(struct agents_host *h, const char *container, struct err *e);
/* The container, which is gone, holds no workspace of berth's any more. */
int agents_unbind(const char *container, const char *engine, struct err *e);

/* What the session records of this user say is up, on whichever engine, for `down`. */
struct agent_session {
	char container[64];
	char engine[128]; /* its id */
	char file[512];   /* the team file it was brought up from, links resolved */
};
size_t agents_sessions(struct agent_session *out, size_t max);
/* Whether that container runs there and is one of berth's: 1, 0, or -1 when the engine does not say. */
int agents_runs(struct agents_host *h, const char *container, struct err *e);
const char *agents_engine(const struct agents_host *h); /* the id of its engine */

/* -- commands ------------------------------------------------------------------------------------ */

enum run_path { RUN_LANE, RUN_ENGINE };
enum run_ended {
	ENDED_EXIT,
	ENDED_SIGNAL,
	ENDED_TIMEOUT,
	ENDED_OOM,
	ENDED_CANCELLED,
	ENDED_REFUSED,
	ENDED_FAILED
};
const char *run_ended_name(enum run_ended r);

struct run_result;
#define RUN_LASTS_MS 20

struct run_request {
	const char *agent;   /* agent id or container name */
	const char *program; /* what the journal calls this process: "exec"; NULL: "" */
	/* Its command rules come from here; NULL: those it was brought up with. */
	const struct agent_def *def;
	const char *const *argv;
	size_t argc;
	const char *const *env; /* NAME=value, added to the container's */
	size_t envc;
	const char *cwd; /* NULL: the container's */
	/* NULL: the container's.  Another one goes through the engine, and into a container of berth's only as
	 * the user that it has. */
	const char *user;
	int64_t timeout_ms; /* 0: none */
	bool tty;
	bool restart; /* of a terminal: only one that is listed, and has ended; else nothing is recorded */
	int columns, rows;
	/* Where the streams come from and go to; -1: nothing / dropped.  Blocking descriptors are fine. */
	int in, out, error;
	const char *
		in_note; /* what the log says of the whole input, where that is known before; NULL: nothing */
	uint64_t
		output_max; /* of each stream; the rest is read, dropped and counted; 0: no limit */
	/* Called for each piece of output instead of writing it to out or error; may be NULL. */
	void (*output)(void *ctx, int stream, const char *bytes, size_t n);
	void *ctx;
	/* Readable: end the command (its whole tree).  -1: none. */
	int cancel_fd;
	/* Window size, asked for when resize_fd becomes readable (one byte is consumed); -1: none. */
	int resize_fd;
	void (*size)(void *ctx, int *columns, int *rows);
	/* What runs it where no lane can be used: agents_run_engine, or NULL (then that is an error).
	 * The engine is chosen by host and context, as in agents_options; where one of them is given
	 * the container is looked for there, and its lane is used if that is the same container. */
	int (*fall_back)(const struct run_request *r, struct run_result *ret, struct err *e);
	const char *host, *context;
	/* Called once, when it is known where it runs (*where) and before anything of it starts; -1: it does
	 * not start.  NULL: whoever asked has recorded it already. */
	int (*begin)(void *by, const struct run_result *where, struct err *e);
	/* Called once, over the lane, when it has run for RUN_LASTS_MS; may be NULL. */
	void (*lasts)(void *by);
	void *by;
	const struct policy *policy; /* what fall_back asks, for only it sees the container; NULL */
};

struct run_result {
	enum run_ended ended;
	enum run_path path;
	int code;      /* exit code, or signal number; errno for ENDED_FAILED before it ran */
	int exit_code; /* by the contract: 128+n, 124, 125, 126, 127 */
	double duration_ms, user_ms, system_ms;
	uint64_t max_rss_bytes, out_bytes, error_bytes, dropped_bytes;
	bool left_behind; /* processes of it could not be ended, or perhaps not */
	bool whole_tree;  /* nothing that it started could have been missed */
	/* Of the container that it was meant for; MOUNTS_STRANGER also where the engine is not here. */
	enum mounts_state mounts;
	/* Where it ran: the container's full id and name, its agent, engine and session; "" when not
	 * known. */
	char id[65], name[64], agent[64], engine[128], session[64];
	struct err err; /* ENDED_FAILED, ENDED_REFUSED: the sentence */
};

/* Policy's answer and the log's entry for a command, for programs that run just one: refuses in read-only
 * mode, records who ran what where and how it ended, with secrets in the arguments masked. */
int agents_run_recorded(const struct run_request *r, const struct policy *policy,
	const char *program, struct run_result *ret, struct err *e);

/* The same with a recorder of the caller's, for programs that run many: it settles that itself. */
int agents_run_by(
	struct recorder *by, const struct run_request *r, struct run_result *ret, struct err *e);

/* The same with the policy and the log of an agents_host, for programs that also do other things. */
int agents_run_hosted(
	struct agents_host *h, const struct run_request *r, struct run_result *ret, struct err *e);

/* Before a file of the agent's workspace is written for it.  ERR_REFUSED: it holds more than it may (workspace.h), and
 * the sentence says what to do; of one that is not up nothing is known. */
int agents_check_room(const char *agent, struct err *e);

/* Run one command in a running agent.  No engine is asked when its lane works.  Always fills *ret;
 * returns 0 when the command ran, whatever came of it. */
int agents_run(const struct run_request *r, struct run_result *ret, struct err *e);

/* The same through the engine's exec, in any running container of its (name, id or agent).  What the
 * engine cannot say: user_ms, system_ms and max_rss_bytes are 0, and a command that a signal ended is
 * ENDED_EXIT with 128+n.  All that the command started is ended with it (container/tree.h says what is
 * found); where the engine is not on this machine that takes a shell in the container. */
int agents_run_engine(const struct run_request *r, struct run_result *ret, struct err *e);

/* Start a terminal of that name (terminal.h) over the lane of r->agent: r's command, directory and size.  Without a command
 * it runs what the team file says of that name, else a shell; columns 0: as that says, or the usual size.  It
 * goes on when this process ends.  ERR_REFUSED: by policy, by the command rules, or there is no lane.
 * The second for programs that record more: they settle the recorder. */
int agents_start_terminal(
	const struct run_request *r, const char *name, const struct policy *policy, struct err *e);
int agents_start_terminal_by(
	struct recorder *by, const struct run_request *r, const char *name, struct err *e);
/* Its team file says that it is started again when it fails, which the keeper does (keeper.h). */
bool agents_restarts_terminal(const char *agent, const char *name);
/* Type into that terminal of an agent (terminals_type in terminal.h): policy, record with what is typed, then that. */
struct terminal_typing;
int agents_type_terminal(const char *agent, const char *name, const struct terminal_typing *t,
	const struct policy *policy, struct err *e);
/* An act of the caller's on a terminal of that agent: policy, record, then `act` (record_act).  r: its operation and
 * parameters; what is known of the agent's container is filled in, so r->name in `act` is that container. */
int agents_act_on_terminal(const char *agent, const struct audit_record *r,
	const struct policy *policy, record_act_fn *act, void *ctx, struct err *e);

#endif
