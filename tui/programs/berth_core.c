/*
 * berth_core.c - berth-core: the console and the commands that need the engine.
 *
 * Started by berth (main.c) with the same argv.
 */
#define CLI_TABLE
#define IN_CORE(f) f
#define IN_EITHER(lane, engine) engine
#include "cli/commands.h"

int main(int argc, char **argv)
{
	return cli_main(&cli_root, argc, argv);
}
