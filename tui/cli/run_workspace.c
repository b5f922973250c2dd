/* run_workspace.c - implements --workspace [AGENT=]DIR: the workspace of an agent in one of MassGen's runs. */
#include <string.h>

#include <berth/mem.h>
#include <berth/team.h>

#include "cli/cli.h"
#include "cli/run.h"

/* A directory may have a = in its name: what stands before it must be an agent. */
static int choose_run_workspace(struct team *t, const char *value, const char *own, struct err *e)
{
	const char *sign = strchr(value, '=');
	AUTO_FREE char *id = sign ? xstrndup(value, (size_t)(sign - value)) : NULL;

	if (id && team_agent(t, id))
		return team_workspace(t, id, sign + 1, e);
	if (own)
		return team_workspace(t, own, value, e);
	return err_set(e, ERR_USAGE,
		"--workspace %.200s: %s has %zu agents; name the agent: AGENT=DIR.", value, t->file,
		t->nagents);
}

int cli_run_workspaces(const struct cli *c, struct team *t, const char *own, struct err *e)
{
	for (size_t i = 0; i < c->ngiven; i++)
		if (!strcmp(c->given[i].option->name, "workspace") &&
			choose_run_workspace(t, c->given[i].value, own, e))
			return -1;
	return 0;
}
