/* tools_commands.h - the tools of commands.c. */
#ifndef MCP_TOOLS_COMMANDS_H
#define MCP_TOOLS_COMMANDS_H

#include "mcp/server.h"

#define COMMAND_TIMEOUT_S 60 /* where neither the call nor the definition says */

tool_fn tool_execute, tool_start, tool_list_commands, tool_read_command, tool_write_command,
	tool_kill_command;

#endif
