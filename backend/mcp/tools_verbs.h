/* tools_verbs.h - the tools of tools_verbs.c. */
#ifndef MCP_TOOLS_VERBS_H
#define MCP_TOOLS_VERBS_H

#include "mcp/server.h"

tool_fn tool_list_tools, tool_run_tool, tool_workspace_info, tool_checkpoint, tool_hand_over,
	tool_put_result, tool_get_results, tool_list_shared, tool_workspace_diff, tool_restore;
/* Of its workspace only what tells that a checkpoint was made or removed: nothing is counted. */
tool_fn own_checkpoints;

/* "tasks/ID", where the agent works in one of berth's workspaces; NULL: it does not. */
const char *tool_workspace_name(struct call *c, struct err *e);

/* NEEDS_...: what tools need and the agent of this server does not have. */
unsigned tool_lacks(const struct server *s);

#endif
