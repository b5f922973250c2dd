/* tools_verbs.h - the tools of tools_verbs.c. */
#ifndef MCP_TOOLS_VERBS_H
#define MCP_TOOLS_VERBS_H

#include "mcp/server.h"

tool_fn tool_list_tools, tool_run_tool, tool_workspace_info, tool_checkpoint, tool_workspace_diff,
	tool_restore;

#endif
