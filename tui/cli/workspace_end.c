/* workspace_end.c - `berth workspace mark`: how a task ended. */
#include <stdio.h>
#include <string.h>

#include <berth/clock.h>

#include "cli/workspace.h"

static enum workspace_state find_state(const char *word)
{
	int s = WORKSPACE_OPEN;

	while (s < WORKSPACE_STATES && strcmp(word, workspace_state_name((enum workspace_state)s)))
		s++;
	return (enum workspace_state)s;
}

static int do_mark(void *ctx, struct audit_record *r, struct err *e)
{
	struct workspace_cli *x = ctx;

	(void)r;
	return workspace_end(x->all, x->name, find_state(x->c->argv[1]), clock_wall_ms(), e);
}

static int mark_workspace(struct workspace_cli *x, struct err *e)
{
	struct workspace_place p;
	struct key_value state = {.key = "state", .value = x->c->argv[1]};
	struct audit_record r = {.deed = DEED_WORKSPACE_END,
		.target_type = "workspace",
		.name = x->path,
		.nparams = 1,
		.params = &state};

	if (find_state(x->c->argv[1]) == WORKSPACE_STATES)
		return err_set(e, ERR_USAGE, "a task is open, done or failed, not \"%.40s\".",
			x->c->argv[1]);
	if (workspace_cli_place(x, x->c->argv[0], &p, e))
		return -1;
	workspace_cli_name(x, p.kind, p.name);
	workspace_cli_leave(&p);
	if (x->kind != WORKSPACE_TASK)
		return err_set(e, ERR_USAGE, "%s is a project: only tasks end.", x->path);
	if (record_act(&x->by, &r, NULL, do_mark, x, e))
		return -1;
	printf("%s: %s\n", x->path, x->c->argv[1]);
	return 0;
}

int cli_workspace_mark(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	return workspace_cli_run(c, mark_workspace, e);
}
