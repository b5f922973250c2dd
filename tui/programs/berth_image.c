/*
 * berth_image.c - berth-image: the program of `berth image ...`, `berth cp`, `berth workspace archive` and related verbs.
 *
 * A program of its own, because these alone need libarchive.
 */
#define CLI_TABLE
#define IN_IMAGE(f) f
#include "cli/commands.h"

int main(int argc, char **argv)
{
	return cli_main(&cli_root, argc, argv);
}
