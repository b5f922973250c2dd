/* workspace_fork.c - `berth workspace fork`: creates tasks that begin with the contents of a workspace. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "cli/workspace.h"

#define FORKS_MAX 100
#define AT_ONCE 10       /* so many are written side by side: each keeps descriptors open */
#define NUMBER_MAX 10000 /* of the names that are tried */

struct forking {
	struct workspace_cli *x;
	char point[CHECKPOINT_NAME_MAX + 1]; /* of x, the start of all */
	unsigned want, made;
	char name[FORKS_MAX][WORKSPACE_NAME_MAX + 1];
};

/* What each began with is noted before it is there under its name. */
static void fill_forks(void *ctx, struct workspace_one *all, size_t count)
{
	struct forking *f = ctx;
	struct checkpoint_target t[AT_ONCE];
	struct workspace_one *of[AT_ONCE];
	struct err e = ERR_INIT;
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < count; i++) {
		if (all[i].dir < 0)
			continue;
		t[n] = (struct checkpoint_target){.root = all[i].dir};
		t[n].begins = workspace_cli_store(f->x, WORKSPACE_TASK, all[i].name, &all[i].err);
		of[n] = &all[i];
		n += t[n].begins != NULL;
	}
	if (n)
		rc = checkpoint_fork(f->x->store, f->point, t, n, &e);
	for (size_t i = 0; i < n; i++) {
		checkpoint_close(t[i].begins);
		of[i]->err = rc < 0 ? e : t[i].err;
	}
}

static bool is_task(const struct workspace_info *all, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (all[i].kind == WORKSPACE_TASK && !strcmp(all[i].name, name))
			return true;
	return false;
}

static bool is_taken(struct forking *f, const char *name)
{
	AUTO_FREE struct workspace_info *all = NULL;
	size_t count;

	return workspace_list(f->x->all, &all, &count, NULL) == 0 && is_task(all, count, name);
}

/* NAME-1, NAME-2 ...: the next that no task has, at most `most`. */
static int choose_names(struct forking *f, unsigned *number,
	char names[AT_ONCE][WORKSPACE_NAME_MAX + 1], unsigned most, struct err *e)
{
	AUTO_FREE struct workspace_info *all = NULL;
	unsigned chosen = 0;
	size_t count;

	if (workspace_list(f->x->all, &all, &count, e))
		return -1;
	for (; chosen < most && *number < NUMBER_MAX; ++*number) {
		int n = snprintf(names[chosen], sizeof names[0], "%s-%u", f->x->name, *number);

		if (n > WORKSPACE_NAME_MAX)
			return err_set(e, ERR_USAGE,
				"forks of %s would have names of more than %d characters.",
				f->x->path, WORKSPACE_NAME_MAX);
		chosen += !is_task(all, count, names[chosen]);
	}
	return chosen == most
		? 0
		: err_set(e, ERR_CONFLICT, "there are too many forks of %s already.", f->x->path);
}

static int make_forks(struct forking *f, unsigned *number, struct err *e)
{
	unsigned n = f->want - f->made < AT_ONCE ? f->want - f->made : AT_ONCE;
	char names[AT_ONCE][WORKSPACE_NAME_MAX + 1];
	struct workspace_one all[AT_ONCE];
	const struct err *why = NULL;

	if (choose_names(f, number, names, n, e))
		return -1;
	for (unsigned i = 0; i < n; i++)
		all[i].name = names[i];
	if (workspace_create_together(f->x->all,
		    &(struct workspace_new){
			    .kind = WORKSPACE_TASK, .now_ms = clock_wall_ms(), .ctx = f},
		    all, n, fill_forks, e))
		return -1;
	for (unsigned i = 0; i < n; i++)
		if (all[i].err.kind == ERR_NONE)
			memcpy(f->name[f->made++], names[i], sizeof names[i]);
		/* Another program may have made one of that name since. */
		else if (!why && (all[i].err.kind != ERR_CONFLICT || !is_taken(f, names[i])))
			why = &all[i].err;
	return why ? err_copy(e, why) : 0;
}

/* Those that were made are there, also where another could not be. */
static int tell_made(const struct forking *f, struct err *e)
{
	AUTO_STR struct str names = STR_INIT;

	for (unsigned i = 0; i < f->made; i++)
		str_addf(&names, "%s%s", i ? ", " : "", f->name[i]);
	return f->made ? err_wrap(e, "%u of %u forks were made (%.300s)", f->made, f->want, names.s)
		       : -1;
}

static int do_fork(void *ctx, struct audit_record *r, struct err *e)
{
	struct forking *f = ctx;
	unsigned number = 1;

	(void)r;
	if (workspace_cli_checkpoint(f->x, f->point, e))
		return -1;
	while (f->made < f->want)
		if (make_forks(f, &number, e))
			return tell_made(f, e);
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
	jsonw_document(&j, "berth.workspace_fork/1");
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
	return jsonw_print(&j);
}

int cli_workspace_fork(struct workspace_cli *x, struct err *e)
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
	return f.made && print_forks(&f) ? 1 : rc;
}
