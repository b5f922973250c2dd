/* tools_own.h - the tools about the agent itself (tools_own.c), and the contents of resources. */
#ifndef MCP_TOOLS_OWN_H
#define MCP_TOOLS_OWN_H

#include "mcp/server.h"

tool_fn tool_own_limits, tool_network_log, tool_request_egress, tool_fork, tool_expose_port;

/* Of a call that only looks whether something changed they write what tells that. */
tool_fn own_journal, own_limits, own_connections, own_workspace;

#endif
