/*
 * workspace_clean.c - `berth workspace clean` ends workspaces whose retention has passed, or that are named; `berth
 * workspace remove` does so after a checkpoint.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>

#include "cli/workspace_archive.h"

struct cleaned {
	struct workspace_due due;
	bool archive; /* of one; it is removed itself */
	bool named;   /* by a person, whether it is due or not */
	struct archiving_cli archiving;
	char as[WORKSPACE_NAME_MAX + 1]; /* of the archive */
	struct err err;
};

static int do_remove_workspace(void *ctx, struct audit_record *r, struct err *e)
{
	struct workspace_cli *x = ctx;

	(void)r;
	return workspace_remove(x->all, x->kind, x->name, e);
}

static int do_remove_archive(void *ctx, struct audit_record *r, struct err *e)
{
	struct workspace_cli *x = ctx;

	(void)r;
	return workspace_remove_archive(x->all, x->kind, x->name, e);
}

static int remove_archive_named(struct workspace_cli *x, struct err *e)
{
	AUTO_FREE char *path = xasprintf("archives/%s", x->path);
	struct audit_record r = {
		.operation = OP_WORKSPACE_REMOVE, .target_type = "archive", .name = path};

	return record_act(&x->by, &r, NULL, do_remove_archive, x, e);
}

/* Where an earlier one has the name: with the time. */
static void name_archive(struct workspace_cli *x, struct cleaned *d)
{
	const struct workspace_info *i = &d->due.info;
	char stamp[40];

	snprintf(d->as, sizeof d->as, "%s", i->name);
	if (!workspace_is_archived(x->all, (int)i->kind, i->name))
		return;
	workspace_cli_stamp(stamp, sizeof stamp, "-");
	snprintf(d->as, sizeof d->as, "%.*s%s", (int)(WORKSPACE_NAME_MAX - strlen(stamp)), i->name,
		stamp);
}

static int end_one(struct workspace_cli *x, struct cleaned *d)
{
	const struct workspace_info *i = &d->due.info;

	workspace_cli_name(x, i->kind, i->name);
	if (d->archive)
		return remove_archive_named(x, &d->err);
	if (d->due.remove)
		return workspace_cli_act(x, OP_WORKSPACE_REMOVE, do_remove_workspace, &d->err);
	name_archive(x, d);
	d->archiving = (struct archiving_cli){
		.x = x, .s = x->s, .kind = i->kind, .name = i->name, .as = d->as};
	return workspace_cli_archive(&d->archiving, &d->err);
}

static void print_cleaned(const struct cleaned *d, bool dry)
{
	const struct workspace_info *i = &d->due.info;
	char age[FORMAT_MAX];

	printf("%s%s/%s", d->archive ? "archives/" : "", workspace_kind_folder(i->kind), i->name);
	if (d->named)
		printf(": ");
	else
		printf("  %s %s ago: ",
			i->kind == WORKSPACE_PROJECT ? "changed" : workspace_state_name(i->state),
			format_age(age, clock_wall_ms() - d->due.since_ms));
	if (d->err.kind)
		printf("%s\n", d->err.msg);
	else if (d->due.remove)
		printf("%s\n", dry ? "would be removed" : "removed");
	else
		printf("%s\n", dry ? "would be archived" : "archived");
	workspace_cli_secrets(d->archiving.secret, d->archiving.nsecret);
}

static void json_cleaned(struct jsonw *j, const struct cleaned *d)
{
	AUTO_FREE char *path = xasprintf("%s%s/%s", d->archive ? "archives/" : "",
		workspace_kind_folder(d->due.info.kind), d->due.info.name);

	jsonw_object(j, NULL);
	jsonw_text(j, "workspace", path);
	jsonw_text(j, "what", d->due.remove ? "remove" : "archive");
	jsonw_int(j, "since_ms", d->due.since_ms);
	jsonw_text(j, "archive", *d->as ? d->as : NULL);
	jsonw_text(j, "error", d->err.kind ? d->err.msg : NULL);
	workspace_cli_json_secrets(j, d->archiving.secret, d->archiving.nsecret);
	jsonw_end(j);
}

/* One that cannot go keeps no other. */
static int clean_all(struct workspace_cli *x, struct cleaned *all, size_t n)
{
	bool json = cli_flag(x->c, "json"), dry = cli_flag(x->c, "dry-run");
	struct jsonw j;
	int bad = 0;

	jsonw_document(&j, "berth.workspace_clean/1");
	jsonw_bool(&j, "dry_run", dry);
	jsonw_array(&j, "workspaces");
	for (size_t i = 0; i < n; i++) {
		struct cleaned *d = &all[i];

		if (!dry && end_one(x, d) < 0)
			bad = 1;
		if (json)
			json_cleaned(&j, d);
		else
			print_cleaned(d, dry);
		workspace_cli_forget_secrets(&d->archiving);
	}
	jsonw_end(&j);
	jsonw_end(&j);
	if (!json) {
		jsonw_release(&j);
		return bad;
	}
	return jsonw_print(&j) ? -1 : bad;
}

/* What was in use when it was marked is not any more. */
static void seal_failed_tasks(struct workspace_cli *x)
{
	AUTO_FREE struct workspace_info *all = NULL;
	struct err ignored = ERR_INIT;
	size_t n;

	if (cli_flag(x->c, "dry-run") || x->by.policy->read_only ||
		workspace_list(x->all, &all, &n, &ignored))
		return;
	for (size_t i = 0; i < n; i++)
		if (all[i].kind == WORKSPACE_TASK && all[i].state == WORKSPACE_FAILED &&
			!workspace_is_sealed(x->all, all[i].name))
			workspace_seal(x->all, all[i].name, &ignored);
}

static int clean_due(struct workspace_cli *x, struct err *e)
{
	AUTO_FREE struct workspace_due *due = NULL;
	AUTO_FREE struct cleaned *all = NULL;
	struct workspace_rules rules = {.done_days = x->s->workspaces_done_days,
		.failed_days = x->s->workspaces_failed_days,
		.idle_days = x->s->workspaces_idle_days,
		.now_ms = clock_wall_ms()};
	size_t n;
	int rc;

	if (workspace_list_due(x->all, &rules, &due, &n, e))
		return -1;
	all = xcalloc(n + 1, sizeof *all);
	for (size_t i = 0; i < n; i++)
		all[i].due = due[i];
	rc = clean_all(x, all, n);
	seal_failed_tasks(x);
	return rc;
}

static int find_named(struct workspace_cli *x, const char *said, struct cleaned *d, struct err *e)
{
	const char *archive = workspace_cli_archive_word(said);
	struct workspace_info *i = &d->due.info;
	struct workspace_archive a;

	d->named = d->due.remove = true;
	d->archive = archive != NULL;
	if (archive ? workspace_cli_find_archive(x, archive, e) : workspace_cli_info(x, said, i, e))
		return -1;
	if (archive) {
		i->kind = x->kind;
		snprintf(i->name, sizeof i->name, "%s", x->name);
		if (workspace_show_archive(x->all, i->kind, i->name, &a, e))
			return -1;
		d->due.since_ms = a.made_ms;
	} else {
		d->due.since_ms = i->ended_ms ? i->ended_ms : i->changed_ns / 1000000;
	}
	return 0;
}

static bool is_named_twice(const struct cleaned *all, size_t n)
{
	const struct cleaned *d = &all[n];

	for (size_t i = 0; i < n; i++)
		if (all[i].archive == d->archive && all[i].due.info.kind == d->due.info.kind &&
			!strcmp(all[i].due.info.name, d->due.info.name))
			return true;
	return false;
}

/* All are found before the first goes. */
static int clean_named(struct workspace_cli *x, struct err *e)
{
	size_t n = (size_t)x->c->argc;
	AUTO_FREE struct cleaned *all = xcalloc(n, sizeof *all);

	for (size_t i = 0; i < n; i++) {
		if (find_named(x, x->c->argv[i], &all[i], e))
			return -1;
		if (is_named_twice(all, i))
			return err_set(e, ERR_USAGE, "%.80s is named twice.", x->c->argv[i]);
	}
	return clean_all(x, all, n);
}

int cli_workspace_clean(struct workspace_cli *x, struct err *e)
{
	bool due = cli_flag(x->c, "due");
	int rc;

	if (due && x->c->argc)
		return err_set(e, ERR_USAGE, "give either workspaces or --due.");
	if (!due && !x->c->argc)
		return err_set(e, ERR_USAGE,
			"name workspaces to remove, or use --due to archive and remove those that have expired; --dry-run only shows what would be done.");
	rc = due ? clean_due(x, e) : clean_named(x, e);
	if (rc < 0 || !workspaces_left(x->all)->kind)
		return rc;
	fflush(stdout);
	fprintf(stderr, "berth: %s\n", workspaces_left(x->all)->msg);
	return 1;
}

/* ---- remove */

/* By the program that can hold the containers still meanwhile.  What it warns of is said. */
static int save_first(struct workspace_cli *x, const char *name, struct err *e)
{
	const char *const words[] = {"workspace", "checkpoint", "--", x->path, name, NULL};
	AUTO_CLOSE int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null >= 0 && cli_call(x->c, "berth-files", words, null) == 0)
		return 0;
	return err_set(
		e, ERR_FAILED, "it stays, because it could not be saved as a checkpoint first.");
}

static int remove_saved(struct workspace_cli *x, const struct cleaned *d, struct err *e)
{
	const struct workspace_info *i = &d->due.info;
	char name[CHECKPOINT_NAME_MAX + 1];
	struct policy_act may = {.operation = OP_WORKSPACE_REMOVE, .name = x->path};

	workspace_cli_name(x, i->kind, i->name);
	workspace_cli_stamp(name, sizeof name, "removed-");
	if (policy_check(x->by.policy, &may, e) < 0 || save_first(x, name, e) < 0 ||
		workspace_cli_act(x, OP_WORKSPACE_REMOVE, do_remove_workspace, e) < 0)
		return -1;
	printf("%s: removed.  To undo: berth workspace create %s %s && berth workspace restore %s %s\n",
		x->path, i->kind == WORKSPACE_TASK ? "task" : "project", i->name, x->path, name);
	return 0;
}

int cli_workspace_remove(struct workspace_cli *x, struct err *e)
{
	size_t n = (size_t)x->c->argc;
	AUTO_FREE struct cleaned *all = xcalloc(n, sizeof *all);
	int bad = 0;

	for (size_t i = 0; i < n; i++) {
		if (workspace_cli_archive_word(x->c->argv[i]))
			return err_set(e, ERR_USAGE,
				"%.80s is an archive, of which there is no checkpoint: `berth workspace clean` removes it for good.",
				x->c->argv[i]);
		if (find_named(x, x->c->argv[i], &all[i], e))
			return -1;
		if (is_named_twice(all, i))
			return err_set(e, ERR_USAGE, "%.80s is named twice.", x->c->argv[i]);
	}
	for (size_t i = 0; i < n; i++) {
		struct err why = ERR_INIT;

		if (remove_saved(x, &all[i], &why) == 0)
			continue;
		fprintf(stderr, "berth: %s: %s\n", x->path, why.msg);
		bad = err_exit_code(&why);
	}
	return bad;
}
