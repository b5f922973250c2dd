/*
 * server.h - the server: what is being answered, and the way out.
 *
 * Files, each of which calls only those behind it: server.c reads lines and ends in order, session.c is the protocol,
 * calls.c the threads, tools.c the table of tools, tools_*.c and commands.c the tools; tool_call.c what they may use,
 * arguments.c what they were given, messages.c what is said, areas.c, reads.c and strict_json.c know nobody.
 */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include <pthread.h>

#include "mcp/tool_call.h"

struct command_table;

struct server {
	const struct mcp_options *o;
	struct reach reach;
	struct board *board;
	struct audit *audit;
	struct command_table *commands;
	struct files *opener; /* what the roots were opened with */
	bool session;         /* there was an `initialize` */

	pthread_mutex_t out_lock;
	bool (*left)(const struct server *s); /* the client has gone, or an end was asked for */
	_Atomic bool gone;                    /* the client does not read any more */

	pthread_mutex_t lock; /* all below */
	pthread_cond_t work, less;
	struct call *first, **last; /* that wait for a thread */
	size_t waiting, busy, idle, nworkers;
	size_t held; /* bytes of the messages that wait or are worked on */
	struct worker *worker[MCP_CALLS_MAX];
	pthread_t thread[MCP_CALLS_MAX];
	bool ending;

	pthread_t ticker; /* tells progress, and repeats cancellations */
	bool ticks;

	struct read_files *read; /* that were read in this session, for read_before_delete */
};

/* messages.c: what is said.  The line's bytes, with its newline.  Any thread. */
void message_line(struct server *s, const struct str *line);
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

/* calls.c */
void calls_watch(struct server *s); /* somebody waits for progress, or for an end */
void calls_add(struct server *s,
	struct call *c); /* takes it; waits while too many wait, or too large ones */
bool calls_known(struct server *s, const char *id);
void calls_cancel(struct server *s, const char *id); /* NULL: all */
bool calls_idle(struct server *s); /* nothing runs or waits; looks for a tenth of a second */
void calls_end(struct server *s);  /* joins the threads */

/* tool_call.c */
void call_release(struct call *c);

/* commands.c */
struct command_table *commands_new(struct server *s);
void commands_end(struct command_table *t); /* ends those that run */

/* reads.c */
struct read_files *reads_new(void);
void reads_free(struct read_files *r);
void reads_note(struct read_files *r, const char *path);
bool reads_has(struct read_files *r, const char *path);

#endif
