/*
 * berth_terminal.c - berth-terminal: keeps the terminals of one agent, started by `berth terminal start`.
 *
 * berth-terminal CONTAINER, with the socket of terminals/terminals.h open.  It gives up all else before it reads a byte of the agent's, and ends
 * with the last of its terminals.
 */
#include <stdio.h>

#include <berth/terminal.h>

int main(void)
{
	struct err e = ERR_INIT;

	if (!terminals_main(&e))
		return 0;
	fprintf(stderr, "berth-terminal: %s\n", e.msg);
	return e.kind == ERR_USAGE ? 2 : 1;
}
