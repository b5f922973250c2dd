/* tools_operator.h - the tools of tools_operator.c. */
#ifndef MCP_TOOLS_OPERATOR_H
#define MCP_TOOLS_OPERATOR_H

#include "mcp/server.h"

tool_fn tool_op_hosts, tool_op_agents, tool_op_containers, tool_op_logs, tool_op_audit,
	tool_op_benches;
tool_fn tool_op_start, tool_op_stop, tool_op_restart, tool_op_remove; /* each asks a person first */

#endif
