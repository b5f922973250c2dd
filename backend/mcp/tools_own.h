/* tools_own.h - what an agent is told of itself: the tools of tools_own.c, and what resources are made of. */
#ifndef MCP_TOOLS_OWN_H
#define MCP_TOOLS_OWN_H

#include "mcp/server.h"

tool_fn tool_own_limits, tool_network_log, tool_request_egress, tool_fork, tool_expose_port;

/* Of a call that only looks whether something changed they write what tells that. */
tool_fn own_journal, own_limits, own_connections, own_workspace;

#endif
