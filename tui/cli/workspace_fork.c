/* workspace_fork.c - `berth workspace fork`: creates tasks that begin with the contents of a workspace. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/jsonw.h>
#include <berth/mem.h>

#include "cli/workspace.h"

#define FORKS_MAX 100
#define NUMBER_MAX 10000 /* of the names that are tried */

struct forking {
	struct workspace_cli *x;
	char point[CHECKPOINT_NAME_MAX + 1]; /* of x, the start of all */
	unsigned want, made;
	char name[FORKS_MAX][WORKSPACE_NAME_MAX + 1];
	const char *next; /* the one that is being made */
};

/* What it began with is noted before the workspace is there under its name. */
static int fill_fork(void *ctx, int dir, struct err *e)
{
	struct forking *f = ctx;
	struct checkpoint_store *s = workspace_cli_store(f->x, WORKSPACE_TASK, f->next, e);
	int rc = s ? 0 : -1;

	if (rc == 0)
		rc = checkpoint_fork(f->x->store, f->point, dir, NULL, e);
	if (rc == 0)
		rc = checkpoint_begin(s, dir, f->x->store, f->point, e);
	checkpoint_close(s);
	return rc;
}

static int is_taken(const struct forking *f, const char *name, bool *ret, struct err *e)
{
	struct workspace_info *all;
	size_t count;

	if (workspace_list(f->x->all, &all, &count, e))
		return -1;
	*ret = false;
	for (size_t i = 0; i < count; i++)
		*ret |= all[i].kind == WORKSPACE_TASK && !strcmp(all[i].name, name);
	free(all);
	return 0;
}

/* NAME-1, NAME-2 ...: the next that no task has. */
static int make_fork(struct forking *f, unsigned *number, struct err *e)
{
	char *name = f->name[f->made];
	struct workspace_new n = {.kind = WORKSPACE_TASK,
		.name = name,
		.now_ms = clock_wall_ms(),
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.fill = fill_fork,
		.ctx = f};

	for (; *number < NUMBER_MAX; ++*number) {
		AUTO_FREE char *wanted = xasprintf("%s-%u", f->x->name, *number);
		struct err why = ERR_INIT;
		bool taken;

		if (strlen(wanted) > WORKSPACE_NAME_MAX)
			return err_set(e, ERR_USAGE,
				"forks of %s would have names of more than %d characters.",
				f->x->path, WORKSPACE_NAME_MAX);
		if (is_taken(f, wanted, &taken, e))
			return -1;
		if (taken)
			continue;
		snprintf(name, sizeof f->name[0], "%s", wanted);
		f->next = name;
		if (workspace_create(f->x->all, &n, &why)) {
			/* Another program may have made one of that name since. */
			if (why.kind == ERR_CONFLICT && !is_taken(f, wanted, &taken, NULL) && taken)
				continue;
			return err_copy(e, &why);
		}
		f->made++;
		++*number;
		return 0;
	}
	return err_set(e, ERR_CONFLICT, "there are too many forks of %s already.", f->x->path);
}

static int do_fork(void *ctx, struct audit_record *r, struct err *e)
{
	struct forking *f = ctx;
	unsigned number = 1;

	(void)r;
	if (workspace_cli_checkpoint(f->x, f->point, e))
		return -1;
	while (f->made < f->want)
		if (make_fork(f, &number, e))
			return -1;
	return 0;
}

static int record_fork(void *ctx, struct err *e)
{
	struct forking *f = ctx;
	struct key_value kv[] = {{.key = "checkpoint", .value = f->point},
		{.key = "forks", .value = f->x->c->argv[1]}};
	struct audit_record r = {.operation = OP_WORKSPACE_FORK,
		.target_type = "workspace",
		.name = f->x->path,
		.nparams = COUNT(kv),
		.params = kv};

	return record_act(&f->x->by, &r, NULL, do_fork, f, e);
}

static int print_forks(const struct forking *f)
{
	const struct workspace_cli *x = f->x;
	struct jsonw j;

	if (!cli_flag(x->c, "json")) {
		for (unsigned i = 0; i < f->made; i++)
			printf("%s/%s/%s\n", x->tree, workspace_kind_folder(WORKSPACE_TASK),
				f->name[i]);
		return 0;
	}
	jsonw_init(&j, false);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "schema", "berth.workspace_fork/1");
	jsonw_text(&j, "workspace", x->path);
	jsonw_text(&j, "checkpoint", f->point);
	jsonw_array(&j, "forks");
	for (unsigned i = 0; i < f->made; i++) {
		AUTO_FREE char *path = xasprintf(
			"%s/%s/%s", x->tree, workspace_kind_folder(WORKSPACE_TASK), f->name[i]);

		jsonw_object(&j, NULL);
		jsonw_text(&j, "name", f->name[i]);
		jsonw_text(&j, "path", path);
		jsonw_end(&j);
	}
	jsonw_end(&j);
	jsonw_end(&j);
	return jsonw_print(&j);
}

static int fork_workspace(struct workspace_cli *x, struct err *e)
{
	struct forking f = {.x = x};
	const char *said = x->c->argv[1];
	char *end;
	unsigned long want = strtoul(said, &end, 10);
	int rc;

	if (*said < '1' || *said > '9' || *end || want > FORKS_MAX)
		return err_set(e, ERR_USAGE,
			"a workspace is forked into 1 to %d tasks, not \"%.40s\".", FORKS_MAX,
			said);
	f.want = (unsigned)want;
	if (workspace_cli_enter(x, e) || workspace_cli_room(x, 1, e))
		return -1;
	rc = workspace_cli_stamped(x, f.point, "fork-", record_fork, &f, e);
	if (f.made)
		workspace_cli_warn(x);
	/* Those that were made are there, also where the next could not be. */
	return f.made && print_forks(&f) ? 1 : rc;
}

int cli_workspace_fork(const struct cli *c, const struct settings *s, struct err *e)
{
	return workspace_cli_run_with(c, s, fork_workspace, e);
}
