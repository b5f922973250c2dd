/* mcp.h - an MCP server on pipes, spoken to as a client does: berth's, or the reference file server from npm. */
#ifndef BENCH_PEERS_MCP_H
#define BENCH_PEERS_MCP_H

#include <stdint.h>
#include <sys/types.h>

#include <berth/err.h>
#include <berth/str.h>

struct mcp_peer {
	pid_t pid;
	int in, out; /* what it reads, what it answers; -1: closed */
	unsigned last;
	struct str read; /* what came behind the last line that was taken */
};

/* Started, and answered by: a session of the revision that both know. -1 and *e; mcp_peer_end even then. */
int mcp_peer_start(struct mcp_peer *p, const char *const argv[], struct err *e);
void mcp_peer_end(struct mcp_peer *p);

/* Ask for a tool with its arguments, a JSON object; the id of the request, 0: *e. */
unsigned mcp_peer_ask(struct mcp_peer *p, const char *tool, const char *arguments, struct err *e);
/* The next message that it sends, whichever, without its newline. */
int mcp_peer_line(struct mcp_peer *p, struct str *line, struct err *e);
/* Both; nothing else may be under way. *answer: the line; an error of the server or the tool is *e. */
int mcp_peer_call(struct mcp_peer *p, const char *tool, const char *arguments, struct str *answer,
	struct err *e);

/* The value of the first member of that name, wherever it stands in a message; NULL: there is none. */
const char *mcp_peer_member(const char *line, const char *name);

/* The JavaScript of @modelcontextprotocol/server-filesystem, installed by npm below `dir` if it is not yet.
 * NULL and ERR_NOT_FOUND: there is no node, or npm cannot fetch it. */
const char *mcp_reference_server(const char *dir, struct err *e);

#endif
