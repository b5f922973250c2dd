/* console.c - `berth` without a command: the console, or a script that drives it. */
#include <stdio.h>

#include "app.h"
#include "cli/run.h"

int cli_console(const struct cli *c, const struct settings *s, struct err *e)
{
	struct backend_options b = {
		.host = cli_value(c, "host"),
		.context = cli_value(c, "context"),
		.hz = s->hz,
		.read_only = s->read_only,
		.program = "console",
	};
	struct app_options o = {
		.backend = backend_start(&b, e),
		.settings = s,
		.theme = cli_value(c, "theme"),
		.script = cli_value(c, "script"),
		.ascii = cli_flag(c, "ascii"),
		.read_only = s->read_only,
	};
	int rc;

	if (!o.backend)
		return -1;
	rc = app_run(&o, e);
	backend_stop(o.backend);
	return rc;
}
