/*
 * server.h - the state of the server: calls in progress and the output.
 *
 * Files, each of which calls only those behind it: server.c ends in order, reading.c reads lines (client_lines.c), session.c is
 * the protocol, calls.c the threads, budget.c their memory, tasks.c, listen.c and resources.c what there is beside tools, tools.c the table of tools,
 * tools_*.c and commands.c the tools, verbs.c command lines of berth; tool_call.c what they may use, arguments.c what
 * they were given, messages.c what is said, areas.c and reads.c know nobody.
 */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include <pthread.h>

#include "job/board.h"
#include "mcp/tool_call.h"

struct command_table;
struct tasks;
struct listeners;

#define RESOURCE_URI_MAX 128
#define LEAVE_MS 500
#define REST_S 2       /* without work: then a thread gives back what it holds */
#define READERS 2      /* threads; reading.c */
#define WAITS_SPARE 16 /* threads of QUEUE_WAITS for calls that are never refused (HINT_BRIEF) */

/* By what keeps a call.  Each kind has threads of its own, so that calls of one kind never wait for those of another. */
enum queue_kind {
	QUEUE_SHORT,
	QUEUE_LONG, /* the processors (HINT_LONG) */
	QUEUE_RUNS, /* another process (HINT_RUNS) */
	QUEUE_WAITS /* a person, or a command's output (HINT_WAITS) */
};
#define QUEUES 4
#define THREADS_MOST (3 * MCP_CALLS_MAX + MCP_WAITS_MAX + WAITS_SPARE + READERS)

struct server {
	const struct mcp_options *o;
	struct reach reach;
	struct board *board;
	struct callboard *shown; /* what a person sees of the calls; NULL: nothing */
	struct audit *audit;
	struct command_table *commands;
	struct files *opener; /* what the roots were opened with */
	unsigned lacks;       /* NEEDS_...: what this agent does not have */
	bool session;         /* there was an `initialize` */
	bool batches;         /* of the one revision that has them */

	pthread_mutex_t out_lock;
	bool (*left)(const struct server *s); /* the client has gone, or an end was asked for */
	_Atomic bool gone;                    /* the client does not read any more */
	_Atomic bool writing; /* a thread writes to the client, or waits until it reads */
	_Atomic bool
		leaving; /* what still runs was cancelled; nothing is waited for longer than LEAVE_MS */

	pthread_mutex_t lock; /* all below */
	pthread_cond_t less;
	struct call_queue {
		struct call *first, **last; /* that wait for a thread */
		size_t waiting, idle, workers, busy;
		size_t reserved; /* bytes, by calls that run (budget.c) */
		pthread_cond_t work;
	} queue[QUEUES];
	size_t busy, resting, nworkers, ended;
	size_t held; /* bytes of the messages that wait or are worked on */
	struct worker *worker[THREADS_MOST];
	pthread_t thread[THREADS_MOST];
	bool ending;
	struct reading {
		struct worker *reader; /* whose turn it is; NULL: nobody watches */
		_Atomic bool watched;  /* the other one has nothing else to do */
		bool sleeps;           /* it, until it is woken */
		int64_t here_ns,
			last_ns; /* since when the reader runs a call, 0: it does not; when it last did */
		bool over, whole; /* nothing more is read; by the end of what there was */
		pthread_cond_t change;
	} reading;
	bool may_run;      /* the reader's own: the call of this message */
	struct call *here; /* likewise: that call */

	pthread_t ticker; /* tells progress, and repeats cancellations */
	bool ticks;

	atomic_int asking; /* calls that wait for a person */
	struct tasks *tasks;
	struct listeners *listeners;

	struct read_files *read; /* that were read in this session, for read_before_delete */
};

/* server.c: all of mcp_serve but the messages; server_end waits for the calls. */
int server_begin(struct server *s, const struct mcp_options *o, struct err *e);
void server_end(struct server *s);

/* reading.c: until no more is to be read.  true: by the end of what there was. */
bool reading_run(struct server *s);

/* client_lines.c: the messages of a client, one a line, however its bytes arrive.  Lines of blanks are none. */
struct client_lines {
	size_t most; /* bytes of a message */
	/* A message, ended by a NUL that does not count; NULL: it was longer, and is skipped. */
	void (*take)(void *ctx, const char *text, size_t n);
	void *ctx;
	/* the reader's own: */
	struct str held; /* the beginning of a line: STR_INIT */
	bool skips;      /* it was too long: up to its end nothing counts */
};
void client_lines_split(struct client_lines *l, const char *bytes, size_t n);
void client_lines_end(
	struct client_lines *l); /* of all bytes: the last message may have no newline */
void client_lines_release(struct client_lines *l);

/* tools.c: whether it is worth listing: the agent has what it needs, and it changes nothing where nothing may change. */
bool tool_can_work(const struct server *s, const struct tool *t);

/* messages.c: what is said.  The line's bytes, with its newline.  Any thread. */
void message_line(struct server *s, const struct str *line);
/* As message_line, by a thread that holds out_lock. */
void message_write(struct server *s, const struct str *lines);
/* An answer as far as the open object `key`: "result" or "error"; and its end. */
void message_begin(struct jsonw *j, const char *id, const char *key);
void message_send(struct server *s, struct jsonw *j);
/* An answer that is no result; `id` NULL: the request's could not be read. */
void message_fail(struct server *s, const char *id, int code, const char *text);
void message_server_info(const struct server *s, struct jsonw *j, const char *key);
/* The members that every result has, into its open object. */
void message_result(const struct server *s, struct jsonw *j, bool modern);

/* session.c: one message. */
void session_message(struct server *s, const char *text, size_t n);

/* resources.c: what clients read by a URI; a call of its own runs as any other. */
const struct tool *resource_find(const struct server *s, const char *uri); /* NULL: no such one */
size_t resource_count(void);
size_t resource_index(const struct tool *t);
void resource_uri(const struct server *s, size_t i, char uri[RESOURCE_URI_MAX]);
void resource_list(const struct server *s, struct jsonw *j);
/* What tells whether it changed; a process may be started for that. */
uint64_t resource_stamp(struct server *s, size_t i);
int64_t resource_period_ns(size_t i); /* how often that is worth it */

/* listen.c: who wants to be told of changes.  `id` NULL: the session. */
struct listeners *listeners_new(struct server *s);
void listeners_end(struct listeners *l); /* says so to those that listen */
bool listen_add(
	struct listeners *l, const char *id, unsigned resources, char **tasks, size_t ntasks);
void listen_drop_resource(struct listeners *l, unsigned resource);
bool listen_known(struct listeners *l, const char *id);
void listen_cancel(struct listeners *l, const char *id);
/* That task changed; the object's members of it as JSON, in braces. */
void listen_tell_task(struct listeners *l, const char *task, const char *json);

/* tasks.c: calls that take long, for clients that know tasks.  Each takes s->lock. */
struct tasks *tasks_new(struct server *s);
void tasks_free(struct tasks *t);
/* Under s->lock, of a call that runs: it is answered by a task in `out`, and its own answer will be the task's. */
void task_begin(struct tasks *t, struct call *c, struct str *out);
void task_end(struct tasks *t, struct call *c, const char *result); /* JSON; the call has ended */
bool task_known(struct tasks *t, const char *id);
int task_put(struct tasks *t, const char *id, struct jsonw *j); /* members; -1: no such one */
bool task_cancel(struct tasks *t, const char *id);

/* calls.c */
void call_stop(struct call *c);     /* under s->lock */
void calls_watch(struct server *s); /* somebody waits for progress, or for an end */
void calls_add(struct server *s,
	struct call *c); /* takes it; waits while too many are queued, or too large ones */
bool calls_known(struct server *s, const char *id);
/* Under s->lock: a thread of its own for a new worker of that queue; NULL: there can be none. */
struct worker *calls_start_thread(
	struct server *s, struct call_queue *q, void *(*run)(void *worker));
void calls_run_here(struct worker *w, struct call *c); /* that calls_add has left to the reader */
/* Nothing came for a while; it has come. */
void calls_rest(struct worker *w, bool rests);
void calls_rest_locked(struct worker *w, bool rests); /* under s->lock */
void calls_cancel(struct server *s, const char *id);  /* NULL: all */
/* Nothing runs or waits; looks for a tenth of a second.  *ended: how many calls have. */
bool calls_idle(struct server *s, size_t *ended);
void calls_end(struct server *s); /* joins the threads */

/* budget.c: memory.  Each call: enter before it runs, answer before its answer is made, leave. */
size_t budget_total(const struct server *s);
size_t budget_transform(
	const struct server *s); /* what one transform may hold until it has written */
/* Under the lock: until memory or a place is given back, or ETIMEDOUT after a tenth of a second. */
int budget_wait(struct server *s);
int budget_enter(struct call *c, struct err *e);
int budget_names(struct call *c, size_t bytes, struct err *e); /* more, of a tree that is walked */
int budget_answer(struct call *c, struct err *e);
void budget_leave(struct call *c);

/* tool_call.c */
void call_release(struct call *c);

/* shown.c: the beginnings of what was asked and answered, behind what `out` holds. */
void call_show_arguments(struct call *c, struct str *out);
void call_show_result(struct str *out, const char *text, size_t n);

/* commands.c */
struct command_table *commands_new(struct server *s);
void commands_end(struct command_table *t); /* ends those that run */

/* reads.c */
struct read_files *reads_new(void);
void reads_free(struct read_files *r);
void reads_note(struct read_files *r, const char *path);
bool reads_has(struct read_files *r, const char *path);

#endif
