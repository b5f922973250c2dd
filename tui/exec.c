/*
 * exec.c - berth-exec: commands in agents' containers, over the lane.
 *
 * Started by berth (main.c) with the same argv.  A program of its own because an agent may run hundreds
 * of commands a minute: it is linked to libc only.
 */
#include <berth/text.h>

#include "cli/cli.h"
#include "cli/exec.h"

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct cli c;

	text_init();
	if (cli_parse(argc, argv, &c, &e)) {
		cli_fail(&e);
		return 125;
	}
	return cli_exec(&c, argv, NULL);
}
