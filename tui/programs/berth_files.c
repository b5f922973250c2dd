/*
 * berth_files.c - berth-files: the program of `berth files ...`.
 *
 * A program of its own, because these commands are called often and by machines: it loads neither
 * the engine's libraries nor curses.
 */
#define CLI_TABLE
#define IN_FILES(f) f
#include "cli/commands.h"

int main(int argc, char **argv)
{
	return cli_main(&cli_root, argc, argv);
}
