/*
 * berth_files.c - berth-files: the program of `berth files ...`.
 *
 * A program of its own, because these commands are called often and by machines: it loads neither
 * the engine's libraries nor curses.
 */
#include <locale.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/standard.h>
#include <berth/text.h>

#include "cli/cli.h"
#include "cli/gate.h"
#include "cli/files.h"

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct cli c;
	int rc;

	standard_open();
	setlocale(LC_CTYPE, "");
	text_init();
	if (cli_parse(argc, argv, &c, &e) < 0)
		return cli_fail(&e);
	if (!c.command) /* started by hand */
		return cli_help(c.group, c.command);
	rc = cli_files(&c, &e);
	rc = rc < 0 ? cli_fail(&e) : rc;
	return cli_recorded(rc, rc ? rc : 1);
}
