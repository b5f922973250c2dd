/*
 * berth_mcp.c - berth-mcp: the program of `berth mcp`.
 *
 * A program of its own, for agents start it and wait: it loads neither the engine's libraries nor curses.
 */
#define CLI_TABLE
#define IN_MCP(f) f
#include "cli/commands.h"

int main(int argc, char **argv)
{
	return cli_main(&cli_root, argc, argv);
}
