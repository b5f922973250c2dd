/*
 * berth_image.c - berth-image: the program of `berth image ...`.
 *
 * A program of its own, because it alone needs libarchive.
 */
#include <locale.h>

#include <berth/runtime.h>
#include <berth/standard.h>
#include <berth/text.h>

#include "cli/cli.h"
#include "cli/gate.h"
#include "cli/image.h"
#include "cli/progress.h"

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
	runtime_on_wait(cli_progress_wait);
	rc = cli_image(&c, &e);
	rc = rc < 0 ? cli_fail(&e) : rc;
	return cli_recorded(rc, rc ? rc : 1);
}
