/*
 * mcp.h - a Model Context Protocol server for one agent, on two descriptors.
 *
 * JSON-RPC 2.0, one message a line.  A client that begins with `initialize` has a session (2024-11-05 to 2025-11-25);
 * a request that names its version in _meta (2026-07-28) stands for itself; both may come in one process.
 * Requests are answered as they finish.  Short calls, long ones, those that run a command or another berth process, and
 * those that wait for a person or for output have threads of their own, so that none keeps another kind waiting.
 *
 * Limits: a message MCP_LINE_MAX bytes; jsonr.h's; mcp_options.memory.
 * Thread: mcp_serve blocks the caller's until the client has closed its end and all is answered, or nothing more was
 * for a second, or it has gone away, or `stop` becomes readable: then what still runs is ended.
 */
#ifndef BERTH_MCP_H
#define BERTH_MCP_H

#include <berth/err.h>
#include <berth/policy.h>
#include <berth/team.h>

#define MCP_LINE_MAX ((size_t)64 << 20)
#define MCP_CALLS_MAX 32     /* of each of the first three kinds that run at once; more wait */
#define MCP_WAITS_MAX 96     /* of the last kind; more are refused */
#define MCP_WAITING_MAX 8192 /* beyond it the client is not read from */

/* Groups of tools, or-ed. */
#define MCP_FILES 1u
#define MCP_COMMANDS 2u
#define MCP_TOOLS 4u
#define MCP_WORKSPACE 8u
#define MCP_ALL 15u
#define MCP_OPERATOR 32u /* without an agent: reads what the operator sees */
#define MCP_CHANGES 64u  /* and asks for changes */
#define MCP_REST 16u     /* not a choice: what tells of the groups that were left out */

struct mcp_options {
	const struct team *team;
	const struct agent_def *agent; /* NULL: MCP_OPERATOR */
	const struct policy *policy;
	const char *who; /* the agent's id, or another word for whom questions and lists name */
	unsigned groups;
	unsigned io_depth; /* as in files_options */
	int io_uring;
	uint64_t memory; /* bytes that calls and their answers may hold together */
	int in, out;
	int stop;            /* readable: end; -1: none */
	const char *version; /* of berth */
	/* How berth is called for what is a command line of its own: the program, and the global options that this one
	 * was given: "/usr/bin/berth", "--settings", ... */
	struct words verbs;
};

/* 0: the client is done.  ERR_CONFIG, ERR_REFUSED: the agent's directories cannot be served. */
int mcp_serve(const struct mcp_options *o, struct err *e);

#endif
