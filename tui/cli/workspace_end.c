/* workspace_end.c - `berth workspace mark`: sets the status of tasks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "cli/workspace.h"

static enum workspace_state find_state(const char *word)
{
	int s = WORKSPACE_OPEN;

	while (s < WORKSPACE_STATES && strcmp(word, workspace_state_name((enum workspace_state)s)))
		s++;
	return (enum workspace_state)s;
}

/* The last operand. */
static const char *said_state(const struct workspace_cli *x)
{
	return x->c->argv[x->c->argc - 1];
}

static int do_mark(void *ctx, struct audit_record *r, struct err *e)
{
	struct workspace_cli *x = ctx;

	(void)r;
	return workspace_end(x->all, x->name, find_state(said_state(x)), clock_wall_ms(), e);
}

/* So that `verify` can tell whether it is kept as it was.  It failed, whether that works or not. */
static void seal_failed(struct workspace_cli *x)
{
	struct err why = ERR_INIT;

	if (workspace_check_free(x->all, WORKSPACE_TASK, x->name, NULL) < 0)
		fprintf(stderr,
			"berth: %s: a container has it, so its hashes are not saved yet; `berth workspace clean --due` saves them after `berth down`.\n",
			x->path);
	else if (workspace_seal(x->all, x->name, &why) < 0)
		fprintf(stderr,
			"berth: %s: its hashes cannot be saved, so `berth workspace verify` cannot check it: %s\n",
			x->path, why.msg);
}

static int mark_task(struct workspace_cli *x, const char *name, struct err *e)
{
	struct key_value state = {.key = "state", .value = said_state(x)};
	struct audit_record r = {.operation = OP_WORKSPACE_END,
		.target_type = "workspace",
		.name = x->path,
		.nparams = 1,
		.params = &state};

	workspace_cli_name(x, WORKSPACE_TASK, name);
	if (record_act(&x->by, &r, NULL, do_mark, x, e))
		return -1;
	printf("%s: %s\n", x->path, said_state(x));
	if (find_state(said_state(x)) == WORKSPACE_FAILED)
		seal_failed(x);
	return 0;
}

static int find_task(
	struct workspace_cli *x, const char *said, char name[WORKSPACE_NAME_MAX + 1], struct err *e)
{
	struct workspace_place p;
	int rc = workspace_cli_place(x, said, &p, e);

	if (rc == 0 && p.kind != WORKSPACE_TASK)
		rc = err_set(e, ERR_USAGE, "%s is a project: only tasks have a status.", p.path);
	if (rc == 0)
		snprintf(name, WORKSPACE_NAME_MAX + 1, "%s", p.name);
	workspace_cli_leave(&p);
	return rc;
}

/* All of them are looked for before one is marked. */
int cli_workspace_mark(struct workspace_cli *x, struct err *e)
{
	AUTO_FREE char(*name)[WORKSPACE_NAME_MAX + 1] = NULL;
	int n = x->c->argc - 1, rc = 0;

	if (find_state(said_state(x)) == WORKSPACE_STATES)
		return err_set(e, ERR_USAGE, "a task is open, done or failed, not \"%.40s\".",
			said_state(x));
	name = xcalloc((size_t)n, sizeof *name);
	for (int i = 0; rc == 0 && i < n; i++)
		rc = find_task(x, x->c->argv[i], name[i], e);
	for (int i = 0; rc == 0 && i < n; i++)
		rc = mark_task(x, name[i], e);
	return rc;
}
