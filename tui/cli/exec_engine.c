/* exec_engine.c - `berth exec` in berth-core, used where the lane cannot be used. */
#include "cli/command.h"
#include "cli/commands.h"

int cli_exec_engine(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	(void)e;
	return command_exec(c, agents_run_engine);
}
